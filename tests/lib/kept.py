#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of tests/results/VERB.json, out of what a verb that measures has printed: a row for each line that fits its pattern here.

usage: kept.py VERB TEXT   (`-`: standard input)
"""
import re
import sys

import results

NUMBER = r'([+-]?[\d.]+)'
# Of each verb: the pattern of a line, whose group `row` names the row and whose other groups are the columns, in their order; the
# pattern of a line whose group stands before the names of the rows that follow it, where there is one.
VERBS = {
    'bitstream': (rf'(?P<row>\w+(?: alone)?): (\d+) TRELLIS_COMB, (\d+) FF, (\d+) DP16KD, (\d+) MULT18X18D, {NUMBER} MHz of {NUMBER}, seed (\d+)',
                  ['TRELLIS_COMB', 'FF', 'block RAM', 'multipliers', 'MHz', 'asked MHz', 'seed'], None),
    'campaign': (rf'(?P<row>campaign): {NUMBER} programs \((\d+) instructions[^)]*\), (\d+) configurations, devices (.*): (\d+) disagreements; repeat with --seed (\d+)',
                 ['programs', 'instructions', 'configurations', 'devices', 'disagreements', 'seed'], None),
    'coverage': (rf'(?P<row>[a-z]+) +(\d+) +{NUMBER} %', ['lines', 'covered %'], None),
    'coverage-rtl': (rf'(?P<row>together) +(\d+) +{NUMBER} % +(\d+) +{NUMBER} %; .*; (\d+) runs', ['lines', 'covered %', 'bits', 'moved %', 'runs'], None),
    'gain': (rf'(?P<row>\w+ +\w+) +(\d+) +{NUMBER} +{NUMBER} +(\d+)%', ['cycles', 'promise', 'gain', 'kept %'], None),
    'grid': (rf'(?P<row>[^:]*): +geometric mean {NUMBER}, least {NUMBER} \((\S+)\), (\d+) of (\d+) below 0\.8', ['mean', 'least', 'of', 'below 0.8', 'rows'],
             r'layer +threads .*--host ([^\s,]+)'),
    'ice40': (rf'(?P<row>\w+): {NUMBER} MHz on an HX8K \(asked for: (\d+)\); ICESTORM_LC (\d+) of \d+(?:, ICESTORM_RAM (\d+) of \d+)?',
              ['MHz', 'asked MHz', 'logic cells', 'block RAM'], None),
    'pictures': (rf'(?P<row>\w+ +\w+) +(\d+) +(\d+) +{NUMBER} +(\d+) +{NUMBER}  ', ['cycles', 'MHz', 'pictures/s', 'goal', 'ratio to the rival'], None),
    'predicted': (rf'(?P<row>\S+ +\S+) +(\d+) +(\d+) +{NUMBER}%', ['predicted', 'tsim', 'error %'], None),
    'route': (rf'(?P<row>\w+), seed (\d+): router {NUMBER} MHz, analysis of its nets {NUMBER} MHz', ['seed', "router's MHz", 'MHz of its nets'], None),
    'soc': (r'(?P<row>\w+ on \w+(?: with sdram)?): (\d+) cycles, (\d+) of them layers of the host, (\d+) of the accelerator itself; ready after (\d+)',
            ['cycles', 'host', 'accelerator', 'until ready'], None),
    'synth': (r'(?P<row>total) +(\d+) +(\d+) +([\d.]+) +([\d.]+)', ['LUT', 'FF', 'DSP', 'BRAM36'], r'(\w+) on xc'),
    'tiny': (rf'(?P<row>tiny_\w+) +(\d+) +{NUMBER} +{NUMBER} +{NUMBER} +{NUMBER} \|', ['cycles', 'accelerator ms', 'processor ms', 'whole ms', 'asked ms'], None),
    'wheel': (r'.*/(?P<row>vta[^/]*)\.whl: (\d+) bytes, (\d+) unpacked', ['bytes', 'unpacked'], None),
}
BEST = {'route': 'MHz of its nets'}  # of several lines of a row the one with most of this; else the last


def value_of(text):
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            pass
    return text if text is not None else 0


def rows_of(verb, lines):
    pattern, columns, context = VERBS[verb]
    found, before = {}, ''
    for line in lines:
        heads, row = context and re.match(context, line), re.match(pattern, line)
        before = heads[1] + ' ' if heads else before
        if row:
            name = before + ' '.join(row['row'].split())
            cells = dict(zip(columns, (value_of(text) for text in row.groups()[1:])))
            best = BEST.get(verb)
            if not best or name not in found or cells[best] > found[name][best]:
                found[name] = cells
    return found


def main(verb, path):
    with (sys.stdin if path == '-' else open(path, encoding='utf-8')) as file:
        rows = rows_of(verb, file)
    for name, cells in rows.items():
        results.record(verb, name, cells)
    print(f"{len(rows)} rows kept: ./run results {verb}")


if __name__ == '__main__':
    if len(sys.argv) != 3 or sys.argv[1] not in VERBS:
        sys.exit(f'kept.py: expected one of {", ".join(sorted(VERBS))} and a file')
    main(*sys.argv[1:])
