#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# The forms in which models write attention with a cache, with a cache of fixed size (--context), against plain numpy: ONNX's
# Attention, TensorScatter, com.microsoft's MultiHeadAttention and GroupQueryAttention, positions that models read off the shape of
# the past. It fails when a token is written to a wrong place, seen too early, or given the position of another. Then what cannot be
# is refused by one line.
#
# usage: context_forms.py VTAC   (exit status 77: python3-onnx is not there)
import os
import subprocess
import sys
import tempfile

from onnx_cases import MS, Suite, TensorProto, helper, numpy, numpy_helper

F32 = numpy.float32
ROOM, STEP, HEADS, OWN, SIZE = 11, 2, 4, 2, 6
WIDE = HEADS * SIZE
TABLE = numpy.random.default_rng(3).standard_normal((ROOM, WIDE)).astype(F32)
INTEGERS = {"seqlens_k": TensorProto.INT32, "total_sequence_length": TensorProto.INT32}


def model(nodes, lengths=(), constants=()):
    """The open form: of the past the number of tokens is open, and `lengths`, (name, shape), are inputs that say how long it is."""
    def make(inputs, outputs):
        made = [helper.make_node(op, ins.split(" "), outs.split(" "), domain=domain, **attrs) for op, ins, outs, domain, attrs in nodes]
        made = [node for node in made if node.op_type]
        for node in made:
            node.input[:] = ["" if name == "_" else name for name in node.input]
        ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [d if i != 2 or not n.startswith("past") else "past" for i, d in enumerate(a.shape)])
                for n, a in inputs if n != "position"]
        ends += [helper.make_tensor_value_info(n, INTEGERS.get(n, TensorProto.INT64), shape) for n, shape in lengths]
        outs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None] * a.ndim) for n, a in outputs]
        graph = helper.make_graph(made, "g", ends, outs, [numpy_helper.from_array(numpy.array(a), n) for n, a in constants])
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 24), helper.make_opsetid(MS, 1)])
    return make


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def parted(x, heads):
    return x.reshape(1, STEP, heads, -1).transpose(0, 2, 1, 3)


def joined(x):
    return x.transpose(0, 2, 1, 3).reshape(1, STEP, -1)


def step(q, k, v, past_key, past_value, position):
    """Heads of the new tokens, the caches, where the first goes: the answer and the caches then."""
    keys, values = past_key.copy(), past_value.copy()
    keys[:, :, position:position + STEP] = k
    values[:, :, position:position + STEP] = v
    y = numpy.zeros(q.shape, F32)
    for h in range(q.shape[1]):
        own = h * k.shape[1] // q.shape[1]
        for t in range(STEP):
            seen = position + t + 1
            scores = softmax(q[0, h, t] @ keys[0, own, :seen].T / numpy.sqrt(F32(SIZE)))
            y[0, h, t] = scores @ values[0, own, :seen]
    return y, keys, values


def data(flat, own):
    """Random new tokens, caches full of what must not be seen, and a position; once the last that there is room for."""
    def make(random):
        floats = lambda *shape: random.standard_normal(shape).astype(F32)
        new = [("q", floats(1, STEP, WIDE)), ("k", floats(1, STEP, own * SIZE)), ("v", floats(1, STEP, own * SIZE))] if flat else \
            [(n, floats(1, h, STEP, SIZE)) for n, h in (("q", HEADS), ("k", own), ("v", own))]
        position = numpy.int64(random.choice([0, ROOM - STEP, random.integers(0, ROOM - STEP + 1)]))
        return new + [(n, 9 * floats(1, own, ROOM, SIZE)) for n in ("past_key", "past_value")] + [("position", numpy.array(position))]
    return make


def flat_step(own):
    def reference(q, k, v, past_key, past_value, position):
        y, keys, values = step(parted(q, HEADS), parted(k, own), parted(v, own), past_key, past_value, position)
        return joined(y), keys, values
    return reference


def placed(q, k, v, past_key, past_value, position):
    rows = TABLE[position:position + STEP]
    return flat_step(HEADS)(q + rows, k + rows, v, past_key, past_value, position)


def grouped(**given):
    """GroupQueryAttention gives zeros where there is no token yet."""
    y, *caches = flat_step(OWN)(**given)
    end = given["position"] + STEP
    return (y, *[numpy.where(numpy.arange(ROOM)[:, None] < end, cache, F32(0)) for cache in caches])


