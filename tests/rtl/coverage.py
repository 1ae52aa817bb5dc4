#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of the RTL has been run, by the counters of Verilator.

coverage.py RTL PAGE LEAST FILE.dat...  lines and toggles of the modules in the folder RTL, over all files and all instances; what is not
                                        covered goes to PAGE; exit status 1 below LEAST per cent of the lines

A line counts if some branch in it has been taken. A line that cannot be reached says why, in the source, behind `// unreached:`; it is
left out, and stands on the page with its reason; one that was reached nevertheless is an error. A signal's bit has toggled if it changed at
all. A module that stood in no run is an error.
"""
import collections
import os
import re
import sys

REASON = re.compile(r'// unreached: *(\S.*)')


def spans(text):
    """The numbers in `3,7-9`."""
    for part in text.split(','):
        first, _, last = part.partition('-')
        yield from range(int(first), int(last or first) + 1)


def points(path):
    """(file, line, kind, lines, signal, count) of each counter in a file of Verilator's."""
    with open(path, encoding='latin-1') as file:
        for row in file:
            if not row.startswith("C '"):
                continue
            text, _, count = row[3:].rpartition("' ")
            fields = dict(part.split('\x02', 1) for part in text.split('\x01') if part)
            kind = fields['page'].partition('/')[0]
            yield fields['f'], int(fields['l']), kind, fields.get('S'), fields.get('o', ''), int(count)


class Coverage:
    def __init__(self, rtl):
        self.rtl = os.path.realpath(rtl)
        self.files = {os.path.basename(path): path for path in self.sources()}
        self.lines = collections.defaultdict(collections.Counter)  # module -> line -> how often
        self.bits = collections.defaultdict(collections.Counter)  # module -> (line, bit) -> how often

    def sources(self):
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.rtl) for name in names if name.endswith('.v'))

    def add(self, path):
        for file, line, kind, covered, signal, count in points(path):
            module = os.path.basename(file)
            if module not in self.files:  # a bench
                continue
            if kind == 'v_toggle':
                self.bits[module][line, signal] += count
            elif covered:
                for number in spans(covered):
                    self.lines[module][number] += count

    def reasons(self, module):
        with open(self.files[module], encoding='utf-8') as text:
            found = {number: REASON.search(line) for number, line in enumerate(text, 1)}
        return {number: match.group(1) for number, match in found.items() if match}


def runs(numbers):
    """Numbers as the stretches that they make."""
    out = []
    for number in sorted(numbers):
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return [str(a) if a == b else f'{a}-{b}' for a, b in out]


def bits_of(names):
    """`x[3]`, `x[4]`, `y` as `x[3-4] y`."""
    out, wide = [], collections.defaultdict(list)
    for name in sorted(names):
        signal, bracket, index = name.partition('[')
        if bracket and re.fullmatch(r'\d+\]', index):
            wide[signal].append(int(index[:-1]))
        else:
            out.append(name)
    return sorted(out + [f'{signal}[{",".join(runs(of))}]' for signal, of in wide.items()])


def judge(coverage, page):
    """Writes the page, a row a module to the screen; (lines, run, bits, toggled, faults) of all."""
    total = [0, 0, 0, 0, 0]
    absent = [module for module in coverage.files if not coverage.bits[module]]
    print(f'{"module":<24} {"lines":>6} {"run":>9} {"bits":>7} {"toggled":>9}')
    for module in sorted(coverage.files):
        reasons = coverage.reasons(module)
        lies = [n for n in reasons if coverage.lines[module][n]]
        lines = {n: c for n, c in coverage.lines[module].items() if n not in reasons}
        bits = coverage.bits[module]
        never = [n for n, c in lines.items() if not c]
        still = [(line, name) for (line, name), c in bits.items() if not c]
        row = [len(lines), len(lines) - len(never), len(bits), len(bits) - len(still)]
        print(f'{module[:-2]:<24} {row[0]:>6} {share(row[1], row[0])} {row[2]:>7} {share(row[3], row[2])}')
        total = [a + b for a, b in zip(total, row + [len(lies) + (module in absent)])]
        page += [f'{module}: stood in no run'] if module in absent else []
        page += [f'{module}:{stretch}: not run' for stretch in runs(never)]
        page += [f'{module}:{n}: unreached: {why}' for n, why in sorted(reasons.items()) if n not in lies]
        page += [f'{module}:{n}: was reached: take the reason away' for n in sorted(lies)]
        by_line = collections.defaultdict(list)
        for line, name in still:
            by_line[line].append(name)
        page += [f'{module}:{line}: still: {" ".join(bits_of(names))}' for line, names in sorted(by_line.items())]
    return total


def share(part, whole):
    return f'{100 * part / whole:>7.2f} %' if whole else f'{"-":>9}'


def main(rtl, page_path, least, *files):
    coverage = Coverage(rtl)
    for path in files:
        coverage.add(path)
    page = []
    lines, run, bits, toggled, faults = judge(coverage, page)
    with open(page_path, 'w', encoding='utf-8') as page_file:
        page_file.write(''.join(row + '\n' for row in page))
    if not lines:
        sys.exit(f'coverage.py: no line of {rtl} in {len(files)} files')
    print(f'{"together":<24} {lines:>6} {share(run, lines)} {bits:>7} {share(toggled, bits)}; {least} % of the lines asked for; '
          f'{len(files)} runs; what is missing: {page_path}')
    if faults:
        print(f'{faults} modules that stood in no run, or lines that were reached and are said to be out of reach: see there')
    return 0 if 100 * run >= float(least) * lines and not faults else 1


if __name__ == '__main__':
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
