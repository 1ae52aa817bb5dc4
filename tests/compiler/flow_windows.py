#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Convolutions, pools, normalizations and resizing of tensors whose height and width stay open (`--dynamic`), and RoiAlign over an
# open number of boxes, against plain loops: two data sets of different sizes on one loaded model.
#
# usage: flow_windows.py VTAC   (exit status 77: python3-onnx is not there)
import itertools
import math
import sys

from onnx_cases import Suite, helper, numpy, numpy_helper, TensorProto

F32 = numpy.float32
TYPES = helper.mapping.NP_TYPE_TO_TENSOR_TYPE


def floats(random, *shape):
    return random.standard_normal(shape).astype(F32)


def model_of(nodes, fixed, constants=(), opset=18, opened=None):
    """Every input but those in `fixed` has open sizes from axis 2 on, or on the axes `opened`."""
    def make(inputs, outputs):
        infos, initializers = [], [numpy_helper.from_array(numpy.array(a), n) for n, a in constants]
        for name, array in inputs:
            if name in fixed:
                initializers.append(numpy_helper.from_array(array, name))
                continue
            free = range(2, array.ndim) if opened is None else opened
            shape = ["%s%d" % (name, i) if i in free else size for i, size in enumerate(array.shape)]
            infos.append(helper.make_tensor_value_info(name, TYPES[array.dtype], shape))
        ends = [helper.make_tensor_value_info(n, TYPES[a.dtype], [None] * a.ndim) for n, a in outputs]
        graph = helper.make_graph(nodes, "g", infos, ends, initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8)
    return make


def places(size, kernel, stride, dilation, begin, end, ceil=False):
    """How many windows there are on an axis."""
    room = size + begin + end - (kernel - 1) * dilation - 1
    count = room // stride + 1
    if ceil and room % stride and count * stride < size + begin:
        count += 1
    return count


