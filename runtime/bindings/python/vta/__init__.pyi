# SPDX-License-Identifier: Apache-2.0
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

_Path = Union[str, "os.PathLike[str]"]

__version__: str

class Error(RuntimeError):
    code: int
    @property
    def status(self) -> str: ...

class InvalidError(Error, ValueError): ...
class DeviceError(Error, OSError): ...
class OutOfMemory(Error, MemoryError): ...
class TimeoutExpired(Error, TimeoutError): ...
class Interrupted(Error): ...

class Step(NamedTuple):
    name: str
    op: str
    on_accelerator: bool
    seconds: float
    cycles: int
    predicted: int
    flops: int

class Layer(NamedTuple):
    name: str
    op: Optional[str]
    schedule: Optional[str]
    bound: Optional[str]
    step: int
    macs: int
    bytes_read: int
    bytes_written: int
    predicted: int
    cycles: int
    split: Dict[str, int]

class Tensor:
    name: str
    dtype: str
    shape: Tuple[int, ...]
    nbytes: int
    data: memoryview
    @property
    def address(self) -> int: ...
    @property
    def __array_interface__(self) -> Dict[str, Any]: ...
    def __dlpack__(self, stream: Any = ..., **_: Any) -> Any: ...
    def __dlpack_device__(self) -> Tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Union[int, Tuple[int, ...]]) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def tolist(self) -> Any: ...
    def tobytes(self) -> bytes: ...
    def copy(self) -> "Tensor": ...
    def set(self, values: Any) -> None: ...

def vtac(
    verb: str,
    *operands: _Path,
    progress: Optional[Callable[[str, str, int, int], Any]] = ...,
    notes: Optional[Callable[[str], Any]] = ...,
    **options: Any,
) -> Any: ...
def compile(
    model: _Path,
    output: Optional[_Path] = ...,
    *,
    target: Optional[str] = ...,
    config: Optional[_Path] = ...,
    offload: Optional[str] = ...,
    calib: Optional[_Path] = ...,
    classes: Optional[_Path] = ...,
    preprocess: Optional[str] = ...,
    method: Optional[str] = ...,
    force: bool = ...,
    host: Optional[str] = ...,
    O: Optional[int] = ...,
    disable_pass: Optional[Union[str, Sequence[str]]] = ...,
    time_passes: bool = ...,
    shape: Optional[Union[str, Sequence[str]]] = ...,
    dynamic: bool = ...,
    context: Optional[str] = ...,
    weights: Optional[_Path] = ...,
    emit: Optional[str] = ...,
    tuned: Optional[_Path] = ...,
    no_records: bool = ...,
    report: bool = ...,
    progress: Optional[Callable[[str, str, int, int], Any]] = ...,
    notes: Optional[Callable[[str], Any]] = ...,
) -> Dict[str, Any]: ...
def quantize(
    model: _Path,
    output: Optional[_Path] = ...,
    *,
    calib: Optional[_Path] = ...,
    preprocess: Optional[str] = ...,
    method: Optional[str] = ...,
    per_tensor: bool = ...,
    unsigned: bool = ...,
    equalize: bool = ...,
    tune_rounding: bool = ...,
    no_bias_correction: bool = ...,
    keep_float: Optional[Union[str, Sequence[str]]] = ...,
    max_loss: Optional[float] = ...,
    labels: Optional[_Path] = ...,
    max_drop: Optional[float] = ...,
    force: bool = ...,
    dynamic: bool = ...,
    shape: Optional[Union[str, Sequence[str]]] = ...,
    weights: Optional[_Path] = ...,
    report: bool = ...,
    progress: Optional[Callable[[str, str, int, int], Any]] = ...,
    notes: Optional[Callable[[str], Any]] = ...,
) -> Dict[str, Any]: ...
def tune(
    model: _Path,
    log: _Path = ...,
    *,
    target: Optional[str] = ...,
    config: Optional[_Path] = ...,
    offload: Optional[str] = ...,
    host: Optional[str] = ...,
    device: Optional[Union[str, Sequence[str]]] = ...,
    tuner: Optional[str] = ...,
    trials: Optional[int] = ...,
    early_stop: Optional[int] = ...,
    budget: Optional[float] = ...,
    seed: Optional[int] = ...,
    threads: Optional[int] = ...,
    repeat: Optional[int] = ...,
    jobs: Optional[int] = ...,
    slurm: Optional[_Path] = ...,
    html: Optional[_Path] = ...,
    calib: Optional[_Path] = ...,
    shape: Optional[Union[str, Sequence[str]]] = ...,
    weights: Optional[_Path] = ...,
    progress: Optional[Callable[[str, str, int, int], Any]] = ...,
    notes: Optional[Callable[[str], Any]] = ...,
) -> List[Dict[str, Any]]: ...
def verify(
    *folders: _Path,
    target: Optional[str] = ...,
    config: Optional[_Path] = ...,
    offload: Optional[str] = ...,
    device: Optional[str] = ...,
    host: Optional[str] = ...,
    O: Optional[int] = ...,
    rtol: Optional[float] = ...,
    atol: Optional[float] = ...,
    dynamic: bool = ...,
    shape: Optional[Union[str, Sequence[str]]] = ...,
    signature: Optional[str] = ...,
    progress: Optional[Callable[[str, str, int, int], Any]] = ...,
    notes: Optional[Callable[[str], Any]] = ...,
) -> Any: ...

