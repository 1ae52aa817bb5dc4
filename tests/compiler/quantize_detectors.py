#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Detectors and models with control flow in 8 bits: an SSD and a YOLO with NonMaxSuppression behind their heads, a table of all places without it, a model that goes on by an If
# whose condition the run decides, and one with two inputs. The models are built here with seeded weights; what they find in floats is computed
# here. Fails when the convolutions do not reach the accelerator, when boxes are lost, or when what vtac says of the boxes is not so.
#
# usage: quantize_detectors.py VTAC   (exit status 77: python3-onnx is not installed)
import json
import os
import subprocess
import sys
import tempfile

from quantize_nets import Net, evaluate, numpy, onnx, pictures

VTAC = os.path.abspath(sys.argv[1])
SIDE, CLASSES = 64, 5


def run(*words, status=0):
    done = subprocess.run([VTAC, *words], capture_output=True, text=True)
    assert done.returncode == status, f"vtac {' '.join(words)}: {done.returncode}: {done.stderr}"
    return done.stdout if status == 0 else done.stderr


# ---- what ONNX says of NonMaxSuppression, for boxes as corners


def overlap(a, b):
    low, high = numpy.maximum(a[:2], b[:2]), numpy.minimum(a[2:], b[2:])
    both = numpy.prod(numpy.maximum(high - low, 0))
    return both / (numpy.prod(a[2:] - a[:2]) + numpy.prod(b[2:] - b[:2]) - both)


def suppress(boxes, scores, max_boxes, max_overlap, min_score):
    """Rows of (picture, class, box)."""
    kept = []
    for picture in range(scores.shape[0]):
        for kind in range(scores.shape[1]):
            chosen = []
            for i in numpy.argsort(-scores[picture, kind], kind="stable"):
                fits = scores[picture, kind, i] > min_score and len(chosen) < max_boxes
                if fits and all(overlap(boxes[picture, i], boxes[picture, k]) <= max_overlap for k in chosen):
                    chosen.append(i)
            kept += [(picture, kind, i) for i in chosen]
    return numpy.array(kept, int).reshape(-1, 3)


# ---- the models


def maps_of(net, act):
    """32 channels at 16x16 and at 8x8 of a picture of 64x64."""
    x = act(net.conv(act(net.conv("x", 3, 16, stride=2)), 16, 32, stride=2))
    x = act(net.conv(x, 32, 32))
    return [(x, 16, 4.0), (act(net.conv(x, 32, 32, stride=2)), 8, 8.0)]


def grid(side, stride):
    return (numpy.stack(numpy.meshgrid(numpy.arange(side), numpy.arange(side)), -1).reshape(-1, 2) + 0.5) * stride


def choose(net, boxes, scores):
    """Boxes [1, N, 4] and scores [1, classes, N] become the boxes, scores and classes that NonMaxSuppression leaves."""
    limits = [net.number([20], numpy.int64), net.number([0.4]), net.number([0.6])]
    chosen = net.add("NonMaxSuppression", boxes, scores, *limits)
    column = [net.add("Gather", chosen, net.number(k, numpy.int64), axis=1) for k in range(3)]
    out_boxes = net.add("Gather", net.reshape(boxes, -1, 4), column[2], axis=0)
    place = net.add("Add", net.add("Mul", column[1], net.number(net.places, numpy.int64)), column[2])
    return [out_boxes, net.add("Gather", net.reshape(scores, -1), place, axis=0), net.add("Identity", column[1])]


def ssd(path, seed, opset):
    """Two boxes a place, decoded by Exp from anchors; classes by Softmax, the first of which is none."""
    net = Net(seed)
    places, kinds, anchors = [], [], []
    for x, side, stride in maps_of(net, lambda x: net.add("Relu", x)):
        for to, width, out in ((4, 0.5, places), (CLASSES + 1, 4.0, kinds)):
            y = net.add("Mul", net.conv(x, 32, 2 * to), net.number(width))
            out.append(net.reshape(net.add("Transpose", y, perm=[0, 2, 3, 1]), 1, 2 * side * side, to))
        centre = grid(side, stride).repeat(2, 0)
        anchors.append(numpy.concatenate([centre, numpy.tile([[3, 2], [2, 3]], (side * side, 1)) * stride], 1))
    every = numpy.concatenate(anchors)
    net.places = len(every)
    place = net.add("Concat", *places, axis=1)
    middle = net.add("Add", net.add("Mul", net.part(place, 0, 2, 2), net.number(0.1 * every[None, :, 2:])), net.number(every[None, :, :2]))
    half = net.add("Mul", net.add("Exp", net.add("Mul", net.part(place, 2, 4, 2), net.number(0.2))), net.number(0.5 * every[None, :, 2:]))
    boxes = net.add("Concat", net.add("Sub", middle, half), net.add("Add", middle, half), axis=2)
    scores = net.part(net.add("Transpose", net.add("Softmax", net.add("Concat", *kinds, axis=1), axis=2), perm=[0, 2, 1]), 1, CLASSES + 1, 1)
    return finish(net, path, boxes, scores, opset)