def same(size, kernel, stride, dilation, upper):
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return (total // 2, total - total // 2) if upper else (total - total // 2, total // 2)


def slide(x, kernel, strides, dilations, pads, fill, ceil=False):
    """For each output place a block of the padded input, taps last: [N, C, *out, *kernel]; and where it is inside."""
    axes = len(kernel)
    out = [places(x.shape[2 + i], kernel[i], strides[i], dilations[i], pads[i], pads[axes + i], ceil) for i in range(axes)]
    room = [(0, 0), (0, 0)] + [(pads[i], pads[axes + i] + kernel[i] * dilations[i] + strides[i]) for i in range(axes)]
    padded = numpy.pad(x, room, constant_values=fill)
    inside = numpy.pad(numpy.ones(x.shape[2:], int), room[2:])
    blocks = numpy.zeros(x.shape[:2] + tuple(out) + tuple(kernel), x.dtype)
    there = numpy.zeros(tuple(out) + tuple(kernel), int)
    for place in itertools.product(*[range(n) for n in out]):
        cut = tuple(slice(p * s, p * s + k * d, d) for p, s, k, d in zip(place, strides, kernel, dilations))
        blocks[(slice(None), slice(None)) + place] = padded[(slice(None), slice(None)) + cut]
        there[place] = inside[cut]
    return blocks, there


def convolve(x, w, b=None, group=1, strides=None, dilations=None, pads=None, fill=0):
    axes = x.ndim - 2
    blocks, _ = slide(x, w.shape[2:], strides or [1] * axes, dilations or [1] * axes, pads or [0] * 2 * axes, fill)
    taps = tuple(range(blocks.ndim - axes, blocks.ndim))
    parts = []
    for g in range(group):
        own = blocks[:, g * w.shape[1]:(g + 1) * w.shape[1]]
        for m in range(g * w.shape[0] // group, (g + 1) * w.shape[0] // group):
            parts.append((own * w[m].reshape((1, -1) + (1,) * axes + w.shape[2:])).sum((1,) + taps))
    y = numpy.stack(parts, 1)
    return y if b is None else y + b.reshape((1, -1) + (1,) * axes)


def add_convolutions(suite):
    def add(shape, weight, sizes=(5, 41), bias=True, opened=None, **attrs):
        axes = len(weight) - 2

        def make(random):
            own = [int(n) for n in random.integers(sizes[0], sizes[1], axes)]
            found = [("x", floats(random, *shape, *own)), ("w", floats(random, *weight))]
            return found + ([("b", floats(random, weight[0]))] if bias else [])

        def reference(x, w, b=None):
            auto = attrs.get("auto_pad")
            pads = attrs.get("pads")
            if auto:
                pairs = [same(x.shape[2 + i], w.shape[2 + i], attrs.get("strides", [1] * axes)[i], 1, auto == "SAME_UPPER") for i in range(axes)]
                pads = [p[0] for p in pairs] + [p[1] for p in pairs]
            return convolve(x.astype(float), w.astype(float), b, attrs.get("group", 1), attrs.get("strides"), attrs.get("dilations"),
                            pads).astype(F32)
        names = ["x", "w"] + (["b"] if bias else [])
        suite.add("Conv", make, reference, constants=("w", "b"),
                  model=model_of([helper.make_node("Conv", names, ["y"], **attrs)], ("w", "b"), opened=opened))
    add((1, 3), (8, 3, 3, 3), pads=[1, 1, 1, 1])
    add((2, 4), (6, 4, 3, 2), strides=[2, 1], pads=[0, 1, 2, 0], bias=False, sizes=(30, 80))
    add((1, 6), (6, 1, 3, 3), group=6, pads=[2, 2, 2, 2], dilations=[2, 2])
    add((1, 4), (4, 2, 1, 1), group=2)
    add((1, 2), (3, 2, 5, 5), auto_pad="SAME_UPPER", strides=[3, 2])
    add((1, 2), (3, 2, 2, 4), auto_pad="SAME_LOWER")
    add((2, 3), (4, 3, 5), pads=[2, 2], sizes=(8, 700))
    add((1, 2), (3, 2, 2, 3, 2), pads=[1, 1, 0, 0, 1, 1], sizes=(3, 14))
    # The batch is open, too.
    add((2, 3), (4, 3, 3, 3), opened=(0, 2, 3))

    def integers(random):
        n = [int(v) for v in random.integers(4, 30, 2)]
        return [("x", random.integers(0, 256, (1, 3, *n)).astype(numpy.uint8)), ("w", random.integers(-128, 128, (4, 3, 3, 3)).astype(numpy.int8)),
                ("z", numpy.array(random.integers(1, 255), numpy.uint8))]
    for fixed in (("w", "z"), ("w",)):
        suite.add("ConvInteger", integers,
                  lambda x, w, z: convolve(x.astype(numpy.int32) - int(z), w.astype(numpy.int32), pads=[1, 0, 1, 2]).astype(numpy.int32),
                  constants=fixed, model=model_of([helper.make_node("ConvInteger", ["x", "w", "z"], ["y"], pads=[1, 0, 1, 2])], fixed))

    def quantized(x, w, b):
        total = convolve(x.astype(numpy.int64) - 13, w.astype(numpy.int64), b, pads=[1, 1, 1, 1], strides=[2, 2])
        return numpy.clip(numpy.rint(total * float(F32(F32(0.5) * F32(0.25) / F32(16)))) + 7, -128, 127).astype(numpy.int8)
    scalars = [("xs", F32(0.5)), ("xz", numpy.array(13, numpy.int8)), ("ws", F32(0.25)), ("wz", numpy.array(0, numpy.int8)),
               ("ys", F32(16)), ("yz", numpy.array(7, numpy.int8))]
    suite.add("QLinearConv", lambda r: [("x", r.integers(-128, 128, (1, 5, *[int(v) for v in r.integers(4, 70, 2)])).astype(numpy.int8)),
                                        ("w", r.integers(-128, 128, (9, 5, 3, 3)).astype(numpy.int8)),
                                        ("b", r.integers(-2000, 2000, 9).astype(numpy.int32))],
              quantized, constants=("w", "b"),
              model=model_of([helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], pads=[1, 1, 1, 1],
                                               strides=[2, 2])], ("w", "b"), scalars))


