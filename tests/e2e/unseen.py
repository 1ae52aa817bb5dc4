#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Networks that no test was written for (unseen_nets.py, unseen_cnns.py, unseen_attention.py): PyTorch exports each with weights drawn by the seed, vtac makes 8 bits
# of it with calibration inputs, and the accelerator's answers on other inputs are held against those of floats.
#
#   kept     every output is off by at most 2 % of its range in the mean, or 98 % of its decisions stay; of a detector (unseen_boxes.py)
#            the decisions are the boxes: of both models, those that have a partner in the other
#   warned   not kept, and vtac said so, by its mark or a warning
#   refused  vtac took it not, with one line
#   silent   not kept, and nothing said so: the exit status is 1
#
# Without --config a network runs on vtac's own configuration; where it is not whole there, and is whole on that of the same board with
# functions on rows, or the compiler says of a node that it would run with ROWS, it runs on that one. The column `config` names it.
#
# Weights are drawn, so that decisions lie nearer to each other than those of a trained network; statistics of normalizations
# are those of the inputs. `work` is the share of what the host would need for all nodes but the conversions of inputs and
# outputs; `left` names the operators that stay there, with their percents. The last table counts these over all networks; the last
# line but one counts the convolutional ones alone.
#
# usage: unseen.py VTAC [--record] [--config CONFIG] [NAME...]
#        (--record: in tests/results/unseen.json; --config: this accelerator for all, in rows of its own there;
#        exit status 77: PyTorch is not there)
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
    import unseen_boxes
    import unseen_attention
    import unseen_cnns
    import unseen_nets
except ImportError:
    print("skipped: PyTorch is not installed (apt-get install python3-torch python3-torchvision)")
    sys.exit(77)

NETS = {**unseen_nets.NETS, **unseen_cnns.NETS, **unseen_attention.NETS}
CALIBRATION, CHECKED = 8, 12
MEAN, DECISIONS = 0.02, 0.98
WHOLE_REGIONS, WHOLE_WORK = 2, 0.99
RECORD, CONFIG = "--record", "--config"
OWN, WITH_ROWS, NEEDS_ROWS = "pynq", "pynq_lm", "ROWS 1"


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
    if name in unseen_boxes.TABLES:
        unseen_boxes.draw_heads(net)
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


def mark_of(told, said):
    """The mark, and whether it or a warning told the user."""
    mark = told.get("quality", {}).get("mark", "none")
    return mark, "warning" in said or mark in ("bad", "doubtful") or "with floats" in said


def judge(told, said, pairs):
    rows = [compare(*pair) for pair in pairs]
    error, stays = max(r[0] for r in rows), [r[1] for r in rows if r[1] is not None]
    kept = all(e <= MEAN or (s is not None and s >= DECISIONS) for e, s in rows)
    mark, warned = mark_of(told, said)
    return {"verdict": "kept" if kept else "warned" if warned else "silent", "error %": round(100 * error, 2),
            "decisions %": round(100 * min(stays), 1) if stays else "-", "mark": mark}


def count_table(name, own, there):
    """Boxes of a YOLO's table and of the same in 8 bits, and how many have a partner."""
    return unseen_boxes.count_found(*[unseen_boxes.boxes_of_table(unseen_boxes.TABLES[name](table[0])) for table in (own, there)])


def judge_boxes(told, said, counts):
    """Each count is (boxes of both models, those with a partner)."""
    boxes, found = (sum(c[i] for c in counts) for i in (0, 1))
    if boxes == 0:
        raise RuntimeError("there are no boxes: this would prove nothing")
    mark, warned = mark_of(told, said)
    return {"verdict": "kept" if found >= DECISIONS * boxes else "warned" if warned else "silent", "decisions %": round(100 * found / boxes, 1), "mark": mark}


def name_of(config):
    return os.path.basename(config).removesuffix(".json")


def compile_for(vtac, config):
    return subprocess.run([vtac, "compile", "net.onnx", "--target", "vta", CONFIG, config, "--calib", "calib.npy", "--offload", "all", "--report", "--json",
                           "-o", "vta.so"], capture_output=True, text=True)