OUTPUTS = ("y", "present_key", "present_value")
LENGTH = [("Shape", "past_key", "shape", "", {}), ("Gather", "shape two", "past", "", {}), ("Shape", "q", "new_shape", "", {}),
          ("Gather", "new_shape one", "new", "", {}), ("Add", "past new", "end", "", {})]
NUMBERS = (("one", numpy.int64(1)), ("two", numpy.int64(2)), ("table", TABLE), ("line", numpy.array([1], numpy.int64)),
           ("zero", numpy.array([0], numpy.int64)))
ROWS = {
    "a range of positions": [("Range", "past end one", "places", "", {}), ("Gather", "table places", "rows", "", {})],
    "rows that are cut out": [("Reshape", "past line", "begin", "", {}), ("Reshape", "end line", "behind", "", {}),
                              ("Slice", "table begin behind zero", "rows", "", {})],
}
ATTENTION = ("Attention", "x z v _ past_key past_value", "y present_key present_value", "", dict(is_causal=1, q_num_heads=HEADS, kv_num_heads=HEADS))
SHIFT = [("Add", "q rows", "x", "", {}), ("Add", "k rows", "z", "", {})]

suite = Suite()
suite.add("Attention", data(False, OWN), step, outputs=OUTPUTS,
          model=model([("Attention", "q k v _ past_key past_value", "y present_key present_value", "", dict(is_causal=1))]))
suite.add("MultiHeadAttention", data(True, HEADS), flat_step(HEADS), outputs=OUTPUTS,
          model=model([("MultiHeadAttention", "q k v _ _ _ past_key past_value", "y present_key present_value", MS, dict(num_heads=HEADS, unidirectional=1))]))
suite.add("GroupQueryAttention", data(True, OWN), grouped, outputs=OUTPUTS,
          model=model([("GroupQueryAttention", "q k v past_key past_value seqlens_k total_sequence_length", "y present_key present_value", MS,
                        dict(num_heads=HEADS, kv_num_heads=OWN))], lengths=[("seqlens_k", [1]), ("total_sequence_length", [])]))
suite.add("TensorScatter", data(False, OWN), step, outputs=OUTPUTS,
          model=model([("TensorScatter", "past_key k write_indices", "present_key", "", {}),
                       ("TensorScatter", "past_value v write_indices", "present_value", "", {}),
                       ("Attention", "q present_key present_value _ _ _ nonpad_kv_seqlen", "y", "", dict(is_causal=1))],
                      lengths=[("write_indices", [1]), ("nonpad_kv_seqlen", [1])]))
for nodes in ROWS.values():
    suite.add("Positions", data(True, HEADS), placed, outputs=OUTPUTS, model=model(LENGTH + nodes + SHIFT + [ATTENTION], constants=NUMBERS))
status = suite.run(sys.argv[1], "--context", "%d:%d" % (ROOM, STEP))


def refused(nodes, context, says, constants=()):
    """True if a model is refused with these words, in one line."""
    named = dict(data(True, HEADS)(numpy.random.default_rng(1)))
    made = model(nodes, constants=constants)(list(named.items()), [(n, named["q"]) for n in OUTPUTS])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        with open(path, "wb") as file:
            file.write(made.SerializeToString())
        run = subprocess.run([sys.argv[1], "compile", path, "--context", context, "-o", os.path.join(folder, "m.so")], capture_output=True, text=True,
                             check=False)
        good = run.returncode == 1 and says in run.stderr and run.stderr.count("\n") == 1 and os.listdir(folder) == ["m.onnx"]
    if not good:
        print("not refused with '%s': %d, %s" % (says, run.returncode, run.stderr))
    return good


RANGE = ROWS["a range of positions"]
SQUARES = [("Mul", "past past", "square", "", {}), ("Cast", "square", "number", "", dict(to=TensorProto.FLOAT)), ("Add", "q number", "x", "", {})]
good = [refused(LENGTH + RANGE + SHIFT + [ATTENTION], "%d" % (len(TABLE) + 1), "--context %d: " % (len(TABLE) + 1), NUMBERS),
        refused(LENGTH + SQUARES + [("Identity", "k", "z", "", {}), ATTENTION], "9:2", "in a way that is not known", NUMBERS),
        refused([("Neg", "past_key", "present_key", "", {}), ("Neg", "past_value", "present_value", "", {}), ("Neg", "q", "y", "", {})], "9:2",
                "it has no Softmax over the tokens of its cache")]
sys.exit(status if all(good) else 1)