def add_transposed(suite):
    def add(weight, group=1, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), more=(0, 0), **attrs):
        def reference(x, w, b):
            full = [(x.shape[2 + i] - 1) * strides[i] + (w.shape[2 + i] - 1) * dilations[i] + 1 + more[i] for i in range(2)]
            y = numpy.zeros((x.shape[0], w.shape[1] * group, *full))
            for c, i, j in itertools.product(range(x.shape[1]), range(x.shape[2]), range(x.shape[3])):
                g = c // (x.shape[1] // group)
                cut = tuple(slice(p * s, p * s + k * d, d) for p, s, k, d in zip((i, j), strides, w.shape[2:], dilations))
                y[(slice(None), slice(g * w.shape[1], (g + 1) * w.shape[1])) + cut] += x[:, c, i, j, None, None, None] * w[c].astype(float)
            low, high = list(pads[:2]), list(pads[2:])
            if "auto_pad" in attrs:
                total = [max(full[i] - x.shape[2 + i] * strides[i], 0) for i in range(2)]
                low = [t // 2 if attrs["auto_pad"] == "SAME_UPPER" else t - t // 2 for t in total]
                high = [t - n for t, n in zip(total, low)]
            y = y[:, :, low[0]:full[0] - high[0], low[1]:full[1] - high[1]]
            return (y + b[:, None, None]).astype(F32)
        given = dict(attrs, group=group, strides=list(strides), dilations=list(dilations), output_padding=list(more))
        given.update({} if "auto_pad" in attrs else {"pads": list(pads)})
        suite.add("ConvTranspose", lambda r: [("x", floats(r, 2, weight[0], *[int(n) for n in r.integers(2, 24, 2)])), ("w", floats(r, *weight)),
                                              ("b", floats(r, weight[1] * group))],
                  reference, constants=("w", "b"), model=model_of([helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **given)], ("w", "b")))
    add((4, 3, 2, 2), strides=(2, 2))
    add((4, 3, 3, 3), strides=(2, 3), pads=(1, 0, 0, 1), more=(1, 2))
    add((4, 2, 3, 2), group=2, dilations=(2, 1), pads=(1, 1, 1, 0))
    add((2, 3, 1, 1), strides=(3, 2))
    add((2, 3, 4, 3), strides=(2, 2), auto_pad="SAME_UPPER")
    add((2, 3, 4, 3), strides=(3, 1), auto_pad="SAME_LOWER")


def add_pools(suite):
    def add(op, kernel, version=18, dtype=F32, sizes=(4, 50), **attrs):
        axes = len(kernel)

        def make(random):
            own = [int(n) for n in random.integers(sizes[0], sizes[1], axes)]
            x = floats(random, 2, 5, *own) if dtype == F32 else random.integers(-128, 128, (2, 5, *own)).astype(dtype)
            return [("x", x)]

        def reference(x):
            strides, dilations = attrs.get("strides", [1] * axes), attrs.get("dilations", [1] * axes)
            pads, ceil = attrs.get("pads", [0] * 2 * axes), attrs.get("ceil_mode", 0)
            lowest = numpy.iinfo(dtype).min if dtype != F32 else -math.inf
            blocks, there = slide(x, kernel, strides, dilations, pads, lowest if op == "MaxPool" else 0, ceil)
            taps = tuple(range(blocks.ndim - axes, blocks.ndim))
            if op == "MaxPool":
                return blocks.max(taps)
            if op == "LpPool":
                return numpy.sqrt((blocks.astype(float) ** 2).sum(taps)).astype(F32)
            count = there.sum(tuple(range(axes, 2 * axes)))
            if attrs.get("count_include_pad"):
                _, with_pads = slide(numpy.pad(x, [(0, 0), (0, 0)] + [(pads[i], pads[axes + i]) for i in range(axes)]), kernel, strides,
                                     dilations, [0] * 2 * axes, 0, ceil)
                count = with_pads[tuple(slice(n) for n in blocks.shape[2:2 + axes])].sum(tuple(range(axes, 2 * axes)))
            return (blocks.astype(float).sum(taps) / count).astype(F32)
        suite.add(op, make, reference, model=model_of([helper.make_node(op, ["x"], ["y"], kernel_shape=list(kernel), **attrs)], (), opset=version))
    add("MaxPool", (3, 3), strides=[2, 2], pads=[1, 1, 1, 1])
    add("MaxPool", (2, 3), strides=[2, 2], ceil_mode=1)
    add("MaxPool", (3, 2), dilations=[2, 1], dtype=numpy.int8, pads=[1, 1, 1, 1])
    add("MaxPool", (4,), strides=[3], sizes=(5, 900))
    add("AveragePool", (3, 3), pads=[1, 1, 1, 1])
    add("AveragePool", (3, 3), pads=[1, 1, 1, 1], strides=[2, 2], count_include_pad=1)
    add("AveragePool", (3, 2), strides=[2, 3], pads=[1, 0, 1, 1], ceil_mode=1, version=19)
    add("AveragePool", (2, 2, 2), strides=[2, 2, 2], sizes=(4, 12))
    add("LpPool", (3, 3), strides=[1, 2], pads=[1, 1, 0, 0])


