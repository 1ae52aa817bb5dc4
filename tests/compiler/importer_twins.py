#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# One network in the files of several frameworks: a published one of poses in CoreML and in TensorFlow gives the same numbers,
# and so does the published detector of faces in Caffe, MXNet and Caffe2, at sizes that are not those of the published cases,
# too, where pools round up. MXNet's form has the colours in reverse and rows and columns swapped.
#
# usage: importer_twins.py VTAC MODELS   (exit status 77: no models)
import os
import sys
import tempfile

try:
    import numpy
    import word_seed
except ImportError:
    sys.exit(77)

import importer_lab as lab


def swapped(x):
    return x.transpose(0, 1, 3, 2)


def hourglass(t, models, draw):
    """Poses, in CoreML with the channels first, in TensorFlow with them last."""
    x = draw.uniform(0, 255, (3, 192, 192)).astype(numpy.float32)
    coreml = t.outputs(models + "/coreml/pose_hourglass/hourglass.mlmodel", {"image__0": x})
    graph = t.outputs(models + "/tensorflow-graphdef/pose_hourglass/model.pb", {"image": x.transpose(1, 2, 0)[None]})
    (own,), (other,) = coreml.values(), graph.values()
    t.compare("the hourglass", {"poses": own}, {"poses": other[0].transpose(2, 0, 1)})


def main():
    models = sys.argv[2]
    if not os.path.isdir(models + "/caffe"):
        print("no models")
        sys.exit(77)
    draw = numpy.random.default_rng(word_seed.told())
    worst = 0.0
    with tempfile.TemporaryDirectory() as work:
        t = lab.Lab(sys.argv[1], work)
        for _ in range(2):
            rows, columns = (int(draw.integers(12, 90)) for _ in range(2))
            x = draw.uniform(-1, 1, (1, 3, rows, columns)).astype(numpy.float32)
            shape, turned = ("data=1x3x%dx%d" % pair for pair in ((rows, columns), (columns, rows)))
            mxnet = t.outputs(models + "/mxnet/mtcnn_pnet/det1-symbol.json", {"data": x}, "--shape", shape)
            caffe = t.outputs(models + "/caffe/mtcnn_pnet/det1.prototxt", {"data": swapped(x[:, ::-1])}, "--shape", turned)
            caffe2 = t.outputs(models + "/caffe2/mtcnn_pnet/predict_net.pb", {"data": x}, "--shape", shape)
            wanted = {"conv4_2": mxnet["conv4_2"], "prob1": mxnet["prob1"]}
            worst = max(worst, t.compare("Caffe", {"conv4_2": swapped(caffe["conv4-2"]), "prob1": swapped(caffe["prob1"])}, wanted))
            worst = max(worst, t.compare("Caffe2", {"conv4_2": caffe2["conv4_2"], "prob1": lab.softmax(caffe2["conv4_1"].astype(float), 1)}, wanted))
            x = draw.uniform(-1, 1, (1, 3, 24, 24)).astype(numpy.float32)
            mxnet = t.outputs(models + "/mxnet/mtcnn_rnet/det2-symbol.json", {"data": x}, "--shape", "data=1x3x24x24")
            caffe2 = t.outputs(models + "/caffe2/mtcnn_rnet/predict_net.pb", {"data": x}, "--shape", "data=1x3x24x24")
            worst = max(worst, t.compare("the second stage", caffe2, mxnet))
        hourglass(t, models, draw)
        print("twins differ by at most %g of their range" % worst)


main()
