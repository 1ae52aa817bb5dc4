#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# The demo's classifier for who scales pictures as for ImageNet, and drawn pictures as a camera leaves them: JPEG files, each pixel
# a square of 8 x 8, with a border at the sides that the middle square leaves out.
#
# usage: photographs.py SHAPES.onnx OUT.onnx FOLDER PICTURE.png...   (exit status 77: no onnx, no PIL)
import os
import sys

try:
    import numpy
    import onnx
    from onnx import helper, numpy_helper
    from PIL import Image
except ImportError as error:
    print(error)
    sys.exit(77)

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TIMES, BORDER = 8, 40


def rescaled(model):
    """Takes (pixel / 255 - mean) / deviation, and makes pixel / 127.5 - 1 of it, which the classifier was trained on."""
    value = model.graph.input[0]
    first = value.name
    factors = {"factor": 2 * numpy.array(DEVIATION), "shift": 2 * numpy.array(MEAN) - 1}
    model.graph.initializer.extend(numpy_helper.from_array(v.reshape(1, 3, 1, 1).astype(numpy.float32), k) for k, v in factors.items())
    value.name = "scaled_picture"
    nodes = [helper.make_node("Mul", [value.name, "factor"], ["times"]), helper.make_node("Add", ["times", "shift"], [first])]
    nodes += list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def photograph(png, folder):
    small = Image.open(png).convert("RGB")
    big = small.resize((small.width * TIMES, small.height * TIMES), Image.NEAREST)
    whole = Image.new("RGB", (big.width + 2 * BORDER, big.height), (90, 140, 60))
    whole.paste(big, (BORDER, 0))
    name = os.path.splitext(os.path.basename(png))[0]
    whole.save(os.path.join(folder, name + ".jpg"), quality=95, subsampling=0)


def main():
    source, to, folder = sys.argv[1:4]
    onnx.save(rescaled(onnx.load(source)), to)
    os.makedirs(folder, exist_ok=True)
    for png in sys.argv[4:]:
        photograph(png, folder)


main()
