#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# SavedModels and models of TensorFlow.js, written here. SavedModels of TensorFlow 1 and 2: signatures, variables in shards,
# an index whose blocks are packed by Snappy or not, functions. TensorFlow.js: graph-models with weights in shards and in
# fewer bits, layers-models. One network in all three containers gives the same numbers. What is damaged, missing or of the
# wrong size is refused in one line.
#
# usage: tensorflow_saved.py VTAC SOURCE   (exit status 77: no numpy)
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
    import word_seed
    from tensorflow_file import TYPES, Function, Graph, Shape, Type, conv, depthwise, field, mobilenet, real_weight, shape_message, softmax, stored_weight, varint, write_shards
except ImportError:
    sys.exit(77)

F32 = Type("float32")


# ---- a checkpoint: a table of LevelDB, and files of data

def snappy(data):
    """Literals, and copies of what was seen at the same four bytes."""
    out, seen, at, begin = varint(len(data)), {}, 0, 0

    def literal(part):
        if not part:
            return b""
        n = len(part) - 1
        head = bytes([n << 2]) if n < 60 else bytes([60 << 2, n]) if n < 256 else bytes([61 << 2]) + struct.pack("<H", n)
        return head + part

    while at < len(data):
        key, before = data[at:at + 4], seen.get(data[at:at + 4])
        seen[key] = at
        if before is None or len(key) < 4:
            at += 1
            continue
        length = 4
        while length < 60 and at + length < len(data) and data[before + length] == data[at + length]:
            length += 1
        offset = at - before
        out += literal(data[begin:at])
        if length < 12 and offset < 2048:
            out += bytes([1 | length - 4 << 2 | offset >> 8 << 5, offset & 255])
        elif offset < 65536 and offset % 2:
            out += bytes([2 | length - 1 << 2]) + struct.pack("<H", offset)
        else:
            out += bytes([3 | length - 1 << 2]) + struct.pack("<I", offset)
        at += length
        begin = at
    return out + literal(data[begin:])


def block(entries, packed):
    out, last, restarts = b"", b"", []
    for i, (key, value) in enumerate(entries):
        shared = 0 if i % 3 == 0 else len(os.path.commonprefix([last, key]))
        if i % 3 == 0:
            restarts.append(len(out))
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    out += b"".join(struct.pack("<I", r) for r in restarts or [0]) + struct.pack("<I", len(restarts or [0]))
    return snappy(out) if packed else out


def table(entries, packed, each=4):
    out, index = b"", []

    def put(part, kind):
        nonlocal out
        handle = varint(len(out)) + varint(len(part))
        out += part + bytes([kind]) + b"\0\0\0\0"
        return handle

    for i in range(0, len(entries), each):
        part = entries[i:i + each]
        index.append((part[-1][0], put(block(part, packed), int(packed))))
    meta = put(block([], False), 0)
    handles = meta + put(block(index, False), 0)
    return out + handles + bytes(40 - len(handles)) + bytes.fromhex("57fb808b247547db")


def checkpoint(variables, shards, packed, objects):
    """Files by name; `objects` are keys by a variable's name, of TensorFlow 2."""
    data, entries = [b""] * shards, []
    items = {objects.get(n, n): v for n, v in variables.items()} if objects else dict(variables)
    for i, (key, v) in enumerate(sorted(items.items())):
        place = field(1, TYPES[str(v.dtype)]) + field(2, shape_message(v.shape)) + field(3, i % shards) + field(4, len(data[i % shards])) + field(5, v.nbytes)
        entries.append((key.encode(), place))
        data[i % shards] += v.tobytes()
    if objects:
        nodes = b"".join(field(1, field(2, field(1, "VARIABLE_VALUE") + field(2, n) + field(3, k))) for n, k in objects.items())
        entries.append((b"_CHECKPOINTABLE_OBJECT_GRAPH", field(1, 7) + field(4, len(data[0])) + field(5, len(varint(len(nodes))) + 4 + len(nodes))))
        data[0] += varint(len(nodes)) + b"\0\0\0\0" + nodes
    entries = [(b"", field(1, shards))] + sorted(entries)
    files = {"variables/variables.data-%05d-of-%05d" % (i, shards): d for i, d in enumerate(data)}
    return {**files, "variables/variables.index": table(entries, packed)}