def add_places(suite):
    """MaxPool with the places of its maxima."""
    def add(kernel, order=0, dtype=F32, **attrs):
        axes = len(kernel)

        def make(random):
            own = [int(n) for n in random.integers(5, 20, axes)]
            return [("x", floats(random, 2, 3, *own) if dtype == F32 else random.permutation(numpy.arange(-120, 120))[:6 * 5 * 7].reshape(2, 3, 5, 7).astype(dtype))]

        def reference(x):
            strides, dilations, pads = attrs.get("strides", [1] * axes), attrs.get("dilations", [1] * axes), attrs.get("pads", [0] * 2 * axes)
            if "auto_pad" in attrs:
                both = [same(x.shape[2 + i], kernel[i], strides[i], dilations[i], attrs["auto_pad"] == "SAME_UPPER") for i in range(axes)]
                pads = [b[0] for b in both] + [b[1] for b in both]
            own = numpy.arange(x[0, 0].size).reshape(x.shape[2:], order="F" if order else "C")
            whole = own + x[0, 0].size * numpy.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2] + (1,) * axes)
            lowest = numpy.iinfo(dtype).min if dtype != F32 else -math.inf
            blocks, _ = slide(x, kernel, strides, dilations, pads, lowest, attrs.get("ceil_mode", 0))
            numbers, _ = slide(whole, kernel, strides, dilations, pads, -1, attrs.get("ceil_mode", 0))
            flat = blocks.reshape(blocks.shape[:2 + axes] + (-1,))
            first = flat.argmax(-1)[..., None]
            return flat.max(-1), numpy.take_along_axis(numbers.reshape(flat.shape), first, -1)[..., 0]
        suite.add("MaxPool", make, reference, outputs=("y", "i"), model=model_of([helper.make_node(
            "MaxPool", ["x"], ["y", "i"], kernel_shape=list(kernel), storage_order=order, **attrs)], ()))
    add((2, 2), strides=[2, 2])
    add((3, 2), strides=[2, 1], pads=[1, 0, 1, 1], ceil_mode=1)
    add((3, 3), order=1, auto_pad="SAME_LOWER", strides=[2, 2])
    add((2, 3), dilations=[3, 2], pads=[2, 1, 1, 3])
    add((3,), strides=[2], auto_pad="SAME_UPPER")
    add((2, 2), dtype=numpy.int8, strides=[1, 2])


def add_extracts(suite):
    """Columns that the run chooses, as a classifier by neighbours takes their labels."""
    def add(*shape):
        suite.add("ArrayFeatureExtractor", lambda random: [("x", floats(random, *shape)), ("i", random.integers(0, shape[-1], int(random.integers(2, 30))))],
                  lambda x, i: x[..., i].reshape(-1, i.size), constants=("x",),
                  model=model_of([helper.make_node("ArrayFeatureExtractor", ["x", "i"], ["y"], domain="ai.onnx.ml")], ("x",), opened=(0,)))
    add(1, 20)
    add(3, 9)
    add(12)