def yolo(path, seed, opset):
    """One box a place, from Sigmoid alone; scores are those of an object times those of the class."""
    net = Net(seed)
    every, centres, strides = [], [], []
    for x, side, stride in maps_of(net, net.silu):
        y = net.conv(x, 32, 5 + CLASSES, 1)
        y = net.add("Sigmoid", net.add("Mul", y, net.number(3.0)))
        every.append(net.add("Transpose", net.reshape(y, 1, 5 + CLASSES, side * side), perm=[0, 2, 1]))
        centres.append(grid(side, stride))
        strides.append(numpy.full((side * side, 1), stride))
    net.places = sum(len(c) for c in centres)
    y = net.add("Concat", *every, axis=1)
    stride = numpy.concatenate(strides)[None]
    middle = net.add("Add", net.add("Mul", net.part(y, 0, 2, 2), net.number(stride)), net.number(numpy.concatenate(centres)[None] - 0.5 * stride))
    half = net.add("Mul", net.add("Add", net.part(y, 2, 4, 2), net.number(0.5)), net.number(1.5 * stride))
    boxes = net.add("Concat", net.add("Sub", middle, half), net.add("Add", middle, half), axis=2)
    scores = net.add("Mul", net.part(y, 4, 5, 2), net.part(y, 5, 5 + CLASSES, 2))
    return finish(net, path, boxes, net.add("Transpose", scores, perm=[0, 2, 1]), opset)


def finish(net, path, boxes, scores, opset):
    found = choose(net, boxes, scores)
    net.save(path, [1, 3, SIDE, SIDE], [(found[0], ["found", 4]), (found[1], ["found"]), (found[2], ["found"], 7)], opset)
    heads = onnx.load(path)
    del heads.graph.output[:]
    heads.graph.output.extend(onnx.helper.make_tensor_value_info(name, 1, None) for name in (boxes, scores))
    end = next(i for i, node in enumerate(heads.graph.node) if node.op_type == "NonMaxSuppression")
    del heads.graph.node[end:]
    return heads, found


def found_in_floats(heads, sample):
    boxes, scores = evaluate(heads, sample)
    chosen = suppress(boxes, scores, 20, numpy.float32(0.4), numpy.float32(0.6))
    return boxes[0, chosen[:, 2]], scores[0, chosen[:, 1], chosen[:, 2]], chosen[:, 1]


def matches(first, second):
    """Boxes of the first, surest first, that the second has: of the same class, and with an overlap of at least a half."""
    free, count = set(range(len(second[0]))), 0
    for i in numpy.argsort(-first[1], kind="stable"):
        fits = [(overlap(first[0][i], second[0][k]), k) for k in free if first[2][i] == second[2][k]]
        if fits and max(fits)[0] >= 0.5:
            free.remove(max(fits)[1])
            count += 1
    return count


def detections(model, names, samples):
    for sample in samples:
        numpy.save("in.npy", sample)
        run("run", model, "--input", "in.npy", "--output-dir", ".")
        yield [numpy.load(f"{name}.npy").astype(float) for name in names]


