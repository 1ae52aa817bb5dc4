#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The area and the longest path of a configuration, out of what fpga/timing/timing.sh printed of the whole, as a row of tests/results/timing.json.

usage: timed.py CONFIG TEXT
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
import results


def main(config, path):
    with open(path, encoding='utf-8') as file:
        text = file.read()
    takes = re.search(r'^takes (.*); (\d+) LUT if', text, re.MULTILINE)
    path_ns = re.search(r'^vta_top: worst ([\d.]+) ns of ([\d.]+): (\d+) MHz', text, re.MULTILINE)
    over = re.search(r'^(\d+) of (\d+) endpoints over', text, re.MULTILINE)
    if not (takes and path_ns and over):
        sys.exit(f'timed.py: {path}: expected what timing.sh prints of the whole; run ./run timing {config} again')
    cells = {column: float(amount) for amount, column in (pair.split() for pair in takes.group(1).split(', '))}
    results.record('timing', config, {
        **{column: int(amount) if amount.is_integer() else amount for column, amount in cells.items() if column != 'URAM'},
        'LUT in pairs': int(takes.group(2)), 'ns': float(path_ns.group(1)), 'MHz': int(path_ns.group(3)),
        'asked ns': float(path_ns.group(2)), 'ends over': int(over.group(1))})


if __name__ == '__main__':
    main(*sys.argv[1:])
