# SPDX-License-Identifier: Apache-2.0
"""The compiler, as functions: libvtac of the same release does the work, in this process, with the interpreter's lock
released. It is loaded when it is first asked, from the environment's VTAC_LIBRARY, from this module's prefix, or from where
the system has libraries."""
import ctypes
import glob
import json as _json
import os
import sys

_SAY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
_AT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint, ctypes.c_uint)


class _Options(ctypes.Structure):  # libvtac_options
    _fields_ = [("size", ctypes.c_size_t)]
    _fields_ += [(name, ctypes.c_char_p) for name in "output target config host device calib preprocess tuned log".split()]
    _fields_ += [("more", ctypes.POINTER(ctypes.c_char_p)), ("say", _SAY), ("at", _AT), ("context", ctypes.c_void_p)]


_loaded = None


def _library():
    global _loaded
    if _loaded is None:
        folder = os.path.dirname(os.path.abspath(__file__))
        lib = os.path.join(folder, *[os.pardir] * 3)
        beside = glob.glob(os.path.join(glob.escape(folder), "libvtac.so.1")) or glob.glob(os.path.join(glob.escape(lib), "libvtac.so.1")) or glob.glob(os.path.join(glob.escape(lib), "*", "libvtac.so.1"))
        if os.path.exists(os.path.join(folder, "compiler.txt")):  # a wheel, which has a linker, too
            from . import _bring

            _bring("compiler.txt")
            os.environ["PATH"] = os.pathsep.join([os.path.join(folder, "bin"), os.environ.get("PATH", os.defpath)])
        try:
            library = ctypes.CDLL(os.environ.get("VTAC_LIBRARY") or (beside or ["libvtac.so.1"])[0])
        except OSError as error:
            from . import DeviceError

            raise DeviceError("the compiler cannot be loaded: install the package libvtac1, or set VTAC_LIBRARY to libvtac.so.1: %s" % error) from None
        library.libvtac_verb.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(_Options), ctypes.POINTER(ctypes.c_void_p)]
        library.libvtac_free.argtypes = [ctypes.c_void_p]
        library.libvtac_free.restype = None
        _loaded = library
    return _loaded


def _words(options):
    for name, value in options.items():
        word = "-" + name if len(name) == 1 else "--" + name.replace("_", "-")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is True:
                yield word
            elif item is not None and item is not False:
                yield word
                yield os.fspath(item) if isinstance(item, os.PathLike) else str(item)


def _array(words):
    encoded = [os.fsencode(word) for word in words]
    for word in encoded:
        if b"\0" in word:
            raise ValueError("embedded null byte in %r" % word)
    return (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)


def vtac(verb, *operands, progress=None, notes=None, **options):
    """A verb of vtac, with its options by name (`o="m.so"`, `per_tensor=True`, `shape=["x=1x3", "y=2"]`). Returns what it
    answers: as Python's objects where `json=True` is among them, else as text. What it refuses is raised. `progress(stage,
    item, done, total)` is called before each piece of work, `notes(line)` with what is said beside the answer; what they
    raise ends the work and comes out of the call, Ctrl-C too, and a `progress` that returns True ends it by `vta.Interrupted`."""
    library = _library()
    words = _array([verb, *_words(options), "--", *map(os.fspath, operands)])
    from . import _error, _vta

    at, say = _vta.compiler_calls()
    state = [progress, notes, None]
    how = _Options(size=ctypes.sizeof(_Options), say=_SAY(say), at=_AT(at), context=id(state))
    answer = ctypes.c_void_p()
    status = library.libvtac_verb(words, ctypes.byref(how), ctypes.byref(answer))
    text = os.fsdecode(ctypes.string_at(answer.value)) if answer.value else ""
    library.libvtac_free(answer)
    if state[2] is not None:
        raise state[2]
    if status != 0:
        raise _error(status, text)
    return _json.loads(text) if options.get("json") else text


def compile(model, output=None, *, target="llvm", **options):
    """Compiles a model of any kind that `vtac` reads to one that `Model` loads, here `output` or MODEL.so. Options are
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


def _program(name):
    """Becomes a program of a wheel, which finds its libraries and its linker beside itself."""
    folder = os.path.dirname(os.path.abspath(__file__))
    programs = os.path.join(folder, "bin")
    for variable, first, rest in (("LD_LIBRARY_PATH", folder, ""), ("PATH", programs, os.defpath)):
        os.environ[variable] = os.pathsep.join(w for w in (first, os.environ.get(variable, rest)) if w)
    os.execv(os.path.join(programs, name), [name, *sys.argv[1:]])


def main():
    _program("vtac")


def vta_run():
    _program("vta-run")


def vtac_agent():
    _program("vtac-agent")


def vta_mem():
    _program("vta-mem")