def add_planes(suite):
    def shape(random, *lead):
        return lead + tuple(int(n) for n in random.integers(1, 20, 2))

    def add(op, make, reference, fixed=(), constants=(), outputs=("y",), opset=18, names=None, opened=None, **attrs):
        names = names or [n for n, _ in make(numpy.random.default_rng(1))]
        suite.add(op, make, reference, constants=fixed, outputs=outputs,
                  model=model_of([helper.make_node(op, names, list(outputs), **attrs)], fixed, constants, opset, opened))
    image = lambda r: [("x", floats(r, *shape(r, 2, 4)))]
    add("GlobalAveragePool", image, lambda x: x.mean((2, 3), keepdims=True))
    add("GlobalMaxPool", image, lambda x: x.max((2, 3), keepdims=True))
    add("GlobalLpPool", image, lambda x: (abs(x).astype(float) ** 3).sum((2, 3), keepdims=True).astype(F32) ** F32(1 / 3), p=3)
    lists = lambda r, n, *more: [(m, floats(r, n)) for m in ("s", "b")] + [(m, abs(floats(r, n)) + F32(0.1)) for m in more]
    by_channel = lambda a: a[:, None, None]
    add("BatchNormalization", lambda r: image(r) + lists(r, 4) + [("m", floats(r, 4)), ("v", abs(floats(r, 4)) + F32(0.1))],
        lambda x, s, b, m, v: (x - by_channel(m)) / numpy.sqrt(by_channel(v) + F32(1e-3)) * by_channel(s) + by_channel(b),
        fixed=("s", "b", "m", "v"), epsilon=1e-3)

    def normal(x, axes, epsilon=1e-5):
        x = x.astype(float)
        mean = x.mean(axes, keepdims=True)
        factor = 1 / numpy.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)
        return (x - mean) * factor, mean.astype(F32), factor.astype(F32)
    add("InstanceNormalization", lambda r: image(r) + lists(r, 4),
        lambda x, s, b: (normal(x, (2, 3))[0] * by_channel(s) + by_channel(b)).astype(F32), fixed=("s", "b"))
    for opset, count in ((18, 2), (21, 4)):
        spread = lambda a, n=count: by_channel(numpy.repeat(a, 4 // n))
        add("GroupNormalization", lambda r, n=count: image(r) + lists(r, n),
            lambda x, s, b, spread=spread: (normal(x.reshape(2, 2, -1), (2,))[0].reshape(x.shape) * spread(s) + spread(b)).astype(F32),
            fixed=("s", "b"), num_groups=2, opset=opset)
    add("LayerNormalization", lambda r: [("x", floats(r, *shape(r, 3), 6)), ("s", floats(r, 6)), ("b", floats(r, 6))],
        lambda x, s, b: ((normal(x, (3,))[0] * s + b).astype(F32),) + normal(x, (3,))[1:], fixed=("s", "b"), outputs=("y", "m", "f"),
        opened=(1, 2))
    add("LayerNormalization", lambda r: [("x", floats(r, int(r.integers(1, 9)), 3, 4)), ("s", floats(r, 3, 4))],
        lambda x, s: (normal(x, (1, 2), 1e-2)[0] * s).astype(F32), fixed=("s",), axis=1, epsilon=1e-2, opened=(0,))
    add("RMSNormalization", lambda r: [("x", floats(r, *shape(r), 6)), ("s", floats(r, 6))],
        lambda x, s: (x / numpy.sqrt((x.astype(float) ** 2).mean(2, keepdims=True) + 1e-5) * s).astype(F32), fixed=("s",), opset=23, opened=(0, 1))

    def across(x):
        square = numpy.pad(x.astype(float) ** 2, ((0, 0), (1, 2), (0, 0), (0, 0)))
        total = sum(square[:, i:i + x.shape[1]] for i in range(4))
        return (x / (1.5 + 0.3 / 4 * total) ** 0.6).astype(F32)
    add("LRN", lambda r: [("x", floats(r, *shape(r, 2, 5)))], across, size=4, alpha=0.3, beta=0.6, bias=1.5)
    for mode, order in (("DCR", (0, 3, 4, 1, 5, 2)), ("CRD", (0, 1, 4, 2, 5, 3))):
        def deep(x, mode=mode, order=order):
            n, c, h, w = x.shape
            parts = x.reshape((n, 3, 3, c // 9, h, w) if mode == "DCR" else (n, c // 9, 3, 3, h, w))
            return parts.transpose(order).reshape(n, c // 9, h * 3, w * 3)
        add("DepthToSpace", lambda r: [("x", floats(r, *shape(r, 2, 18)))], deep, blocksize=3, mode=mode)
    add("SpaceToDepth", lambda r: [("x", floats(r, 2, 3, *[2 * int(n) for n in r.integers(1, 9, 2)]))],
        lambda x: x.reshape(2, 3, x.shape[2] // 2, 2, x.shape[3] // 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 12, x.shape[2] // 2, -1),
        blocksize=2)


# ---- resizing, one axis after the other


def source(i, size, out, scale, mode):
    half = (i + 0.5) / scale - 0.5
    if mode == "align_corners":
        return i * (size - 1) / (scale * size - 1) if out > 1 else 0.0
    return {"half_pixel": half, "asymmetric": i / scale, "pytorch_half_pixel": half if out > 1 else 0.0,
            "half_pixel_symmetric": size / 2 * (1 - out / (scale * size)) + half}[mode]


def weights(x, size, mode, rounding, a, exclude):
    if mode == "nearest":
        place = {"floor": math.floor(x), "ceil": math.ceil(x), "round_prefer_floor": math.ceil(x - 0.5),
                 "round_prefer_ceil": math.floor(x + 0.5)}[rounding]
        return {min(max(place, 0), size - 1): 1.0}
    first, rest = math.floor(x), x - math.floor(x)
    if mode == "linear":
        taps = [(first, 1 - rest), (first + 1, rest)]
    else:
        near = lambda d: (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1
        far = lambda d: a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a
        taps = [(first - 1, far(1 + rest)), (first, near(rest)), (first + 1, near(1 - rest)), (first + 2, far(2 - rest))]
    if exclude:
        taps = [(p, w) for p, w in taps if 0 <= p < size]
        total = sum(w for _, w in taps)
        taps = [(p, w / total) for p, w in taps]
    found = {}
    for place, weight in taps:
        place = min(max(place, 0), size - 1)
        found[place] = found.get(place, 0.0) + weight
    return found


def resize(x, outs, scales, mode, transform, rounding="round_prefer_floor", a=-0.75, exclude=0):
    y = x.astype(float)
    for axis, (out, scale) in enumerate(zip(outs, scales)):
        size = y.shape[axis]
        if out == size and scale == 1:
            continue
        rows = []
        for i in range(out):
            taps = weights(source(i, size, out, scale, transform), size, mode, rounding, a, exclude)
            rows.append(sum(numpy.take(y, p, axis) * w for p, w in taps.items()))
        y = numpy.stack(rows, axis)
    return y.astype(x.dtype)


def add_resizing(suite):
    def image(random):
        return floats(random, 1, 3, *[int(n) for n in random.integers(3, 14, 2)])
    for mode, transform, rounding, exclude in (
            ("nearest", "asymmetric", "floor", 0), ("nearest", "half_pixel", "round_prefer_ceil", 0), ("nearest", "align_corners", "ceil", 0),
            ("linear", "half_pixel", "round_prefer_floor", 0), ("linear", "align_corners", "round_prefer_floor", 0),
            ("linear", "pytorch_half_pixel", "round_prefer_floor", 0), ("linear", "half_pixel_symmetric", "round_prefer_floor", 0),
            ("cubic", "half_pixel", "round_prefer_floor", 0), ("cubic", "asymmetric", "round_prefer_floor", 1)):
        attrs = dict(mode=mode, coordinate_transformation_mode=transform, nearest_mode=rounding, exclude_outside=exclude)
        opset = 19 if transform == "half_pixel_symmetric" else 13

        def by_scale(x, mode=mode, transform=transform, rounding=rounding, exclude=exclude):
            scales = [1.0, 1.0, float(F32(2.0)), float(F32(0.7))]
            outs = [int(numpy.floor(F32(n) * F32(s))) for n, s in zip(x.shape, scales)]
            return resize(x, outs, scales, mode, transform, rounding, exclude=exclude)
        suite.add("Resize", lambda r: [("x", image(r))], by_scale,
                  model=model_of([helper.make_node("Resize", ["x", "", "s"], ["y"], **attrs)], (),
                                 [("s", numpy.array([1, 1, 2, 0.7], F32))], opset))

        # To the size of another tensor, as networks that add a coarse map to a fine one do.
        def by_size(x, like, mode=mode, transform=transform, rounding=rounding, exclude=exclude):
            outs = list(x.shape[:2]) + list(like.shape[2:])
            return resize(x, outs, [o / n for o, n in zip(outs, x.shape)], mode, transform, rounding, exclude=exclude)
        nodes = [helper.make_node("Shape", ["like"], ["a"], start=2), helper.make_node("Shape", ["x"], ["b"], end=2),
                 helper.make_node("Concat", ["b", "a"], ["c"], axis=0), helper.make_node("Resize", ["x", "", "", "c"], ["y"], **attrs)]
        suite.add("Resize", lambda r: [("x", image(r)), ("like", image(r))], by_size, model=model_of(nodes, (), (), max(opset, 15)))
    for policy, pick in (("not_larger", min), ("not_smaller", max)):
        def by_policy(x, like, pick=pick):
            scale = pick(like.shape[i] / x.shape[i] for i in (2, 3))
            return resize(x, list(x.shape[:2]) + [int(n * scale + 0.5) for n in x.shape[2:]], [1, 1, scale, scale], "linear", "half_pixel")
        nodes = [helper.make_node("Shape", ["like"], ["c"], start=2),
                 helper.make_node("Resize", ["x", "", "", "c"], ["y"], mode="linear", axes=[2, 3], keep_aspect_ratio_policy=policy)]
        suite.add("Resize", lambda r: [("x", image(r)), ("like", image(r))], by_policy, model=model_of(nodes, (), (), 18))
    suite.add("Upsample", lambda r: [("x", image(r))], lambda x: x.repeat(2, 2).repeat(3, 3),
              model=model_of([helper.make_node("Upsample", ["x", "s"], ["y"])], (), [("s", numpy.array([1, 1, 2, 3], F32))], 9))


def align_boxes(x, boxes, pictures, cells, scale):
    """Means of 2 x 2 samples of each cell, half pixels; no box here is larger than the features."""
    y = numpy.zeros((len(boxes), x.shape[1]) + cells)
    for r, c, i, j, s, t in itertools.product(range(len(boxes)), range(x.shape[1]), range(cells[0]), range(cells[1]), range(2), range(2)):
        at = []
        for axis, (cell, sample) in enumerate(((i, s), (j, t))):
            low, high = (float(boxes[r][1 - axis + 2 * k]) * scale - 0.5 for k in range(2))
            at.append(min(max(low + (high - low) / cells[axis] * (cell + (sample + 0.5) / 2), 0), x.shape[2 + axis] - 1))
        (a, u), (b, v) = [(int(p), p - int(p)) for p in at]
        plane = x[pictures[r], c]
        e, f = min(a + 1, plane.shape[0] - 1), min(b + 1, plane.shape[1] - 1)
        y[r, c, i, j] += ((1 - u) * ((1 - v) * plane[a, b] + v * plane[a, f]) + u * ((1 - v) * plane[e, b] + v * plane[e, f])) / 4
    return y.astype(F32)


def add_boxes(suite):
    """RoiAlign over a number of boxes that the run decides; the features are an input of one size, or the run makes them."""
    for cells, scale, made in (((3, 2), 0.5, False), ((7, 7), 1.0, True)):
        def make(random):
            count = int(random.integers(1, 9))
            low = random.uniform(0, 4, (count, 2))
            boxes = numpy.concatenate([low, low + random.uniform(1, 4, (count, 2))], 1).astype(F32)
            return [("x", floats(random, 2, 3, 9, 11)), ("boxes", boxes), ("pictures", random.integers(0, 2, count))]

        def reference(x, boxes, pictures, cells=cells, scale=scale, made=made):
            return align_boxes(numpy.maximum(x, 0) if made else x, boxes, pictures, cells, scale)

        def model(inputs, outputs, cells=cells, scale=scale, made=made):
            infos = [helper.make_tensor_value_info(n, TYPES[a.dtype], a.shape if n == "x" else ["many"] + list(a.shape[1:])) for n, a in inputs]
            nodes = [helper.make_node("Relu", ["x"], ["f"])] if made else []
            nodes.append(helper.make_node("RoiAlign", ["f" if made else "x", "boxes", "pictures"], ["y"], output_height=cells[0], output_width=cells[1],
                                          sampling_ratio=2, spatial_scale=scale))
            ends = [helper.make_tensor_value_info(n, TYPES[a.dtype], [None] * a.ndim) for n, a in outputs]
            return helper.make_model(helper.make_graph(nodes, "g", infos, ends), opset_imports=[helper.make_opsetid("", 16)], ir_version=8)
        suite.add("RoiAlign", make, reference, model=model)


def main():
    suite = Suite()
    add_boxes(suite)
    add_convolutions(suite)
    add_transposed(suite)
    add_pools(suite)
    add_places(suite)
    add_extracts(suite)
    add_planes(suite)
    add_resizing(suite)
    # Sums of products nearly cancel here and there: what is left has the error of its largest part.
    return suite.run(sys.argv[1], "--dynamic", "--atol", "3e-5")


sys.exit(main())
