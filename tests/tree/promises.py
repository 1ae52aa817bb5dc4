#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The promises of SECURITY.md against the tests that it names: each row of the second table names tests of the suite and a
subject of the first table, and no subject is left out. A test that is renamed or removed, or a promise without a test, makes
this one fail.

usage: promises.py SOURCE BUILD CTEST
"""
import os
import re
import subprocess
import sys

HELD, SUBJECTS = '| of | promise | tests |', '| what | who is trusted | what is promised |'


def rows_below(lines, head):
    """The cells of each row of the table that begins so."""
    at = lines.index(head) + 2
    rows = []
    while at < len(lines) and lines[at].startswith('|'):
        rows.append([cell.strip() for cell in lines[at].strip('|').split(' | ')])
        at += 1
    return rows


def subjects_of(rows):
    """What the first table speaks about: "an ONNX model, a picture" are two subjects."""
    found = []
    for row in rows:
        words = re.sub(r' \([^)]*\)', '', re.match(r'\*\*(.*?)\*\*', row[0]).group(1))
        found += [word.strip() for word in words.split(':')[0].split(',')]
    return found


def suite_of(build, ctest):
    listed = subprocess.run([ctest, '--test-dir', build, '-N'], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r'^ *Test +#\d+: (\S+)', listed, re.MULTILINE))


def faults_of(text, suite):
    lines = text.splitlines()
    subjects = subjects_of(rows_below(lines, SUBJECTS))
    faults, seen = [], set()
    for subject, promise, tests in rows_below(lines, HELD):
        named = re.findall(r'`([^`]+)`', tests)
        seen.add(subject)
        faults += [f"'{promise}': no test holds it"] if not named else []
        faults += [f"'{promise}': there is no test '{name}'" for name in named if name not in suite]
        faults += [f"'{subject}': the first table does not speak of it"] if subject not in subjects else []
    # Suites and records are read as labels are.
    groups = {'suites': 'labels', 'records of schedules': 'labels'}
    faults += [f"'{subject}': no row says which test holds its promise" for subject in subjects if groups.get(subject, subject) not in seen]
    return faults


def check_itself(text, suite):
    """What it must notice, it notices."""
    first = re.search(r'`(fuzz_importer)`', text).group(0)
    for spoiled in text.replace(first, '`no_such_test`', 1), text.replace('| a device |', '| a divice |', 1), \
            text.replace('are refused | `values` |', 'are refused | none |'):
        assert faults_of(spoiled, suite), 'a fault was not noticed'


def main(source, build, ctest):
    with open(os.path.join(source, 'SECURITY.md'), encoding='utf-8') as file:
        text = file.read()
    suite = suite_of(build, ctest)
    faults = faults_of(text, suite)
    print('\n'.join(faults) or f'{len(rows_below(text.splitlines(), HELD))} promises are held by tests')
    check_itself(text, suite)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:4]))
