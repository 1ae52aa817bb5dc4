#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# PyTorch's files: programs of torch.export in three layouts, the statements of TorchScript, what is refused and by which line,
# damage. Files are written here; pickles that would run a program if Python read them must not.
#
# usage: torch_files.py VTAC   (exit status 77: no numpy)
import os
import random
import struct
import subprocess
import sys
import tempfile

import word_seed
from torch_file import Name, Object, Pickler, archive, exported, forward, node, program, saved, script

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)


class Trial:
    def __init__(self, vtac, work):
        self.vtac, self.work, self.count = vtac, work, 0

    def vtac_of(self, *args):
        done = subprocess.run([self.vtac, *args], capture_output=True, text=True, timeout=100)
        self.count += 1
        if done.returncode not in (0, 1) or (done.returncode == 1 and [line.startswith("vtac: ") for line in done.stderr.splitlines()].count(True) != 1):
            sys.exit("%s: exit status %d\n%s" % (args, done.returncode, done.stderr))
        return done

    def written(self, data, name="net.pt"):
        path = os.path.join(self.work, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def shapes(self, inputs):
        return [a for n, x in inputs.items() for a in ("--shape", "%s=%s" % (n, "x".join(map(str, x.shape))))]

    def outputs(self, data, inputs, names, shaped=True):
        path = self.written(data)
        done = self.vtac_of("compile", path, "-O", "1", "-o", os.path.join(self.work, "net.so"), *(self.shapes(inputs) if shaped else []))
        given = []
        for n, x in inputs.items():
            np.save(os.path.join(self.work, n + ".npy"), x)
            given += ["--input", "%s=%s" % (n, os.path.join(self.work, n + ".npy"))]
        if done.returncode == 0:
            done = self.vtac_of("run", os.path.join(self.work, "net.so"), "--output-dir", self.work, *given)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return [np.load(os.path.join(self.work, n + ".npy")) for n in names]

    def check(self, data, inputs, wanted, shaped=True):
        """wanted: numpy by the names of the outputs"""
        for (name, want), got in zip(wanted.items(), self.outputs(data, inputs, wanted, shaped)):
            if got.shape != np.shape(want) or not np.abs(got - want).max() <= 1e-5 * max(1, np.abs(want).max()):
                sys.exit("output '%s' is\n%s\ninstead of\n%s" % (name, got, want))

    def refused(self, data, *phrases, shapes=("--shape", "x=2x3"), name="net.pt"):
        done = self.vtac_of("compile", self.written(data, name), "-o", os.path.join(self.work, "net.so"), *shapes)
        missing = [p for p in phrases if p not in done.stderr]
        if done.returncode != 1 or missing:
            sys.exit("expected %s:\n%s" % (missing, done.stderr))


def export_ends(t, rng):
    """Slices to the end, which is the largest integer, and a normalization by the batch's own mean, as torch.export takes instance
    normalization apart."""
    x, w = rng.uniform(-1, 1, (2, 4, 5, 3)).astype(np.float32), rng.uniform(0.5, 1.5, 4).astype(np.float32)
    last = (1 << 63) - 1
    nodes = [node("torch.ops.aten.slice.Tensor", ["a"], self="x", dim=0, start=0, end=last),
             node("torch.ops.aten.slice.Tensor", ["b"], self="a", dim=2, start=1, end=last, step=2),
             node("torch.ops.aten.slice.Tensor", ["y"], self="b", dim=3, start=-last - 1, end=-1),
             node("torch.ops.aten._native_batch_norm_legit.no_stats", ["n", "m0", "v0"], input="x", weight="p_w", bias=None, training=True, momentum=0.0, eps=1e-3)]
    mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    norm = (x - mean) / np.sqrt(variance + 1e-3) * w.reshape(-1, 1, 1)
    t.check(exported(program(nodes, {"x": x}, {"w": w}, ["y", "n"]), {"w": w}, "raw"), {"x": x}, {"y": x[:, :, 1::2, :-1], "n": norm}, shaped=False)


def export_layouts(t, rng):
    f = lambda *dims: rng.uniform(-1, 1, dims).astype(np.float32)
    x, w, b, k = f(2, 3, 8, 8), f(4, 3, 3, 3), f(4), f(5, 4)
    nodes = [node("torch.ops.aten.conv2d.default", ["c"], input="x", weight="p_c_weight", bias="p_c_bias", stride=[2, 2]),
             node("torch.ops.aten.relu_.default", ["r"], self="c"),
             node("torch.ops.aten.split.Tensor", [["s0", "s1"]], self="r", split_size=2, dim=1),
             node("torch.ops.aten.cat.default", ["d"], tensors=["s1", "s0"], dim=1),
             node("torch.ops.aten.mean.dim", ["m"], self="d", dim=[2, 3]),
             {"target": "torch.ops.aten.sym_size.int", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}}, {"name": "dim", "arg": {"as_int": 0}}],
              "outputs": [{"as_sym_int": {"as_name": "batch"}}], "metadata": {}},
             {"target": "_operator.mul", "inputs": [{"name": "a", "arg": {"as_sym_int": {"as_name": "batch"}}}, {"name": "b", "arg": {"as_int": 2}}],
              "outputs": [{"as_sym_int": {"as_name": "twice"}}], "metadata": {}},
             {"target": "torch.ops.aten.view.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "m"}}}, {"name": "size", "arg": {"as_sym_ints": [
                 {"as_name": "twice"}, {"as_int": 2}]}}], "outputs": [{"as_tensor": {"name": "v"}}], "metadata": {}},
             node("torch.ops.aten.to.dtype", ["h"], self="v", dtype={"as_scalar_type": 7}),
             node("torch.ops.aten.max.dim", ["top", "where"], self="h", dim=1),
             node("torch.ops.aten.linear.default", ["y"], input="m", weight="p_l_weight", bias=None)]
    want = np.stack([np.stack([(x[:, :, i:i + 3, j:j + 3].reshape(2, -1) @ w.reshape(4, -1).T) + b for j in (0, 2, 4)], -1) for i in (0, 2, 4)], -2)
    want = np.maximum(want, 0)[:, [2, 3, 0, 1]].mean((2, 3))
    wanted = {"y": want @ k.T, "top": want.reshape(4, 2).max(1)}
    weights = {"c.weight": w.transpose(1, 0, 2, 3).copy().transpose(1, 0, 2, 3), "c.bias": b, "l.weight": k}  # the first has strides of its own
    plain = {n: np.ascontiguousarray(a) for n, a in weights.items()}
    text = program(nodes, {"x": x}, weights, ["y", "top"], {("x", 0): "s0"})
    for layout in ("old", "file", "raw"):
        t.check(exported(program(nodes, {"x": x}, plain, ["y", "top"], {("x", 0): "s0"}) if layout == "raw" else text,
                         plain if layout == "raw" else weights, layout), {"x": x}, wanted, shaped=False)
    data = exported(text, weights, "old")
    t.check(data, {"x": x[:1]}, {"y": wanted["y"][:1]})
    t.refused(data, "input 'x' has 4 axes, given are 2")
    unknown = nodes[:1] + [node("torch.ops.aten.fft_fft.default", ["a"], self="c"), node("torch.ops.torchvision.nms.default", ["e"], self="c")]
    t.refused(exported(program(unknown, {"x": x}, weights, ["e"]), weights, "old"), "fft_fft, torchvision.nms", shapes=())
    t.refused(exported(text, {"c.weight": w}, "old"), "the weights have no 'c.bias'", shapes=())
    t.refused(exported(text[:-9], weights, "old"), "is no JSON", shapes=())
    strange = [node("torch.ops.aten.relu.default", ["y"], self="x", strange=1.5)]
    t.refused(exported(program(strange, {"x": x}, {}, ["y"]), {}, "file"), "the argument 'strange'", shapes=())
    t.refused(exported(program(strange[:0], {"x": x}, {}, ["y"]), {}, "raw"), "'y' is read and made by no node", shapes=())
    return data


