#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# The networks of the suite's own, as files: what tests of whole models run on where nothing but the clone is there. Each has
# inputs and reference outputs, worked out in double precision by reference.py or by the writers of its format; inputs are drawn
# until the reference's decision is clear. The same files come out every time; they are made once for each state of the scripts.
#
#     FOLDER/NAME.onnx, FOLDER/golden/NAME/CASE_in.npy, CASE_out0.npy; FOLDER/golden/limits.txt: NAME RELATIVE STEP, how far an
#     output may be off, relative to the range of the reference or in steps of the output's scale
#     FOLDER/digit/model.onnx, test_data_set_N/: a folder as ONNX's own cases are
#     FOLDER/tflite/NAME/, keras/NAME/, darknet/NAME/: a model of that kind with its cases
#
# usage: make.py FOLDER
import hashlib
import importlib
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILER = os.path.join(HERE, "..", "compiler")
sys.path[:0] = [HERE, COMPILER]

try:
    importlib.import_module("h5py")  # without which keras_models would only say that it skips
    import numpy
    import onnx
    from onnx import numpy_helper

    import darknet_models
    import keras_models
    import nets
    import reference
    import tflite_own
except ImportError as error:
    sys.exit("%s; ./run build installs Debian's python3-onnx and python3-h5py" % error)

CASES = 3
SOFTMAX_STEP = 1 / 256

# name, form, kind of the integers; the numbers are seeds
NETWORKS = (
    ("words_fp32", nets.words, 1, None, ""),
    ("words_int8_qdq", nets.words, 1, nets.Qdq, "int8"),
    ("image_fp32", nets.image, 2, None, ""),
    ("image_int8_qdq", nets.image, 2, nets.Qdq, "int8"),
    ("image_uint8_qdq", nets.image, 3, nets.Qdq, "uint8"),
    ("norm_fp32_bn", nets.norm, 4, None, ""),
    ("fire_fp32", nets.fire, 5, None, ""),
    ("mobile_fp32", nets.mobile, 6, None, ""),
    ("mobile_uint8_qlinear", nets.mobile, 6, nets.QLinear, "uint8"),
)


def clear(y):
    """Whether the decision is one that 8 bits do not change: a quarter of the range from the next."""
    best = numpy.sort(y.ravel())[::-1]
    return best[0] - best[1] > 0.25 * (best[0] - best[-1]) > 0


def cases_of(net, model, output):
    """Inputs, and what the model makes of them."""
    found = []
    while len(found) < CASES:
        for x in net.draw(nets.SAMPLES):
            y = reference.run(model, {"input": x[None]})[output]
            decided = {int(v.argmax()) for _, v in found}
            if clear(y) and (int(y.argmax()) not in decided or len(found) > 1):
                found.append((x[None].astype(numpy.float32), y.astype(numpy.float32)))
    return found[:CASES]


def save_cases(folder, cases):
    os.makedirs(folder, exist_ok=True)
    for i, (x, y) in enumerate(cases):
        numpy.save(os.path.join(folder, "case%d_in.npy" % i), x)
        numpy.save(os.path.join(folder, "case%d_out0.npy" % i), y)


def network(folder, name, family, seed, form, kind, limits):
    net = family(seed)
    model = form(net, kind).build() if form else net.model()
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(folder, name + ".onnx"))
    output = model.graph.output[0].name
    save_cases(os.path.join(folder, "golden", name), cases_of(net, model, output))
    step = SOFTMAX_STEP if form is nets.Qdq else 0.0
    if form is nets.QLinear:
        last = [n for n in model.graph.node if n.op_type == "DequantizeLinear"][-1].input[1]
        step = next(float(numpy_helper.to_array(t)) for t in model.graph.initializer if t.name == last)
    limits.append("%s %g %.9g\n" % (name, 0 if form else 1e-4, step))