def saved_model(g, signatures, tags=("serve",)):
    """`signatures`: name to (inputs, outputs), each a name to (reference, shape)."""
    def ends(number, ends_of):
        return b"".join(field(number, field(1, n) + field(2, field(1, ref) + field(2, 1) + field(3, field(3, 1) if dims is None else shape_message(dims)))) for n, (ref, dims) in ends_of.items())

    maps = b"".join(field(5, field(1, n) + field(2, ends(1, i) + ends(2, o) + field(3, "predict"))) for n, (i, o) in signatures.items())
    start = field(5, field(1, "__saved_model_init_op") + field(2, ends(2, {"__saved_model_init_op": ("NoOp", None)})))
    return field(1, 1) + field(2, field(1, b"".join(field(4, t) for t in tags)) + field(2, g.graph_def()) + start + maps)


# ---- trials

class Trial:
    def __init__(self, vtac, work, seed):
        self.vtac, self.work, self.random, self.count = vtac, work, numpy.random.default_rng(seed), 0

    def draw(self, *dims):
        return self.random.uniform(-1, 1, dims).astype("float32")

    def folder(self, files):
        folder = tempfile.mkdtemp(dir=self.work)
        for name, data in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)
        return folder

    def call(self, *words):
        self.count += 1
        return subprocess.run([self.vtac, *words], capture_output=True, text=True)

    def passes(self, *words):
        done = self.call(*words)
        if done.returncode != 0:
            sys.exit("vtac %s\n%s" % (" ".join(words), done.stderr))
        return done

    def gives(self, path, draw, wanted, *options, tolerance=3e-5):
        so = os.path.join(self.work, "a.so")
        self.passes("compile", path, "-o", so, *options)
        for _ in range(2):
            given, words, folder = draw(), [], tempfile.mkdtemp(dir=self.work)
            for name, value in given.items():
                numpy.save(os.path.join(folder, "in_" + name), value)
                words += ["--input", "%s=%s" % (name, os.path.join(folder, "in_%s.npy" % name))]
            out = os.path.join(folder, "out")
            self.passes("run", so, *words, "--output-dir", out)
            expected = wanted(**given)
            if sorted(os.listdir(out)) != sorted(n + ".npy" for n in expected):
                sys.exit("%s: outputs %s, expected %s" % (path, os.listdir(out), list(expected)))
            for name, y in expected.items():
                numpy.testing.assert_allclose(numpy.load(os.path.join(out, name + ".npy")), y, rtol=tolerance, atol=tolerance)

    def refused(self, what, path, says, *options):
        done = self.call("inspect", path, *options)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("vtac inspect: ")]
        if done.returncode != 1 or len(lines) != 1 or not re.search(says, lines[0]):
            sys.exit("%s: exit status %d\n%s, expected: %s" % (what, done.returncode, done.stderr, says))


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


# ---- SavedModel