def statements(t, rng):
    x = rng.uniform(-1, 1, (2, 3)).astype(np.float32)
    w = rng.uniform(-1, 1, (3, 3)).astype(np.float32)
    lines = ["a = (self.sub).forward(x, 2., )", "b, c, = (self.sub).pair(a)", "items = annotate(List[Tensor], [])", "n = 0", "going = True",
             "while going:", "  t = torch.mul(x, float(n))", "  _0 = torch.append(items, t)", "  m = torch.add(n, 1)", "  going, n = torch.lt(m, 3), m",
             "for i in range(torch.floordiv(torch.size(x, 1), 2)):", "  a = torch.add(a, torch.neg(-1.5))",
             "if torch.__is__(self.none, None):", "  if torch.eq(self.mode, \"same\"):", "    d = torch.add(b, 1)", "  else:", "    d = torch.fft_fft(b)",
             "else:", "  ops.prim.RaiseException(\"no\")", "  d = b", "f = __torch__.more.twice", "e = f(d, )", "e0 = torch.add_(e, CONSTANTS.c0)",
             "s = self.shapes", "g = torch.view(c, [s[0], torch.sub(s[-1], 1)])", "k : Tensor = torch.cat(items, 1)", "h = getattr(self, \"0\")"]
    code, root = forward(lines, "{\"a\": a, \"k\": k, \"e\": e, \"g\": g, \"h\": torch.add(h, x)}",
                         attributes={"sub": Object("__torch__.more.___torch_mangle_1.Sub", (w, 0.5)), "none": None, "mode": "same", "shapes": [3, 2, 3], "0": w[:2]})
    code["__torch__.more"] = "def twice(v: Tensor,\n    times: int=2) -> Tensor:\n  r = torch.mul(v, times)\n  return r\n"
    code["__torch__.more.___torch_mangle_1"] = """class Sub(Module):
  weight : Tensor
  def forward(self: __torch__.more.___torch_mangle_1.Sub,
    v: Tensor,
    scale: float=1.) -> Tensor:
    w = self.weight
    _0 = torch.mul(torch.matmul(v, w), scale)
    return torch.add(_0, self.more)
  def pair(self: __torch__.more.___torch_mangle_1.Sub,
    v: Tensor) -> Tuple[Tensor, Tensor]:
    return (torch.relu(v), torch.neg(v))
  def __setstate__(self: __torch__.more.___torch_mangle_1.Sub,
    state: Tuple[Tensor, float]) -> NoneType:
    self.weight = (state)[0]
    self.more = (state)[1]
    return None
"""
    first = x @ w * 2 + 0.5
    e = (np.maximum(first, 0) + 1) * 2 + 0.25
    for swapped in (False, True):
        t.check(script(code, root, [0.25], swapped=swapped), {"x": x}, {"a": first + 1.5, "e": e, "g": -first.reshape(3, 2), "h": w[:2] + x,
                                                                       "k": np.concatenate([x * 0, x, x * 2], 1)})


