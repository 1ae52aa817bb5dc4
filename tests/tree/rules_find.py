#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rules.py finds what breaks each of its rules, and nothing in what keeps them: a small tree, built and committed here, also
as a clone that knows its last commit alone. A rule that stops finding its break fails here.

usage: rules_find.py CC
"""
import contextlib
import io
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rules

GOOD = '''/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the halo, at most once.
 */

/* ---- rows ---- */

struct vtac_good {
    int max_rows; /* how many */
};

/* Returns the rows: what the caller passes. */
static int run_rows(int at_least)
{
    return at_least;
}

int vtac_good_rows(int x)
{
    switch (x) {
    case 1: return run_rows(x);
    }
    return "most /* What */ switch ((int)"[0];
}
'''
# rule: what breaks it in a C source; how often
BREAKS = {
    'words': ('enum { MOST_ROWS = 1, at_most = 2 };\n/* Counts the rim. */\nstatic int run(void)\n{\n    return 0;\n}\n', 3),
    'ruler': ('/* ---- rows\n * ---------------- */\n', 1),
    'struct': ('struct vtac_good {\n    int rows;\n};\n', 2),
    'cast': ('int vtac_x(long x)\n{\n    switch ((int)x) {\n    case 1: return 1;\n    default: return 0;\n    }\n}\n', 1),
    'status': ('#define VTA_OK 0\nint vtac_y(int status)\n{\n    status = status == VTA_OK ? 1 : status;\n    return status;\n}\n', 1),
    'comment': ('/* What it is. */\n/* Rows. What they are. */\n/** Whether. */\n', 2),
    'date': ('/* Seen on 27 November, since 2026-11-27, in May 2026 and on 1.12.2026. */\nint vtac_days(void);\n', 4),
    'external': ('int rows_of(void)\n{\n    return 0;\n}\n', 1),
}
README = '''# Rows

| word | meaning |
|---|---|
| `rim` | what lies around |
| tile | a part |

Measured on 27 November 2026, 94.45 % of 75,784 lines; a block has 16 rows and 50 % of them.

    2026-11-27 1,234
'''
GUIDE = '''# Speed

On November 27 a run took 6.3 s instead of 11.3, at 105.5 MHz; two runs take 12 s.

| what | now | then |
|---|---|---|
| one | 0.94 | 0.77 |
| two | 0.94 | then |
'''


def put(folder, path, text):
    path = os.path.join(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def commit(folder, subject):
    name = ('-c', 'user.name=test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false')
    subprocess.run(('git', '-C', folder) + name + ('commit', '-q', '--allow-empty', '-m', subject), check=True)


def build(folder, cc, name):
    objects = os.path.join(folder, 'build', 'compiler', 'CMakeFiles', 'vtac_core.dir', 'src')
    os.makedirs(objects, exist_ok=True)
    subprocess.run((cc, '-std=c17', '-w', '-c', os.path.join(folder, 'compiler', 'src', name), '-o',
                    os.path.join(objects, name + '.o')), check=True)


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f'{what}: {got}, expected {wanted}')


def counts(folder):
    found = rules.find_all(folder, os.path.join(folder, 'build'), fewest=1)
    return {rule: len(rows) for rule, rows in found.items() if rows}


def main(cc):
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, 'tree')
        put(tree, 'compiler/src/good.c', GOOD)
        put(tree, '.gitignore', '/build/\n')
        subprocess.run(('git', 'init', '-q', tree), check=True)
        build(tree, cc, 'good.c')
        expect('what keeps the rules', counts(tree), {})
        for rule, (text, times) in BREAKS.items():
            put(tree, 'compiler/src/bad.c', text)
            build(tree, cc, 'bad.c')
            expect(f'what breaks {rule}', counts(tree), {rule: times})
            os.remove(os.path.join(tree, 'compiler/src/bad.c')) # its object stays, and does not count
            expect(f'after what breaks {rule}', counts(tree), {})
        put(tree, 'compiler/README.md', README)
        expect('a README', counts(tree), {'words': 1, 'readme': 3})
        os.remove(os.path.join(tree, 'compiler/README.md'))
        put(tree, 'compiler/GUIDE.md', GUIDE)
        expect('a document', counts(tree), {'readme': 4})
        os.rename(os.path.join(tree, 'compiler/GUIDE.md'), os.path.join(tree, 'CHANGELOG.md'))
        expect('the change log', counts(tree), {})
        os.remove(os.path.join(tree, 'CHANGELOG.md'))

        long = 'rules: ' + 'x' * 60
        subprocess.run(('git', '-C', tree, 'add', '-A'), check=True)
        commit(tree, 'older than the rules: ' + long)
        put(tree, 'tests/tree/rules.py', '')
        subprocess.run(('git', '-C', tree, 'add', '-A'), check=True)
        commit(tree, 'rules: here they are')
        expect('subjects that keep the rule', counts(tree), {})
        commit(tree, long)
        commit(tree, 'no module, no summary')
        commit(tree, 'rules: ' + 'x' * 53)
        expect('two subjects that do not', counts(tree), {'subject': 2})
        commit(tree, long)
        clone = os.path.join(folder, 'clone')
        subprocess.run(('git', 'clone', '-q', '--depth', '1', 'file://' + tree, clone), check=True)
        expect('a clone that knows the last of three', counts(clone), {'subject': 1})

    two = [('a/x.c', 1, ''), ('a/y.c', 2, '')]
    for what, found, wanted in (('as many as allowed', two, False), ('one more', two + [('a/z.c', 1, '')], True),
                                ('another folder', [('b/x.c', 1, '')], True)):
        with contextlib.redirect_stdout(io.StringIO()):
            failed = rules.report({'cast': found}, {('cast', 'a'): 2})
        expect(what, failed, wanted)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
