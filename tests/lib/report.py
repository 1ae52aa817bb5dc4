#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run of the suite amounts to, from the JUnit files that ctest writes.

report.py judge SKIPS RUN.xml             lists what failed and what was skipped without leave (SKIPS); exit status 1
report.py pick BUILD RUN.xml SECONDS WORD numbers of random tests that took SECONDS together, none of them more than a
                                          fifth, for ctest -I; WORD shuffles
report.py page OUT.html RUN.xml [NEW.xml] a page of all tests, the slowest first; NEW: the run with a new seed
report.py causes BUILD SOURCE NEW.xml     of each failure with a new seed: may a change of this commit have caused it?
"""
import hashlib
import html
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml


class Test:
    """One test case: state is 'passed', 'failed', 'skipped' or 'disabled'."""

    def __init__(self, case):
        self.name = case.get('name')
        self.seconds = float(case.get('time') or 0)
        self.output = case.findtext('system-out') or ''
        status = case.get('status')
        skipped = case.find('skipped')
        self.why = ''
        if status == 'run':
            self.state = 'passed'
        elif status == 'disabled':
            self.state = 'disabled'
        elif status == 'notrun' and skipped is not None and 'SKIP' in (skipped.get('message') or ''):
            self.state = 'skipped'
        else:
            self.state = 'failed'
            failure = case.find('failure')
            self.why = (skipped if failure is None else failure).get('message') if case else status


def read(path):
    """The tests of a run; none of a run that had none."""
    if not os.path.exists(path):
        return []
    return [Test(case) for case in xml.parse(path).getroot().iter('testcase')]


def allowed_skips(path):
    """Pairs of patterns: name, reason."""
    rows = []
    for number, line in enumerate(open(path, encoding='utf-8'), 1):
        if line.strip() and not line.startswith('#'):
            name, bar, reason = line.rstrip('\n').partition('|')
            if not bar or not name or not reason:
                sys.exit(f'{path}:{number}: expected NAME|REASON')
            rows.append((re.compile(name), re.compile(reason)))
    return rows


def is_allowed(test, rows):
    return any(name.fullmatch(test.name) and reason.search(test.output) for name, reason in rows)


def judge(skips, path):
    tests = read(path)
    rows = allowed_skips(skips)
    bad = 0
    for test in tests:
        if test.state == 'failed':
            bad += 1
            print(f'FAILED   {test.name} ({test.why})')
        elif test.state != 'passed':
            last = (test.output.strip().splitlines() or ['it does not say why'])[-1]
            allowed = test.state == 'skipped' and is_allowed(test, rows)
            bad += not allowed
            print(f'{"skipped " if allowed else "SKIPPED "} {test.name}: {last}' +
                  ('' if allowed else f'; that is not on the list of {os.path.relpath(skips)}'))
    if not tests:
        print('no test ran')
    return 1 if bad or not tests else 0


def listed(build):
    """ctest's own list: name, number, command, labels."""
    text = subprocess.run(['ctest', '--test-dir', build, '--show-only=json-v1'], check=True, capture_output=True,
                          text=True).stdout
    out = {}
    for number, test in enumerate(json.loads(text)['tests'], 1):
        labels = next((p['value'] for p in test.get('properties', []) if p['name'] == 'LABELS'), [])
        out[test['name']] = (number, test.get('command', []), labels)
    return out


def pick(build, path, seconds, word):
    """Random tests in an order that the word decides, for as long as they fit into the time. One that would take more than a fifth
    of it leaves too little to the others: those have new seeds by `./run test --fresh`."""
    took = {test.name: test.seconds for test in read(path) if test.state == 'passed'}
    rows = listed(build)
    names = [name for name in took if 'random' in rows[name][2]]
    names.sort(key=lambda name: hashlib.sha256(f'{word} {name}'.encode()).digest())
    left = float(seconds)
    numbers = []
    for name in names:
        if took[name] <= min(left, float(seconds) / 5):
            left -= took[name]
            numbers.append(rows[name][0])
    if numbers:
        print(f'{len(numbers)} of {len(names)} random tests', file=sys.stderr)
        print(f'0,0,0,{",".join(map(str, sorted(numbers)))}')
    return 0


FAMILY = os.path.join(os.path.dirname(__file__), '../../runtime/wasm/family.css')
STYLE = '''
td { text-align: left; vertical-align: top; } th { text-align: left; }
td.number { text-align: right; width: 5rem; }
td.name { font-family: ui-monospace, monospace; }
.bar { background: var(--blue); height: .8rem; min-width: 1px; border-radius: 2px; margin-top: .3rem; }
.failed { color: var(--bad); font-weight: 600; } .skipped { color: var(--quiet); }
pre { max-height: 24rem; overflow: auto; }
'''


def count(tests):
    states = [test.state for test in tests]
    parts = [f'{states.count(state)} {state}' for state in ('passed', 'failed', 'skipped', 'disabled')
             if state == 'passed' or state in states]
    return ', '.join(parts)