def modern(t):
    """TensorFlow 2: everything is in functions; variables hang on handles and are read where they are used."""
    variables = {"dense/kernel": t.draw(4, 3), "dense/bias": t.draw(3), "other/kernel": t.draw(4, 3), "scale": numpy.float32(t.random.uniform(1, 2))}
    objects = {n: "layer_with_weights-%d/%s/.ATTRIBUTES/VARIABLE_VALUE" % (i, n.split("/")[-1]) for i, n in enumerate(variables)}
    g = Graph()
    names = [g("VarHandleOp", name="h%d" % i, dtype=F32, shape=Shape(v.shape), shared_name=n) for i, (n, v) in enumerate(variables.items())]
    for n, k in (("forward", 0), ("other", 2)):
        layer = Graph()
        product = layer("MatMul", "x", layer("ReadVariableOp", "kernel") + ":value:0", name="product")
        total = layer("BiasAdd", product + ":product:0", layer("ReadVariableOp", "bias") + ":value:0", name="total")
        layer("Identity", total + ":output:0", name="Identity")
        g.function("layer_" + n, ["x", "kernel", "bias"], {"y": "Identity:output:0"}, layer)
        body = Graph()
        called = body("StatefulPartitionedCall", "x", "kernel", "bias", name="call", f=Function("layer_" + n))
        first = body("Relu", called + ":output:0", name="relu")
        body("Mul", first + ":activations:0", body("ReadVariableOp", "scale") + ":value:0", name="scaled")
        g.function("wrapper_" + n, ["x", "kernel", "bias", "scale"], {"out": "scaled:z:0", "rectified": "relu:activations:0"}, body)
        g.input("serving_" + n, (-1, 4))
        g("StatefulPartitionedCall", "serving_" + n, names[k], names[1], names[3], name="call_" + n, f=Function("wrapper_" + n))
    g("NoOp", name="NoOp")
    ends = lambda n: ({"x": ("serving_%s:0" % n, (-1, 4))}, {"out": ("call_%s:0" % n, (-1, 3)), "rectified": ("call_%s:1" % n, (-1, 3))})
    model = saved_model(g, {"serving_default": ends("forward"), "another": ends("other")})

    def wanted(kernel):
        def f(x):
            y = numpy.maximum(x @ variables[kernel] + variables["dense/bias"], 0)
            return {"out": y * variables["scale"], "rectified": y}
        return f

    for shards, packed in ((1, False), (2, True), (3, True)):
        files = {"saved_model.pb": model, **checkpoint(variables, shards, packed, objects)}
        folder = t.folder(files)
        draw = lambda: {"x": t.draw(1, 4)}
        t.gives(folder, draw, wanted("dense/kernel"))
        t.gives(folder + "/", draw, wanted("other/kernel"), "--signature", "another")
        t.gives(os.path.join(folder, "saved_model.pb"), draw, lambda x: {"out": wanted("dense/kernel")(x)["out"]}, "--output-value", "out")
    said = t.passes("inspect", folder).stderr
    if "2 signatures, 'another', 'serving_default'; this is 'serving_default'" not in said:
        sys.exit("vtac inspect does not list the signatures: " + said)
    t.refused("a signature that is not there", folder, "no signature is called 'x'; there are 'another', 'serving_default'", "--signature", "x")
    damage(t, files)


