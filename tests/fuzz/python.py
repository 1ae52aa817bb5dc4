#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Python module with any arguments: whatever a call is given, it returns or raises, and the interpreter lives on. A child does
the calls, and tells each before it makes it, so that one which ends the child is known; what the model computes afterwards is
what it computed before.

usage: python.py LIB VTAC [--calls N]      LIB: the folder of _vta.abi3.so
"""
import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime", "bindings", "python", "vta")


class Odd:
    """An object whose methods that the module may call give what they should not."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value

    def __fspath__(self):
        return self.value

    def __len__(self):
        return self.value if isinstance(self.value, int) else 3

    def __getitem__(self, at):
        if isinstance(at, int) and at > 3:
            raise IndexError
        return self.value

    def __dlpack__(self, **_):
        return self.value

    def __repr__(self):
        return "Odd(%r)" % (self.value,)


def values(draw, depth=0):
    """Any object, more often one that nearly fits."""
    numbers = [0, 1, -1, 2, 3, 255, 256, 2 ** 31 - 1, 2 ** 31, -2 ** 31, 2 ** 32, 2 ** 62, 2 ** 63 - 1, 2 ** 63, -2 ** 63, 2 ** 64, 10 ** 30]
    kinds = [lambda: draw.choice(numbers), lambda: draw.choice([0.0, -1.5, float("nan"), float("inf"), 1e300]), lambda: None,
             lambda: draw.choice(["", "x", "fsim", "a\0b", "\udcff", "\u202e", "n" * 5000, "fsim:tiny", "fsim?check=1&check=0", "tsim?seed="]),
             lambda: draw.choice([b"", b"abc", bytearray(7), memoryview(b"abcd"), memoryview(bytearray(24)).cast("f"),
                                  memoryview(bytearray(64))[::2], memoryview(bytearray(24)).cast("B", (2, 3, 4))]),
             lambda: draw.choice([True, False, Ellipsis, object(), type, len, 3j])]
    if depth < 3:
        kinds += [lambda: [values(draw, depth + 1) for _ in range(draw.randrange(5))],
                  lambda: tuple(values(draw, depth + 1) for _ in range(draw.randrange(5))),
                  lambda: {"x": values(draw, depth + 1)}, lambda: Odd(values(draw, depth + 1)),
                  lambda: [0.5] * draw.choice([1, 2, 640, 10000])]
    return draw.choice(kinds)()


def fitting(draw, tensor):
    """A buffer as large as a tensor, or nearly, of its kind of numbers or another."""
    size = max(0, tensor.nbytes + draw.choice([0, 0, 0, 1, -1, 4, -4]))
    data = bytearray(draw.randbytes(size))
    return draw.choice([data, bytes(data), memoryview(data), tensor, Odd(data)])


def calls(vta, draw, models, path):
    """One random call as text and function."""
    model = draw.choice(models)
    anything = [values(draw) for _ in range(draw.randrange(4))]
    key = draw.choice([0, 0, 0, tensor_name(model), values(draw)])
    fits = fitting(draw, draw.choice(model.inputs + model.outputs))
    tensor = draw.choice(model.inputs + model.outputs)
    return draw.choice([
        ("Model", lambda: vta.Model(draw.choice([path, path, values(draw)]), *anything)),
        ("Model named", lambda: vta.Model(path, **{draw.choice(["device", "threads", "timeout", "priority", "progress"]): values(draw)})),
        ("Device", lambda: vta.Device(*anything)),
        ("set", lambda: model.set(key, draw.choice([fits, values(draw)]))),
        ("set_shape", lambda: model.set_shape(key, values(draw))),
        ("get", lambda: model.get(values(draw))),
        ("bind_input", lambda: model.bind_input(key, draw.choice([fits, values(draw)]))),
        ("bind_output", lambda: model.bind_output(key, draw.choice([fits, values(draw)]))),
        ("run", lambda: model.run(*draw.choice([anything, [fits], []]))),
        ("run_views", lambda: model.run_views()),
        ("profile", lambda: model.profile(*draw.choice([anything, []]))),
        ("start", lambda: model.start(*draw.choice([anything, [fits], []]))),
        ("wait", lambda: model.wait(draw.choice([None, 0, 0.01, -1, float("nan")]))),
        ("cancel", model.cancel), ("interrupt", model.interrupt), ("fileno", model.fileno), ("layers", model.layers), ("steps", model.steps),
        ("tensor", lambda: tensor[values(draw)]), ("tensor.set", lambda: tensor.set(draw.choice([fits, values(draw)]))),
        ("tensor.copy", tensor.copy), ("repr", lambda: repr(model)), ("dlpack", lambda: tensor.__dlpack__(stream=values(draw))),
        ("session", lambda: vta.InferenceSession(path).run(values(draw), {draw.choice(["x", tensor_name(model)]): values(draw)})),
    ])


