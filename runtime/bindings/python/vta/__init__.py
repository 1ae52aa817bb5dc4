# SPDX-License-Identifier: Apache-2.0
"""Compiled models on the accelerator, from Python.

    import vta
    with vta.Model("model.so", device="ssh://pynq") as model:
        print(model.inputs, model.outputs)
        scores = model.run(pixels)[0]          # anything with the buffer protocol or DLPack
        print(scores.tolist(), model.cycles)
        for step in model.profile():
            print(step.name, step.cycles)
        scores = (await model.run_async(pixels))[0]

`run` returns arrays that belong to the caller: NumPy's where NumPy is installed, else copies of the tensors. `run_views`
copies nothing: it returns the model's own tensors, which the next run writes over. Such a tensor is a view of memory that
stays valid whatever becomes of the model: `tensor.data` is a memoryview, `numpy.asarray(tensor)` and
`torch.from_dlpack(tensor)` copy nothing. A model is used by one thread at a time; models on one `vta.Device` share it in
turn. `InferenceSession` has the calls of ONNX Runtime's class of that name.
"""
import asyncio
import collections
import ctypes
import functools
import importlib
import math
import operator
import os
import reprlib

def _bring(names):
    """A wheel has the libraries beside the module, and a list of their names in the order in which they load; elsewhere the
    system has them."""
    folder = os.path.dirname(os.path.abspath(__file__))
    if os.path.exists(os.path.join(folder, names)):
        with open(os.path.join(folder, names), encoding="ascii") as file:
            for name in file.read().split():
                ctypes.CDLL(os.path.join(folder, name))


_bring("libraries.txt")

from . import _vta  # noqa: E402
from ._compiler import compile, quantize, tune, verify, vtac

__version__ = _vta.version()


class Error(RuntimeError):
    """What the library refused or could not do. `code` is its status."""

    code = 0

    @property
    def status(self):
        """The status in words, "no such device"."""
        return _vta.status(self.code)


class InvalidError(Error, ValueError):
    """An argument, a file or a program that makes no sense."""


class DeviceError(Error, OSError):
    """A device or a file that is not there, or is lost."""

    __init__ = RuntimeError.__init__
    __str__ = RuntimeError.__str__


class OutOfMemory(Error, MemoryError):
    """There is no memory for it."""


class TimeoutExpired(Error, TimeoutError):
    """A launch took longer than `timeout`."""

    __init__ = RuntimeError.__init__
    __str__ = RuntimeError.__str__


class Interrupted(Error):
    """`cancel` or `interrupt` ended the run."""


def _classes():
    rows = {"out of memory": OutOfMemory, "input/output error": DeviceError, "invalid argument": InvalidError,
            "malformed input": InvalidError, "value out of range": InvalidError, "illegal program": InvalidError,
            "illegal instruction": InvalidError, "timeout": TimeoutExpired, "no such device": DeviceError,
            "device busy": DeviceError, "interrupted": Interrupted}
    for code in range(1, 64):
        name = _vta.status(code)
        if name == "unknown status":
            break
        _vta.errors[code] = rows.get(name, Error)


_classes()


def _error(code, text):
    """The exception of a status, with its sentence."""
    error = _vta.errors.get(code, Error)(text or _vta.status(code))
    error.code = code
    return error


_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
_FORMATS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
            "uint64": "Q", "float16": "e", "float32": "f", "float64": "d", "bool8": "?", "bfloat16": "H"}

_NUMPY_TYPES = set(_FORMATS) - {"bfloat16"}

Step = collections.namedtuple("Step", "name op on_accelerator seconds cycles predicted flops")
Step.__doc__ = "What a step of the last run took; seconds are of profiled runs."

Layer = collections.namedtuple("Layer", "name op schedule bound step macs bytes_read bytes_written predicted cycles split")
Layer.__doc__ = """A layer of an accelerator step in the last run: as the compiler planned it, and where the device tells (tsim, systemc)
its cycles, whole and by what they were for. The last of each step has no operator: what belongs to no layer."""


class _OtherShape(ValueError):
    """Values of another shape than a tensor has."""

    def __init__(self, tensor, shape):
        self.shape = tuple(shape)
        super().__init__("'%s' has shape %s, not %s" % (tensor.name, tensor.shape, self.shape))


