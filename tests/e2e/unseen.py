#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Networks that no test was written for (unseen_nets.py): PyTorch exports each with weights drawn by the seed, vtac makes 8 bits
# of it with calibration inputs, and the accelerator's answers on other inputs are held against those of floats.
#
#   kept     every output is off by at most 2 % of its range in the mean, or 98 % of its decisions stay
#   warned   not kept, and vtac said so, by its mark or a warning
#   refused  vtac took it not, with one line
#   silent   not kept, and nothing said so: the exit status is 1
#
# Weights are drawn, so that decisions lie nearer to each other than those of a trained network; statistics of normalizations
# are those of the inputs. `work` is the share of the multiplications on the accelerator.
#
# usage: unseen.py VTAC [--record] [NAME...]   (--record: in tests/results/unseen.json; exit status 77: PyTorch is not there)
import json
import os
import subprocess
import sys
import tempfile
import warnings
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "compiler")]
import results  # noqa: E402
import word_seed  # noqa: E402

try:
    import numpy
    import torch
    from unseen_nets import NETS
except ImportError:
    print("skipped: PyTorch is not installed (apt-get install python3-torch python3-torchvision)")
    sys.exit(77)

CALIBRATION, CHECKED = 8, 12
MEAN, DECISIONS = 0.02, 0.98
WHOLE_REGIONS, WHOLE_WORK = 2, 0.99
RECORD = "--record"


