#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of this build under emulated processors: what compares floats, or chooses code by what a processor can do, is right on
machines that are not this one. qemu answers CPUID as the processor does, so that the program takes that processor's paths.

emulated.py BUILD LIST [NAME...]   LIST: patterns of the names of ctest, one a line; NAME: those alone
Exit status 1 where a test fails, 2 where a pattern or a name fits no test, 77 without qemu-x86_64.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

PROCESSORS = ('Haswell', 'Skylake-Client', 'EPYC')
LIMIT_S = 3600


def tests_of(build):
    """name: (command, environment) of the tests that are one program of this build."""
    shown = subprocess.run(['ctest', '--test-dir', build, '--show-only=json-v1'], capture_output=True, text=True, check=True)
    out = {}
    programs = os.path.join(os.path.realpath(build), 'bin') + os.sep
    for test in json.loads(shown.stdout)['tests']:
        command = test.get('command', [])
        if command and os.path.realpath(command[0]).startswith(programs):
            extra = [row['value'] for row in test.get('properties', []) if row['name'] == 'ENVIRONMENT']
            out[test['name']] = command, dict(word.split('=', 1) for words in extra for word in words)
    return out


def chosen(tests, file, names):
    patterns = names or [line.strip() for line in open(file, encoding='utf-8') if line.strip() and not line.startswith('#')]
    out = []
    for pattern in patterns:
        found = [name for name in tests if re.fullmatch(pattern, name)]
        if not found:
            print(f"emulated: '{pattern}' fits no test that is one program", file=sys.stderr)
            sys.exit(2)
        out += [name for name in found if name not in out]
    return out


def run_one(job):
    """(status, what it said, seconds) of a test under a processor."""
    command, extra, processor = job
    begin = time.monotonic()
    try:
        done = subprocess.run(['qemu-x86_64', '-cpu', processor] + command, capture_output=True, text=True, errors='replace',
                              check=False, timeout=LIMIT_S, env={**os.environ, **extra})
        return done.returncode, done.stdout + done.stderr, time.monotonic() - begin
    except subprocess.TimeoutExpired:
        return -1, f'not done within {LIMIT_S} s\n', time.monotonic() - begin


def main(build, file, *names):
    if shutil.which('qemu-x86_64') is None:
        print('no qemu-x86_64')
        return 77
    tests = tests_of(build)
    failed = 0
    jobs = [(name, processor) for name in chosen(tests, file, names) for processor in PROCESSORS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # one at a time on each core, told in their order
        done = pool.map(run_one, [(*tests[name], processor) for name, processor in jobs])
        for (name, processor), (status, said, seconds) in zip(jobs, done):
            word = 'ok' if status == 0 else 'skipped' if status == 77 else 'WRONG'
            print(f'{word:<7} {processor:<15} {name:<24} {seconds:7.1f} s', flush=True)
            if word == 'WRONG':
                failed = 1
                print(said[-3000:], end='' if said.endswith('\n') else '\n')
    return failed


if __name__ == '__main__':
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
