#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Operators that codegen_more.py, codegen_classic.py and codegen_fused.py test, on inputs without elements: no batch, no row, no
# region, nothing to write. And a tree that is one leaf.
#
# usage: codegen_empty.py VTAC   (exit status 77: python3-onnx is not there)
import sys

from onnx_cases import MS, Suite, numpy
import codegen_classic as classic

F32 = numpy.float32
I64 = numpy.int64


def z(*shape):
    return numpy.zeros(shape, F32)


def whole(*values):
    return numpy.array(values, I64)


def add(suite, op, inputs, *results, constants=(), **attrs):
    suite.add(op, lambda random: inputs, lambda **given: results, constants=constants, outputs=("y", "z")[:len(results)], **attrs)


def add_ml(suite, op, inputs, *results, **attrs):
    classic.add(suite, op, lambda random: inputs, lambda **given: results, outputs=("y", "z")[:len(results)], **attrs)


def pictures(suite):
    add(suite, "GridSample", [("x", z(0, 2, 3, 3)), ("g", z(0, 2, 2, 2))], z(0, 2, 2, 2), version=20)
    add(suite, "GridSample", [("x", z(2, 0, 3, 3)), ("g", z(2, 2, 2, 2))], z(2, 0, 2, 2), version=20)
    add(suite, "RoiAlign", [("x", z(1, 2, 3, 3)), ("r", z(0, 4)), ("b", numpy.zeros(0, I64))], z(0, 2, 2, 2), version=16, output_height=2,
        output_width=2)
    add(suite, "MaxRoiPool", [("x", z(1, 2, 3, 3)), ("r", z(0, 5))], z(0, 2, 2, 2), pooled_shape=[2, 2])
    add(suite, "DeformConv", [("x", z(0, 1, 3, 3)), ("w", z(1, 1, 2, 2)), ("o", z(0, 8, 2, 2))], z(0, 1, 2, 2), version=19)
    add(suite, "Col2Im", [("x", z(0, 4, 4)), ("s", whole(3, 3)), ("k", whole(2, 2))], z(0, 1, 3, 3), constants=("s", "k"), version=18)
    add(suite, "MaxUnpool", [("x", z(0, 1, 2, 2)), ("i", numpy.zeros((0, 1, 2, 2), I64))], z(0, 1, 4, 4), version=11, kernel_shape=[2, 2],
        strides=[2, 2])


def others(suite):
    add(suite, "Det", [("x", z(0, 3, 3))], z(0), version=22)
    add(suite, "Det", [("x", z(2, 0, 0))], z(2) + F32(1), version=22)
    add(suite, "TensorScatter", [("p", z(2, 3, 4) + F32(1)), ("u", z(2, 0, 4))], z(2, 3, 4) + F32(1), version=24)
    add(suite, "CumProd", [("x", z(2, 0)), ("a", whole(1))], z(2, 0), constants=("a",), version=26)
    add(suite, "Multinomial", [("x", z(0, 5))], numpy.zeros((0, 3), numpy.int32), sample_size=3)
    add(suite, "Bernoulli", [("x", z(0, 5))], z(0, 5), version=15)
    add(suite, "Dropout", [("x", z(0, 5)), ("r", F32(0.5)), ("t", numpy.array(True))], z(0, 5), version=13)
    add(suite, "STFT", [("x", z(0, 8, 1)), ("s", numpy.array(2, I64)), ("w", z(4))], z(0, 3, 3, 2), constants=("s",))
    add(suite, "MatMulNBits", [("a", z(0, 16)), ("b", numpy.zeros((3, 1, 8), numpy.uint8)), ("s", z(3))], z(0, 3), domain=MS, K=16, N=3, block_size=16)
    add(suite, "TfIdfVectorizer", [("x", numpy.zeros((2, 0), I64))], z(2, 2), min_gram_length=1, max_gram_length=1, max_skip_count=0, mode="TF",
        ngram_counts=[0], ngram_indexes=[0, 1], pool_int64s=[3, 4])
    add(suite, "MultiHeadAttention", [("q", z(0, 3, 8)), ("k", z(0, 3, 8)), ("v", z(0, 3, 8))], z(0, 3, 8), domain=MS, num_heads=2)


def models(suite):
    none, scores = numpy.zeros(0, I64), z(0, 2)
    add_ml(suite, "Scaler", [("x", z(0, 3))], z(0, 3), offset=[0.0], scale=[1.0])
    add_ml(suite, "Normalizer", [("x", z(0, 3))], z(0, 3), norm="L2")
    add_ml(suite, "LabelEncoder", [("x", none)], z(0), version=2, keys_int64s=[1, 2], values_floats=[0.5, 0.6])
    add_ml(suite, "OneHotEncoder", [("x", numpy.zeros((0, 2), I64))], z(0, 2, 2), cats_int64s=[1, 2])
    add_ml(suite, "ArrayFeatureExtractor", [("x", z(2, 3)), ("i", none)], z(2, 0))
    tree = classic.flatten([(0, "BRANCH_LEQ", 1.0, [(0, 1.0)], [(1, 2.0)], 0)], "class")
    add_ml(suite, "TreeEnsembleClassifier", [("x", z(0, 3))], none, scores, classlabels_int64s=[0, 1], **tree)
    add_ml(suite, "TreeEnsembleRegressor", [("x", z(2, 3))], z(2, 1) + F32(7), n_targets=1, **classic.flatten([[(0, 7.0)]], "target"))
    add_ml(suite, "LinearClassifier", [("x", z(0, 3))], none, scores, coefficients=[1.0] * 6, classlabels_ints=[0, 1])
    add_ml(suite, "SVMClassifier", [("x", z(0, 2))], none, scores, kernel_type="RBF", kernel_params=[0.1, 0.0, 0.0], coefficients=[1.0, -1.0],
           support_vectors=[1.0, 2.0, 3.0, 4.0], rho=[0.1], vectors_per_class=[1, 1], classlabels_ints=[0, 1], prob_a=[1.0], prob_b=[0.0])


def main():
    suite = Suite()
    for part in (pictures, others, models):
        part(suite)
    return suite.run(sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
