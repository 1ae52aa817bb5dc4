#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# Every verb that prints a table, on terminals of 80, 60 and 200 columns and into a pipe: no line is wider than the
# terminal, every figure of the pipe is on the terminal, and every name, but for its middle.
. "$(dirname "$0")/lib.sh"

"$vtac_program" zoo tiny_ic -o float.onnx >/dev/null && "$vtac_program" zoo tiny_ic --int8 -o net.onnx >/dev/null &&
    "$vtac_program" zoo squeezenet1_1 --int8 -o squeeze.onnx >/dev/null &&
    "$vtac_program" compile net.onnx --target vta -o net.so >/dev/null || exit 1
cp "$source/isa/programs/matmul.vasm" .
cat >tables.py <<'END'
import re, subprocess, sys
import terminal
vtac = sys.argv[1]

def on_terminal(words, columns):
    with open('err', 'w+') as errors:
        status, text = terminal.session([vtac, *words], columns, errors=errors)
        assert status == 0, (words, columns, status, open('err').read(), text)
    return re.sub(r'\x1b\[[0-9;]*m', '', text).replace('\r', '')

def piped(words):
    done = subprocess.run([vtac, *words], capture_output=True)
    assert done.returncode == 0, (words, done)
    return done.stdout.decode()

# A name that lost its middle stands for one that begins and ends like it.
def found(word, there, elided):
    return word in there or any(word.startswith(a) and word.endswith(b) for a, b in elided)

# Without the times, and the judgements by them, which are others in a second run.
def steady(text):
    return re.sub(r'[0-9.]+\s(ms|s),?(?=\s)|^slow: .*|slow: [0-9]+ %', '', text, flags=re.M)

# Of measured figures only the names beside them come again.
def lasting(text, timed):
    return [word for word in steady(text).split() if not timed or re.match('[A-Za-z_]', word)]

def check(words, wide, timed=False):
    pipe = piped(words)
    longest = max(map(len, pipe.splitlines()))
    assert timed or (longest > 80) == wide, (words, longest)
    for columns in 60, 80, 200:
        text = on_terminal(words, columns)
        lines = text.splitlines()
        widest = max(lines, key=len)
        assert len(widest) <= columns, (words, columns, len(widest), widest)
        assert not any(line.endswith(' ') for line in lines), (words, columns, lines)
        there = set(text.split())
        elided = [word.split('..', 1) for word in there if '..' in word]
        missing = [word for word in lasting(pipe, timed) if not found(word, there, elided)]
        assert not missing, (words, columns, missing[:10])
        if longest <= columns and not timed:
            assert steady(text) == steady(pipe), (words, columns, text, pipe)

for wide, words in (
    (True, 'ops'), (True, 'zoo list'), (True, 'devices'), (True, 'targets'), (False, 'config list'),
    (True, 'inspect net.onnx --list-passes'), (True, 'explain squeeze.onnx'), (True, 'explain net.onnx'),
    (True, 'quantize float.onnx --report -o q.onnx'), (True, 'compile net.onnx --target vta --report -o x.so'),
    (True, 'compile squeeze.onnx --target vta -O 1 --report -o x.so'), (True, 'exec matmul.vasm'),
    (False, 'run net.so --layers'), (True, 'run net.so --layers --device tsim'),
):
    check(words.split(), wide)
for words in 'bench squeeze.onnx --layers --repeat 2', 'bench net.so --layers --repeat 2', 'run net.so --steps':
    check(words.split(), True, timed=True)

# All names and figures of each block's rows: the second table of a wide one begins with the layers again.
text = on_terminal('run net.so --layers --device tsim'.split(), 80)
blocks = [block.splitlines() for block in text.split('\n\n')]
last = [row.split(' ')[0] for row in blocks[-1]].index('all')
assert ' mJ ± ' in blocks[-1][last + 1], blocks[-1][last + 1:]  # the energy, a sentence below the table
del blocks[-1][last + 1:]
assert len(blocks) > 1 and len({len(block) for block in blocks[1:]}) == 1, text
for block in blocks[1:]:
    assert block[0].startswith('layer ') and block[-1].startswith('all '), block
END
holds "tables fit their terminals" python3 tables.py "$vtac_program"
finish
