#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# The published graph models of TensorFlow.js (published_tfjs.txt) as TensorFlow itself keeps them: their nodes and weights are
# written here as a frozen GraphDef, whose ends --output-value names, and as a SavedModel with a signature. Each is compiled at -O 3 and
# compared with what TensorFlow.js says of the original, by the rules of published_tfjs.py.
#
# usage: published_frozen.py VTAC FOLDER [--record] [NAME...]   (--record: in tests/results/published.json; a name: a part of a
# model's path; exit status 77: no node, no NumPy, or no network and nothing fetched before)
import base64
import json
import os
import shutil
import sys
import tempfile

import published_tfjs as published
from messages import message, varint
from published_tfjs import numpy, results

TYPES = {"DT_FLOAT": 1, "DT_DOUBLE": 2, "DT_INT32": 3, "DT_UINT8": 4, "DT_INT16": 5, "DT_INT8": 6, "DT_STRING": 7, "DT_INT64": 9, "DT_BOOL": 10,
         "DT_HALF": 19, "DT_RESOURCE": 20, "DT_VARIANT": 21}
ARRAYS = {"float32": ("<f4", 1), "int32": ("<i4", 3), "bool": ("|b1", 10)}


class Unwritten(Exception):
    """A model that is not written here: of layers, with functions or texts."""


def number_of(kind):
    return kind if isinstance(kind, int) else TYPES[kind]


def packed(numbers):
    return b"".join(varint(int(v)) for v in numbers)


def shape(value):
    dims = [(2, message((1, int(d.get("size", 0))))) for d in (value or {}).get("dim") or []]
    return message(*dims, *([(3, 1)] if (value or {}).get("unknownRank") else []))


def attribute(value):
    """AttrValue of its JSON."""
    if "list" in value:
        part = value["list"] or {}
        fields = [(2, base64.b64decode(v)) for v in part.get("s") or []]
        fields += [(n, packed(part[k])) for n, k in ((3, "i"), (5, "b")) if part.get(k)]
        fields += [(4, [float(v) for v in part["f"]])] if part.get("f") else []
        fields += [(6, packed(number_of(v) for v in part["type"]))] if part.get("type") else []
        return message((1, message(*fields, *[(7, shape(v)) for v in part.get("shape") or []])))
    writers = {"s": (2, base64.b64decode), "i": (3, int), "f": (4, float), "b": (5, int), "type": (6, number_of), "shape": (7, shape)}
    for key, (field, write) in writers.items():
        if key in value:
            return message((field, write(value[key])))
    return b""


def array(spec, data, at):
    """A weight, and where the next one begins."""
    count = int(numpy.prod(spec["shape"], dtype=int))
    quantized = spec.get("quantization")
    if spec["dtype"] not in ARRAYS:
        raise Unwritten("weights of type %s" % spec["dtype"])
    kind = {"float16": "<f2", "uint8": "u1", "uint16": "<u2"}[quantized["dtype"]] if quantized else ARRAYS[spec["dtype"]][0]
    value = numpy.frombuffer(data, kind, count, at)
    at += value.nbytes
    if quantized and "scale" in quantized:
        value = value.astype("f4") * numpy.float32(quantized["scale"]) + numpy.float32(quantized["min"])
        value = numpy.round(value) if spec["dtype"] == "int32" else value
    return value.astype(ARRAYS[spec["dtype"]][0]).reshape(spec["shape"]), at


def weights(model, folder):
    out = {}
    for group in model["weightsManifest"]:
        parts = []
        for path in group["paths"]:
            with open(os.path.join(folder, path), "rb") as f:
                parts.append(f.read())
        data, at = b"".join(parts), 0
        for spec in group["weights"]:
            out[spec["name"]], at = array(spec, data, at)
    return out


