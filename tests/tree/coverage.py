#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lib/coverage.py on a program of a few lines: what ran, what did not, a file that nothing ran, one outside.

usage: coverage.py SOURCE
"""
import os
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.path.realpath(sys.argv[1]), 'tests', 'lib', 'coverage.py')
FILES = {
    'src/isa/half.c': 'int half(int x);\nint half(int x)\n{\n    if (x < 0) {\n        x = -x;\n        return x / 3;\n    }\n    return x / 2;\n}\n',
    'src/sim/never.c': 'int never(void);\nint never(void)\n{\n    return 7;\n}\n',
    'src/tests/main.c': 'int half(int x);\nint main(void)\n{\n    return half(1);\n}\n',
}


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def expect(what, is_so, done):
    if not is_so:
        sys.exit(f'does not hold: {what}\n{done.stdout}{done.stderr}')


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(name), exist_ok=True)
        open(name, 'w', encoding='utf-8').write(text)
    os.makedirs('build')
    for name in FILES:
        subprocess.run(['gcc', '--coverage', '-O0', '-c', name, '-o', f'build/{os.path.basename(name)}.o'], check=True)
    subprocess.run('gcc --coverage build/*.o -o build/program && build/program', shell=True, check=True)
    done = run(sys.executable, '-B', TOOL, 'src', 'build', '40', 'isa', 'sim', 'driver')
    text = open('build/uncovered.txt', encoding='utf-8').read()
    expect('6 lines, 4 of which ran', 'isa              5  60.00 %' in done.stdout and 'sim              2   0.00 %' in done.stdout, done)
    expect('a bound that is met', done.returncode == 0, done)
    expect('the stretches are listed', text == 'isa/half.c:5-6\nsim/never.c:2-4\n', done)
    done = run(sys.executable, '-B', TOOL, 'src', 'build', '92', 'isa', 'sim')
    expect('a bound that is not', done.returncode == 1 and '92 % asked for' in done.stdout, done)
    os.makedirs('empty')
    done = run(sys.executable, '-B', TOOL, 'src', 'empty', '92', 'isa')
    expect('a build without it', done.returncode == 1 and 'nothing there was built' in done.stderr, done)
    os.chdir('/')
