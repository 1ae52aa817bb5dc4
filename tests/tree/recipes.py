#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes in the folders' READMEs are true as far as a program can tell: each step begins with a file that is there,
every other file it names is there, too, and every name in it stands in one of the step's files.

usage: recipes.py SOURCE
"""
import glob
import os
import re
import sys

EXPECTED = {'an operator', 'a composed operator', 'a pass', 'an instruction, or a field', 'a hardware unit', 'a board', 'a front end'}
WORD = re.compile(r'`([^`]+)`')
COMMAND = re.compile(r'^(\./run|vtac|ctest|vta-doc)( |$)')


def steps_of(text):
    """(recipe, step) for each list item under a heading '## Recipe: add ...'."""
    recipe = None
    for line in text.splitlines():
        if line.startswith('#'):
            found = re.fullmatch(r'## Recipe: add (.*)', line)
            recipe = found.group(1) if found else None
        elif recipe and line.startswith('- '):
            yield recipe, line[2:]
        elif recipe and line.strip():
            yield recipe, None  # a step is one line, so that none is overlooked


def looks_like_file(word):
    return '/' in word or re.search(r'\.[a-z]+$', word) is not None or word == '../run'


def mistakes_in(step, folder):
    """What a step says that is not so."""
    words = [word for word in WORD.findall(step) if not COMMAND.match(word)]
    if not step.startswith('`') or not words or not looks_like_file(words[0]):
        return ['does not begin with a file']
    out, files = [], []
    for word in [word for word in words if looks_like_file(word)]:
        found = [name for name in glob.glob(os.path.join(folder, word)) if os.path.isfile(name)]
        if not found:
            out.append(f"names '{word}', which is not there")
        files += found
    text = ''.join(open(name, encoding='utf-8', errors='replace').read() for name in files)
    for word in [word for word in words if not looks_like_file(word)]:
        if not re.search(r'\b' + re.escape(word).replace(r'\*', r'\w+'), text):
            out.append(f"says '{word}', which is in none of its files")
    return out


def check(source):
    recipes, wrong = set(), 0
    for name in sorted(glob.glob(os.path.join(source, '**', 'README.md'), recursive=True)):
        if os.path.relpath(name, source).startswith('build' + os.sep):
            continue
        for recipe, step in steps_of(open(name, encoding='utf-8').read()):
            recipes.add(recipe)
            for mistake in mistakes_in(step, os.path.dirname(name)) if step else ['has a line that is no step']:
                wrong += 1
                print(f'{os.path.relpath(name, source)}: recipe "add {recipe}": {mistake}')
    for recipe in sorted(EXPECTED - recipes):
        wrong += 1
        print(f'no README has the recipe "add {recipe}"')
    return wrong


def check_the_checker(source):
    """Mistakes that must be found."""
    folder = os.path.join(source, 'compiler')
    good = '`include/vtac/passes.def`: a row, `VTAC_PASS`.'
    bad = {'`include/vtac/gone.def`: a row': 'gone.def', '`include/vtac/passes.def`: a row, `VTAC_GONE`.': 'VTAC_GONE',
           'a row in `include/vtac/passes.def`': 'begin', '`src/gone/*.c`: one of them': 'gone'}
    missed = [step for step, what in bad.items() if not any(what in mistake for mistake in mistakes_in(step, folder))]
    for step in missed:
        print(f'not noticed: {step}')
    return len(missed) + len(mistakes_in(good, folder))


if __name__ == '__main__':
    root = os.path.realpath(sys.argv[1])
    sys.exit(1 if check(root) + check_the_checker(root) else 0)