def node(of, held):
    fields = [(1, of["name"]), (2, of["op"])] + [(3, i) for i in of.get("input") or []]
    attrs = {k: attribute(v) for k, v in (of.get("attr") or {}).items()}
    if of["op"] == "Const" and of["name"] in held:
        value = held[of["name"]]
        kind = ARRAYS[str(value.dtype)][1]
        dims = message(*[(2, message((1, int(d)))) for d in value.shape])
        attrs = {"dtype": message((6, kind)), "value": message((8, message((1, kind), (2, dims), (4, value.tobytes()))))}
    return message(*fields, *[(5, message((1, k), (2, v))) for k, v in attrs.items()])


def frozen(path):
    """The bytes of a GraphDef."""
    with open(path, encoding="utf-8") as f:
        model = json.load(f)
    graph = model["modelTopology"]
    if "node" not in graph or (graph.get("library") or {}).get("function"):
        raise Unwritten("a model of layers, or with functions")
    held = weights(model, os.path.dirname(path))
    return message(*[(1, node(n, held)) for n in graph["node"]], (4, message((1, 1395))))


def end(name):
    return name if ":" in name else name + ":0"


def saved(graph, said):
    """The bytes of a SavedModel of TensorFlow 1 with one signature."""
    def info(of):
        kind = ARRAYS.get(of.get("dtype", "float32"), ARRAYS["float32"])[1]
        return message((1, end(of["name"])), (2, kind), (3, message(*[(2, message((1, int(d)))) for d in of["shape"]])))
    inputs = [(1, message((1, of["name"].split(":")[0]), (2, info(of)))) for of in said["inputs"]]
    outputs = [(2, message((1, "output_%d" % i), (2, info(of)))) for i, of in enumerate(said["outputs"])]
    signature = message(*inputs, *outputs, (3, "tensorflow/serving/predict"))
    meta = message((1, message((4, "serve"), (5, "1.15"))), (2, graph), (5, message((1, "serving_default"), (2, signature))))
    return message((1, 1), (2, meta))


def write(graph, said, work, kind):
    """The path of the model, and words for the compiler."""
    if kind == "GraphDef":
        with open(os.path.join(work, "frozen.pb"), "wb") as f:
            f.write(graph)
        names = list(dict.fromkeys(end(of["name"]) for of in said["outputs"]))
        return os.path.join(work, "frozen.pb"), [w for name in names for w in ("--output-value", name)]
    os.makedirs(os.path.join(work, "saved"))
    with open(os.path.join(work, "saved", "saved_model.pb"), "wb") as f:
        f.write(saved(graph, said))
    return os.path.join(work, "saved"), []


def judge(vtac, modules, path, size, kind):
    with tempfile.TemporaryDirectory() as work:
        try:
            graph = frozen(path)
        except Unwritten as why:
            return "unasked", str(why)
        said, why = published.reference(modules, path, work, size)
        if said is None:
            return "unasked", why
        model, words = write(graph, said, work, kind)
        found, why = published.ours(vtac, model, said, work, words)
        if found is None:
            return ("refused", why) if why.startswith("vtac") else ("wrong", why)
        return published.verdict(modules, path, work, size, found, len(said["outputs"]))


def main():
    vtac, folder, words = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
    wanted = [w for w in words if w != "--record"]
    os.makedirs(folder, exist_ok=True)
    if shutil.which("npm") is None:
        print("skipped: npm is not there")
        sys.exit(77)
    modules, counts = published.fetch_engine(folder), {}
    for name, path, size in published.models(folder, wanted):
        for kind in ("GraphDef", "SavedModel"):
            answer, why = judge(vtac, modules, path, size, kind)
            counts[answer] = counts.get(answer, 0) + 1
            print("%-60s %-10s %-8s %s" % (name, kind, answer, why[:300]), flush=True)
            if "--record" in words and answer != "unasked":
                results.record("published", "%s, %s" % (name, kind), {"format": kind, "answer": answer, "error or reason": why[:200]})
    print(", ".join("%d %s" % (n, answer) for answer, n in sorted(counts.items())))
    sys.exit(1 if counts.get("wrong") else 0)


if __name__ == "__main__":
    main()
