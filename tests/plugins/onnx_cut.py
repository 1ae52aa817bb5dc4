#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes an ONNX file anew: with the types of all its values, and without what begins at its first Softmax.
--open: the first size of inputs and outputs is left open.

usage: onnx_cut.py FROM TO [--open]
"""
import sys

import onnx


def main():
    model = onnx.load(sys.argv[1])
    if '--open' in sys.argv:
        for value in list(model.graph.input) + list(model.graph.output):
            value.type.tensor_type.shape.dim[0].dim_param = 'N'
    model = onnx.shape_inference.infer_shapes(model)
    onnx.save(model, sys.argv[2])
    ends = [node.input[0] for node in model.graph.node if node.op_type == 'Softmax'][:1]
    if ends:
        onnx.utils.extract_model(sys.argv[2], sys.argv[2], [value.name for value in model.graph.input], ends)


main()