def table(tests):
    most = max((test.seconds for test in tests), default=0) or 1
    total = sum(test.seconds for test in tests) or 1
    so_far = 0.0
    lines = ['<table><tr><th>test</th><th>seconds</th><th>sum</th><th></th></tr>']
    for test in sorted(tests, key=lambda test: -test.seconds):
        so_far += test.seconds
        lines.append(f'<tr><td class="name {test.state}">{html.escape(test.name)}</td>'
                     f'<td class="number">{test.seconds:.2f}</td><td class="number">{100 * so_far / total:.0f} %</td>'
                     f'<td style="width:50%"><div class="bar" style="width:{100 * test.seconds / most:.1f}%"></div></td></tr>')
    return lines + ['</table>']


def section(title, tests):
    lines = [f'<section class="scroll"><h2>{title}: {count(tests)}; {sum(test.seconds for test in tests):.0f} seconds of tests</h2>']
    for test in tests:
        if test.state != 'passed':
            lines.append(f'<details{" open" if test.state == "failed" else ""}><summary class="{test.state}">'
                         f'{html.escape(test.name)}: {test.state} {html.escape(test.why or "")}</summary>'
                         f'<pre>{html.escape(test.output[-8000:])}</pre></details>')
    return lines + table(tests) + ['</section>']


def page(out, path, new=None):
    with open(FAMILY, encoding='utf-8') as file:
        family = file.read()
    lines = ['<!doctype html><html lang="en"><meta charset="utf-8"><title>vtac: tests</title>',
             '<meta name="viewport" content="width=device-width">', f'<style>{family}{STYLE}</style>', '<header><h1>Tests</h1>',
             '<p>The slowest first; wall time of each, and their share of the sum up to there.</p></header><main>']
    lines += section('What decides', read(path))
    if new and read(new):
        lines += section('Once more, with a new seed', read(new))
    with open(out + '.part', 'w', encoding='utf-8') as file:
        file.write('\n'.join(lines) + '\n</main></html>\n')
    os.replace(out + '.part', out)
    return 0


def lines_of(*command, cwd=None):
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files(source):
    """What differs from the commit before, committed or not; None where that is not known."""
    if not lines_of('git', 'rev-parse', 'HEAD~1', cwd=source):
        return None
    names = lines_of('git', 'diff', '--name-only', 'HEAD~1', cwd=source)
    names += lines_of('git', 'ls-files', '--others', '--exclude-standard', cwd=source)
    return {os.path.realpath(os.path.join(source, name)) for name in names}


def made_of(build, program):
    """The sources and headers that a program of the build is made of."""
    target = os.path.relpath(program, build)
    inputs = lines_of('ninja', '-C', build, '-t', 'inputs', target)
    inputs = [line for line in inputs if not line.startswith('ninja:')]
    objects = [name for name in inputs if name.endswith('.o')]
    for at in range(0, len(objects), 500):
        inputs += [line.strip() for line in lines_of('ninja', '-C', build, '-t', 'deps', *objects[at:at + 500])
                   if line.startswith('    ')]
    return {os.path.realpath(os.path.join(build, name)) for name in inputs}


def may_decide(name, command, source, build):
    """Whether a file of that name can have a part in what the command does."""
    relative = os.path.relpath(name, source)
    if relative.endswith('.md') or relative.startswith('..'):
        return False
    own = {os.path.dirname(os.path.realpath(word)) for word in command if word.startswith(source) and
           not word.startswith(build) and os.path.isfile(word)}
    if relative.startswith('tests' + os.sep):
        folder = os.path.dirname(name)
        return folder in own or (bool(own) and folder in (os.path.join(source, 'tests', 'lib'), os.path.join(source, 'tests', 'cli')))
    return not relative.endswith(('.c', '.h', '.def', '.cc'))  # data, RTL and scripts: by reading anything


def causes(build, source, path):
    build, source = os.path.realpath(build), os.path.realpath(source)
    failed = [test for test in read(path) if test.state == 'failed']
    changed = changed_files(source)
    rows = listed(build)
    for test in failed:
        number, command, labels = rows[test.name]
        if changed is None:
            print(f'{test.name}: fails with the new seed; without the history, nothing says since when')
            continue
        parts = set()
        for word in command:
            if os.path.realpath(word).startswith(build + os.sep) and os.access(word, os.X_OK) and os.path.isfile(word):
                parts |= made_of(build, os.path.realpath(word))
        guilty = sorted(name for name in changed if name in parts or may_decide(name, command, source, build))
        if guilty:
            some = ', '.join(os.path.relpath(name, source) for name in guilty[:3])
            print(f'{test.name}: fails with the new seed; this commit may have caused it ({some}{", ..." if len(guilty) > 3 else ""})')
        else:
            print(f'{test.name}: fails with the new seed; no change of this commit can have caused it: '
                  'the fault was there before')
    return 0


def main(words):
    verbs = {'judge': (judge, 2, 2), 'pick': (pick, 4, 4), 'page': (page, 2, 3), 'causes': (causes, 3, 3)}
    verb, least, most = verbs.get(words[0] if words else '', (None, 0, 0))
    if verb is None or not least <= len(words) - 1 <= most:
        print(__doc__, file=sys.stderr)
        return 2
    return verb(*words[1:])


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
