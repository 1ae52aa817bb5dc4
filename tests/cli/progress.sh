#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# What the verbs that compile say while it takes long: on a terminal, after two seconds, one line that fits it; elsewhere nothing.
# A process that is stopped after its start takes long on every machine; then it goes on in a dozen small pieces, each
# of which gets its line.
. "$(dirname "$0")/lib.sh"

"$vtac_program" zoo tiny_ic -o net.onnx >/dev/null || exit 1
mkdir one two && cp net.onnx one/model.onnx && ln one/model.onnx two/model.onnx
cat >progress.py <<'END'
import os, re, signal, subprocess, sys, time
import terminal
vtac = sys.argv[1]
def session(argv, columns, pieces=12):
    until, stopped = 0, False
    def pause(pid, text, keyboard):
        nonlocal until, stopped, pieces
        if time.time() < until or text.endswith(terminal.END) or pieces < 0:
            return
        pieces -= stopped
        until, stopped = time.time() + (0 if stopped else 2.2 if until == 0 else 0.25), not stopped
        try:
            os.kill(pid, signal.SIGSTOP if stopped else signal.SIGCONT)
        except ProcessLookupError:
            pass  # it has ended
    return terminal.session(argv, columns, pause)
def shown(text, columns):
    lines = re.findall(r'\r\x1b\[K([^\r\n]+)', text)
    last = lines.pop()
    if last.startswith('vtac '):  # a remark on the quality of 8 bits stands in front of the result
        last = text[text.rindex(last) + len(last):].split('\n')[1]
    lines = [line for line in lines if not line.startswith('vtac ')]
    assert len(lines) > 2, text
    assert max(map(len, lines)) < columns, max(lines, key=len)
    assert '\x1b' not in last and ' left' not in last, last  # the line is gone before the result
    return lines, last
def stages(lines):
    return {re.match(r'(?:case [^:]*: )?([a-z ]+)', line).group(1) for line in lines}
for columns in 80, 44:
    code, text = session([vtac, 'compile', 'net.onnx', '--target', 'vta', '-o', 'net.so'], columns)
    lines, last = shown(text, columns)
    assert code == 0 and last.startswith('net.so: ') and os.path.exists('net.so'), text
    assert any(re.fullmatch(r'.*: \d+ of \d+(, [\d.]+ (s|min) left)?(: .*)?', line) for line in lines), lines
    assert len(stages(lines)) >= 3, stages(lines)
    os.remove('net.so')
code, text = session([vtac, 'quantize', 'net.onnx', '-o', 'int8.onnx'], 80)
assert code == 0 and shown(text, 80)[1].startswith('int8.onnx: '), text
code, text = session([vtac, 'verify', 'one', 'two'], 80)
assert code == 1 and shown(text, 80)[0][0].startswith('case 1 of 2'), text
child = subprocess.Popen([vtac, 'compile', 'int8.onnx', '--target', 'vta', '-o', 'net.so'], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
time.sleep(0.3)
child.send_signal(signal.SIGSTOP)
time.sleep(2.2)
child.send_signal(signal.SIGCONT)
out, err = child.communicate()
assert child.returncode == 0 and err == b'' and out.count(b'\n') == 1, (child.returncode, out, err)
END
holds "progress on a terminal, nothing elsewhere" python3 progress.py "$vtac_program"
finish
