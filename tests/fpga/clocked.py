#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The longest path of each configuration that fpga/timing/clocks.sh printed, as rows of tests/results/clocks.json.

usage: clocked.py < TEXT
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import results


def main():
    for line in sys.stdin:
        name, path_ns, luts, keys = line.split(None, 3)
        results.record('clocks', name, {'ns': float(path_ns), 'MHz': int(950 / float(path_ns)), 'LUT in pairs': int(luts), 'pynq but for': keys.strip()})


if __name__ == '__main__':
    main()