class Tensor:
    """An input or an output: what it is, and a view of its memory."""

    def __init__(self, row, array, offset=0):
        self.name, self._code, self._bits, self.shape, self.nbytes = row
        self.dtype = _KINDS.get(self._code, "type%d_" % self._code) + str(self._bits)
        self._array, self._offset = array, offset
        plain = memoryview(array)[offset : offset + self.nbytes]
        form = _FORMATS.get(self.dtype, "B")
        whole = self.nbytes > 0 and self.dtype in _FORMATS
        self.data = plain.cast(form, self.shape) if whole and self.shape else plain.cast(form) if whole else plain

    @property
    def address(self):
        return _vta.address(self._array) + self._offset

    @property
    def __array_interface__(self):
        kind = {0: "i", 1: "u", 2: "f", 6: "b"}.get(self._code, "V")
        return {"version": 3, "shape": self.shape, "data": (self.address, False),
                "typestr": ("<" if self._bits > 8 else "|") + kind + str((self._bits + 7) // 8)}

    def __dlpack__(self, stream=None, **_):
        return _vta.dlpack(self.address, self._code, self._bits, self.shape, self.data)

    def __dlpack_device__(self):
        return (1, 0)

    def __len__(self):
        return self.shape[0] if self.shape else 1

    def __getitem__(self, key):
        """The number at an index of each axis; with fewer indices, a view of what lies there. NumPy's arrays
        (`numpy.asarray(tensor)`) take slices, too."""
        key = tuple(map(operator.index, key if isinstance(key, tuple) else (key,)))
        if len(key) > len(self.shape):
            raise IndexError("'%s' has %d axes, not %d" % (self.name, len(self.shape), len(key)))
        key = tuple(range(size)[at] for at, size in zip(key, self.shape))
        if len(key) == len(self.shape):
            return self.data[key or 0]
        place, rest = 0, self.shape[len(key) :]
        for at, size in zip(key, self.shape):
            place = place * size + at
        nbytes = math.prod(rest) * (self._bits + 7) // 8
        return Tensor((self.name, self._code, self._bits, rest, nbytes), self._array, self._offset + place * nbytes)

    def __iter__(self):
        return (self[at] for at in range(len(self))) if self.shape else iter(())

    def tolist(self):
        if self.nbytes > 0 or not self.shape:
            return self.data.tolist()[0] if not self.shape and self.dtype in _FORMATS else self.data.tolist()
        rows = []  # no element: as many empty lists as the axes before the first 0 ask for
        for size in reversed(self.shape[: self.shape.index(0)]):
            rows = [rows] * size
        return rows

    def tobytes(self):
        return self.data.tobytes()

    def copy(self):
        """The same in memory of its own, which the next run leaves alone."""
        row = (self.name, self._code, self._bits, self.shape, self.nbytes)
        return Tensor(row, bytearray(self.data.cast("B") if self.nbytes else 1))

    def set(self, values):
        """Copies values of the same type and shape, or plain bytes, out of a buffer, a DLPack tensor or lists of numbers; a
        number, where the tensor is one."""
        if isinstance(values, (list, tuple)):
            shape = _shape_of(values)
            if shape != self.shape:
                raise _OtherShape(self, shape)
            _fill(self.data, values, self.shape)
        elif isinstance(values, (int, float)):
            if self.shape:
                raise _OtherShape(self, ())
            self.data[0] = values
        elif not _is_buffer(values) and hasattr(values, "__dlpack__"):
            address, size, code, bits, shape, owner = _vta.take(values.__dlpack__())
            self._check(_KINDS.get(code, "?") + str(bits), shape)
            ctypes.memmove(self.address, address, size)
            del owner  # not before
        else:
            view = self._view(values)
            plain = view.c_contiguous and len(view.format) == 1 and 0 not in view.shape
            whole = memoryview(self._array)[self._offset : self._offset + view.nbytes]
            whole[:] = view.cast("B") if plain else view.tobytes()

    def _view(self, values):
        """Somebody's buffer, of this type and shape, or plain bytes of this size."""
        try:
            view = memoryview(values)
        except TypeError:
            raise TypeError("'%s' takes a buffer, a DLPack tensor or lists of numbers, not %s of type %s"
                            % (self.name, reprlib.repr(values), type(values).__name__)) from None
        if view.format not in ("B", "c") or view.shape == self.shape:
            form = view.format.lstrip("@=<") or "B"
            form = {"l": "q", "L": "Q"}.get(form, form) if view.itemsize == 8 else form
            named = next((name for name, f in _FORMATS.items() if f == form and name != "bfloat16"), None)
            if form[0] in ">!" and view.itemsize > 1:
                raise TypeError("'%s' takes numbers in the byte order of this machine, not big-endian ones ('%s')"
                                % (self.name, view.format))
            if self.dtype == "bfloat16" and named in ("uint16", "float16"):
                named = self.dtype
            self._check(named or "format '%s'" % view.format, view.shape)
        elif view.nbytes != self.nbytes:
            raise ValueError("'%s' has %d bytes, not %d" % (self.name, self.nbytes, view.nbytes))
        return view

    def _check(self, dtype, shape):
        bools = {"bool8": "uint8"}
        if bools.get(dtype, dtype) != bools.get(self.dtype, self.dtype):
            raise TypeError("'%s' is of %s, not %s" % (self.name, self.dtype, dtype))
        if tuple(shape) != self.shape:
            raise _OtherShape(self, shape)

    def __repr__(self):
        return "%s: %s%s" % (self.name, self.dtype, list(self.shape))


@functools.lru_cache(None)
def _numpy():
    """NumPy, or None where it is not installed."""
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None


def _owned(tensor):
    """A copy for the caller: NumPy's array where NumPy is installed and has the type, else a tensor."""
    numpy = _numpy()
    return tensor.copy() if numpy is None or tensor.dtype not in _NUMPY_TYPES else numpy.array(tensor)


def _is_buffer(values):
    try:
        memoryview(values).release()
        return True
    except TypeError:
        return False


def _shape_of(values):
    """The shape of lists of lists, each of the same length."""
    if not isinstance(values, (list, tuple)):
        return ()
    inner = _shape_of(values[0]) if values else ()
    if any(_shape_of(value) != inner for value in values[1:]):
        raise ValueError("lists side by side have different lengths; all rows of a tensor are as long")
    return (len(values),) + inner


def _fill(view, values, shape, at=()):
    for i, value in enumerate(values):
        if len(shape) == 1:
            view[at + (i,) if at else i] = value
        else:
            _fill(view, value, shape[1:], at + (i,))


class Device:
    """An open device, which several models share. `config` names a configuration ("pynq", or a JSON file)."""

    def __init__(self, uri, config=None):
        self._device = _vta.Device(uri, config)

    @property
    def uri(self):
        return self._device.uri

    @property
    def config(self):
        return self._device.config

    def close(self):
        self._device.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Model:
    """A compiled model. `device` is a URI or a `Device`; `progress` is called with lines while there is something to
    wait for, and what it raises comes out here."""

    def __init__(self, path, device=None, threads=0, timeout=0.0, priority=0, progress=None):
        shared = device._device if isinstance(device, Device) else device
        self._model = _vta.Model(os.fspath(path), shared, threads, timeout, priority, progress)
        self.inputs = [self._place(True, i, row) for i, row in enumerate(self._model.tensors(True))]
        self.outputs = [self._place(False, i, row) for i, row in enumerate(self._model.tensors(False))]
        self._open = any(0 in tensor.shape for tensor in self.inputs + self.outputs)
        self._bound = {}  # outputs that runs write into the program's memory: number → what was bound

    def _place(self, inputs, index, row):
        tensor = Tensor(row, bytearray(row[4] or 1))
        if tensor.nbytes:
            self._model.bind(inputs, index, tensor.address, tensor.nbytes, tensor.data)
        return tensor

    def _copies(self):
        """The outputs as the caller's own: arrays, and where one was bound, what was bound."""
        tensors = self._ended()
        return [self._bound[index] if index in self._bound else _owned(tensor) for index, tensor in enumerate(tensors)]

    def _ended(self):
        """The outputs, those whose size the run has decided anew."""
        if self._open:
            for index, row in enumerate(self._model.tensors(False)):
                array = self._model.fetch(index, self.outputs[index].address)
                if array is not None:
                    self.outputs[index] = Tensor(row, array or bytearray(1))
        return self.outputs

    @property
    def name(self):
        return self._model.name

    @property
    def device(self):
        """The URI of the device of its accelerator steps; "" where it has none."""
        return self._model.device

    @property
    def cycles(self):
        """Of the accelerator, in the last run; 0 where its device has no clock."""
        return self._model.cycles

    def _tensor(self, tensors, key):
        if isinstance(key, str):
            for index, tensor in enumerate(tensors):
                if tensor.name == key:
                    return index
            raise KeyError("the model has no '%s'; it has %s" % (key, ", ".join(t.name for t in tensors)))
        return range(len(tensors))[operator.index(key)]

    def set(self, key, values):
        """Copies an input, by number or name. Where the model leaves its size open, it takes that of the values."""
        index = self._tensor(self.inputs, key)
        self._model.idle()
        try:
            self.inputs[index].set(values)
        except _OtherShape as error:
            self._reshape(index, error.shape, "%s: " % error)
            self.inputs[index].set(values)
        self._bind(True, index, None)

    def set_shape(self, key, shape):
        """Gives an input another size, where the model was compiled for more than one (`vtac compile --dynamic`); there are
        zeros in it then, in a new tensor."""
        self._reshape(self._tensor(self.inputs, key), tuple(map(operator.index, shape)), "")

    def _reshape(self, index, shape, before):
        try:
            self._model.reshape(index, shape)
        except InvalidError as error:
            refused = InvalidError(before + str(error))
            refused.code = error.code
            raise refused from None
        self._open = True
        self.inputs[index] = self._place(True, index, self._model.tensors(True)[index])

    def get(self, key=0):
        """An output, by number or name; the next run writes over it (`copy` keeps it)."""
        return self.outputs[self._tensor(self.outputs, key)]

    def bind_input(self, key, values):
        """Runs read `values`, a DLPack tensor or a writable buffer, where it lies, until the next bind or set."""
        self._bind(True, self._tensor(self.inputs, key), values)

    def bind_output(self, key, values):
        """Runs write into `values`; None: into the model's own tensor again."""
        self._bind(False, self._tensor(self.outputs, key), values)

    def _bind(self, inputs, index, values):
        tensor = (self.inputs if inputs else self.outputs)[index]
        if values is None:
            if tensor.nbytes and not (self._open and not inputs):
                self._model.bind(inputs, index, tensor.address, tensor.nbytes, tensor.data)
        elif hasattr(values, "__dlpack__"):
            address, size, code, bits, shape, owner = _vta.take(values.__dlpack__())
            tensor._check(_KINDS.get(code, "?") + str(bits), shape)
            self._model.bind(inputs, index, address, size, (owner, values))
        else:
            view = tensor._view(values)
            if view.readonly or not view.c_contiguous:
                raise BufferError("only writable memory without gaps can be bound; `set` copies all others")
            held = (ctypes.c_char * view.nbytes).from_buffer(view)
            self._model.bind(inputs, index, ctypes.addressof(held), view.nbytes, (held, view))
        if not inputs:
            self._bound.pop(index, None)
            if values is not None:
                self._bound[index] = values

    def _set_all(self, values, named):
        if len(values) > len(self.inputs):
            raise TypeError("%d inputs are given; the model has %d" % (len(values), len(self.inputs)))
        for index, value in enumerate(values):
            self.set(index, value)
        for key, value in named.items():
            self.set(key, value)

    def run(self, *inputs, **named):
        """One inference; inputs that are not given stay. Returns the outputs: arrays that belong to the caller."""
        self._set_all(inputs, named)
        self._model.run(False)
        return self._copies()

    def run_views(self, *inputs, **named):
        """`run` without a copy: returns the model's own tensors, which the next run writes over."""
        self._set_all(inputs, named)
        self._model.run(False)
        return self._ended()

    __call__ = run

    def profile(self, *inputs, **named):
        """The same with a clock round each step; returns the steps."""
        self._set_all(inputs, named)
        self._model.run(True)
        self._ended()
        return self.steps()

    def steps(self):
        """What the last run left: cycles always, seconds from profiled runs alone."""
        return [Step(*row) for row in self._model.steps()]

    def layers(self):
        """The layers of the accelerator's steps; their cycles sum to those of the steps where the device tells."""
        return [Layer(*row) for row in self._model.layers()]

    def start(self, *inputs, **named):
        """Begins an inference and returns; `wait` ends it."""
        self._set_all(inputs, named)
        self._model.start()

    def wait(self, timeout=None):
        """The outputs of what was started, as `run` returns them; None: it goes on after `timeout` seconds."""
        return self._copies() if self._model.wait(-1.0 if timeout is None else timeout) else None

    def cancel(self):
        """Ends what was started, soon; it is still to be waited for."""
        self._model.cancel()

    def interrupt(self):
        """Ends the run that another thread is in, or the next one."""
        self._model.interrupt()

    def fileno(self):
        """Readable once what was started is over."""
        return self._model.fileno()

    async def run_async(self, *inputs, **named):
        """`run` for event loops: others go on meanwhile. Cancelling the task ends the inference."""
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        descriptor = self.fileno()
        self.start(*inputs, **named)
        try:
            loop.add_reader(descriptor, lambda: over.done() or over.set_result(None))
            await over
        except BaseException:  # what was started is to be waited for, even where it was over already
            self._model.cancel()
            try:
                self._model.wait(-1.0)
            except Error:
                pass
            raise
        finally:
            loop.remove_reader(descriptor)
        self._model.wait(-1.0)
        return self._copies()

    def close(self):
        """Frees the model; its tensors stay. Needless after `with`."""
        self._model.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        if self._model.closed:
            return "<vta.Model, closed>"
        return "<vta.Model '%s' on '%s': %s -> %s>" % (self.name, self.device, self.inputs, self.outputs)

class Generator:
    """A compiled language model that speaks. `tokenizer` is a tokenizer.json, by default the one beside the model, if there
    is one; without a tokenizer prompts are lists of tokens, and all texts are empty.

        with vta.Generator("model.so") as generator:
            for token, text in generator.generate("Once upon a time", max_tokens=100, temperature=0.8):
                print(text, end="", flush=True)

    One thread uses a generator at a time; `cancel` may be called from any."""

    def __init__(self, path, tokenizer=None, device=None, threads=0, timeout=0.0):
        if _vta.Speaker is None:
            raise InvalidError("this build of the module, a board's, has no loop over a language model; use a Model, or vta-run")
        path = os.fspath(path)
        if tokenizer is None:
            beside = os.path.join(os.path.dirname(path), "tokenizer.json")
            tokenizer = beside if os.path.exists(beside) else None
        names = [None if name is None else os.fsencode(name) for name in (path, tokenizer, device)]
        self._speaker = _vta.Speaker(*names, threads, timeout)
        self._turn = 0

    @property
    def vocabulary(self):
        """The number of tokens among which the model chooses; 0: only its first run tells."""
        return self._speaker.sizes()[0]

    @property
    def context(self):
        """The number of tokens that the model takes at most; 0: any."""
        return self._speaker.sizes()[1]

    def encode(self, text, begin=True):
        """The tokens of a text, with those that the tokenizer puts in front of each."""
        return self._speaker.encode(text.encode(), begin)

    def decode(self, tokens):
        return self._speaker.decode([operator.index(token) for token in tokens])

    def generate(self, prompt, max_tokens=0, temperature=0.0, top_k=0, top_p=0.0, seed=1, ignore_end=False):
        """An iterator of (token, text) behind a prompt, a text or tokens. Text comes as its characters become whole: what is
        left at the end has the token None. max_tokens 0: until the model ends its text. A later call ends an earlier one."""
        tokens = self.encode(prompt) if isinstance(prompt, str) else [operator.index(token) for token in prompt]
        self._speaker.begin(tokens, max_tokens, temperature, top_k, top_p, seed, ignore_end)
        self._turn += 1
        return self._tokens(self._turn)

    def _tokens(self, turn):
        token = 0
        while token is not None:
            if turn != self._turn:
                raise InvalidError("another generation has begun since")
            token, text = self._speaker.next()
            if token is not None or text:
                yield token, text

    def cancel(self):
        """Makes the token in work, or the next one, raise Interrupted."""
        self._speaker.cancel()

    def close(self):
        self._speaker.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def generate(model, prompt, tokenizer=None, device=None, threads=0, **how):
    """The text of `Generator.generate` behind a prompt, piece by piece; `model` is a compiled language model's path."""
    with Generator(model, tokenizer, device, threads) as generator:
        for _, text in generator.generate(prompt, **how):
            if text:
                yield text


class Argument:
    """An input or an output as ONNX Runtime describes one."""

    def __init__(self, tensor):
        names = {"float32": "float", "float64": "double", "bool8": "bool"}
        self.name, self.shape = tensor.name, list(tensor.shape)
        self.type = "tensor(%s)" % names.get(tensor.dtype, tensor.dtype)

    def __repr__(self):
        return "Argument(name=%r, type=%r, shape=%r)" % (self.name, self.type, self.shape)


class InferenceSession:
    """The calls of ONNX Runtime's class of this name, for programs that have them already. `path` is a compiled model;
    options are those of `Model`. `model` is the `Model` behind it."""

    def __init__(self, path, **options):
        self.model = Model(path, **options)

    def get_inputs(self):
        return [Argument(tensor) for tensor in self.model.inputs]

    def get_outputs(self):
        return [Argument(tensor) for tensor in self.model.outputs]

    def run(self, output_names, input_feed):
        """The outputs of these names (None: all), from a dictionary of all inputs."""
        known = [tensor.name for tensor in self.model.inputs]
        missing = [name for name in known if name not in input_feed]
        if missing:
            raise ValueError("input '%s' is not given" % missing[0])
        wanted = [self.model._tensor(self.model.outputs, name) for name in output_names or range(len(self.model.outputs))]
        outputs = self.model.run(**input_feed)
        return [outputs[index] for index in wanted]