def check_detector(build, seed, opset):
    heads, names = build("net.onnx", seed, opset)
    samples = pictures(numpy.random.default_rng(seed), 8, (1, 3, SIDE, SIDE))
    numpy.save("calib.npy", samples[:4, 0])
    should = [found_in_floats(heads, sample) for sample in samples]
    told = json.loads(run("compile", "net.onnx", "--target", "vta", "--calib", "calib.npy", "--json", "--report", "-o", "m.so"))
    is_ = list(detections("m.so", names, samples))
    kept = sum(matches(a, b) for a, b in zip(should, is_))
    counts = sum(len(a[0]) for a in should), sum(len(b[0]) for b in is_)
    print(f"{build.__name__}, seed {seed}, opset {opset}: {kept} of {counts[0]} boxes, {counts[1]} in 8 bits")
    assert counts[0] > 40 and 2 * kept >= 0.9 * sum(counts)
    said = told["quality"]["detections"]
    assert (said["float"], said["int8"]) == tuple(sum(len(x[0]) for x in all_[:4]) for all_ in (should, is_)), said
    assert said["matched"] == sum(matches(a, b) for a, b in zip(should[:4], is_[:4])), said
    # the file is the same model, and one that others can read
    run("quantize", "net.onnx", "--calib", "calib.npy", "-o", "q.onnx")
    model = onnx.load("q.onnx")
    onnx.checker.check_model(model)
    assert [o.name for o in model.graph.output] == names
    run("compile", "q.onnx", "--target", "vta", "-o", "q.so")
    for a, b in zip(is_, detections("q.so", names, samples)):
        assert all(numpy.array_equal(x, y) for x, y in zip(a, b))
    return told


# ---- tables with a row for each place, of which the program behind the model chooses


def table(path, seed, channels_first):
    """Centres and sizes in pixels, then scores: [1, 4 + classes, places], or [1, places, 5 + classes]."""
    net = Net(seed)
    columns = 4 + CLASSES + (not channels_first)
    parts = []
    for x, side, stride in maps_of(net, net.silu):
        y = net.add("Sigmoid", net.add("Mul", net.reshape(net.conv(x, 32, columns, 1), 1, columns, side * side), net.number(6.0)))
        middle = net.add("Add", net.add("Mul", net.part(y, 0, 2, 1), net.number(stride)), net.number(grid(side, stride).T[None] - 0.5 * stride))
        size = net.add("Mul", net.add("Add", net.part(y, 2, 4, 1), net.number(0.5)), net.number(3 * stride))
        parts.append(net.add("Concat", middle, size, net.part(y, 4, columns, 1), axis=1))
    out = net.add("Concat", *parts, axis=2)
    shape = [1, columns, 16 * 16 + 8 * 8]
    if not channels_first:
        out, shape = net.add("Transpose", out, perm=[0, 2, 1]), [shape[0], shape[2], shape[1]]
    net.save(path, [1, 3, SIDE, SIDE], [(out, shape)])
    return out


def choose_of_table(rows, channels_first):
    """What a program takes by default: scores of at least a quarter, and of boxes of a class that overlap by half the surest."""
    rows = rows[0].T.astype(float) if channels_first else rows[0].astype(float)
    kinds = rows[:, 4:] if channels_first else rows[:, 5:]
    scores = kinds.max(1) * (1 if channels_first else rows[:, 4])
    boxes = numpy.concatenate([rows[:, :2] - rows[:, 2:4] / 2, rows[:, :2] + rows[:, 2:4] / 2], 1)
    kept = []
    for i in numpy.argsort(-scores, kind="stable"):
        if scores[i] >= 0.25 and all(kinds[i].argmax() != kinds[k].argmax() or overlap(boxes[i], boxes[k]) < 0.5 for k in kept):
            kept.append(i)
    return boxes[kept], scores[kept], kinds.argmax(1)[kept]


def check_table(seed, channels_first):
    name = table("net.onnx", seed, channels_first)
    samples = pictures(numpy.random.default_rng(seed), 4, (1, 3, SIDE, SIDE))
    numpy.save("calib.npy", samples[:, 0])
    model = onnx.load("net.onnx")
    should = [choose_of_table(evaluate(model, sample)[0], channels_first) for sample in samples]
    told = json.loads(run("compile", "net.onnx", "--target", "vta", "--calib", "calib.npy", "--json", "--report", "-o", "m.so"))
    is_ = [choose_of_table(found[0], channels_first) for found in detections("m.so", [name], samples)]
    kept, counts = sum(matches(a, b) for a, b in zip(should, is_)), [sum(len(x[0]) for x in found) for found in (should, is_)]
    said = told["quality"]["detections"]
    print(f"table, seed {seed}, channels first: {channels_first}: {kept} of {counts[0]} boxes, {counts[1]} in 8 bits; {said}")
    # each sample is compared with the ranges of the others, so that numbers of 8 bits differ a little from those of the compiled model
    assert counts[0] > 40 and said["float"] == counts[0], said
    assert abs(said["int8"] - counts[1]) <= 0.1 * counts[1] and abs(said["matched"] - kept) <= 0.1 * kept, said
    share = 2 * said["matched"] / (said["float"] + said["int8"])
    assert said["mark"] == ("good" if share >= 0.98 else "doubtful" if share >= 0.75 else "bad"), said


