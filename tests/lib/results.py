#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results of the verbs that measure: each verb keeps its last ones in tests/results/VERB.json, and tables are printed from there.

usage: results.py [VERB...]   prints the tables; all without a name
"""
import datetime
import json
import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'results')


def path_of(verb):
    return os.path.join(FOLDER, verb + '.json')


def read(verb):
    with open(path_of(verb), encoding='utf-8') as file:
        return json.load(file)


def write(verb, table):
    with open(path_of(verb) + '.new', 'w', encoding='utf-8') as file:
        file.write('{"columns": %s,\n "rows": {\n' % json.dumps(table['columns']))
        file.write(',\n'.join(f'  {json.dumps(row)}: {json.dumps(table["rows"][row])}' for row in table['rows']))
        file.write('\n }}\n')
    os.replace(path_of(verb) + '.new', path_of(verb))


def put(table, verb, name, cells):
    unknown = set(cells) - set(table['columns'])
    assert not unknown, f'{verb}: no column {sorted(unknown)}'
    table['rows'][name] = {**cells, 'date': datetime.date.today().isoformat()}


def record(verb, name, cells):
    """Keeps the cells of one row, column: value, with the date of today; other rows stay. A verb's first row makes its file."""
    table = read(verb) if os.path.exists(path_of(verb)) else {'columns': list(cells) + ['date'], 'rows': {}}
    put(table, verb, name, cells)
    write(verb, table)


def record_all(verb, rows):
    """These rows alone."""
    table = {'columns': read(verb)['columns'], 'rows': {}}
    for name, cells in rows.items():
        put(table, verb, name, cells)
    write(verb, table)


def show(verb):
    table = read(verb)
    lines = [[verb] + table['columns']]
    lines += [[name] + [str(row.get(column, '-')) for column in table['columns']] for name, row in table['rows'].items()]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print(line[0].ljust(widths[0]) + ''.join('  ' + cell.rjust(width) for cell, width in zip(line[1:], widths[1:])))


def main(verbs):
    known = sorted(name[:-5] for name in os.listdir(FOLDER) if name.endswith('.json'))
    for verb in verbs:
        if verb not in known:
            sys.exit(f"results: no results of '{verb}'; there are those of {', '.join(known)}")
    for verb in verbs or known:
        show(verb)
        print()


if __name__ == '__main__':
    main(sys.argv[1:])
