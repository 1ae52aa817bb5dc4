#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of style that a program can hold, counted per folder against allowed.txt, a list that may only shrink.

    words     words.txt: names and comments use the field's word, static functions name their object
    external  external symbols carry the prefix of their library (needs BUILD, a build of these sources)
    ruler     a section's rule, which the formatter has cut in two
    struct    two structs of one library with the same name
    readme    a document (CHANGELOG.md is none) with a date or with the result of a measurement
    date      a date in a source
    cast      switch ((int), which switches off the compiler's check that every case is there
    status    status = status == VTA_OK ? ...: fail.h has VTA_TRY_OUT
    comment   a comment that begins with What, Whether, Where, ... and has no subject
    subject   the first line of a commit longer than 60 columns or without `module: `, since these rules exist

--list prints the places that a rule finds. --lower writes allowed.txt anew with what is found where that is less; a rule
that is allowed nothing in a folder has no line there.

usage: rules.py [--lower] SOURCE [BUILD] [--list RULE [FOLDER]]
"""
import argparse
import collections
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ALLOWED = os.path.join(HERE, 'allowed.txt')
WORDS = os.path.join(HERE, 'words.txt')
PLACES = ('names', 'comments', 'both', 'static')
C_FILES = ('.c', '.h', '.cc', '.def')
SCRIPTS = ('.py', '.sh', '.cmake', 'CMakeLists.txt', '.tcl')
VERILOG = ('.v', '.vh')
LIBRARIES = (('vta', ('isa/', 'sim/', 'driver/', 'runtime/src/', 'runtime/generate/')), ('vtac', ('compiler/src/',)), ('cli', ('compiler/cli/',)))
PROGRAMS = ('isa/gen/', 'driver/baremetal/')  # programs of their own, and a second form of the driver
# Beginnings of external names of a folder's objects. VTA[A-Z]: the first interface of VTA, which programs link against.
PREFIXES = (('isa/', 'vta_'), ('sim/', 'vta_'), ('driver/', 'vta_|VTA[A-Z]'), ('runtime/src/', 'vta_|VTA[A-Z]'),
            ('runtime/generate/', 'vta_'),
            ('compiler/src/', 'vtac_'), ('compiler/cli/', 'cli_|libvtac_|main$'),
            ('compiler/plugins/', 'vtac_plug_|vtac_ort_|vtac_tfl_|(?:CreateEpFactories|ReleaseEpFactory|tflite_plugin_create_delegate|tflite_plugin_destroy_delegate)$'))
NO_SUBJECT = r'(?:Who|Whose|What|Whether|Where|How|Which|Those|That|These|Such|Likewise|Otherwise|Else)\b'
MONTHS = 'January|February|March|April|May|June|July|August|September|October|November|December'
DATE = (rf'\b\d{{1,2}}\.? (?:{MONTHS})\b|\b(?:{MONTHS}) \d{{1,2}}\b|\b(?:{MONTHS}) 20\d\d\b|\b20\d\d-[01]\d-[0-3]\d\b'
        r'|\b[0-3]?\d\.[01]?\d\.20\d\d\b')
UNITS = 'seconds?|s|ms|us|µs|ns|MHz|GHz|times|million|GB/s|GOPS|mJ'
DECIMAL = r'[^|\n]*\d\.\d[^|\n]*\|'
# A date; a share with decimals; a number with groups of three digits; decimals with a unit; a row with decimals in two cells.
MEASURED = re.compile(rf'{DATE}|\b\d+\.\d+ ?%|\b\d{{1,3}}(?:,\d{{3}})+\b|(?<![\w.])\d+\.\d+ (?:{UNITS})\b'
                      rf'|^\|(?:[^|\n]*\|)*?{DECIMAL}(?:[^|\n]*\|)*?{DECIMAL}', re.MULTILINE)
SAMPLE_DATES = ('2000-01-01', '2001-01-01')  # where a date is needed and says nothing
PIECES = re.compile(r'(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<text>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL)
SUBJECT = re.compile(r'[A-Za-z0-9_.][A-Za-z0-9_./, +-]*: \S')
COLUMNS = 60


def git(source, *words):
    done = subprocess.run(('git', '-C', source) + words, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def files_of(source):
    listed = git(source, 'ls-files', '--cached', '--others', '--exclude-standard')
    if listed is None:
        listed = []
        for folder, folders, names in os.walk(source):
            folders[:] = [name for name in folders if name not in ('build', '.git')]
            listed += [os.path.relpath(os.path.join(folder, name), source) for name in names]
    return sorted(name for name in listed if os.path.isfile(os.path.join(source, name)))


def folder_of(path):
    """What a count is kept for: the folder of the file, at most three names of it."""
    return '/'.join(path.split('/')[:-1][:3]) or '.'


def rows_of_words():
    rows = []
    for number, line in enumerate(open(WORDS, encoding='utf-8'), 1):
        if line.startswith('#') or not line.strip():
            continue
        cells = [cell.strip() for cell in line.split('|')]
        if len(cells) != 4 or cells[2] not in PLACES or not re.fullmatch('[a-z]+', cells[0]) or not cells[1]:
            sys.exit(f'{WORDS}:{number}: expected word | use instead | {" or ".join(PLACES)} | folders')
        rows.append((cells[0], cells[1], cells[2], cells[3].split()))
    return rows


def applies(folders, path):
    return '*' in folders or any(path.startswith(folder) for folder in folders)


def blank(piece):
    return '\n'.join(' ' * len(line) for line in piece.split('\n'))


class Text:
    """A source, and the same with all but its comments, or all but its code, blank."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.comments, self.code = text, text
        if path.endswith(C_FILES + VERILOG):
            comments, code, last = [], [], 0
            for piece in PIECES.finditer(text):
                before, here = text[last:piece.start()], piece.group()
                comments += (blank(before), here if piece.group('comment') else blank(here))
                code += (before, blank(here))
                last = piece.end()
            self.comments = ''.join(comments) + blank(text[last:])
            self.code = ''.join(code) + text[last:]

    def line(self, at):
        return self.text.count('\n', 0, at) + 1


def sources_of(source, files):
    for path in files:
        if path.endswith(C_FILES + VERILOG + SCRIPTS) and not path.startswith('tests/tree/rules.py'):
            with open(os.path.join(source, path), encoding='utf-8', errors='replace') as file:
                yield Text(path, file.read())


# ---- rules: each yields (path, line, what is wrong)


def find_words(texts, readmes):
    rows = rows_of_words()

    def pattern(kinds):
        words = sorted({row[0] for row in rows if row[2] in kinds})
        return re.compile(r'(?<![A-Za-z0-9])(?<!\bat_)(?<!_at_)(' + '|'.join(words) + r')(?![a-z0-9])', re.IGNORECASE)

    names, comments = pattern(('names', 'both')), pattern(('comments', 'both'))
    static = {row[0]: row for row in rows if row[2] == 'static'}
    of = {}
    for row in rows:
        for kind in ('names', 'comments') if row[2] == 'both' else (row[2],):
            of[(kind, row[0])] = row
    for text in texts:
        if not text.path.endswith(C_FILES):
            continue
        for kind, found, body in (('names', names, text.code), ('comments', comments, text.comments)):
            for hit in found.finditer(body):
                row = of[(kind, hit.group(1).lower())]
                if applies(row[3], text.path):
                    yield text.path, text.line(hit.start()), f"'{row[0]}': the field's word is {row[1]}"
        for hit in re.finditer(r'^static [^;={}()]*?\b([a-z]+)\([^;]*?\)\n\{', text.code, re.MULTILINE):
            row = static.get(hit.group(1))
            if row and applies(row[3], text.path):
                yield text.path, text.line(hit.start()), f"static function '{row[0]}' does not say its object: {row[1]}"
    for path, text in readmes.items():
        for hit in re.finditer(r'^\| *`?([a-z]+)`? *\|', table_of_words(text), re.MULTILINE):
            if any(row[0] == hit.group(1) and row[2] != 'static' and applies(row[3], path) for row in rows):
                yield path, 1, f"defines '{hit.group(1)}', which words.txt forbids"


def table_of_words(readme):
    """The rows of the README's table whose first column is headed `word`; empty where there is none."""
    table = re.search(r'^\| *word *\|.*\n(?:\|.*\n?)+', readme, re.MULTILINE | re.IGNORECASE)
    return table.group() if table else ''


def find_rulers(texts):
    for text in texts:
        for hit in re.finditer(r'^[ \t]*(?:/\*|//) -{2,} [^\n*]*\n[ \t]*(?:\*|//) -{3,}', text.text, re.MULTILINE):
            yield text.path, text.line(hit.start()), 'a section rule in two lines: write /* ---- section */'


def find_structs(texts):
    of = collections.defaultdict(list)
    for text in texts:
        for library, folders in LIBRARIES:
            if text.path.startswith(folders) and not text.path.startswith(PROGRAMS) and text.path.endswith(('.c', '.h')):
                for hit in re.finditer(r'\bstruct ([a-z_0-9]+) \{', text.code):
                    of[(library, hit.group(1))].append((text.path, text.line(hit.start())))
    for (_, name), places in sorted(of.items()):
        files = sorted({path for path, _ in places})
        if len(files) > 1:
            for path, line in places:
                yield path, line, f"struct '{name}' stands in {' and '.join(files)}"


def find_casts(texts):
    for text in texts:
        for hit in re.finditer(r'\bswitch \(\(int\)', text.code):
            yield text.path, text.line(hit.start()), 'switch ((int): name the cases and let the compiler check them'


def find_statuses(texts):
    for text in texts:
        for hit in re.finditer(r'\bstatus = status == VTA_OK \?', text.code):
            yield text.path, text.line(hit.start()), 'use VTA_TRY_OUT and a label out, or VTA_TRY in an inner function'


def find_comments(texts):
    block = re.compile(r'/\*+\s*(?:\*\s*)?(' + NO_SUBJECT + ')')
    line = re.compile(r'(?:^|(?<=[^\n]))(?://|#) (' + NO_SUBJECT + ')', re.MULTILINE)
    for text in texts:
        c_like = text.path.endswith(C_FILES)
        for hit in (block if c_like else line).finditer(text.comments):
            before = text.text[:hit.start()].rstrip(' \t')
            lines = before.splitlines()
            follows = not c_like and before.endswith('\n') and lines and lines[-1].lstrip().startswith(('//', '#'))
            if not follows or lines[-1].rstrip().endswith('.'):
                yield text.path, text.line(hit.start()), f"begins with '{hit.group(1)}': begin with the noun or verb"


def find_measured(readmes):
    for path, text in readmes.items():
        text = re.sub(r'^```.*?^```|^(?: {4}|\t).*?$|`[^`\n]*`', lambda hit: re.sub(r'[^\n]', ' ', hit.group()), text,
                      flags=re.MULTILINE | re.DOTALL)
        for hit in MEASURED.finditer(text):
            yield path, text.count('\n', 0, hit.start()) + 1, f"'{hit.group()[:40]}': results belong in tests/results"


def find_dates(texts):
    for text in texts:
        for hit in re.finditer(DATE, text.text):
            if hit.group() not in SAMPLE_DATES and not text.path.startswith('tests/tree/rules'):
                yield text.path, text.line(hit.start()), f"'{hit.group()}': what was when stands in the history, results in tests/results"


def find_external(source, build):
    """Symbols that the objects of our libraries define for all. Objects whose source is gone, or generated, do not count."""
    for folder, _, names in os.walk(build):
        parts = os.path.relpath(folder, build).split('/')
        if len(parts) < 3 or 'CMakeFiles' not in parts:
            continue
        at = parts.index('CMakeFiles')
        path = '/'.join(parts[:at] + parts[at + 2:]) + '/'
        prefix = next((words for start, words in PREFIXES if path.startswith(start)), None)
        objects = [os.path.join(folder, name) for name in sorted(names)
                   if name.endswith('.c.o') and os.path.isfile(os.path.join(source, path, name[:-2]))]
        if prefix is None or path.startswith(PROGRAMS) or not objects:
            continue
        listed = subprocess.run(['nm', '-A', '-g', '--defined-only', '--format=posix'] + objects, capture_output=True, text=True,
                                check=True).stdout
        for row in listed.splitlines():
            file, symbol = row.split(': ', 1)
            name = symbol.split()[0]
            if not re.match(prefix, name):
                yield path + os.path.basename(file)[:-2], 1, f"external symbol '{name}' does not begin with {prefix}"


def find_subjects(source):
    """Commits since the one that brought this file. Where the history is cut short, its oldest commit seems to bring it."""
    brought = git(source, 'log', '--diff-filter=A', '--format=%H', '--', 'tests/tree/rules.py')
    if not brought:
        return
    rows = git(source, 'log', '--no-merges', '--format=%h %s', f'{brought[-1]}..HEAD') or []
    for row in rows + git(source, 'log', '-1', '--format=%h %s', brought[-1]):
        commit, _, subject = row.partition(' ')
        if len(subject) > COLUMNS:
            yield commit, 1, f'{len(subject)} columns, {COLUMNS} at most: {subject}'
        elif not SUBJECT.match(subject):
            yield commit, 1, f"expected 'module: summary': {subject}"


def find_all(source, build, fewest=1000):
    files = files_of(source)
    texts = list(sources_of(source, files))
    if len(texts) < fewest:
        sys.exit(f'{source}: {len(texts)} sources found, expected {fewest} or more')
    readmes = {path: open(os.path.join(source, path), encoding='utf-8').read()
               for path in files if os.path.basename(path) == 'README.md'}
    documents = {path: open(os.path.join(source, path), encoding='utf-8').read()
                 for path in files if path.endswith('.md') and os.path.basename(path) != 'CHANGELOG.md'}
    found = {
        'words': find_words(texts, readmes),
        'ruler': find_rulers(texts),
        'struct': find_structs(texts),
        'readme': find_measured(documents),
        'date': find_dates(texts),
        'cast': find_casts(texts),
        'status': find_statuses(texts),
        'comment': find_comments(texts),
        'subject': find_subjects(source),
    }
    if build:
        found['external'] = find_external(source, build)
    return {rule: sorted(set(rows)) for rule, rows in found.items()}


# ---- the list of what is allowed


def read_allowed():
    allowed = {}
    for number, line in enumerate(open(ALLOWED, encoding='utf-8'), 1):
        if line.startswith('#') or not line.strip():
            continue
        words = line.split()
        if len(words) != 3 or not words[0].isdigit() or (words[1], words[2]) in allowed:
            sys.exit(f'{ALLOWED}:{number}: expected COUNT RULE FOLDER, each rule and folder once')
        allowed[(words[1], words[2])] = int(words[0])
    return allowed


def write_allowed(counts):
    head = ''.join(line for line in open(ALLOWED, encoding='utf-8') if line.startswith('#'))
    rows = ''.join(f'{count:>5} {rule:<8} {folder}\n' for (rule, folder), count in sorted(counts.items()) if count)
    with open(ALLOWED, 'w', encoding='utf-8') as file:
        file.write(head + rows)


def count(found):
    counts = collections.Counter()
    for rule, rows in found.items():
        for path, _, _ in rows:
            counts[(rule, folder_of(path))] += 1
    return counts


def report(found, allowed):
    """Prints what is over the list; True where something is."""
    counts, failed = count(found), False
    for key, number in sorted(counts.items()):
        if number > allowed.get(key, 0):
            failed = True
            rule, folder = key
            print(f'{rule}: {number} in {folder}, {allowed.get(key, 0)} allowed:')
            for path, line, what in found[rule]:
                if folder_of(path) == folder:
                    print(f'  {path}:{line}: {what}')
    less = sum(max(0, allowed[key] - counts[key]) for key in allowed if key[0] in found)
    if not failed and less:
        print(f'{less} fewer than allowed.txt has: tests/tree/rules.py --lower SOURCE BUILD lowers the list')
    return failed


def main(words):
    options = argparse.ArgumentParser(usage=__doc__[__doc__.index('usage:') + 7:])
    options.add_argument('--list', nargs='+', metavar=('RULE', 'FOLDER'))
    options.add_argument('--lower', action='store_true')
    options.add_argument('source')
    options.add_argument('build', nargs='?')
    options = options.parse_args(words)
    found = find_all(options.source, options.build)
    if options.list:
        rule, folder = (options.list + [''])[:2]
        for path, line, what in found.get(rule, ()):
            if path.startswith(folder):
                print(f'{path}:{line}: {what}')
        return 0
    allowed = read_allowed()
    if options.lower:
        counts = count(found)
        write_allowed({key: min(number, counts[key]) if key[0] in found else number for key, number in allowed.items()})
        return 0
    return report(found, allowed)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