def convs_there(path):
    """Convolutions that run on the accelerator, and all."""
    told = json.loads(run("explain", path, "--calib", "calib.npz", "--json"))
    convs = [node for node in told["nodes"] if "Conv" in node["op"]]
    return sum(node["where"].startswith("region") for node in convs), len(convs)


def body(nodes, output, shape):
    return onnx.helper.make_graph(nodes, "body", [], [onnx.helper.make_tensor_value_info(output, 1, shape)])


def check_control(seed):
    """Two inputs; the run decides by their features in which of two ways the answer is computed, and how often it is halved."""
    net = Net(seed)
    a, b = net.add("Relu", net.conv("x", 3, 32)), net.add("Relu", net.conv("y", 3, 32))
    for _ in range(2):
        a, b = (net.add("Relu", net.conv(x, 32, 32)) for x in (a, b))
    sums = [net.add("ReduceMean", x, axes=[0, 1, 2, 3], keepdims=0) for x in (a, b)]
    make = onnx.helper.make_node
    ways = [body([make("Sub", [a, b], [name]) if name == "first" else make("Add", [a, b], [name])], name, [1, 32, 16, 16]) for name in ("first", "second")]
    either = net.add("If", net.add("Greater", *sums), then_branch=ways[0], else_branch=ways[1])
    turn = onnx.helper.make_graph([make("Identity", ["go"], ["on"]), make("Mul", ["state", "half"], ["next"])], "turn",
                                  [onnx.helper.make_tensor_value_info(*end) for end in (("i", 7, []), ("go", 9, []), ("state", 1, [1, 32, 16, 16]))],
                                  [onnx.helper.make_tensor_value_info(*end) for end in (("on", 9, []), ("next", 1, [1, 32, 16, 16]))])
    net.constants.append(onnx.numpy_helper.from_array(numpy.float32(0.5), "half"))
    count = net.add("Cast", net.add("Mul", sums[0], net.number(20.0)), to=7)
    out = net.add("Loop", count, net.number(True, bool), either, body=turn)
    net.save("net.onnx", [1, 3, 16, 16], [(out, [1, 32, 16, 16])], more_inputs=[("y", [1, 3, 16, 16])])
    random = numpy.random.default_rng(seed)
    samples = {name: pictures(random, 6, (1, 3, 16, 16))[:, 0] * random.uniform(0.5, 2, (6, 1, 1, 1)).astype(numpy.float32) for name in "xy"}
    numpy.savez("calib.npz", **samples)
    run("compile", "net.onnx", "--target", "vta", "--calib", "calib.npz", "-o", "m.so")
    features = onnx.load("net.onnx")
    del features.graph.node[next(i for i, node in enumerate(features.graph.node) if node.op_type == "Greater"):]
    del features.graph.output[:]
    features.graph.output.extend(onnx.helper.make_tensor_value_info(name, 1, None) for name in (a, b))
    ways_taken, turns = set(), set()
    for k in range(6):
        x, y = evaluate(features, {name: samples[name][k:k + 1] for name in "xy"})
        way, turn_count = x.mean() > y.mean(), int(20 * x.mean())
        should = (x - y if way else x + y) / 2.0 ** turn_count
        for name in "xy":
            numpy.save(f"{name}.npy", samples[name][k:k + 1])
        run("run", "m.so", "--input", "x=x.npy", "--input", "y=y.npy", "--output-dir", ".")
        is_ = numpy.load(f"{out}.npy")
        off = numpy.abs(is_ - should).mean() / numpy.ptp(should)
        assert off < 0.02, f"sample {k}: off by {100 * off:.1f} % of the range"
        ways_taken.add(bool(way))
        turns.add(turn_count)
    there, all_ = convs_there("net.onnx")
    print(f"If and Loop, seed {seed}: ways {ways_taken}, turns {turns}, {there} of {all_} convolutions on the accelerator")
    assert len(turns) > 1 and there == all_ == 6


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for first in (1, 2):
        check_detector(ssd, first, 13)
        check_detector(yolo, first, 11)
        check_control(first)
        check_table(first, first == 1)