def needs_rows(done):
    """True where the compiler would put more on the accelerator if it had functions on rows."""
    return done.returncode == 0 and any(NEEDS_ROWS in x["reason"] for x in json.loads(done.stdout).get("left", []))


def shares(done):
    return with_work({}, json.loads(done.stdout)) if done.returncode == 0 else {}


def compile_best(vtac):
    """The configuration that the network needs, of those of one board, and what the compiler does for it."""
    own = compile_for(vtac, OWN)
    if own.returncode != 0 or (is_whole(shares(own)) and not needs_rows(own)):
        return own, OWN
    more = compile_for(vtac, WITH_ROWS)
    return (more, WITH_ROWS) if needs_rows(own) or is_whole(shares(more)) else (compile_for(vtac, OWN), OWN)


def compile_both(vtac, config):
    """What the compiler tells and says of the network on the accelerator, or the row of one that it refuses."""
    done, used = (compile_for(vtac, config), config) if config else compile_best(vtac)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        if done.returncode != 1 or os.path.exists("vta.so"):
            raise RuntimeError("status %d: %s" % (done.returncode, done.stderr))
        return None, None, {"verdict": "refused", "config": name_of(used), "why": lines[-1] if lines else done.stdout.strip()}
    host = subprocess.run([vtac, "compile", "net.onnx", "-o", "host.so"], capture_output=True, text=True)
    return {**json.loads(done.stdout), "config": name_of(used)}, done.stderr, {"verdict": "refused", "why": host.stderr.strip()} if host.returncode != 0 else None


def with_work(cells, told):
    left = told.get("left", [])
    return {**cells, "config": told.get("config", "-"), "regions": told.get("regions", 0), "work %": round(100 * told.get("share", 0), 2), "seconds": round(told["seconds"], 1),
            "left": ", ".join("%s %.2f" % (x["op"], 100 * x["share"]) for x in left if x["share"] >= 0.0005) or "-", "reasons": left}


def look(vtac, config, name, seed):
    net, inputs, opset = draw(name, seed)
    export(net, inputs, opset)
    told, said, refusal = compile_both(vtac, config)
    if refusal:
        return refusal
    own = outputs_of(vtac, "host.so")
    there = outputs_of(vtac, "vta.so", "--device", "fsim")
    cells = judge_boxes(told, said, [count_table(name, *pair) for pair in zip(own[0], there[0])]) if name in unseen_boxes.TABLES else judge(
        told, said, zip(own, there))
    with torch.no_grad():
        first = net(inputs[CALIBRATION])
    for y in first if isinstance(first, (tuple, list)) else [first]:
        if not any(a.shape[1:] == y.shape and numpy.allclose(a[0], y.numpy(), 1e-3, 1e-3 * max(1e-6, float(y.abs().max()))) for a in own):
            raise RuntimeError("the host's answers are not PyTorch's")
    return with_work(cells, told)


