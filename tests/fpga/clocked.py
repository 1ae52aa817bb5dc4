#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of compiler/src/explore/clock.def: configurations that fpga/timing/clocks.sh timed (standard input), and those of `./run timing`.

usage: clocked.py CLOCK.def < TEXT
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import results


def part_of(config):
    with open(os.path.join(HERE, '..', '..', 'fpga', 'synth', 'parts.txt'), encoding='utf-8') as file:
        return next(line.split()[1] for line in file if line.split()[:1] == [config])


def main(path):
    rows = {name: (part_of(name), row['LUT in pairs'], row['ns']) for name, row in results.read('timing')['rows'].items()}
    for line in sys.stdin:
        name, path_ns, luts, _ = line.split(None, 3)
        rows[name] = part_of('sample'), int(luts), float(path_ns)
    with open(path, encoding='utf-8') as file:
        lines = file.read().split('\n')
    kept = [line for line in lines if not line.startswith('VTAC_CLOCK(')]
    at = kept.index('#undef VTAC_CLOCK')
    made = [f'VTAC_CLOCK("{name}", "{part}", {luts}, {ns})' for name, (part, luts, ns) in sorted(rows.items())]
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(kept[:at] + made + kept[at:]))


if __name__ == '__main__':
    main(*sys.argv[1:])