def damage(t, files):
    index = files["variables/variables.index"]
    for at in range(0, len(index), 23):
        t.refused("an index cut off at %d" % at, t.folder({**files, "variables/variables.index": index[:at]}), "variables/variables.index is damaged")
    for _ in range(60):
        broken = bytearray(index)
        broken[t.random.integers(0, len(index))] ^= 1 << int(t.random.integers(0, 8))
        done = t.call("inspect", t.folder({**files, "variables/variables.index": bytes(broken)}))
        if done.returncode not in (0, 1):
            sys.exit("a damaged index: exit status %d\n%s" % (done.returncode, done.stderr))
    shard = "variables/variables.data-00000-of-00003"
    t.refused("data cut off", t.folder({**files, shard: files[shard][:3]}), "bytes, and variable|graph of objects")
    left = {n: d for n, d in files.items() if n != shard}
    t.refused("no data", t.folder(left), "its variables")
    t.refused("no index", t.folder({n: d for n, d in files.items() if "index" not in n}), "a variable, whose contents are not in the file")
    size, times = 1 << 24, 17  # a block without an entry, named often
    tail = struct.pack("<I", (size - 4) // 4)
    inner = varint(size) + b"\0\0" + b"\xfe\1\0" * ((size - 5) // 64) + bytes([((size - 5) % 64 - 1) << 2 | 2, 1, 0]) + b"\x0c" + tail
    root = block([(b"%03d" % i, varint(0) + varint(len(inner))) for i in range(times)], False)
    ends = varint(0) + varint(0) + varint(len(inner) + 5) + varint(len(root))
    t.refused("a block that is named often", t.folder({**files, "variables/variables.index": inner + b"\1\0\0\0\0" + root + b"\0" * 5 + ends + bytes(40 - len(ends)) + bytes.fromhex("57fb808b247547db")}), "too long together")
    bomb = varint(1 << 40)
    handle = varint(0) + varint(len(bomb))
    inner = bomb + b"\1\0\0\0\0"
    root = block([(b"z", handle)], False)
    whole = inner + root + b"\0" * 5
    handles = varint(0) + varint(0) + varint(len(inner)) + varint(len(root))
    t.refused("a Snappy bomb", t.folder({**files, "variables/variables.index": whole + handles + bytes(40 - len(handles)) + bytes.fromhex("57fb808b247547db")}), "too long")


def old(t):
    """TensorFlow 1: variables by their nodes' names, no functions, dropout that is left over."""
    variables = {"w": t.draw(3, 3, 2, 4), "b": t.draw(4)}
    g = Graph()
    x = g.input("images", (-1, 6, 6, 2))
    read = {n: g("Identity", g("VariableV2" if n == "w" else "Variable", name=n, dtype=F32, shape=Shape(v.shape)), name=n + "/read") for n, v in variables.items()}
    y = g("Conv2D", x, read["w"], strides=[1, 1, 1, 1], padding="SAME")
    y = g("Softmax", g("BiasAdd", y, read["b"]), name="scores")
    g("Assign", "w", g.constant(variables["w"]), name="w/Assign")
    g("SaveV2", "w", name="save/SaveV2")
    files = {"saved_model.pb": saved_model(g, {"predict": ({"inputs": ("images:0", (-1, 6, 6, 2))}, {"scores": ("scores:0", None)})}), **checkpoint(variables, 1, True, None)}
    t.gives(t.folder(files), lambda: {"inputs": t.draw(1, 6, 6, 2)}, lambda inputs: {"scores": softmax(conv(inputs, variables["w"]) + variables["b"])})
    t.refused("a variable that is not there", t.folder({**files, **checkpoint({"w": variables["w"]}, 1, False, None)}), "variable 'b' is not among the 1")


# ---- TensorFlow.js

def graph_models(t):
    g, reference = mobilenet(t.random, 32, 0.25, 5)
    signature = {"inputs": {"picture": {"name": "input:0", "dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": d} for d in ("-1", "32", "32", "3")]}}},
                 "outputs": {"classes": {"name": "MobilenetV1/Predictions/Reshape_1:0"}}}
    draw = lambda: {"picture": t.draw(1, 32, 32, 3)}
    for shard in (None, 4099, 100003):
        folder = t.folder({})
        g.tfjs(folder, shard=shard, signature=signature)
        t.gives(folder, draw, lambda picture: {"classes": reference(picture)})
    for kind in ("float16", "uint16", "uint8"):
        real = lambda weight: real_weight(weight, kind)
        t.gives(g.tfjs(t.folder({}), quantized=kind, shard=5000), lambda: {"input": t.draw(1, 32, 32, 3)}, lambda input: {"MobilenetV1_Predictions_Reshape_1": reference(input, real)})
    small = Graph()
    w = t.draw(5, 4)
    small("MatMul", small.input("x", (2, 5)), w, name="y")
    for kind in ("uint8", "uint16", "float16"):
        t.gives(small.tfjs(t.folder({}), quantized=kind), lambda: {"x": t.draw(2, 5)}, lambda x: {"y": x @ real_weight(w, kind)}, tolerance=1e-5)
    free = Graph()  # the signature has a size that the graph leaves open: --shape gives another
    free("Neg", free.input("p", (1, -1, 3)), name="y")
    closed = {"inputs": {"x": {"name": "p:0", "dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": d} for d in "143"]}}}, "outputs": {"y": {"name": "y:0"}}}
    path = free.tfjs(t.folder({}), signature=closed)
    for rows, words in ((4, ()), (6, ("--shape", "x=1x6x3"))):
        t.gives(path, lambda rows=rows: {"x": t.draw(1, rows, 3)}, lambda x: {"y": -x}, *words)
    t.refused("a size that the graph fixes", path, "axis 2 is 3 in the graph, not 2", "--shape", "x=1x6x2")
    path = g.tfjs(t.folder({}), shard=4099)
    folder = os.path.dirname(path)
    with open(path) as f:
        model = json.load(f)
    first = model["weightsManifest"][0]["paths"][0]
    with open(os.path.join(folder, first), "rb") as f:
        data = f.read()
    write(os.path.join(folder, first), data[:-5])
    t.refused("a shard cut off", path, "bytes from byte")
    os.remove(os.path.join(folder, first))
    t.refused("no shard", path, "its weights")
    write(os.path.join(folder, first), data)
    whole = json.dumps(model).encode()
    for at in range(97, len(whole), 97 * 31):
        write(path, whole[:at])
        t.refused("cut off at byte %d" % at, path, ".")
    model["weightsManifest"][0]["paths"][0] = "../" + first
    write(path, json.dumps(model).encode())
    t.refused("a path that leads out", path, "its weights")