def boxes_of_run(vtac, library, file, *words):
    """Boxes, classes and scores that one run of a detector gives."""
    folder = library + ".out"
    done = subprocess.run([vtac, "run", library, "--output-dir", folder, "--input", file, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("%s does not run: %s" % (library, done.stderr.strip()))
    found = [numpy.load(os.path.join(folder, f)) for f in sorted(os.listdir(folder))]
    boxes = next(a for a in found if a.ndim == 2 and a.shape[1] == 4)
    return boxes, next(a for a in found if a.ndim == 1 and a.dtype.kind == "i"), next(a for a in found if a.ndim == 1 and a.dtype.kind == "f")


def look_boxes(vtac, config, name, seed):
    number = zlib.crc32(("%d/%s" % (seed, name)).encode())
    torch.manual_seed(number)
    random = numpy.random.default_rng(number)
    shape = (3, unseen_boxes.SIDE, unseen_boxes.SIDE)
    inputs = [picture(random, shape)[0] for _ in range(CALIBRATION + CHECKED)]
    net = unseen_boxes.settle(unseen_boxes.DETECTORS[name](), inputs[:CALIBRATION])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, ([inputs[0]],), "net.onnx", opset_version=16)
    numpy.save("calib.npy", torch.stack(inputs[:CALIBRATION]).numpy())
    told, said, refusal = compile_both(vtac, config)
    if refusal:
        return refusal
    counts = []
    for i, x in enumerate(inputs[CALIBRATION:]):
        numpy.save("x.npy", x.numpy())
        own = boxes_of_run(vtac, "host.so", "x.npy")
        with torch.no_grad():
            torchs = net([x])[0]
        count, found = unseen_boxes.count_found(tuple(torchs[k].numpy() for k in ("boxes", "labels", "scores")), own)
        if found < DECISIONS * count:
            raise RuntimeError("the host finds %d of PyTorch's %d boxes of input %d" % (found, count, i))
        counts.append(unseen_boxes.count_found(own, boxes_of_run(vtac, "vta.so", "x.npy", "--device", "fsim")))
    return with_work(judge_boxes(told, said, counts), told)


def is_whole(cells):
    return cells.get("regions", 99) <= WHOLE_REGIONS and cells.get("work %", 0) >= 100 * WHOLE_WORK


def print_reasons(rows):
    """What keeps work on the host in networks that are not whole: the operator, in how many of them, percents together."""
    found = {}
    for cells in rows:
        for x in cells.get("reasons", []) if not is_whole(cells) else []:
            networks, percents, why = found.get(x["op"], (0, 0, x["reason"]))
            found[x["op"]] = (networks + 1, percents + 100 * x["share"], why)
    for op, (networks, percents, why) in sorted(found.items(), key=lambda item: item[1][:2], reverse=True):
        print("%-22s in %2d networks, %6.2f %% in all: %s" % (op, networks, percents, why))


COLUMNS = ["verdict", "error %", "decisions %", "mark", "config", "regions", "work %", "seconds", "left"]


def row_of(vtac, config, name, seed):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            cells = (look if name in NETS else look_boxes)(vtac, config, name, seed)
        except RuntimeError as problem:
            cells = {"verdict": "FAILED", "why": str(problem)}
        os.chdir("/")
    print("%-14s" % name + "".join("%12s" % cells.get(c, "-") for c in COLUMNS[:-1]) + "  " + cells.get("why", cells.get("left", "")), flush=True)
    if RECORD in sys.argv[1:]:
        machine = " on " + name_of(config) if config else ""
        results.record("unseen", name + machine, {c: cells.get(c, "-") for c in COLUMNS})
    return cells


def words_of(given):
    """The configuration that is asked for, "" without one, and the networks."""
    names = [w for w in given if w != RECORD]
    if CONFIG not in names:
        return "", names
    at = names.index(CONFIG)
    if at + 1 == len(names):
        sys.exit("unseen: --config needs a configuration")
    config = names[at + 1]
    return os.path.abspath(config) if os.path.exists(config) else config, names[:at] + names[at + 2:]


def main():
    vtac = os.path.abspath(sys.argv[1])
    config, names = words_of(sys.argv[2:])
    there = [*NETS, *unseen_boxes.DETECTORS]
    unknown = sorted(set(names) - set(there))
    if unknown:
        print("unseen: no network %s; there are %s" % (" ".join(unknown), " ".join(there)))
        return 2
    seed = word_seed.told()
    torch.set_num_threads(1)
    print("%-14s" % "network" + "".join("%12s" % c for c in COLUMNS[:-1]) + "  " + COLUMNS[-1] + " %", flush=True)
    names = names or there
    rows = [row_of(vtac, config, name, seed) for name in names]
    count = lambda verdict: sum(r["verdict"] == verdict for r in rows)  # noqa: E731
    whole = sum(is_whole(r) for r in rows)
    print_reasons(rows)
    cnns = [is_whole(r) for name, r in zip(names, rows) if name not in unseen_attention.NETS]
    print("%d of %d convolutional networks are whole%s" % (sum(cnns), len(cnns), ": %.1f %%" % (100 * sum(cnns) / len(cnns)) if cnns else ""))
    print("%d networks: %d kept, %d warned, %d refused, %d silent, %d failed; whole (at most %d regions with %d %% of the work): %d" % (
        len(rows), count("kept"), count("warned"), count("refused"), count("silent"), count("FAILED"), WHOLE_REGIONS, 100 * WHOLE_WORK, whole))
    return 1 if count("silent") + count("FAILED") > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
