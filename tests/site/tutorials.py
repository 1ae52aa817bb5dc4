#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tutorials.py [--only WORD] PREFIX FOLDER NAME...: types a tutorial as it stands, in a folder of its own, with what is installed in
PREFIX. --only: of its blocks those alone that begin with this command.

A paragraph `NAME`: in front of a block of code makes a file of that name. A block `sh` is run; one `sh in the background`
until its first line comes, and is interrupted at the end; `sh with PACKAGE` and `sh without PACKAGE` where Python has the
package's module, and where it has not. A `cd` holds for the blocks behind it. A block without a language behind a command is what it prints: line by line, where
'...' stands for anything within a line, or alone for any lines.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BLOCK = re.compile(r'(?:^(?P<before>[^\n]*)\n\n)?^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$', re.M | re.S)
FILE = re.compile(r'(?:^|\s)`([\w.]+)`(?::$| \S.*:$)')
PATIENCE = 2400
PLACE = '@place@ '  # before the folder in which a block ended


def pattern_of(expected):
    """The lines of a block as one pattern for all that was printed."""
    out = ''
    for line in expected.rstrip('\n').split('\n'):
        if line.strip() == '...':
            out += r'(?:[^\n]*\n)*?'
        else:
            out += '.*?'.join(re.escape(part) for part in line.rstrip().split('...')) + r'[ \t]*\n'
    return out


class Tutorial:
    def __init__(self, prefix, path, only=''):
        self.name, self.printed, self.behind, self.only = os.path.basename(path), None, [], only
        with open(path, encoding='utf-8') as file:
            self.text = file.read()
        self.environment = dict(os.environ, PATH=f'{prefix}/bin:/usr/bin:{os.environ["PATH"]}', LD_LIBRARY_PATH=f'{prefix}/lib',
                                PKG_CONFIG_PATH=f'{prefix}/lib/pkgconfig')

    def has(self, package):
        module = package.removeprefix('python3-')
        return subprocess.run(['python3', '-c', f'import {module}'], env=self.environment, capture_output=True, check=False).returncode == 0

    def run(self, text):
        text_and_place = f'{text}\nprintf "{PLACE}%s" "$PWD"'
        done = subprocess.run(['sh', '-eu', '-c', text_and_place], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False)
        self.printed, mark, place = done.stdout.rpartition(PLACE)
        if done.returncode != 0 or not mark:
            sys.exit(f'{self.name}: status {done.returncode} of\n{text}{done.stdout}')
        os.chdir(place.rstrip('\n'))

    def begin(self, text):
        process = subprocess.Popen(['sh', '-eu', '-c', 'exec ' + text], env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.behind.append(process)
        self.printed = process.stdout.readline()
        while self.printed.startswith(('building', 'the tsim')):  # a simulator that is built first
            self.printed = process.stdout.readline()
        if self.printed == '':
            sys.exit(f'{self.name}: this ended at once\n{text}')

    def end(self):
        for process in self.behind:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(60)

    def compare(self, expected):
        if self.only:
            return
        if self.printed is None or not re.fullmatch(pattern_of(expected), self.printed):
            sys.exit(f'{self.name}: expected\n{expected}and it printed\n{self.printed}')

    def take(self, block):
        kind, text, before = block['kind'].strip(), block['text'], block['before'] or ''
        if kind.startswith('sh') and not text.startswith(self.only):
            return
        named = FILE.search(before)
        words = kind.split()
        if kind == '':
            self.compare(text)
        elif kind == 'sh in the background':
            self.begin(text)
        elif words[0] == 'sh' and (len(words) == 1 or (words[1] == 'with') == self.has(words[2])):
            self.run(text)
        elif words[0] != 'sh' and named:
            with open(named[1], 'w', encoding='utf-8') as file:
                file.write(text)

    def follow(self):
        """Types all of it; how many blocks there were."""
        blocks = list(BLOCK.finditer(self.text))
        try:
            for block in blocks:
                self.take(block)
        finally:
            self.end()
        return len(blocks)


def main(prefix, folder, names, only):
    home = os.getcwd()
    for name in names:
        tutorial, begin = Tutorial(prefix, os.path.join(folder, name + '.md'), only), time.monotonic()
        place = tempfile.mkdtemp(prefix='tutorial')
        os.chdir(place)
        try:
            count = tutorial.follow()
        finally:
            os.chdir(home)
            shutil.rmtree(place)
        print(f'{name}: {count} blocks, {time.monotonic() - begin:.1f} s')


if __name__ == '__main__':
    ONLY = sys.argv[2] if sys.argv[1:2] == ['--only'] else ''
    WORDS = sys.argv[3:] if ONLY else sys.argv[1:]
    if len(WORDS) < 3:
        sys.exit(__doc__.split('\n', maxsplit=1)[0])
    main(os.path.abspath(WORDS[0]), os.path.abspath(WORDS[1]), WORDS[2:], ONLY)
