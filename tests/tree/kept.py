#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows that tests/lib/kept.py finds in what the verbs print, and that it makes a file of them that `./run results` prints.

usage: kept.py SOURCE
"""
import os
import sys
import tempfile

# verb: lines as it prints them; the row that they make, and two of its columns
PRINTED = {
    'bitstream': ('ulx3s alone: 7753 TRELLIS_COMB, 2426 FF, 10 DP16KD, 4 MULT18X18D, 41.82 MHz of 37.5, seed 1', 'ulx3s alone', {'FF': 2426, 'MHz': 41.82}),
    'campaign': ('campaign: 400 programs (91234 instructions in those that agree), 7 configurations, devices fsim tsim: 0 disagreements; repeat with --seed 71',
                 'campaign', {'programs': 400, 'seed': 71}),
    'coverage': ('folder      lines    run\nisa         5000   95.30 %\ntogether   75784  94.45 %, 92 % asked for; what is not covered: x', 'together',
                 {'lines': 75784, 'covered %': 94.45}),
    'coverage-rtl': ('together                   1659   99.34 %   40000   81.50 %; 98 % of the lines asked for; 51 runs; what is missing: x', 'together',
                     {'moved %': 81.5, 'runs': 51}),
    'gain': ('network              configuration      cycles  promise   gain   kept\nresnet18             pynq              7204530\n'
             'resnet18             pynq512           3961466     1.84   1.82    99%', 'resnet18 pynq512', {'cycles': 3961466, 'kept %': 99}),
    'grid': ('layer                    threads      ours      peer  ratio   --host x86-64-v3, the peer likewise\n'
             'layers, 1 thread:        geometric mean 2.12, least 0.84 (attention_2048), 0 of 200 below 0.8', 'x86-64-v3 layers, 1 thread', {'mean': 2.12, 'of': 'attention_2048'}),
    'ice40': ('vta_regs: 66.2 MHz on an HX8K (asked for: 60); ICESTORM_LC 2413 of 7680\nvta_fetch: 84.0 MHz on an HX8K (asked for: 40); ICESTORM_LC 1024 of 7680, '
              'ICESTORM_RAM 5 of 32', 'vta_fetch', {'MHz': 84.0, 'block RAM': 5}),
    'pictures': ('ultra96       resnet18              2040432   200       98.0     80   1.32  B1600, measured  [clock: ./run timing]', 'ultra96 resnet18',
                 {'pictures/s': 98.0, 'ratio to the rival': 1.32}),
    'predicted': ('tiny_kws             pynq+ddr3-1050             17300       17345  -0.26%  groups: x -1.0%; layers: y +2.0%', 'tiny_kws pynq+ddr3-1050',
                  {'tsim': 17345, 'error %': -0.26}),
    'route': ('vta_load, seed 1: router 120.0 MHz, analysis of its nets 101 MHz\nvta_load, seed 4: router 124.1 MHz, analysis of its nets 106 MHz\n'
              'vta_load, seed 5: router 90.0 MHz, analysis of its nets 85 MHz', 'vta_load', {'seed': 4, 'MHz of its nets': 106}),
    'soc': ('tiny_ic on ulx3s: 2784015 cycles, 2474058 of them layers of the host, 203073 of the accelerator itself; ready after 3429694', 'tiny_ic on ulx3s',
            {'cycles': 2784015, 'until ready': 3429694}),
    'synth': ('pynq on xc7z020\n                                        LUT\ntotal                                 39113    16141      186    129.5        0', 'pynq total',
              {'LUT': 39113, 'BRAM36': 129.5}),
    'wheel': ('/x/build/wheels/vta-1.0.0-cp38-abi3-manylinux_2_34_aarch64.whl: 506048 bytes, 1158797 unpacked', 'vta-1.0.0-cp38-abi3-manylinux_2_34_aarch64',
              {'bytes': 506048, 'unpacked': 1158797}),
    'tiny': ('tiny_ic       54321     0.543     0.107     0.650    1.2 |     60.0     20.0      10.0      17.0  ok', 'tiny_ic', {'cycles': 54321, 'asked ms': 1.2}),
}


def main(source):
    sys.path.insert(0, os.path.join(source, 'tests/lib'))
    import kept
    import results
    missing = set(kept.VERBS) ^ set(PRINTED)
    assert not missing, f'no lines of {missing}'
    for verb, (text, name, cells) in PRINTED.items():
        rows = kept.rows_of(verb, text.split('\n'))
        got = {column: rows.get(name, {}).get(column) for column in cells}
        assert got == cells, f'{verb}: {rows}'
        known = results.read(verb)['columns']
        assert set(rows[name]) | {'date'} == set(known), f'{verb}: {known}, kept.py has {list(rows[name])}'
    with tempfile.TemporaryDirectory() as folder:
        results.FOLDER = folder
        for seed in (1, 2):
            results.record('new', f'row {seed}', {'seed': seed})
        assert [row['seed'] for row in results.read('new')['rows'].values()] == [1, 2]
    print(f'{len(PRINTED)} verbs')


main(sys.argv[1])
