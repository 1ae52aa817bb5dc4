#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Models with control flow, and with sizes that are known only at run time, against plain Python: two data sets each on one
# loaded model, with other conditions, other numbers of turns and other sizes in the second.
#
# usage: flow_models.py VTAC   (exit status 77: python3-onnx is not there)
import itertools
import sys

from onnx_cases import Suite, helper, numpy, numpy_helper, TensorProto

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
F32 = numpy.float32
OPSET = 17


def info(name, dtype=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op, ins, outs, **attrs):
    """Names between single spaces: two spaces in a row leave an input out."""
    return helper.make_node(op, ins.split(" ") if ins else [], outs.split(" "), **attrs)


def graph(nodes, ins, outs, constants=()):
    return helper.make_graph(nodes, "g", ins, outs, [numpy_helper.from_array(numpy.array(a), n) for n, a in constants])


def model_of(nodes, constants=(), open_axes=(), opset=OPSET):
    """The model of a case: its inputs have the shapes of the first data set, but for those named in open_axes."""
    def make(inputs, outputs):
        def declared(name, array):
            dtype = helper.mapping.NP_TYPE_TO_TENSOR_TYPE[numpy.array(array).dtype]
            return info(name, dtype, ["%s%d" % (name, i) for i in range(array.ndim)] if name in open_axes else array.shape)
        ends = [info(n, helper.mapping.NP_TYPE_TO_TENSOR_TYPE[numpy.array(a).dtype], [None] * numpy.array(a).ndim) for n, a in outputs]
        return helper.make_model(graph(nodes, [declared(n, a) for n, a in inputs], ends, constants),
                                 opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return make


def floats(random, *shape):
    return random.standard_normal(shape).astype(F32)


def number(value, dtype=numpy.int64):
    return numpy.array(value, dtype)


# ---- control


def add_control(suite):
    hot = graph([node("Mul", "x two", "t"), node("Relu", "t", "r")], [], [info("r")], [("two", F32(2))])
    cold = graph([node("Sub", "x b", "r2")], [], [info("r2")])
    suite.add("If", lambda r: [("c", numpy.array(r.integers(2) == 0)), ("x", floats(r, 3, 5)), ("b", floats(r, 5))],
              lambda c, x, b: numpy.maximum(x * 2, 0) if c else x - b,
              model=model_of([node("If", "c", "y", then_branch=hot, else_branch=cold)]))

    # Branches of different sizes: what comes behind has a size that is known only at run time.
    short = graph([node("ReduceSum", "x axes", "r", keepdims=1)], [], [info("r")], [("axes", number([0]))])
    long = graph([node("Concat", "x x", "r2", axis=0)], [], [info("r2")])
    suite.add("If", lambda r: [("c", numpy.array(r.integers(2) == 0)), ("x", floats(r, 3, 5))],
              lambda c, x: (numpy.exp(x.sum(0, keepdims=True) if c else numpy.concatenate([x, x])) + 1),
              model=model_of([node("If", "c", "t", then_branch=short, else_branch=long), node("Exp", "t", "e"),
                              node("Add", "e one", "y")], [("one", F32(1))]))

    # A recurrent network: the trip count is an input, weights are the body's and the model's.
    step = graph([node("Gather", "x i", "xt", axis=0), node("MatMul", "xt w", "a"), node("MatMul", "h_in u", "b"),
                  node("Add", "a b", "s"), node("Tanh", "s", "h_out"), node("Identity", "h_out", "seen"),
                  node("Identity", "go_in", "go_out")],
                 [info("i", INT, []), info("go_in", BOOL, []), info("h_in", FLOAT, [2, 6])],
                 [info("go_out", BOOL, []), info("h_out"), info("seen")])

    def recurrent(n, x, h, w, u):
        seen = []
        for t in range(int(n)):
            h = numpy.tanh(x[t] @ w + h @ u)
            seen.append(h)
        return h, numpy.stack(seen) if seen else numpy.zeros((0, 2, 6), F32)
    for turns in ((5, 7), (0, 3), (1, 0)):
        counts = itertools.cycle(turns)
        suite.add("Loop", lambda r, counts=counts: [("n", number(next(counts))), ("x", floats(r, 7, 2, 4)), ("h", floats(r, 2, 6)),
                                                    ("w", floats(r, 4, 6)), ("u", floats(r, 6, 6))],
                  recurrent, outputs=("last", "all"), constants=("w", "u"),
                  model=loop_model(step, "n  h", "last all"))

    # As long as a condition holds: Newton's square root, at most 60 turns.
    newton = graph([node("Div", "a v_in", "q"), node("Add", "q v_in", "s"), node("Mul", "s half", "v_out"),
                    node("Sub", "v_out v_in", "d"), node("Abs", "d", "e"), node("Greater", "e least", "go_out")],
                   [info("i", INT, []), info("go", BOOL, []), info("v_in", FLOAT, [])],
                   [info("go_out", BOOL, []), info("v_out", FLOAT, [])], [("half", F32(0.5)), ("least", F32(1e-4))])

    def root(a):
        value = F32(1)
        for _ in range(60):
            old, value = value, F32(F32(a / value + value) * F32(0.5))
            if abs(value - old) <= F32(1e-4):
                break
        return numpy.array(value)
    suite.add("Loop", lambda r: [("a", numpy.array(r.uniform(2, 900), F32))], root,
              model=model_of([node("Loop", "most yes one", "y", body=newton)],
                             [("most", number(60)), ("yes", numpy.array(True)), ("one", F32(1))]))

    # A loop in a loop with a branch in it, all three reading names from around them.
    odd = graph([node("Add", "acc2_in x", "o1")], [], [info("o1")])
    even = graph([node("Sub", "acc2_in b", "o2")], [], [info("o2")])
    inner = graph([node("Mod", "j twos", "m"), node("Cast", "m", "mb", to=BOOL),
                   node("If", "mb", "acc2_out", then_branch=odd, else_branch=even), node("Identity", "g2", "g2o")],
                  [info("j", INT, []), info("g2", BOOL, []), info("acc2_in", FLOAT, [4])],
                  [info("g2o", BOOL, []), info("acc2_out", FLOAT, [4])], [("twos", number(2))])
    outer = graph([node("Loop", "i  acc_in", "acc_out", body=inner), node("ReduceSum", "acc_out", "total", keepdims=0),
                   node("Less", "total most", "g_out")],
                  [info("i", INT, []), info("g", BOOL, []), info("acc_in", FLOAT, [4])],
                  [info("g_out", BOOL, []), info("acc_out", FLOAT, [4]), info("total", FLOAT, [])])

    def nested(n, x, b, most):
        acc, totals, turn = x, [], 0
        while turn < n:
            for j in range(turn):
                acc = acc + x if j % 2 else acc - b
            totals.append(acc.sum())
            turn += 1
            if not totals[-1] < most:
                break
        return acc, numpy.array(totals, F32)
    suite.add("Loop", lambda r: [("n", number(r.integers(1, 9))), ("x", floats(r, 4)), ("b", floats(r, 4)), ("most", F32(r.uniform(0, 9)))],
              nested, outputs=("y", "t"), model=model_of([node("Loop", "n  x", "y t", body=outer)]))

    # Scan: two states, two inputs along different axes, one backwards; outputs to another axis and backwards.
    body = graph([node("Add", "s_in x1", "s_out"), node("Mul", "p_in x2", "p1"), node("Add", "p1 x1", "p_out"),
                  node("Sub", "s_out p_out", "o1"), node("Identity", "p_out", "o2")],
                 [info(n, FLOAT, [3]) for n in ("s_in", "p_in", "x1", "x2")],
                 [info(n, FLOAT, [3]) for n in ("s_out", "p_out", "o1", "o2")])

    def scan(s, p, a, b):
        first, second = [], []
        for t in range(a.shape[0]):
            s = s + a[t]
            p = p * b[:, b.shape[1] - 1 - t] + a[t]
            first.append(s - p)
            second.append(p)
        return s, p, numpy.stack(first, 1), numpy.stack(second[::-1])
    for length in (6, 1):
        suite.add("Scan", lambda r, n=length: [("s", floats(r, 3)), ("p", floats(r, 3)), ("a", floats(r, n, 3)), ("b", floats(r, 3, n))],
                  scan, outputs=("ys", "yp", "y1", "y2"),
                  model=model_of([node("Scan", "s p a b", "ys yp y1 y2", body=body, num_scan_inputs=2, scan_input_axes=[0, 1],
                                       scan_input_directions=[0, 1], scan_output_axes=[1, 0], scan_output_directions=[0, 1])]))

    # As opset 8 had it: a batch in front, one input backwards, rows with lengths of their own, some of them 0.
    batch = graph([node("Add", "s_in u", "t"), node("Sub", "t v", "s_out"), node("Mul", "s_out v", "o")],
                  [info(n, FLOAT, [3]) for n in ("s_in", "u", "v")], [info(n, FLOAT, [3]) for n in ("s_out", "o")])

    def old_scan(s, a, b, l=None):
        lengths = [a.shape[1]] * len(a) if l is None else l
        last, seen = s.copy(), numpy.zeros_like(a)
        for k, length in enumerate(lengths):
            for t in range(length):
                last[k] = last[k] + a[k, t] - b[k, length - 1 - t]
                seen[k, t] = last[k] * b[k, length - 1 - t]
        return last, seen
    for rows, length, cut in ((2, 4, False), (3, 5, True), (1, 1, True)):
        suite.add("Scan", lambda r, n=rows, t=length, cut=cut: [("s", floats(r, n, 3)), ("a", floats(r, n, t, 3)), ("b", floats(r, n, t, 3))] +
                  ([("l", r.integers(0, t + 1, n))] if cut else []), old_scan, outputs=("last", "seen"),
                  model=model_of([node("Scan", ("l" if cut else "") + " s a b", "last seen", body=batch, num_scan_inputs=2, directions=[0, 1])],
                                 open_axes=("s", "a", "b", "l") if rows == 3 else (), opset=8))


def loop_model(body, ins, outs):
    """A Loop whose trip count is an input and whose condition is absent; w and u are initializers."""
    def make(inputs, outputs):
        given = dict(inputs)
        n = node("Loop", ins, outs, body=body)
        ends = [info(name, FLOAT, [None] * array.ndim) for name, array in outputs]
        g = graph([n], [info("n", INT, []), info("x", FLOAT, given["x"].shape), info("h", FLOAT, given["h"].shape)], ends,
                  [("w", given["w"]), ("u", given["u"])])
        return helper.make_model(g, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    return make


# ---- sizes that the data decide


def add_sizes(suite):
    def ties(random, *shape):
        return random.integers(-2, 3, shape).astype(F32)

    suite.add("NonZero", lambda r: [("x", ties(r, 3, 4))], lambda x: numpy.array(numpy.nonzero(x)).T * 3,
              model=model_of([node("NonZero", "x", "i"), node("Transpose", "i", "t"), node("Mul", "t three", "y")], [("three", number(3))]))
    suite.add("Compress", lambda r: [("x", floats(r, 3, 6)), ("c", r.integers(0, 2, 6) == 1)],
              lambda x, c: numpy.tanh(x[:, c]).sum(1),
              model=model_of([node("Compress", "x c", "p", axis=1), node("Tanh", "p", "t"), node("ReduceSum", "t axes", "y", keepdims=0)],
                             [("axes", number([1]))]))
    suite.add("Unique", lambda r: [("x", ties(r, 20))],
              lambda x: (numpy.unique(x), numpy.unique(x, return_inverse=True)[1], numpy.unique(x, return_counts=True)[1] + 1),
              outputs=("v", "i", "n"),
              model=model_of([node("Unique", "x", "v f i c"), node("Add", "c one", "n")], [("one", number(1))]))
    suite.add("Reshape", lambda r: [("x", floats(r, 4, 6)), ("s", number([[2, 12], [8, 3], [24, 1]][r.integers(3)]))],
              lambda x, s: numpy.maximum(x.reshape(s), 0), model=model_of([node("Reshape", "x s", "t"), node("Relu", "t", "y")]))
    suite.add("Slice", lambda r: [("x", floats(r, 9, 7)), ("a", number(r.integers(-9, 9, 2))), ("b", number(r.integers(-9, 10, 2))),
                                  ("d", number([r.integers(1, 4), -r.integers(1, 4)]))],
              lambda x, a, b, d: x[a[0]:b[0]:d[0], slice_down(x.shape[1], a[1], b[1], d[1])],
              model=model_of([node("Slice", "x a b axes d", "y")], [("axes", number([0, 1]))]))
    suite.add("Range", lambda r: [("n", number(r.integers(0, 3000)))], lambda n: numpy.sqrt(numpy.arange(n).astype(F32)) * F32(0.5),
              model=model_of([node("Range", "zero n one", "i"), node("Cast", "i", "f", to=FLOAT), node("Sqrt", "f", "q"),
                              node("Mul", "q half", "y")], [("zero", number(0)), ("one", number(1)), ("half", F32(0.5))]))
    for dtype in (numpy.float16, F32):
        ends = lambda r, d=dtype: [("a", d(r.choice([0.0, -1.0, 0.5]))), ("b", d(r.integers(3, 20))), ("c", d(r.choice([0.25, 1.0, 2.0])))]
        suite.add("Range", ends, lambda a, b, c: numpy.arange(a, b, c, a.dtype), model=model_of([node("Range", "a b c", "y")]))
    suite.add("ConstantOfShape", lambda r: [("s", number(r.integers(0, 5, 3)))], lambda s: numpy.full(s, 2.5, F32),
              model=model_of([node("ConstantOfShape", "s", "y", value=helper.make_tensor("v", FLOAT, [1], [2.5]))]))
    suite.add("Expand", lambda r: [("x", floats(r, 3, 1)), ("s", number([r.integers(1, 4), 1, r.integers(1, 5)]))],
              lambda x, s: numpy.broadcast_to(x, numpy.broadcast_shapes(x.shape, tuple(s))), model=model_of([node("Expand", "x s", "y")]))
    suite.add("Tile", lambda r: [("x", floats(r, 2, 3)), ("n", number(r.integers(0, 4, 2)))], numpy_tile,
              model=model_of([node("Tile", "x n", "y")]))
    for mode, name in (("constant", "constant"), ("edge", "edge"), ("reflect", "reflect")):
        suite.add("Pad", lambda r: [("x", floats(r, 4, 5)), ("p", number(r.integers(0, 4, 4)))],
                  lambda x, p, name=name: numpy.pad(x, ((p[0], p[2]), (p[1], p[3])), name),
                  model=model_of([node("Pad", "x p", "y", mode=mode)]))
    suite.add("TopK", lambda r: [("x", ties(r, 4, 9)), ("k", number([r.integers(0, 10)]))], top_k, outputs=("v", "i"),
              model=model_of([node("TopK", "x k", "v i")]))


def slice_down(size, start, stop, step):
    """The places that ONNX's Slice takes with a negative step."""
    start = min(max(start + size if start < 0 else start, 0), size - 1)
    stop = min(max(stop + size if stop < 0 else stop, -1), size)
    return list(range(start, stop, step))


def numpy_tile(x, n):
    return numpy.tile(x, n)


def top_k(x, k):
    order = numpy.argsort(-x, axis=-1, kind="stable")[:, :int(k[0])]
    return numpy.take_along_axis(x, order, -1), order.astype(numpy.int64)


# ---- whole networks


def overlap(a, b):
    height = min(a[2], b[2]) - max(a[0], b[0])
    width = min(a[3], b[3]) - max(a[1], b[1])
    common = height * width if height > 0 and width > 0 else 0.0
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def add_networks(suite):
    def detector(x, w, centers):
        heads = numpy.einsum("chw,oc->ohw", x[0], w).reshape(w.shape[0], -1).astype(numpy.float64)
        scores, sizes = 1 / (1 + numpy.exp(-heads[:2])), numpy.exp(heads[2:] * 0.25)
        boxes = numpy.stack([centers[0] - sizes[0], centers[1] - sizes[1], centers[0] + sizes[0], centers[1] + sizes[1]], 1)
        found = []
        for c in range(2):
            kept = []
            for i in sorted(range(boxes.shape[0]), key=lambda i: -scores[c, i]):
                if scores[c, i] > 0.9 and len(kept) < 5 and all(overlap(boxes[i], boxes[k]) <= 0.4 for k in kept):
                    kept.append(i)
            found += [(c, i) for i in kept]
        rows = [numpy.concatenate([boxes[i], [scores[c, i], c]]) for c, i in found]
        return numpy.array(rows, F32).reshape(-1, 6)
    nodes = [node("Conv", "x w", "heads"), node("Reshape", "heads flat", "rows"), node("Split", "rows parts", "logits extents", axis=1),
             node("Sigmoid", "logits", "scores"), node("Mul", "extents quarter", "e4"), node("Exp", "e4", "sizes"),
             node("Sub", "centers sizes", "low"), node("Add", "centers sizes", "high"), node("Concat", "low high", "corners", axis=1),
             node("Transpose", "corners", "boxes", perm=[0, 2, 1]),
             node("NonMaxSuppression", "boxes scores five iou least", "chosen"),
             node("Slice", "chosen one three last", "pairs"), node("Gather", "chosen two", "which", axis=1),
             node("Gather", "chosen first", "class", axis=1), node("Squeeze", "boxes lead", "flat_boxes"),
             node("Gather", "flat_boxes which", "picked", axis=0), node("Squeeze", "scores lead", "flat_scores"),
             node("GatherND", "flat_scores pairs", "picked_scores"), node("Unsqueeze", "picked_scores last", "score_column"),
             node("Cast", "class", "class_f", to=FLOAT), node("Unsqueeze", "class_f last", "class_column"),
             node("Concat", "picked score_column class_column", "y", axis=1)]

    def build(inputs, outputs):
        given = dict(inputs)
        constants = [("w", given["w"][:, :, None, None]), ("centers", given["centers"][None]), ("flat", number([1, 4, -1])),
                     ("parts", number([2, 2])), ("quarter", F32(0.25)), ("five", number([5])), ("iou", numpy.array([0.4], F32)),
                     ("least", numpy.array([0.9], F32)), ("one", number([1])), ("three", number([3])), ("last", number([1])),
                     ("two", number(2)), ("first", number(1)), ("lead", number([0]))]
        return helper.make_model(graph(nodes, [info("x", FLOAT, given["x"].shape)], [info("y", FLOAT, [None, 6])], constants),
                                 opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)

    def draw(random):
        rows, columns = numpy.meshgrid(numpy.arange(6), numpy.arange(6), indexing="ij")
        return [("x", floats(random, 1, 8, 6, 6)), ("w", floats(random, 4, 8)),
                ("centers", numpy.stack([rows.reshape(-1), columns.reshape(-1)]).astype(F32))]
    suite.add("detector", draw, detector, constants=("w", "centers"), model=build)

    # Beam search: three beams, each turn appends a token to each; stops at a run-time length.
    def beams(n, table):
        tokens, scores = numpy.zeros((3, 1), numpy.int64), numpy.array([0, -50, -60], F32)
        for _ in range(int(n)):
            total = scores[:, None] + table[tokens[:, -1]]
            order = numpy.argsort(-total.reshape(-1), kind="stable")[:3]
            scores = total.reshape(-1)[order]
            tokens = numpy.concatenate([tokens[order // table.shape[1]], (order % table.shape[1])[:, None]], 1)
        return tokens, scores
    body = graph([node("Gather", "tokens_in minus", "last", axis=1), node("Gather", "table last", "next", axis=0),
                  node("Unsqueeze", "scores_in axis1", "column"), node("Add", "column next", "total"), node("Reshape", "total flat", "line"),
                  node("TopK", "line three", "scores_out places"), node("Div", "places words", "beam"), node("Mod", "places words", "word"),
                  node("Gather", "tokens_in beam", "moved", axis=0), node("Unsqueeze", "word axis1", "word_column"),
                  node("Concat", "moved word_column", "tokens_out", axis=1), node("Identity", "go", "go_out")],
                 [info("i", INT, []), info("go", BOOL, []), info("tokens_in", INT, [3, None]), info("scores_in", FLOAT, [3])],
                 [info("go_out", BOOL, []), info("tokens_out", INT, [3, None]), info("scores_out", FLOAT, [3])],
                 [("minus", number(-1)), ("axis1", number([1])), ("flat", number([-1])), ("three", number([3])), ("words", number(11))])
    suite.add("beams", lambda r: [("n", number(r.integers(2, 8))), ("table", floats(r, 11, 11))], beams, outputs=("tokens", "scores"),
              model=model_of([helper.make_node("Loop", ["n", "", "start", "zero"], ["tokens", "scores"], body=body)],
                             [("start", numpy.zeros((3, 1), numpy.int64)), ("zero", numpy.array([0, -50, -60], F32))]))

    # A sequence that grows by a tensor of another length each turn.
    grow = graph([node("Add", "i one", "n1"), node("Unsqueeze", "n1 axis0", "n2"), node("Slice", "x zero n2", "part"),
                  node("SequenceInsert", "s_in part", "s_out"), node("Identity", "go", "go_out")],
                 [info("i", INT, []), info("go", BOOL, []), helper.make_tensor_sequence_value_info("s_in", FLOAT, None)],
                 [info("go_out", BOOL, []), helper.make_tensor_sequence_value_info("s_out", FLOAT, None)],
                 [("one", number(1)), ("axis0", number([0])), ("zero", number([0]))])
    suite.add("sequence", lambda r: [("n", number(r.integers(1, 6))), ("x", floats(r, 6))],
              lambda n, x: (numpy.concatenate([x[:i + 1] for i in range(int(n))]) * 2, number(n)), outputs=("y", "count"),
              model=model_of([node("SequenceEmpty", "", "empty"), helper.make_node("Loop", ["n", "", "empty"], ["s"], body=grow),
                              node("ConcatFromSequence", "s", "all", axis=0), node("Add", "all all", "y"), node("SequenceLength", "s", "count")]))


# ---- every instruction, on tensors whose size stays open


def open_cases(suite):
    """Operators on inputs of any size: the second data set has other sizes, 0 and 1 among them."""
    # No turn at all: what is gathered has the axes that the body declares, though their sizes are open.
    grow = graph([node("Add", "s_in x", "s_out"), node("Identity", "s_out", "seen"), node("Identity", "go", "go_out")],
                 [info("i", INT, []), info("go", BOOL, []), info("s_in", FLOAT, ["k"])],
                 [info("go_out", BOOL, []), info("s_out", FLOAT, ["k"]), info("seen", FLOAT, ["k", 2])])
    counts = itertools.cycle((0, 2))

    def none(n, x):
        return numpy.stack([x * F32(k + 1) for k in range(int(n))]) if n > 0 else numpy.zeros((0, 0, 2), F32)
    suite.add("Loop", lambda r: [("n", number(next(counts))), ("x", floats(r, 3, 2))], none, outputs=("all",),
              model=model_of([node("Sub", "x x", "s0"), node("Loop", "n  s0", "s_last all", body=grow)], open_axes=("x",)))

    sizes = (0, 1, 2, 3, 5, 8)

    def shape(random, rank, least=0):
        return [int(random.choice([s for s in sizes if s >= least])) for _ in range(rank)]

    def add(op, make, reference, nodes=None, constants=(), outputs=("y",), opset=OPSET, **attrs):
        names = [n for n, _ in make(numpy.random.default_rng(1))]
        nodes = nodes or [helper.make_node(op, names, list(outputs), **attrs)]
        suite.add(op, make, reference, outputs=outputs, model=model_of(nodes, constants, open_axes=names, opset=opset))

    for op, f in (("Relu", lambda x: numpy.maximum(x, 0)), ("Neg", lambda x: -x), ("Floor", lambda x: numpy.floor(x)), ("Abs", lambda x: numpy.abs(x))):
        add(op, lambda r: [("x", floats(r, *shape(r, 3)))], f)
    add("Add", lambda r: [("x", floats(r, *(s := shape(r, 3)))), ("b", floats(r, 1, s[2]))], lambda x, b: x + b)
    add("Mul", lambda r: [("x", floats(r, 40, 60, 3)), ("b", floats(r, 40, 1, 3))], lambda x, b: x * b)
    add("Where", lambda r: [("c", r.integers(0, 2, (s := shape(r, 2))) == 1), ("x", floats(r, *s)), ("b", floats(r, *s))], lambda c, x, b: numpy.where(c, x, b))
    add("Greater", lambda r: [("x", floats(r, *(s := shape(r, 2)))), ("b", floats(r, *s))], lambda x, b: x > b)
    add("Clip", lambda r: [("x", floats(r, *shape(r, 3)))], lambda x: numpy.clip(x, -0.5, 0.25),
        nodes=[node("Clip", "x low high", "y")], constants=[("low", F32(-0.5)), ("high", F32(0.25))])
    add("MatMul", lambda r: [("a", floats(r, 2, *(s := shape(r, 3))[:2])), ("b", floats(r, *s[1:]))], lambda a, b: a @ b)
    add("MatMul", lambda r: [("a", floats(r, *(s := shape(r, 4))[:3])), ("b", floats(r, s[0], *s[2:]))], lambda a, b: a @ b)
    add("Gemm", lambda r: [("a", floats(r, (s := shape(r, 3))[1], s[0])), ("b", floats(r, *s[1:])), ("c", floats(r, s[2]))],
        lambda a, b, c: F32(0.5) * (a.T @ b) + 2 * c, alpha=0.5, beta=2.0, transA=1)
    add("Softmax", lambda r: [("x", floats(r, *shape(r, 3)))], lambda x: softmax(x, 1), axis=1)
    for op, f in (("ReduceMax", numpy.max), ("ReduceMin", numpy.min), ("ReduceMean", numpy.mean), ("ReduceProd", numpy.prod)):
        add(op, lambda r: [("x", floats(r, *shape(r, 3, 1)))], lambda x, f=f: f(x, axis=(0, 2), keepdims=True).astype(F32), axes=[0, 2])
    add("ReduceSum", lambda r: [("x", floats(r, *shape(r, 3)))], lambda x: x.sum((0, 2), dtype=F32),
        nodes=[node("ReduceSum", "x axes", "y", keepdims=0)], constants=[("axes", number([0, -1]))])
    add("ReduceL2", lambda r: [("x", floats(r, *shape(r, 3)))], lambda x: numpy.sqrt((x * x).sum(1)), axes=[1], keepdims=0)
    add("ReduceLogSumExp", lambda r: [("x", floats(r, *shape(r, 2, 1)))], lambda x: numpy.log(numpy.exp(x).sum(1)), axes=[1], keepdims=0)
    add("ArgMax", lambda r: [("x", r.integers(-3, 3, shape(r, 3, 1)).astype(F32))], lambda x: numpy.argmax(x, 1)[:, None].astype(numpy.int64), axis=1)
    add("ArgMin", lambda r: [("x", r.integers(-3, 3, shape(r, 3, 1)).astype(numpy.int32))],
        lambda x: (x.shape[1] - 1 - numpy.argmin(x[:, ::-1], 1)).astype(numpy.int64), axis=1, keepdims=0, select_last_index=1)
    add("CumSum", lambda r: [("x", floats(r, *shape(r, 2)))], lambda x: numpy.cumsum(x[:, ::-1], 1)[:, ::-1] - x,
        nodes=[node("CumSum", "x axis", "y", reverse=1, exclusive=1)], constants=[("axis", number(1))])
    add("Transpose", lambda r: [("x", floats(r, *shape(r, 4)))], lambda x: x.transpose(2, 0, 3, 1), perm=[2, 0, 3, 1])
    add("Flatten", lambda r: [("x", floats(r, *shape(r, 3)))], lambda x: x.reshape(x.shape[0] * x.shape[1], x.shape[2]), axis=-1)
    add("Concat", lambda r: [("a", floats(r, *(s := shape(r, 3)))), ("b", floats(r, s[0], 3, s[2]))], lambda a, b: numpy.concatenate([a, b], 1), axis=-2)
    add("Split", lambda r: [("x", floats(r, 4, *shape(r, 2)))], lambda x: (x[:1], x[1:]), outputs=("y", "z"),
        nodes=[node("Split", "x parts", "y z", axis=0)], constants=[("parts", number([1, 3]))])
    add("Gather", lambda r: [("x", floats(r, 5, *shape(r, 2))), ("i", r.integers(-5, 5, shape(r, 2)))], lambda x, i: x[i])
    add("GatherElements", lambda r: [("x", floats(r, 5, 3)), ("i", r.integers(-3, 3, (5, int(r.integers(1, 6)))))],
        lambda x, i: numpy.take_along_axis(x, i, 1), axis=1)
    add("GatherND", lambda r: [("x", floats(r, 4, 5, int(r.integers(0, 4)))), ("i", numpy.stack([r.integers(0, 4, 6), r.integers(-5, 5, 6)], 1))],
        lambda x, i: x[i[:, 0], i[:, 1]])
    add("ScatterND", lambda r: [("x", floats(r, 6, *(s := shape(r, 1)))), ("i", r.permutation(6)[:3, None]), ("u", floats(r, 3, *s))],
        lambda x, i, u: scatter(x, i[:, 0], u))
    add("ScatterElements", lambda r: [("x", floats(r, 6)), ("i", r.integers(-6, 6, (n := int(r.integers(0, 9))))), ("u", floats(r, n))],
        scatter_add, nodes=[node("ScatterElements", "x i u", "y", reduction="add")])
    for equation, letters in (("bhid,bhjd->bhij", ("bhid", "bhjd")), ("...ij,...jk", ("pqij", "qjk")), ("ii->i", ("ii",)), ("ij,jk,kl->il", ("ij", "jk", "kl")),
                              ("i,j", ("i", "j")), ("ijk->", ("ijk",)), ("b...c -> c...b", ("bpqc",)), ("Ab,bA", ("Ab", "bA"))):
        def operands(r, letters=letters):
            size = dict(zip(dict.fromkeys("".join(letters)), shape(r, 8)))
            return [("x%d" % i, floats(r, *[size[c] for c in own])) for i, own in enumerate(letters)]
        add("Einsum", operands, lambda equation=equation, **x: numpy.asarray(numpy.einsum(equation, *[v.astype(float) for v in x.values()]), F32),
            equation=equation)
    # An axis of one place broadcasts; integers wrap around.
    add("Einsum", lambda r: [("a", floats(r, *(s := shape(r, 3))[:1], 1, s[1])), ("b", floats(r, 1, s[2], s[1]))],
        lambda a, b: (a.astype(float) * b).sum(2).astype(F32), equation="bij,bij->bi")
    add("Einsum", lambda r: [("a", r.integers(-2**31, 2**31, (s := shape(r, 3))[:2]).astype(numpy.int32)), ("b", r.integers(-9, 9, s[1:]).astype(numpy.int32))],
        lambda a, b: a @ b, equation="ij,jk->ik")
    add("Shape", lambda r: [("x", floats(r, *shape(r, 3)))], lambda x: number(x.shape[1:]), nodes=[node("Shape", "x", "y", start=1)])
    add("Size", lambda r: [("x", floats(r, *shape(r, 3)))], lambda x: number(x.size))
    add("Squeeze", lambda r: [("x", floats(r, *shape(r, 1), 1, 3))], lambda x: x[:, 0], nodes=[node("Squeeze", "x a", "y")],
        constants=[("a", number([-2]))])
    # Of what CastLike is like only the type counts, whichever of both sizes is open.
    add("CastLike", lambda r: [("x", 9 * floats(r, *shape(r, 2))), ("t", r.integers(0, 9, shape(r, 3)).astype(numpy.int32))],
        lambda x, t: x.astype(numpy.int32))
    add("CastLike", lambda r: [("x", floats(r, *shape(r, 3))), ("a", number([1]))], lambda x, a: numpy.sqrt((x * x).sum(1)),
        nodes=[node("Mul", "x x", "q"), node("ReduceSum", "q a", "s", keepdims=0), node("Sqrt", "s", "r"), node("CastLike", "r x", "y")])
    suite.add("CastLike", lambda r: [("x", 9 * floats(r, 2, 3)), ("t", r.integers(0, 9, shape(r, 2)).astype(numpy.int32))],
              lambda x, t: x.astype(numpy.int32) + 1, model=model_of([node("CastLike", "x t", "i"), node("Add", "i one", "y")],
                                                                      [("one", number(1, numpy.int32))], open_axes=("t",)))
    add("Cast", lambda r: [("x", 9 * floats(r, *shape(r, 2)))], lambda x: x.astype(numpy.int32), to=TensorProto.INT32)
    add("Einsum_like", lambda r: [("x", floats(r, *shape(r, 2)))], lambda x: numpy.tanh(x * F32(0.5)) + x.shape[0],
        nodes=[node("Mul", "x half", "a"), node("Tanh", "a", "b"), node("Shape", "x", "s"), node("Gather", "s zero", "n"),
               node("Cast", "n", "f", to=FLOAT), node("Add", "b f", "y")], constants=[("half", F32(0.5)), ("zero", number(0))])


    add_softened(add, shape)
    add_bytes(add, shape)


def add_softened(add, shape):
    def hard(x, axis):
        return (numpy.arange(x.shape[axis]).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
                == numpy.argmax(x, axis).reshape([1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)])).astype(F32)

    def flat(x, axis, f):
        return f(x.reshape(int(numpy.prod(x.shape[:axis])), -1), 1).reshape(x.shape)
    equal = lambda r: [("x", r.integers(-2, 3, shape(r, 3, 1)).astype(F32))]
    for axis in (-1, 0, 1):
        add("Hardmax", equal, lambda x, axis=axis: hard(x, axis), axis=axis)
    # Before opset 13 these take all axes from their own on; 1 where none is named.
    for op, f in (("Softmax", softmax), ("LogSoftmax", lambda x, axis: numpy.log(softmax(x, axis))), ("Hardmax", hard)):
        add(op, equal, lambda x, f=f: flat(x, 1, f), opset=11)
        add(op, equal, lambda x, f=f: flat(x, 2, f), opset=9, axis=2)
    add("Dropout", lambda r: [("x", floats(r, *shape(r, 3)))], lambda x: x)
    add("Dropout", lambda r: [("x", floats(r, *shape(r, 2)))], lambda x: (x * 2, x == x), outputs=("y", "m"), opset=11,
        nodes=[node("Dropout", "x", "d m", ratio=0.7), node("Add", "d d", "y")])
    add("Dropout", lambda r: [("x", floats(r, *shape(r, 2)))], lambda x: (x, numpy.ones(x.shape, bool)), outputs=("y", "m"),
        nodes=[node("Dropout", "x half no", "y m")], constants=[("half", F32(0.5)), ("no", numpy.array(False))])

    def one_hot(i, v, depth, axis):
        i = i.astype(numpy.int64)
        places = numpy.where(i < 0, i + depth, i)
        return numpy.where(numpy.expand_dims(places, axis) == numpy.arange(depth).reshape(
            [-1 if k == axis % (i.ndim + 1) else 1 for k in range(i.ndim + 1)]), v[1], v[0]).astype(v.dtype)
    for axis in (-1, 0, 1):
        add("OneHot", lambda r: [("i", r.integers(-7, 9, shape(r, 2))), ("d", number(r.integers(1, 7))), ("v", floats(r, 2))],
            lambda i, d, v, axis=axis: one_hot(i, v, int(d), axis), axis=axis)
    add("OneHot", lambda r: [("i", r.integers(-4, 4, shape(r, 1)).astype(F32))], lambda i: one_hot(i, number([3, -3]), 4, -1),
        nodes=[node("OneHot", "i d v", "y")], constants=[("d", F32([4])), ("v", number([3, -3]))])

    def normal(x, axes):
        off = x.astype(float) - x.astype(float).mean(axes, keepdims=True)
        return (off / numpy.sqrt((off * off).mean(axes, keepdims=True) + 1e-9)).astype(F32)
    add("MeanVarianceNormalization", lambda r: [("x", floats(r, *shape(r, 4, 2)))], lambda x: normal(x, (0, 2, 3)))
    add("MeanVarianceNormalization", lambda r: [("x", floats(r, *shape(r, 3, 2)))], lambda x: normal(x, (1, 2)), axes=[-1, 1])


def quantized_bytes(x):
    """DynamicQuantizeLinear, in float32 throughout."""
    low, high = min(F32(0), x.min(initial=0)), max(F32(0), x.max(initial=0))
    scale = F32(F32(high - low) / F32(255))
    safe = scale if scale else F32(1)
    zero = numpy.clip(numpy.rint(F32(-low / safe)), 0, 255).astype(F32)
    return numpy.clip(numpy.rint(x / safe) + zero, 0, 255).astype(numpy.uint8), scale, zero.astype(numpy.uint8)


def add_bytes(add, shape):
    """Numbers of eight bits whose batch and sequence are open, as quantized transformers have them."""
    UINT, INT8 = numpy.uint8, numpy.int8

    def of(random, dtype, *sizes):
        return random.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max + 1, sizes).astype(dtype)
    wide = lambda a: a.astype(numpy.int64)
    add("DynamicQuantizeLinear", lambda r: [("x", floats(r, *shape(r, 3)) * F32(r.uniform(0.1, 9)) + F32(r.integers(-2, 3)))], quantized_bytes,
        outputs=("y", "s", "z"))
    add("DynamicQuantizeLinear", lambda r: [("x", numpy.zeros(shape(r, 2), F32))], quantized_bytes, outputs=("y", "s", "z"))
    for left, right in ((UINT, INT8), (INT8, UINT), (INT8, INT8)):
        add("MatMulInteger", lambda r, a=left, b=right: [("a", of(r, a, 2, *(s := shape(r, 3))[:2])), ("b", of(r, b, *s[1:]))],
            lambda a, b: (wide(a) @ wide(b)).astype(numpy.int32))
    add("MatMulInteger", lambda r: [("a", of(r, UINT, *(s := shape(r, 4))[:3])), ("b", of(r, UINT, s[0], *s[2:])), ("p", of(r, UINT)), ("q", of(r, UINT))],
        lambda a, b, p, q: ((wide(a) - int(p)) @ (wide(b) - int(q))).astype(numpy.int32))
    # A zero point for each row and each column; one for each line of every matrix.
    add("MatMulInteger", lambda r: [("a", of(r, UINT, *(s := shape(r, 3))[:2])), ("b", of(r, INT8, *s[1:])), ("p", of(r, UINT, s[0])), ("q", of(r, INT8, s[2]))],
        lambda a, b, p, q: ((wide(a) - wide(p)[:, None]) @ (wide(b) - wide(q))).astype(numpy.int32))
    add("MatMulInteger", lambda r: [("a", of(r, INT8, 3, *(s := shape(r, 3, 2))[:2])), ("b", of(r, INT8, 3, *s[1:])), ("p", of(r, INT8, 3, s[0], 1)),
                                    ("q", of(r, INT8, 3, 1, s[2]))],
        lambda a, b, p, q: ((wide(a) - wide(p)) @ (wide(b) - wide(q))).astype(numpy.int32))
    add("MatMulInteger", lambda r: [("a", of(r, UINT, n := shape(r, 1)[0])), ("b", of(r, UINT, 4, n, 3))], lambda a, b: (wide(a) @ wide(b)).astype(numpy.int32))

    def rescaled(a, sa, za, b, sb, zb, sy, zy):
        total = (wide(a) - wide(za)) @ (wide(b) - wide(zb))
        scale = (F32(sa) * F32(sb) / F32(sy)).astype(float)
        return numpy.clip(numpy.rint(total * scale) + int(zy), numpy.iinfo(zy.dtype).min, numpy.iinfo(zy.dtype).max).astype(zy.dtype)
    one = lambda r: F32(r.uniform(0.01, 0.1))
    for left, right, out in ((UINT, UINT, UINT), (INT8, INT8, INT8), (UINT, INT8, UINT)):
        add("QLinearMatMul", lambda r, t=(left, right, out): [
            ("a", of(r, t[0], 2, *(s := shape(r, 3))[:2])), ("sa", one(r)), ("za", of(r, t[0])), ("b", of(r, t[1], *s[1:])), ("sb", one(r)),
            ("zb", of(r, t[1])), ("sy", F32(r.uniform(0.5, 4))), ("zy", of(r, t[2]))], rescaled)
    add("QLinearMatMul", lambda r: [("a", of(r, UINT, *(s := shape(r, 3))[:2])), ("sa", one(r)), ("za", of(r, UINT)), ("b", of(r, INT8, *s[1:])),
                                    ("sb", r.uniform(0.01, 0.1, s[2]).astype(F32)), ("zb", of(r, INT8, s[2])), ("sy", F32(2)), ("zy", of(r, UINT))], rescaled)

    add("QLinearMatMul", lambda r: [
        ("a", of(r, UINT, *(s := shape(r, 3))[:2])), ("sa", one(r).astype(numpy.float16)), ("za", of(r, UINT)), ("b", of(r, UINT, *s[1:])),
        ("sb", one(r).astype(numpy.float16)), ("zb", of(r, UINT)), ("sy", numpy.float16(0.5)), ("zy", of(r, UINT))], rescaled)

    # A dense layer as the dynamic quantizer writes it: the bytes and their range of the run, the weight's of the model.
    weight = numpy.random.default_rng(7).integers(-128, 128, (6, 5)).astype(INT8)

    def dense(x):
        y, scale, zero = quantized_bytes(x)
        total = (wide(y) - int(zero)) @ wide(weight)
        return numpy.maximum(total.astype(F32) * F32(scale * F32(0.01)) + F32(0.5), 0)
    add("dense", lambda r: [("x", floats(r, *shape(r, 2), 6))], dense,
        nodes=[node("DynamicQuantizeLinear", "x", "b s z"), node("MatMulInteger", "b w z", "m"), node("Cast", "m", "f", to=FLOAT),
               node("Mul", "s ws", "t"), node("Mul", "f t", "g"), node("Add", "g half", "h"), node("Relu", "h", "y")],
        constants=[("w", weight), ("ws", F32(0.01)), ("half", F32(0.5))])


def softmax(x, axis):
    e = numpy.exp(x - x.max(axis, keepdims=True)) if x.size else x
    return e / e.sum(axis, keepdims=True) if x.size else x


def scatter(x, i, u):
    y = x.copy()
    y[i] = u
    return y


def scatter_add(x, i, u):
    y = x.copy()
    numpy.add.at(y, i, u)
    return y


def main():
    suite = Suite()
    add_control(suite)
    add_sizes(suite)
    add_networks(suite)
    failed = suite.run(sys.argv[1])
    suite = Suite()
    open_cases(suite)
    return suite.run(sys.argv[1], "--dynamic") or failed


sys.exit(main())
