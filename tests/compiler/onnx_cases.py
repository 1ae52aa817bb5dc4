# SPDX-License-Identifier: Apache-2.0
#
# What the operator tests share: models and data written as ONNX's test-case folders, and `vtac verify` run on them.
# Needs python3-onnx; a script that imports this ends with status 77 where it is not there.
import os
import subprocess
import sys
import tempfile
import warnings
import zlib

try:
    import numpy
except ImportError:
    print("python3-numpy is not there: nothing to run")
    sys.exit(77)
for name, kind in (("float", float), ("bool", bool), ("object", object), ("int", int)):
    if name not in vars(numpy):  # onnx 1.12 still asks for these
        setattr(numpy, name, kind)
warnings.filterwarnings("ignore")
try:
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("python3-onnx is not there: nothing to run")
    sys.exit(77)

SEED = os.environ.get("VTAC_SEED", "1")
MS = "com.microsoft"


def random_for(name, number):
    """Numbers of this case and data set alone, so that one case can be looked at by itself."""
    return numpy.random.default_rng(zlib.crc32(("%s/%s/%d" % (SEED, name, number)).encode()))


def write_set(folder, number, inputs, outputs):
    """A data set: lists of (name, array or a message of ONNX's)."""
    place = os.path.join(folder, "test_data_set_%d" % number)
    os.makedirs(place)
    for kind, tensors in (("input", inputs), ("output", outputs)):
        for i, (name, array) in enumerate(tensors):
            tensor = array if hasattr(array, "SerializeToString") else numpy_helper.from_array(numpy.array(array), name)
            with open(os.path.join(place, "%s_%d.pb" % (kind, i)), "wb") as file:
                file.write(tensor.SerializeToString())


def write_model(folder, model):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(model.SerializeToString())


def value_info(name, array):
    return helper.make_tensor_value_info(name, helper.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype], array.shape)


def one_node_model(op, attrs, inputs, constants, outputs, opset, domain):
    """inputs, outputs: lists of (name, array); a name of '' is an absent input. constants: names that are initializers."""
    node = helper.make_node(op, [n for n, _ in inputs], [n for n, _ in outputs], domain=domain, **attrs)
    given = [(n, a) for n, a in inputs if n]
    graph = helper.make_graph(
        [node], "case", [value_info(n, a) for n, a in given if n not in constants],
        [value_info(n, a) for n, a in outputs if n],
        [numpy_helper.from_array(numpy.array(a), n) for n, a in given if n in constants])
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


class Redraw(Exception):
    """Raised by a reference that does not want these data."""


class Suite:
    """Cases of one operator each, checked against a reference in numpy: two data sets in a row on one loaded model."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.names = []
        self.counts = {}

    def add(self, op, make, reference, constants=(), version=17, domain="", outputs=("y",), model=None, **attrs):
        """make(random) gives [(name, array)]; reference(*arrays) one array or a tuple. Constants do not change with the
        data set. model(inputs, outputs) gives a model that is more than one node."""
        number = self.counts[op] = self.counts.get(op, 0) + 1
        name = "%s_%d" % (op.lower(), number)
        folder = os.path.join(self.folder.name, name)
        fixed = None
        for data_set in range(2):
            random = random_for(name, data_set)
            for _ in range(1000):
                inputs = [(n, fixed[n] if fixed is not None and n in constants else a) for n, a in make(random)]
                try:
                    results = reference(**{n: a for n, a in inputs if n})
                    break
                except Redraw:
                    continue
            else:
                raise RuntimeError("%s: no data that its reference wants" % name)
            fixed = dict(inputs) if fixed is None else fixed
            results = results if isinstance(results, tuple) else (results,)
            named = [(n, a) for n, a in zip(outputs, results)]
            if data_set == 0:
                write_model(folder, model(inputs, named) if model else
                            one_node_model(op, attrs, inputs, constants, named, version, domain))
            write_set(folder, data_set, [(n, a) for n, a in inputs if n and n not in constants],
                      [(n, a) for n, a in named if n])
        self.names.append(name)

    def run(self, vtac, *options):
        """Every case must pass; prints those that do not."""
        print("%d cases, VTAC_SEED=%s" % (len(self.names), SEED))
        failed = 0
        for level in ("0", "3"):
            run = subprocess.run([vtac, "verify", "-O", level, *options] + self.names, cwd=self.folder.name,
                                 stdout=subprocess.PIPE, text=True, check=False)
            lines = run.stdout.splitlines()
            for line in lines:
                if not line.startswith("PASS"):
                    print("-O%s: %s" % (level, line[:240]))
            passed = sum(line.startswith("PASS") for line in lines)
            failed += passed != len(self.names) or run.returncode != 0
        return 1 if failed else 0
