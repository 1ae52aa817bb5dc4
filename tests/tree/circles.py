#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No circles: headers do not include each other around, and neither do the folders of the compiler and of the program vtac.

A folder includes another where one of its files includes one of the other's. What lies above the folders of the program, cli.h and
what it brings, belongs to all of them and is left out, and so are tables of rows (.def).

usage: circles.py SOURCE
"""
import collections
import os
import re
import sys

MODULES = ('isa', 'sim', 'driver', 'runtime', 'compiler')
ROOMS = ('compiler/src', 'compiler/cli')  # each folder in these is one
INCLUDE = re.compile(r'^#\s*include "([^"]+)"', re.MULTILINE)


def texts(source):
    out = {}
    for module in MODULES:
        for folder, _, names in os.walk(os.path.join(source, module)):
            for name in names:
                if name.endswith(('.c', '.h', '.cc')):
                    path = os.path.join(folder, name)
                    out[os.path.relpath(path, source)] = open(path, encoding='utf-8').read()
    return out


def includes_of(files):
    """file: the files that it includes, as far as they are ours; of several with that name the one that lies nearest."""
    named = collections.defaultdict(list)
    for file in files:
        parts = file.split('/')
        for i in range(len(parts)):
            named['/'.join(parts[i:])].append(file)
    out = {}
    for file, text in files.items():
        out[file] = set()
        for name in INCLUDE.findall(text):
            near = os.path.normpath(os.path.join(os.path.dirname(file), name))
            found = [near] if near in files else named.get(name, [])
            if found:
                out[file].add(max(found, key=lambda other: len(os.path.commonprefix([file, other]))))
    return out


def circle_in(arrows):
    """Names that lie on one circle, the first one again at the end; None where there is none."""
    done, way = set(), []

    def visit(name):
        if name in way:
            return way[way.index(name):] + [name]
        if name in done:
            return None
        way.append(name)
        for other in sorted(arrows.get(name, ())):
            found = visit(other)
            if found:
                return found
        done.add(way.pop())
        return None

    for name in sorted(arrows):
        found = visit(name)
        if found:
            return found
    return None


def rooms_of(includes, top):
    """room: the rooms whose files its own include; and one such include for each pair."""
    arrows, because = collections.defaultdict(set), {}
    for file, others in includes.items():
        for other in others:
            pair = tuple(name[len(top) + 1:].split('/')[0] if name.startswith(top + '/') and name.count('/') > top.count('/') + 1
                         else None for name in (file, other))
            if None not in pair and pair[0] != pair[1]:
                arrows[pair[0]].add(pair[1])
                because.setdefault(pair, f'{file} includes {other}')
    return arrows, because


def main(source):
    includes = includes_of(texts(source))
    arrows = sum(len(others) for others in includes.values())
    if arrows < 1000:
        sys.exit(f'{source}: {arrows} includes found, expected more than 1000')
    failed = False
    circle = circle_in(includes)
    if circle:
        failed = True
        print('headers include each other:', ' -> '.join(circle))
    for top in ROOMS:
        arrows, because = rooms_of(includes, top)
        circle = circle_in(arrows)
        if circle:
            failed = True
            print(f'folders of {top} include each other: ' + ' -> '.join(circle))
            print(''.join(f'  {because[pair]}\n' for pair in zip(circle, circle[1:])), end='')
    return failed


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
