# SPDX-License-Identifier: Apache-2.0
"""The compiler, as functions: `vtac` of the same release does the work, in a process of its own, so that LLVM and its memory
stay out of the interpreter. It is found in the environment's VTAC, beside this module's prefix, or in the PATH."""
import json as _json
import os
import shutil
import subprocess


def _program():
    beside = os.path.join(os.path.dirname(__file__), *[os.pardir] * 4, "bin", "vtac")
    for path in (os.environ.get("VTAC"), beside, shutil.which("vtac")):
        if path and os.access(path, os.X_OK):
            return path
    from . import DeviceError

    raise DeviceError("there is no 'vtac': install the package vtac, or set VTAC to the program")


def _words(options):
    for name, value in options.items():
        word = "-" + name if len(name) == 1 else "--" + name.replace("_", "-")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is True:
                yield word
            elif item is not None and item is not False:
                yield word
                yield os.fspath(item) if isinstance(item, os.PathLike) else str(item)


def vtac(verb, *operands, **options):
    """A verb of vtac, with its options by name (`o="m.so"`, `per_tensor=True`, `shape=["x=1x3", "y=2"]`). Returns what it
    prints: as Python's objects where `json=True` is among them, else as text. What it refuses is raised."""
    words = [_program(), verb, *map(os.fspath, operands), *_words(options)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode == 130 or done.returncode < 0:
        raise KeyboardInterrupt
    if done.returncode != 0:
        from . import Error, InvalidError

        said = (done.stderr or done.stdout).strip()
        said = said[len("vtac ") :].split(": ", 1)[-1] if said.startswith("vtac " + verb + ": ") else said
        raise (InvalidError if done.returncode == 2 else Error)(said)
    return _json.loads(done.stdout) if options.get("json") else done.stdout


def compile(model, output=None, *, target="llvm", **options):
    """Compiles a model (ONNX, TensorFlow Lite, Keras, Darknet) to one that `Model` loads, here `output` or MODEL.so. Options are
    those of `vtac compile`: `target="vta"`, `config="pynq"`, `host="pynq"`, `calib=…`. Returns the summary; its "file" is the
    path."""
    return vtac("compile", model, o=output, target=target, json=True, **options)


def quantize(model, output=None, **options):
    """Makes an 8-bit model of a float one, by the inputs in `calib`; options are those of `vtac quantize`. Returns the summary."""
    return vtac("quantize", model, o=output, json=True, **options)


def verify(*folders, **options):
    """Runs ONNX test-case folders and compares; options are those of `vtac verify`. Returns its report."""
    return vtac("verify", *folders, json=True, **options)


def tune(model, log="tune.jsonl", **options):
    """Searches better schedules, which `compile(..., tuned=log)` uses; a log that is there is gone on from. Options are those of
    `vtac tune`: `target="vta"`, `trials=…`, `budget=…`. Returns the log's records, each a dictionary."""
    vtac("tune", model, log=log, **options)
    with open(log, encoding="utf-8") as file:
        lines = file.read().splitlines()
    records = []
    for line in lines:
        try:
            records.append(_json.loads(line))
        except ValueError:  # cut by the end of an earlier search
            pass
    return records