def views(t, rng):
    """What is changed in place through a view is refused where it is read, and nowhere else."""
    x = rng.uniform(-1, 1, (2, 3)).astype(np.float32)
    lines = ["y = torch.mul(x, 2)", "z = torch.view(y, [6])", "_0 = torch.relu_(z)"]
    t.check(script(*forward(lines, "z")), {"x": x}, {"output": np.maximum(x * 2, 0).reshape(6)})
    t.refused(script(*forward(lines, "torch.add(y, 1)")), "after a view of it was changed in place")
    t.refused(script(*forward(["y = torch.select(x, 0, 1)", "_0 = torch.zero_(y)"], "torch.neg(x)")), "after a view of it was changed in place")
    t.check(script(*forward(["y = x", "_0 = torch.add_(y, 1)"], "torch.neg(x)")), {"x": x}, {"output": -x - 1})


def refusals(t, rng):
    w = np.ones((2, 3), np.float32)
    plain = lambda lines, result="y", **more: script(*forward(lines, result, **more))
    ok = plain(["y = torch.relu(x)"])
    t.refused(ok, "holds no shapes", "'x'", shapes=())
    t.refused(ok, "--shape names 'z', which is no input", shapes=("--shape", "x=2x3", "--shape", "z=1"))
    t.refused(plain(["y = torch.fft_fft(x)", "z = torch.add(torch.sort_of(x), 1)"]), "operator 'fft_fft'", "fft_fft, sort_of", "code/__torch__.py', line 6")
    t.refused(plain(["if bool(torch.gt(torch.sum(x), 0)):", "  y = x", "else:", "  y = torch.neg(x)"]), "a number that the run finds")
    t.refused(plain(["y = torch.dropout(x, 0.5, True)"]), "dropout in training", ".eval()")
    t.refused(plain(["y = torch.fft_fft(x)", "z = torch.(x)"]), "these that are not: fft_fft;")
    t.refused(plain(["y = torch.relu(x, 3)"]), "a call with 2 arguments")
    t.refused(plain(["y = torch.sum(x, other=3)"]), "the argument 'other'")
    t.refused(plain(["y = torch.relu(x"]), "is expected")
    t.refused(plain(["y = torch.relu(" * 500]), "goes deeper")
    t.refused(plain(["while True:", "  y = 1"]), "more than")
    t.refused(plain(["for i in range(100000000000):", "  y = 1"]), "more than")
    t.refused(plain(["while True:", "  y = torch.zeros([60000])"]), "MB of constants")
    t.refused(plain(["y = (self).forward(x)"]), "goes deeper")
    t.refused(plain(["y = [x]", "_0 = torch.append(y, y)"]), "a list within itself")
    lists = ["y = annotate(List[Tensor], [])"] + ["y = [y, y]"] * 60
    t.refused(plain(lists), "lists that hold each other come to more than")
    t.refused(plain(["y = self.nothing"]), "a result that is a method")
    t.refused(plain(["y = __torch__.no.such(x)"]), "'__torch__.no.such' is called, which the archive does not define")
    t.refused(plain(["y = CONSTANTS.c7"]), "constant 'c7'")
    t.refused(plain(["y = ops.prim.RaiseException(\"bad \\\"shape\\\"\")"]), "refuses these inputs: bad \"shape\"")
    t.refused(plain(["y = torch.view(x, [4, -1])"]), "operator 'view'")
    t.refused(plain(["y = torch.reshape(x, [99999999999, 99999999999])"]), "operator 'reshape'")
    t.refused(plain(["y = torch.transpose(x, 0, 5)"]), "axis 5 of a tensor of rank 2")
    t.refused(plain(["y = x"], parameters="x: Tensor, n: int"), "input 'n' is of type int")
    t.check(plain(["y = torch.add(x, n)"], parameters="x: Tensor, n: int=3"), {"x": w}, {"output": w + 3})
    t.refused(script(forward([], "x")[0], {"a": 1}), "no module with a method 'forward'")
    t.refused(saved({"w": w}), "it has weights and no graph", "torch.export.save", shapes=())
    lies = Object("__torch__.Net", {"w": w})
    code = forward(["y = torch.add(x, self.w)"], "y")[0]
    good = script(code, lies)
    t.check(good, {"x": w}, {"output": w + 1})
    p = Pickler().put(lies)
    for wrong, phrase in ((bytes(p.out).replace(b"J" + struct.pack("<i", 3), b"J" + struct.pack("<i", 300)), "does not lie in its storage"),
                          (bytes(p.out).replace(b"J" + struct.pack("<i", 3), b"J" + struct.pack("<i", -3)), "does not lie in its storage"),
                          (bytes(p.out).replace(b"FloatStorage", b"ChalkStorage"), "ChalkStorage, is not taken")):
        members = {"net/data.pkl": wrong + b".", "net/version": "3", "net/data/0": w.tobytes(), "net/code/__torch__.py": code["__torch__"]}
        t.refused(archive(members), phrase)
        del members["net/data/0"]
        t.refused(archive(members), "net.pt: 'data.pkl'")
    return good


