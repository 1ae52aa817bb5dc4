#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes an ONNX file anew: with the types of all its values, and without what begins at its first Softmax.

usage: onnx_cut.py FROM TO
"""
import sys

import onnx


def main():
    model = onnx.shape_inference.infer_shapes(onnx.load(sys.argv[1]))
    onnx.save(model, sys.argv[2])
    ends = [node.input[0] for node in model.graph.node if node.op_type == 'Softmax'][:1]
    if ends:
        onnx.utils.extract_model(sys.argv[2], sys.argv[2], [value.name for value in model.graph.input], ends)


main()
