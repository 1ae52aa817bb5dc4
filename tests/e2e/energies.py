#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted energy beside what was published: boards and chips that others measured, with ratios; what is off by more than its error is shown as
such. The rows are kept in tests/results/energy.json.

usage: energies.py VTAC [--chip-config NAME]

Boards: each design by the measurements of the others, time as published (compiler/src/explore/power.def). Chips: networks of MLPerf Tiny on published
chips (chips.txt), beside the same network on a configuration of ours as a chip (compiler/src/explore/chip.def), between two
scalings of the published energy to the node of our library: its capacitance, by the node alone, and by node and voltage squared.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'lib'))
import results  # noqa: E402

COLUMNS = ('kind', 'published', 'predicted', 'unit', 'ratio', 'stated', 'within')


def measurements(path):
    with open(path, encoding='utf-8') as file:
        rows = re.findall(r'^VTAC_POWER\("([^"]+)",\s*([\d.]+),\s*"([^"]+)"\)', file.read(), re.MULTILINE)
    assert len(rows) >= 6, f'{path}: expected rows VTAC_POWER'
    return [(part, float(watts), words) for part, watts, words in rows]


def missed_by(watts):
    """The most by which the mean of the others misses one of them, as vtac_board_power_of says."""
    return max(abs((sum(watts) - w) / (len(watts) - 1) / w - 1) for w in watts) if len(watts) > 1 else 0.0


def board_rows(rows):
    for index, (part, watts, words) in enumerate(rows):
        others = [w for i, (p, w, _) in enumerate(rows) if p == part and i != index]
        if not others:
            continue
        predicted = sum(others) / len(others)
        stated = missed_by([w for p, w, _ in rows if p == part])
        rate = re.search(r'([\d.]+) (mJ|uJ) at ([\d.,]+) a second', words)
        seconds = 1 / float(rate.group(3).replace(',', '')) if rate else 1.0
        unit = 1e-3 if rate and rate.group(2) == 'mJ' else 1e-6 if rate else 1.0
        published = float(rate.group(1)) * unit if rate else watts
        of_time = predicted * seconds
        ratio = of_time / published
        yield f'{part}: {words}', {'kind': 'board', 'published': round(published * 1e3, 4), 'predicted': round(of_time * 1e3, 4), 'unit': 'mJ' if rate else 'mJ a second',
                                   'ratio': round(ratio, 3), 'stated': f'± {100 * stated:.0f} %', 'within': 'yes' if abs(ratio - 1) <= stated + 0.005 else 'NO'}


def chips(path):
    """NAME NETWORK uJ NODE VOLT SOURCE"""
    with open(path, encoding='utf-8') as file:
        for line in file:
            if line.strip() and not line.startswith('#'):
                name, network, micro, node, volt, source = line.split(None, 5)
                yield name, network, float(micro) * 1e-6, float(node), float(volt), source.strip()


def chip_energy(vtac, network, config, work):
    model = os.path.join(work, network + '.onnx')
    if not os.path.exists(model):
        subprocess.run([vtac, 'zoo', network, '--int8', '-o', model], check=True, stdout=subprocess.DEVNULL)
    text = subprocess.run([vtac, 'explain', model, '--config', config, '--json'], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(text)['chip']['joules']


def chip_rows(vtac, config, path, node, volt, work):
    for name, network, joules, their_node, their_volt, source in chips(path):
        ours = chip_energy(vtac, network, config, work)
        low = joules * node / their_node
        high = low * (volt / their_volt) ** 2
        middle = (low * high) ** 0.5
        yield f'{name}, {network} ({source})', {
            'kind': f'chip, {config} as one', 'published': f'{1e6 * joules:.3g}, scaled {1e6 * low:.3g} to {1e6 * high:.3g}', 'predicted': round(1e6 * ours, 2), 'unit': 'uJ',
            'ratio': round(ours / middle, 3), 'stated': f'x {(high / low) ** 0.5:.1f} either way', 'within': 'yes' if low <= ours <= high else 'NO'}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('vtac')
    parser.add_argument('--chip-config', default='pynq')
    parser.add_argument('--node', type=float, default=130, help='of the library of chip.def, in nm')
    parser.add_argument('--volt', type=float, default=1.2)
    given = parser.parse_args()
    rows = dict(board_rows(measurements(os.path.join(ROOT, 'compiler/src/explore/power.def'))))
    with tempfile.TemporaryDirectory() as work:
        rows.update(chip_rows(given.vtac, given.chip_config, os.path.join(HERE, 'chips.txt'), given.node, given.volt, work))
    if not os.path.exists(results.path_of('energy')):
        results.write('energy', {'columns': list(COLUMNS) + ['date'], 'rows': {}})
    results.record_all('energy', rows)
    results.show('energy')


if __name__ == '__main__':
    main()