def digit(folder):
    net = nets.digit(7)
    model = net.model()
    model.ir_version = 3
    model.opset_import[0].version = 8
    for t in model.graph.initializer:
        model.graph.input.append(onnx.helper.make_tensor_value_info(t.name, t.data_type, t.dims))
    onnx.checker.check_model(model)
    path = os.path.join(folder, "digit")
    os.makedirs(path)
    onnx.save(model, os.path.join(path, "model.onnx"))
    for i, pair in enumerate(cases_of(net, model, net.at)):
        os.makedirs(os.path.join(path, "test_data_set_%d" % i))
        for name, value in zip(("input_0.pb", "output_0.pb"), pair):
            with open(os.path.join(path, "test_data_set_%d" % i, name), "wb") as f:
                f.write(numpy_helper.from_array(value).SerializeToString())


def keras(folder):
    """A residual network in an .h5 file, of one input; and what it computes."""
    net = keras_models.Net(numpy.random.default_rng(8), (1, 32, 32, 3), 2)
    net.conv(16, (3, 3), (2, 2), True)
    start = net.last
    net.conv(16, (3, 3), (1, 1), True, name="linear")
    net.norm()
    net.add("Add", net.value[net.last] + net.value[start], inputs=[net.last, start])
    net.add("Activation", numpy.maximum(net.y, 0), activation="relu")
    net.conv(16, (3, 3), (2, 2), True)
    net.add("GlobalAveragePooling2D", net.y.mean((1, 2)))
    net.dense(10, "softmax")
    path = os.path.join(folder, "keras", "residual")
    os.makedirs(path)
    net.save_h5(os.path.join(path, "residual.h5"), False)
    save_cases(path, [(net.x, net.y.astype(numpy.float32))])


class Even(darknet_models.Network):
    """Weights that keep the spread of what they are multiplied with."""

    def numbers(self, *shape, low=None):
        v = super().numbers(*shape, low=low)
        if len(shape) == 4:
            v = v / numpy.sqrt(v[0].size)
            self.weights[-1] = v.astype(numpy.float32)
        return self.weights[-1].astype(float)


def darknet(folder):
    """A body of convolutions that are normalized, with a shortcut."""
    net = Even(numpy.random.default_rng(9), (1, 3, 48, 48))
    net.conv(8, 3, stride=2)
    net.conv(16, 3, stride=2)
    net.conv(8, 1)
    net.conv(16, 3)
    net.shortcut(-3)
    net.maxpool(2, 2)
    net.conv(16, 3, groups=16)
    net.conv(18, 1, normal=False, name="linear")
    path = os.path.join(folder, "darknet", "body")
    os.makedirs(path)
    net.save(os.path.join(path, "body"))
    os.remove(os.path.join(path, "body_in.npy"))
    save_cases(path, [(net.x, net.last.astype(numpy.float32))])


def write(folder):
    os.makedirs(os.path.join(folder, "golden"))
    limits = []
    for row in NETWORKS:
        network(folder, *row, limits)
    with open(os.path.join(folder, "golden", "limits.txt"), "w") as f:
        f.writelines(limits)
    digit(folder)
    keras(folder)
    darknet(folder)
    for name, kind, seed in (("words_int8", "int8", 10), ("image_uint8", "uint8", 11)):
        path = os.path.join(folder, "tflite", name)
        os.makedirs(path)
        data, cases = tflite_own.network(kind, seed, CASES)
        with open(os.path.join(path, name + ".tflite"), "wb") as f:
            f.write(data)
        save_cases(path, cases)


def state():
    """A word that changes with the scripts that make the files."""
    seen = hashlib.sha256()
    for place in (HERE, COMPILER):
        for name in sorted(n for n in os.listdir(place) if n.endswith(".py")):
            with open(os.path.join(place, name), "rb") as f:
                seen.update(f.read())
    return seen.hexdigest()


def main():
    folder, word = os.path.abspath(sys.argv[1]), state()
    stamp = os.path.join(folder, "made")
    if os.path.exists(stamp) and open(stamp).read() == word:
        print("they are there")
        return
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    new = tempfile.mkdtemp(dir=os.path.dirname(folder))
    write(new)
    with open(os.path.join(new, "made"), "w") as f:
        f.write(word)
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(new, folder)
    size = sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)
    print("%d bytes in %s" % (size, folder))


main()