def hostile(t):
    """Pickles that do something when Python reads them, or are no pickles."""
    code = forward([], "x")[0]["__torch__"]
    mark = os.path.join(t.work, "ran")
    call = b"\x80\x02cos\nsystem\nX" + struct.pack("<I", len(mark) + 6) + b"touch " + mark.encode() + b"\x85R."
    build = bytes(Pickler().put(Object("builtins.object", {})).out) + b"."
    nested = b"\x80\x02" + b"](" * 5000 + b"e" * 5000 + b"."
    for pickle, phrase in ((call, "it calls 'os.system'"), (build, "an object of class 'builtins.object'"), (nested, "no module"), (b"\x80\x02.", "the stack is empty"),
                           (b"\x80\x02)R.", "the stack is empty"), (b"\x80\x02h\x05.", "the memo is empty"), (b"\x80\x02r\xff\xff\xff\x7f.", "of the memo"),
                           (b"\x80\x02e.", "no mark"), (b"\x80\x02N", "it ends before its value"), (b"\x80\x02X\xff\xff\xff\xff.", "a text is cut off"),
                           (b"\x80\x02i.", "instruction 0x69"), (b"\x80\x02]q\x00h\x00a.", "no module"), (b"\x80\x02K\x01}b.", "a state for what is no object"),
                           (b"\x80\x02(K\x01tQ.", "no storage of a tensor"), (b"", "it ends before its value")):
        t.refused(archive({"net/data.pkl": pickle, "net/version": "3", "net/code/__torch__.py": code}), phrase)
    if os.path.exists(mark):
        sys.exit("a pickle was run")
    assert Name("os.system")


def damage(t, data, draw, name):
    """Cut at every 97th byte, and with bytes changed: one line, or a model."""
    for at in range(0, len(data), 97):
        t.vtac_of("inspect", t.written(data[:at], name), "--shape", "x=2x3")
    for _ in range(60):
        wrong = bytearray(data)
        for _ in range(draw.randint(1, 4)):
            wrong[draw.randrange(len(wrong))] = draw.randrange(256)
        t.vtac_of("inspect", t.written(bytes(wrong), name), "--shape", "x=2x3")


def main():
    seed = word_seed.told()
    with tempfile.TemporaryDirectory() as work:
        t = Trial(sys.argv[1], work)
        for draw in range(2):
            rng = np.random.default_rng(seed + draw)
            export_ends(t, rng)
            program_file = export_layouts(t, rng)
            statements(t, rng)
            views(t, rng)
            script_file = refusals(t, rng)
        hostile(t)
        damage(t, script_file, random.Random(seed), "net.pt")
        damage(t, program_file, random.Random(seed + 1), "net.pt2")
        print("%d runs" % t.count)


main()
