#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random quantized networks as .tflite files, FOLDER/net0.tflite and so on: those of ../e2e/tflite.py.

usage: tfl_nets.py FOLDER COUNT     exit status 77: there is no numpy
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
import tflite  # it needs numpy, and ends with 77 where there is none


def main():
    folder, count = sys.argv[1], int(sys.argv[2])
    seed = tflite.word_seed.told()
    for number in range(count):
        random = tflite.numpy.random.default_rng((seed, number))
        net, x, y = tflite.build(random, ('int8', 'uint8')[number % 2], number)
        with open(f'{folder}/net{number}.tflite', 'wb') as file:
            file.write(net.model.write([x['id']], [y['id']]))


main()