def tensor_name(model):
    return model.inputs[0].name if model.inputs else "x"


def numbers_of(vta, path):
    """What a model computes of numbers that are written into it."""
    with vta.Model(path) as model:
        for tensor in model.inputs:
            view = memoryview(tensor.data).cast("B")
            view[:] = bytes((i * 31 + 7) % 256 for i in range(len(view)))
        return hashlib.sha256(b"".join(tensor.tobytes() for tensor in model.run_views())).hexdigest()


def make_model(vtac, folder, name, target, *options):
    onnx, path = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + ".so")
    for words in (["zoo", name, *options, "-o", onnx], ["compile", onnx, "--target", target, "-O", "1", "-o", path]):
        subprocess.run([vtac, *words], check=True, stdout=subprocess.DEVNULL)
    return path


def child(paths, count, seed):
    import vta

    draw = random.Random(seed)
    before = [numbers_of(vta, path) for path in paths]
    models = [vta.Model(path) for path in paths]
    raised = 0
    for at in range(count):
        path = draw.choice(paths)
        name, call = calls(vta, draw, models, path)
        os.write(1, b"%d %s\n" % (at, name.encode()))
        try:
            call()
        except BaseException as error:  # noqa: B902: any will do; a crash is none
            raised += 1
            text = str(error)
            assert not isinstance(error, SystemError), (name, error)
            assert len(text) < 20000, (name, len(text))
    assert [numbers_of(vta, path) for path in paths] == before, "other numbers than before"
    os.write(1, b"done %d raised\n" % raised)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.rsplit("usage: ", 1)[1])
    parser.add_argument("lib")
    parser.add_argument("vtac")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--child")
    args = parser.parse_args()
    if args.child:
        return child(args.models, args.calls, args.child)
    seed = os.environ.get("VTAC_SEED", "0") + " fuzz_python"
    print("seed '%s'" % seed)
    with tempfile.TemporaryDirectory() as top:
        os.mkdir(os.path.join(top, "vta"))
        for name in os.listdir(SOURCE):
            os.symlink(os.path.abspath(os.path.join(SOURCE, name)), os.path.join(top, "vta", name))
        os.symlink(os.path.abspath(os.path.join(args.lib, "_vta.abi3.so")), os.path.join(top, "vta", "_vta.abi3.so"))
        models = [make_model(args.vtac, top, "tiny_ad", "vta", "--int8"), make_model(args.vtac, top, "tiny_kws", "llvm")]
        env = {**os.environ, "PYTHONPATH": top, "LD_LIBRARY_PATH": args.lib, "PYTHONDONTWRITEBYTECODE": "1"}
        words = [sys.executable, "-X", "faulthandler", os.path.abspath(__file__), args.lib, args.vtac, *models]
        done = subprocess.Popen([*words, "--calls", str(args.calls), "--child", seed], env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = done.communicate(timeout=args.seconds)
        except subprocess.TimeoutExpired:  # each thread says where it is
            done.send_signal(signal.SIGABRT)
            out, err = done.communicate()
    said = out.decode().splitlines()
    if done.returncode != 0 or not said or not said[-1].startswith("done"):
        how = signal.Signals(-done.returncode).name if done.returncode < 0 else "status %d" % done.returncode
        print("%s at call %s\n%s" % (how, said[-1] if said else "none", err.decode("utf-8", "replace")[-3000:]))
        return 1
    print("%d calls, %s" % (args.calls, said[-1]))
    return 0


sys.exit(main())
