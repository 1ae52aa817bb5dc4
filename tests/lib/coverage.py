#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which lines no test has run, by gcov.

coverage.py SOURCE BUILD LEAST FOLDER...  shares of the lines of C under each FOLDER of SOURCE; what is not covered goes into
                                          BUILD/uncovered.txt, as FILE:FIRST-LAST; exit status 1 below LEAST per cent
"""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def notes(build):
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names
                  if name.endswith('.gcno'))


def counts_of(note):
    """(file, line, count) of one object; of one that never ran, all counts are 0."""
    done = subprocess.run(['gcov', '--json-format', '--stdout', note], capture_output=True, text=True, check=False,
                          cwd=os.path.dirname(note))
    out = []
    for text in done.stdout.splitlines():
        if text.startswith('{'):
            data = json.loads(text)
            base = data.get('current_working_directory', '')
            for file in data['files']:
                path = os.path.realpath(os.path.join(base, file['file']))
                out += [(path, line['line_number'], line['count']) for line in file['lines']]
    return out


def gather(source, build, folders):
    """lines[file][line]: how often it ran, in whatever object it is. Files are relative to the source."""
    lines = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for rows in pool.map(counts_of, notes(build)):
            for path, line, count in rows:
                name = os.path.relpath(path, source)
                if name.split(os.sep)[0] in folders and name.endswith(('.c', '.h')):
                    file = lines.setdefault(name, {})
                    file[line] = file.get(line, 0) + count
    return lines


def stretches(numbers, known):
    """Runs of lines with nothing covered between them."""
    out = []
    last = None
    for number in sorted(numbers):
        between = last is not None and any(line in known and line not in numbers for line in range(last + 1, number))
        if last is None or between or number - last > 3:
            out.append([number, number])
        out[-1][1] = number
        last = number
    return out


def main(source, build, least, *folders):
    source, build = os.path.realpath(source), os.path.realpath(build)
    lines = gather(source, build, folders)
    if not lines:
        sys.exit(f'{build}: nothing there was built with --coverage')
    total = [0, 0]
    missing = []
    print(f'{"folder":<10} {"lines":>7} {"run":>7}')
    for folder in folders:
        files = {name: of for name, of in lines.items() if name.split(os.sep)[0] == folder}
        have = sum(len(of) for of in files.values())
        run = sum(1 for of in files.values() for count in of.values() if count)
        total = [total[0] + have, total[1] + run]
        if have:
            print(f'{folder:<10} {have:>7} {100 * run / have:>6.2f} %')
        for name in sorted(files):
            never = {line for line, count in files[name].items() if not count}
            missing += [f'{name}:{first}-{last}' for first, last in stretches(never, set(files[name]))]
    with open(os.path.join(build, 'uncovered.txt'), 'w', encoding='utf-8') as file:
        file.write(''.join(row + '\n' for row in missing))
    share = 100 * total[1] / total[0]
    print(f'{"together":<10} {total[0]:>7} {share:>6.2f} %, {least} % asked for; '
          f'what is not covered: {os.path.join(os.path.relpath(build, source), "uncovered.txt")}')
    return 0 if share >= float(least) else 1


if __name__ == '__main__':
    if len(sys.argv) < 5:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