def layers_models(t):
    """What tf.keras and TensorFlow.js write: a configuration, and weights called after their layers."""
    w = {"conv/kernel": t.draw(3, 3, 2, 4), "conv/bias": t.draw(4), "deep/depthwise_kernel": t.draw(3, 3, 4, 1), "deep/bias": t.draw(4), "norm/gamma": t.draw(4), "norm/beta": t.draw(4),
         "norm/moving_mean": t.draw(4), "norm/moving_variance": abs(t.draw(4)) + 0.5, "dense/kernel": t.draw(64, 3), "dense/bias": t.draw(3)}
    layer = lambda kind, name, **config: {"class_name": kind, "config": {"name": name, "trainable": True, **config}}
    window = {"strides": [1, 1], "padding": "same", "data_format": "channels_last", "use_bias": True}
    layers = [layer("InputLayer", "input", batch_input_shape=[None, 4, 4, 2], dtype="float32"), layer("Conv2D", "conv", filters=4, kernel_size=[3, 3], activation="relu", **window),
              layer("DepthwiseConv2D", "deep", kernel_size=[3, 3], depth_multiplier=1, activation="linear", **window), layer("BatchNormalization", "norm", axis=[3], epsilon=0.001, scale=True, center=True),
              layer("Flatten", "flatten"), layer("Dense", "dense", units=3, activation="softmax", use_bias=True)]

    def reference(x, r):
        y = numpy.maximum(conv(x, r["conv/kernel"]) + r["conv/bias"], 0)
        y = depthwise(y, r["deep/depthwise_kernel"]) + r["deep/bias"]
        y = (y - r["norm/moving_mean"]) / numpy.sqrt(r["norm/moving_variance"] + 0.001) * r["norm/gamma"] + r["norm/beta"]
        return softmax(y.reshape(1, -1) @ r["dense/kernel"] + r["dense/bias"])

    plain = {"class_name": "Sequential", "config": {"name": "net", "layers": layers}}
    nested = {"class_name": "Sequential", "config": {"name": "net", "layers": [{"class_name": "Sequential", "config": {"name": "base", "layers": layers[:4]}}] + layers[4:]}}
    for topology in (plain, {"keras_version": "2.4.0", "backend": "tensorflow", "model_config": plain}, nested):
        for kind, shard in ((None, None), (None, 333), ("uint16", None)):
            folder, entries, data = t.folder({}), [], b""
            real = {name: real_weight(value, kind) for name, value in w.items()}
            for name, value in w.items():
                entry, stored = stored_weight(name, value, kind)
                entries.append(entry)
                data += stored
            model = {"format": "layers-model", "modelTopology": topology, "weightsManifest": write_shards(folder, entries, data, shard)}
            write(os.path.join(folder, "model.json"), json.dumps(model).encode())
            so = os.path.join(t.work, "a.so")
            t.passes("compile", folder, "-o", so)
            for _ in range(2):
                x, out = t.draw(1, 4, 4, 2), tempfile.mkdtemp(dir=t.work)
                numpy.save(os.path.join(t.work, "x.npy"), x)
                t.passes("run", so, "--input", os.path.join(t.work, "x.npy"), "--output-dir", out)
                (found,) = os.listdir(out)
                numpy.testing.assert_allclose(numpy.load(os.path.join(out, found)), reference(x, real), atol=1e-5)
    del model["weightsManifest"][0]["weights"][-1]
    write(os.path.join(folder, "model.json"), json.dumps(model).encode())
    t.refused("a layer without a weight", folder, "'dense'")


def twins(t):
    """One network as a GraphDef, a SavedModel and a graph-model: the same code and the same numbers."""
    g, _ = mobilenet(t.random, 32, 0.25, 5)
    end = "MobilenetV1/Predictions/Reshape_1"
    frozen = t.folder({"net.pb": g.graph_def(), "saved_model.pb": saved_model(g, {"serving_default": ({"input": ("input:0", (-1, 32, 32, 3))}, {end: (end + ":0", None)})})})
    g.tfjs(frozen)
    texts = [re.sub(r"%v\d+|@\d+", "", t.passes("inspect", os.path.join(frozen, n), "-O", "3").stdout) for n in ("net.pb", "saved_model.pb", "model.json")]
    if len(set(texts)) != 1:
        sys.exit("one network becomes different graphs in different containers")


def main():
    with tempfile.TemporaryDirectory() as work:
        t = Trial(sys.argv[1], work, word_seed.told())
        for part in (modern, old, graph_models, layers_models, twins):
            part(t)
        print("%d calls" % t.count)


main()
