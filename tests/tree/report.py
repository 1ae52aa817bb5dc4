#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lib/report.py on runs of ctest itself: a small project of its own with tests that pass, fail and skip, with and without
leave; what a commit changed and what it cannot have caused; the sample of random tests; the page.

usage: report.py SOURCE
"""
import html.parser
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.path.realpath(sys.argv[1])
REPORT = os.path.join(SOURCE, 'tests', 'lib', 'report.py')
CMAKE = '''cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES C)
enable_testing()
foreach(name good bad)
    add_executable(${name} tests/${name}.c)
    add_test(NAME ${name} COMMAND ${name})
endforeach()
add_test(NAME known COMMAND sh -c "echo the models are not there; exit 77")
add_test(NAME unknown COMMAND sh -c "echo 'no <compiler>'; exit 77")
add_test(NAME script COMMAND ${CMAKE_SOURCE_DIR}/tests/run.sh)
set_tests_properties(known unknown PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(good bad known PROPERTIES LABELS random)
'''
failures = 0


def holds(what, is_so, *shown):
    global failures
    if not is_so:
        failures += 1
        print('does not hold:', what, *shown)


def run(*command, cwd='.'):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def must(*command, cwd='.'):
    status, out, err = run(*command, cwd=cwd)
    if status != 0:
        sys.exit(f'{command}: {out}{err}')


def write(name, text):
    os.makedirs(os.path.dirname(name) or '.', exist_ok=True)
    with open(name, 'w', encoding='utf-8') as file:
        file.write(text)


def report(*words):
    return run(sys.executable, '-B', REPORT, *words)


def commit(text):
    must('git', 'add', '-A')
    must('git', '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', text)


def suite(*words):
    must('ninja', '-C', 'build')
    run('ctest', '--test-dir', 'build', '--output-junit', os.path.realpath('run.xml'), *words)


class Reader(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.words, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in ('meta',):
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        self.words.append(data)


def project():
    write('CMakeLists.txt', CMAKE)
    write('.gitignore', '/build/\n/run.xml\n/skips.txt\n/*.html\n')
    write('lib/shared.h', 'enum { RESULT = 1 };\n')
    write('tests/good.c', 'int main(void) { return 0; }\n')
    write('tests/bad.c', '#include "../lib/shared.h"\nint main(void) { return RESULT; }\n')
    write('tests/run.sh', '#!/bin/sh\nexit 1\n')
    write('other/README.md', 'words\n')
    os.chmod('tests/run.sh', 0o755)
    must('git', 'init', '-q')
    must('cmake', '-G', 'Ninja', '-S', '.', '-B', 'build')
    commit('first')


def check_judge():
    write('skips.txt', '# accepted\nknown|models are not there\nunknown|models are not there\n')
    suite()
    status, out, _ = report('judge', 'skips.txt', 'run.xml')
    holds('a failure and a skip without leave fail', status == 1)
    holds('failures are named', 'FAILED   bad' in out and 'FAILED   script' in out, out)
    holds('what passed is not', 'good' not in out, out)
    holds('a skip with leave says why', 'skipped  known: the models are not there\n' in out, out)
    holds('a skip without leave says so', "SKIPPED  unknown: no <compiler>; that is not on the list" in out, out)
    suite('-R', '^(good|known)$')
    holds('skips with leave alone pass', report('judge', 'skips.txt', 'run.xml')[0] == 0)
    suite('-R', 'unknown')
    holds('one without leave does not', report('judge', 'skips.txt', 'run.xml')[0] == 1)
    suite('-R', 'nothing')
    status, out, _ = report('judge', 'skips.txt', 'run.xml')
    holds('no test at all does not', status == 1 and 'no test ran' in out, status, out)
    write('skips.txt', 'known\n')
    suite()
    status, _, err = report('judge', 'skips.txt', 'run.xml')
    holds('a damaged list is named by its line', status == 1 and 'skips.txt:1: expected NAME|REASON' in err, err)


def verdict(name):
    _, out, err = report('causes', 'build', '.', 'run.xml')
    lines = [line for line in out.splitlines() if line.startswith(name + ':')]
    holds(f'one line about {name}', len(lines) == 1, out, err)
    return lines[0] if lines else ''


def check_causes():
    suite()
    holds('without a commit before', 'nothing says since when' in verdict('bad'))
    write('other/README.md', 'other words\n')
    commit('documents')
    suite()
    holds('documents cause nothing', 'no change of this commit can have caused it' in verdict('bad'), verdict('bad'))
    holds('nor in a script', 'no change of this commit can have caused it' in verdict('script'), verdict('script'))
    write('tests/good.c', 'int main(void) { return 1 - 1; }\n')
    commit('another program')
    suite()
    holds('nor does a part of another program', 'no change' in verdict('bad'), verdict('bad'))
    write('lib/shared.h', 'enum { RESULT = 2 };\n')
    suite()
    holds('a header, not even committed, may', 'may have caused it (lib/shared.h)' in verdict('bad'), verdict('bad'))
    commit('a header')
    write('tests/run.sh', '#!/bin/sh\nexit 2\n')
    commit('a script')
    suite()
    holds('a script may, for itself', 'may have caused it (tests/run.sh)' in verdict('script'), verdict('script'))
    holds('and for nothing else', 'no change' in verdict('bad'), verdict('bad'))


def check_pick_and_page():
    suite()
    _, out, err = report('pick', 'build', 'run.xml', '100', 'word')
    holds('random tests that passed, by number', out == '0,0,0,1\n' and '1 of 1 random tests' in err, out, err)
    holds('none where there is no time', report('pick', 'build', 'run.xml', '0', 'word')[1] == '')
    text = open('run.xml', encoding='utf-8').read()
    write('long.xml', re.sub(r'(<testcase name="good"[^>]* time=")[^"]*', r'\g<1>30', text))
    holds('a test may take a fifth', report('pick', 'build', 'long.xml', '150', 'word')[1] == '0,0,0,1\n')
    holds('and no more', report('pick', 'build', 'long.xml', '149', 'word')[1] == '')
    status, _, err = report('page', 'tests.html', 'run.xml', 'none.xml')
    text = open('tests.html', encoding='utf-8').read()
    reader = Reader(text)
    holds('the page is made', status == 0, err)
    holds('output is text, not markup', '<compiler>' in ''.join(reader.words) and 'no <compiler>' not in text)
    holds('every test is on it', all(name in reader.words for name in ('good', 'bad', 'known', 'unknown', 'script')))
    holds('misuse is told', report('paint')[0] == 2 and report()[0] == 2 and report('judge')[0] == 2)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    project()
    check_judge()
    check_causes()
    check_pick_and_page()
    os.chdir('/')
sys.exit(1 if failures else 0)