def picture(random, shape):
    """A smooth field with an edge through it and some noise."""
    x = torch.from_numpy(random.standard_normal((1, shape[0]) + tuple(max(2, s // 8) for s in shape[1:])).astype("f4"))
    if len(shape) > 1:
        x = torch.nn.functional.interpolate(x, size=shape[1:], mode={1: "linear", 2: "bilinear", 3: "trilinear"}[len(shape) - 1], align_corners=False)
        x[..., int(random.integers(1, shape[-1])):] += float(random.normal())
    return x + 0.1 * torch.from_numpy(random.standard_normal(tuple(x.shape)).astype("f4"))


def draw(name, seed):
    """The network in evaluation, and pictures."""
    make, shape, opset = NETS[name]
    number = zlib.crc32(("%d/%s" % (seed, name)).encode())
    torch.manual_seed(number)
    random = numpy.random.default_rng(number)
    inputs = [picture(random, shape) for _ in range(CALIBRATION + CHECKED)]
    net = make()
    for module in net.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.momentum = None  # the mean of all that passes
    with torch.no_grad():
        for _ in range(3):  # those behind see what those in front have settled to
            net.train()(torch.cat(inputs[:CALIBRATION]) if reads_many(net, inputs) else inputs[0])
    return net.eval(), inputs, opset


def reads_many(net, inputs):
    try:
        net.eval()(torch.cat(inputs[:2]))
        return True
    except RuntimeError:  # its Reshape has the number of images
        return False


def export(net, inputs, opset):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, inputs[0], "net.onnx", opset_version=opset)
    numpy.save("calib.npy", torch.cat(inputs[:CALIBRATION]).numpy())
    for i, x in enumerate(inputs[CALIBRATION:]):
        numpy.save("x%02d.npy" % i, x.numpy())


def outputs_of(vtac, library, *words):
    """One list of runs for each output."""
    folder = library + ".out"
    files = [w for i in range(CHECKED) for w in ("--input", "x%02d.npy" % i)]
    done = subprocess.run([vtac, "run", library, "--output-dir", folder, *files, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("%s does not run: %s" % (library, done.stderr.strip()))
    found = {}
    for file in sorted(os.listdir(folder), key=lambda f: int(f.split("_")[0])):
        found.setdefault(file.split("_", 1)[1], []).append(numpy.load(os.path.join(folder, file)))
    return [numpy.concatenate([a[None] for a in runs]) for _, runs in sorted(found.items())]


def compare(real, got):
    """The mean error of the range, and the share of decisions that stay (none: 1) along the axis of classes."""
    span = float(real.max() - real.min())
    error = float(numpy.abs(real - got).mean()) / span if span > 0 else float(numpy.abs(real - got).max() > 0)
    if real.ndim not in (3, 5) or real.shape[2] < 2:  # runs of [1, classes] or [1, classes, rows, columns]
        return error, None
    return error, float((real.argmax(2) == got.argmax(2)).mean())


def judge(told, said, pairs):
    rows = [compare(*pair) for pair in pairs]
    error, stays = max(r[0] for r in rows), [r[1] for r in rows if r[1] is not None]
    kept = all(e <= MEAN or (s is not None and s >= DECISIONS) for e, s in rows)
    mark = told.get("quality", {}).get("mark", "none")
    warned = "warning" in said or mark in ("bad", "doubtful") or "with floats" in said
    return {"verdict": "kept" if kept else "warned" if warned else "silent", "error %": round(100 * error, 2),
            "decisions %": round(100 * min(stays), 1) if stays else "-", "mark": mark}


def look(vtac, name, seed):
    net, inputs, opset = draw(name, seed)
    export(net, inputs, opset)
    done = subprocess.run([vtac, "compile", "net.onnx", "--target", "vta", "--calib", "calib.npy", "--offload", "all", "--report", "--json", "-o", "vta.so"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        if done.returncode != 1 or not lines or os.path.exists("vta.so"):
            raise RuntimeError("status %d: %s" % (done.returncode, done.stderr))
        return {"verdict": "refused", "why": lines[-1]}
    host = subprocess.run([vtac, "compile", "net.onnx", "-o", "host.so"], capture_output=True, text=True)
    if host.returncode != 0:
        return {"verdict": "refused", "why": host.stderr.strip()}
    told = json.loads(done.stdout)
    cells = judge(told, done.stderr, zip(outputs_of(vtac, "host.so"), outputs_of(vtac, "vta.so", "--device", "fsim")))
    with torch.no_grad():
        first = net(inputs[CALIBRATION])
    own = outputs_of(vtac, "host.so")
    for y in first if isinstance(first, (tuple, list)) else [first]:
        if not any(a.shape[1:] == y.shape and numpy.allclose(a[0], y.numpy(), 1e-3, 1e-3 * max(1e-6, float(y.abs().max()))) for a in own):
            raise RuntimeError("the host's answers are not PyTorch's")
    return {**cells, "regions": told.get("regions", 0), "work %": round(100 * told.get("share", 0), 1), "seconds": round(told["seconds"], 1)}


COLUMNS = ["verdict", "error %", "decisions %", "mark", "regions", "work %", "seconds"]


def row_of(vtac, name, seed):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            cells = look(vtac, name, seed)
        except RuntimeError as problem:
            cells = {"verdict": "FAILED", "why": str(problem)}
        os.chdir("/")
    print("%-14s" % name + "".join("%12s" % cells.get(c, "-") for c in COLUMNS) + ("  " + cells["why"] if "why" in cells else ""), flush=True)
    if RECORD in sys.argv[1:]:
        results.record("unseen", name, {c: cells.get(c, "-") for c in COLUMNS})
    return cells


def main():
    vtac, names = os.path.abspath(sys.argv[1]), [w for w in sys.argv[2:] if w != RECORD]
    unknown = sorted(set(names) - set(NETS))
    if unknown:
        print("unseen: no network %s; there are %s" % (" ".join(unknown), " ".join(NETS)))
        return 2
    seed = word_seed.told()
    torch.set_num_threads(1)
    print("%-14s" % "network" + "".join("%12s" % c for c in COLUMNS), flush=True)
    rows = [row_of(vtac, name, seed) for name in names or NETS]
    count = lambda verdict: sum(r["verdict"] == verdict for r in rows)  # noqa: E731
    whole = sum(r.get("regions", 99) <= WHOLE_REGIONS and r.get("work %", 0) >= 100 * WHOLE_WORK for r in rows)
    print("%d networks: %d kept, %d warned, %d refused, %d silent, %d failed; whole (at most %d regions with %d %% of the work): %d" % (
        len(rows), count("kept"), count("warned"), count("refused"), count("silent"), count("FAILED"), WHOLE_REGIONS, 100 * WHOLE_WORK, whole))
    return 1 if count("silent") + count("FAILED") > 0 else 0


sys.exit(main())
