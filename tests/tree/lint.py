#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over C sources, one process a file, with what .clang-tidy asks for.

What is found is held against linted.txt, a list of old findings that may only shrink: COUNT CHECK FILE. More than it allows fails.

    --all       every source
    --changed   what this commit changes: sources that differ from the merge base with the main branch (main, or the remote's), with
                the commit before where HEAD is that branch, or with HEAD where files are not committed; for a changed header up
                to three of the sources that include it. Where the history does not say, and where that is fewer than a sample, files that a seed draws
    FILE...     these

usage: lint.py [--jobs N] [--seed WORD] [--lower] SOURCE BUILD (--all | --changed | FILE...)
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ALLOWED = os.path.join(HERE, 'linted.txt')
MODULES = ('isa/', 'sim/', 'driver/', 'runtime/', 'compiler/')
# For ARM and newlib, or for WebAssembly and a C library of ours: the host's clang-tidy cannot read these.
FOREIGN = re.compile(r'(^|/)baremetal/|^runtime/wasm/')
# Compiled on demand with the facts of a configuration: not in compile_commands.json.
SYSTEMC = ('-std=c17', '-D_GNU_SOURCE', '-DVTA_MODEL_BUS_BYTES=8', '-DVTA_MODEL_HASH=1', '-Isim/systemc', '-Isim/tsim', '-Isim/include',
           '-Iisa/include', '-Iisa/base/include')
# The analyzer's paths through a function end here, long before its own limit of 225,000, which takes most of the time.
ANALYZER = ('-Xclang', '-analyzer-config', '-Xclang', 'max-nodes=60000')
SAMPLE, FEWEST, INCLUDERS = 60, 15, 3
FOUND = re.compile(r'^(?P<path>[^:\n]+):(?P<line>\d+):\d+: (?:error|warning): (?P<text>.*) \[(?P<check>[^\],]+)[^\]]*\]$', re.MULTILINE)


def git(source, *words):
    done = subprocess.run(('git', '-C', source) + words, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def sources_of(source, build):
    """The sources that can be linted here: path from SOURCE: flags to give, None where the build knows them."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        known = {os.path.relpath(row['file'], os.path.realpath(source)) for row in json.load(file)}
    found = {path: None for path in known if path.startswith(MODULES) and path.endswith('.c') and not FOREIGN.search(path)
             and os.path.isfile(os.path.join(source, path))}
    folder = os.path.join(source, 'sim/systemc')
    found.update({f'sim/systemc/{name}': SYSTEMC for name in sorted(os.listdir(folder)) if name.endswith('.c')})
    return found


def base_of(source):
    """The commit to compare with; None where the history does not reach that far."""
    head = git(source, 'rev-parse', 'HEAD')
    for branch in ('main', 'origin/HEAD', 'origin/main'):
        base = git(source, 'merge-base', 'HEAD', branch)
        if base and base != head:
            return base[0]
    before = git(source, 'rev-parse', '--verify', '-q', 'HEAD^')
    return before[0] if before else None


def includers(source, sources, header, seed):
    """Some of the sources that include a header, by its name: what is wrong in the header shows in each of them."""
    line = re.compile(r'#\s*include "(?:[^"\n]*/)?' + re.escape(os.path.basename(header)) + '"')
    return draw([path for path in sources if line.search(open(os.path.join(source, path), encoding='utf-8').read())], seed,
                INCLUDERS)


def draw(paths, seed, count):
    return sorted(sorted(paths, key=lambda path: hashlib.sha256(f'{seed} {path}'.encode()).digest())[:count])


def changed(source, sources, seed):
    base = base_of(source)
    names = git(source, 'diff', '--name-only', base) if base else None
    if names is None:
        return draw(sources, seed, SAMPLE), 'the history does not say what changed'
    chosen = {path for path in names if path in sources}
    for header in names:
        if header.endswith('.h') and header.startswith(MODULES) and os.path.isfile(os.path.join(source, header)):
            chosen.update(includers(source, sources, header, seed))
    count = len(chosen)
    if count > SAMPLE:
        return draw(chosen, seed, SAMPLE), f'{SAMPLE} of {count} that differ from {base[:9]}'
    more = draw(set(sources) - chosen, seed, max(0, FEWEST - count))
    return sorted(chosen) + more, f'{count} that differ from {base[:9]}, {len(more)} drawn'


def lint(source, build, path, flags):
    command = ['clang-tidy', '-p', build, '--quiet'] + [f'--extra-arg={word}' for word in ANALYZER] + [path]
    command += ['--', *flags] if flags else []
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    return done.stdout, done.returncode, done.stderr


def findings(source, build, sources, paths, jobs):
    """(path, line, check): text; what two sources find in one header counts once."""
    real, found = os.path.realpath(source), {}
    largest = sorted(paths, key=lambda path: -os.path.getsize(os.path.join(source, path)))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for path, (out, code, err) in zip(largest, pool.map(lambda path: lint(source, build, path, sources[path]), largest)):
            here = list(FOUND.finditer(out))
            if code != 0 and not here:
                sys.exit(f'{path}: clang-tidy failed: {(err or out).strip()[-500:]}')
            for hit in here:
                where = os.path.relpath(os.path.join(real, hit['path']), real)
                found[(where, int(hit['line']), hit['check'])] = hit['text']
    return found


def read_allowed():
    allowed = {}
    for number, line in enumerate(open(ALLOWED, encoding='utf-8'), 1):
        words = line.split()
        if line.startswith('#') or not words:
            continue
        if len(words) != 3 or not words[0].isdigit() or (words[1], words[2]) in allowed:
            sys.exit(f'{ALLOWED}:{number}: expected COUNT CHECK FILE, each check and file once')
        allowed[(words[1], words[2])] = int(words[0])
    return allowed


def count(found):
    return collections.Counter((check, path) for path, _, check in found)


def write_allowed(counts):
    head = ''.join(line for line in open(ALLOWED, encoding='utf-8') if line.startswith('#'))
    rows = ''.join(f'{number:>3} {check} {path}\n' for (check, path), number in sorted(counts.items(), key=lambda row: row[0][::-1])
                   if number)
    with open(ALLOWED, 'w', encoding='utf-8') as file:
        file.write(head + rows)


def report(found, allowed):
    """Prints what is over the list; True where something is."""
    counts, failed = count(found), False
    for (path, line, check), text in sorted(found.items()):
        if counts[(check, path)] > allowed.get((check, path), 0):
            failed = True
            print(f'{path}:{line}: {text} [{check}]')
    return failed


def main(words):
    options = argparse.ArgumentParser(usage=__doc__[__doc__.index('usage:') + 7:])
    options.add_argument('--jobs', type=int, default=os.cpu_count() or 1)
    options.add_argument('--seed', default='vtac')
    options.add_argument('--lower', action='store_true')
    options.add_argument('--all', action='store_true')
    options.add_argument('--changed', action='store_true')
    options.add_argument('source')
    options.add_argument('build')
    options.add_argument('files', nargs='*')
    options = options.parse_args(words)
    sources = sources_of(options.source, options.build)
    if len(sources) < 400:
        sys.exit(f'{options.build}: {len(sources)} sources to lint, expected more than 400')
    paths, why = list(options.files), 'named'
    if options.all:
        paths, why = sorted(sources), 'all'
    elif options.changed:
        paths, why = changed(options.source, sources, options.seed)
    unknown = [path for path in paths if path not in sources]
    if unknown:
        sys.exit(f"'{unknown[0]}' is no source that can be linted here")
    print(f'clang-tidy: {len(paths)} sources ({why}), seed {options.seed}', flush=True)
    found, allowed = findings(options.source, options.build, sources, paths, options.jobs), read_allowed()
    if options.lower:
        counts = count(found)
        write_allowed({key: min(number, counts[key]) if options.all or key[1] in paths else number for key, number in allowed.items()})
        return 0
    return report(found, allowed)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