class Device:
    def __init__(self, uri: _Path, config: Optional[_Path] = ...) -> None: ...
    @property
    def uri(self) -> str: ...
    @property
    def config(self) -> str: ...
    def close(self) -> None: ...
    def __enter__(self) -> "Device": ...
    def __exit__(self, *_: Any) -> None: ...

class Model:
    inputs: List[Tensor]
    outputs: List[Tensor]
    def __init__(
        self,
        path: _Path,
        device: Union[_Path, Device, None] = ...,
        threads: int = ...,
        timeout: float = ...,
        priority: int = ...,
        progress: Optional[Callable[[str], Any]] = ...,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def cycles(self) -> int: ...
    def set(self, key: Union[int, str], values: Any) -> None: ...
    def set_shape(self, key: Union[int, str], shape: Sequence[int]) -> None: ...
    def get(self, key: Union[int, str] = ...) -> Tensor: ...
    def bind_input(self, key: Union[int, str], values: Any) -> None: ...
    def bind_output(self, key: Union[int, str], values: Any) -> None: ...
    # Arrays of NumPy where NumPy is installed, else tensors; both belong to the caller.
    def run(self, *inputs: Any, **named: Any) -> List[Any]: ...
    def __call__(self, *inputs: Any, **named: Any) -> List[Any]: ...
    def run_views(self, *inputs: Any, **named: Any) -> List[Tensor]: ...
    def profile(self, *inputs: Any, **named: Any) -> List[Step]: ...
    def steps(self) -> List[Step]: ...
    def layers(self) -> List[Layer]: ...
    def start(self, *inputs: Any, **named: Any) -> None: ...
    def wait(self, timeout: Optional[float] = ...) -> Optional[List[Any]]: ...
    def cancel(self) -> None: ...
    def interrupt(self) -> None: ...
    def fileno(self) -> int: ...
    async def run_async(self, *inputs: Any, **named: Any) -> List[Any]: ...
    def close(self) -> None: ...
    def __enter__(self) -> "Model": ...
    def __exit__(self, *_: Any) -> None: ...

class Generator:
    def __init__(
        self,
        path: _Path,
        tokenizer: Optional[_Path] = ...,
        device: Optional[str] = ...,
        threads: int = ...,
        timeout: float = ...,
    ) -> None: ...
    @property
    def vocabulary(self) -> int: ...
    @property
    def context(self) -> int: ...
    def encode(self, text: str, begin: bool = ...) -> List[int]: ...
    def decode(self, tokens: Sequence[int]) -> str: ...
    def generate(
        self,
        prompt: Union[str, Sequence[int]],
        max_tokens: int = ...,
        temperature: float = ...,
        top_k: int = ...,
        top_p: float = ...,
        seed: int = ...,
        ignore_end: bool = ...,
    ) -> Iterator[Tuple[Optional[int], str]]: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> "Generator": ...
    def __exit__(self, *_: Any) -> None: ...

def generate(
    model: _Path,
    prompt: Union[str, Sequence[int]],
    tokenizer: Optional[_Path] = ...,
    device: Optional[str] = ...,
    threads: int = ...,
    **how: Any,
) -> Iterator[str]: ...

class Argument:
    name: str
    type: str
    shape: List[int]

class InferenceSession:
    model: Model
    def __init__(
        self,
        path: _Path,
        *,
        device: Union[_Path, Device, None] = ...,
        threads: int = ...,
        timeout: float = ...,
        priority: int = ...,
        progress: Optional[Callable[[str], Any]] = ...,
    ) -> None: ...
    def get_inputs(self) -> List[Argument]: ...
    def get_outputs(self) -> List[Argument]: ...
    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any]) -> List[Any]: ...
