#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# vtac run around the numbers: several models and inputs, labels, files, progress, interruption, misuse.
. "$(dirname "$0")/lib.sh"

cat >two.ir <<'END'
graph "two"
input %a: f32[2,3]
input %b: f32[2,3]
%sum: f32[2,3] = Add(%a, %b)
%diff: f32[2,3] = Sub(%a, %b)
output %sum
output %diff
END
cat >one.ir <<'END'
graph "one"
input %a: f32[2,3]
%neg: f32[2,3] = Neg(%a)
output %neg
END
for name in one two; do
    vtac compile $name.ir -o $name.so
    exits 0
done

# A model of the host needs no device: one that is none is refused, another one is named as idle.
vtac run one.so --device nonsense
refused 1 "unknown device 'nonsense'"
vtac run one.so --device tsim --json
exits 0
says err "device 'tsim' is not used"
good_json out
vtac run one.so
exits 0
holds "nothing to say without --device" test ! -s err
cat >told.py <<'END'
import sys
import terminal
program, hints = sys.argv[1], ('made up', '--top N', "'p.json' says")
for more, told in ([], hints[:2]), (['--fill', 'ones', '--top', '2', '--profile', 'p.json'], (hints[0], hints[2])), (['--json'], ()):
    status, text = terminal.session([program, 'run', 'one.so', *more], 100)
    assert status == 0 and [h in text for h in hints] == [h in told for h in hints], (more, text)
END
holds "a terminal is told what was made up, what shows more, and what was written" python3 told.py "$vtac_program"

# npy FILE VALUE...: an array of the models' shape.
npy() {
    python3 - "$@" <<'END'
import struct, sys
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
head += ' ' * (-(len(head) + 11) % 64) + '\n'
open(sys.argv[1], 'wb').write(b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head.encode() + struct.pack('<6f', *map(float, sys.argv[2:])))
END
}
# values FILE: the numbers of a .npy file.
values() {
    python3 -c 'import struct, sys; print(*(format(v, "g") for v in struct.unpack("<6f", open(sys.argv[1], "rb").read()[-24:])))' "$1"
}
npy x.npy 1 2 3 4 5 6
npy y.npy 10 20 30 40 50 60
npy z.npy 7 7 7 7 7 8

vtac run two.so --input x.npy --input y.npy --output-dir o
exits 0
holds "inputs in their order" test "$(values o/diff.npy)" = '-9 -18 -27 -36 -45 -54'
sed 's/False/True /' x.npy >columns.npy # 1 2, 3 4, 5 6 are the columns
vtac run two.so --input columns.npy --input y.npy --output-dir deep/er/folder
exits 0
holds "columns, and folders in folders" test "$(values deep/er/folder/diff.npy)" = '-9 -17 -25 -38 -46 -54'
"${vtac_program%/*}/vta-run" two.so --input columns.npy --input y.npy --output-dir board/s/folder >/dev/null
holds "columns on a board" test "$(values board/s/folder/diff.npy)" = '-9 -17 -25 -38 -46 -54'
vtac run two.so --input b=x.npy --input y.npy --output-dir o
holds "an input by name" test "$(values o/diff.npy)" = '9 18 27 36 45 54'
vtac run two.so --input a=x.npy --input b=y.npy --input b=z.npy --output-dir o --json
exits 0
good_json out
holds "one file for all runs of an input" test "$(values o/0_sum.npy) $(values o/1_sum.npy)" = '11 22 33 44 55 66 8 9 10 11 12 14'
# Archives as NumPy writes them, stored and deflated: a member for each input, whatever its place.
zipped() { python3 -c 'import sys, zipfile
how = zipfile.ZIP_STORED if sys.argv[2] == "stored" else zipfile.ZIP_DEFLATED
with zipfile.ZipFile(sys.argv[1], "w", how) as z:
    for name, path in (pair.split("=") for pair in sys.argv[3:]):
        z.write(path, name + ".npy")' "$@"; }
zipped both.npz stored b=y.npy more=z.npy a=x.npy
zipped next.npz deflated a=z.npy b=x.npy
zipped only.npz deflated arr_0=x.npy
vtac run two.so --input both.npz --output-dir o
exits 0
holds "an archive has all inputs" test "$(values o/diff.npy)" = '-9 -18 -27 -36 -45 -54'
vtac run two.so --input both.npz --input next.npz --output-dir o
exits 0
holds "two archives make two runs" test "$(values o/0_sum.npy) $(values o/1_sum.npy)" = '11 22 33 44 55 66 8 9 10 11 12 14'
vtac run two.so --input b=both.npz --input a=z.npy --output-dir o
exits 0
holds "one input from an archive" test "$(values o/sum.npy)" = '17 27 37 47 57 68'
vtac run one.so --input only.npz --output-dir o
exits 0
holds "the only member is for the only input" test "$(values o/neg.npy)" = '-1 -2 -3 -4 -5 -6'
vtac run two.so --input only.npz
refused 1 "vtac: only.npz: none of its 1 members is called 'a', as the input is"
head -c 300 both.npz >cut.npz
vtac run two.so --input cut.npz
refused 1 "vtac: cut.npz: "
vtac run one.so two.so --input x.npy --input y.npy --output-dir both --json
exits 0
good_json out
holds "two files for the one input of a model make two runs" test "$(values both/one_0_neg.npy) $(values both/one_1_neg.npy)" = '-1 -2 -3 -4 -5 -6 -10 -20 -30 -40 -50 -60'
holds "and one run of a model with two inputs" test "$(values both/two_sum.npy)" = '11 22 33 44 55 66'
holds "three results" test "$(python3 -c 'import json; print(len(json.load(open("out"))["results"]))')" = 3
vtac run one.so ./one.so --output-dir both
refused 2 "two models are called 'one'"
vtac run two.so --input a=x.npy --input a=y.npy --input b=x.npy --input b=y.npy --input b=z.npy
refused 1 "input 'b' has 3 files, another one 2"
vtac run one.so two.so --input x.npy --input y.npy --input z.npy --json
exits 1
says err "3 files without a name for the 2 inputs of the model"
good_json out
good_json err
one_line err

printf 'a\nb\r\nc\nd\ne\nf\n' >six
vtac run one.so --input x.npy --labels six
exits 0
holds "labels stand beside their values" test "$(tail -n 5 out | awk '{ print $1, $2, $3 }' | tr '\n' ,)" = '0 -1 a,1 -2 b,2 -3 c,3 -4 d,4 -5 e,'
printf 'a\nb\nc\nd\ne\n' >five
vtac run one.so --input x.npy --labels five --top 2 --json
good_json out
says out '{"index": 0, "value": -1, "label": "background"}, {"index": 1, "value": -2, "label": "a"}'
: >empty
vtac run one.so --labels empty
refused 1 "empty: expected a name a line, found none"
for code in UTF-16 UTF-16LE UTF-32; do # a NUL ends no line: a reader that stops there finds more lines than newlines
    iconv -f UTF-8 -t $code six >wide
    vtac run one.so --input x.npy --labels wide --top 2
    refused 1 "wide: "
    says err "UTF-"
done
printf '\357\273\277a\nb\n' >marked
vtac run one.so --input x.npy --labels marked --top 1 --json
says out '"label": "a"}'
vtac run one.so --labels nowhere
refused 1 "nowhere"

vtac run one.so --fill ones --repeat 3 --steps --top 1
exits 0
says out "3 runs: median"
says out "GFLOP/s"
for how in zeros ones random; do
    vtac run one.so --fill $how --output-dir $how
    exits 0
done
holds "zeros" test "$(values zeros/neg.npy | tr -d -)" = '0 0 0 0 0 0'
holds "ones" test "$(values ones/neg.npy)" = '-1 -1 -1 -1 -1 -1'
vtac run one.so --seed 1 --output-dir again
holds "a seed repeats a run" cmp random/neg.npy again/neg.npy
vtac run one.so --seed 2 --output-dir again
holds "another one does not" sh -c '! cmp -s random/neg.npy again/neg.npy'

# Misuse, and files that are not what they should be.
for words in '--fill some' '--seed x' '--repeat 0' '--top x' '--threads 0' '--timeout soon' '--preprocess dark'; do
    # shellcheck disable=SC2086
    vtac run one.so $words
    exits 2
    one_line err
    silent out
done
vtac run one.so --input c=x.npy
refused 1 "'c=x.npy' is for no input of the model, whose first is 'a'"
vtac run two.so --input a=x.npy --input b=y.npy --input z.npy
refused 1 "'z.npy' is for no input of the model"
vtac run one.so --input six
refused 1 "six"
head -c 100 x.npy >cut.npy
vtac run one.so --input cut.npy
refused 1 "cut.npy"
vtac run one.ir
refused 1 "one.ir: it is not a compiled model"
vtac run nothing.so
refused 1 "nothing.so: cannot load it"
touch file
for where in file file/inside ''; do
    vtac run one.so --output-dir "$where"
    refused 1 "'${where%/inside}'" # the part that is no folder
done

# On a terminal: progress after two seconds, gone at the end. Ctrl-C stops a simulation at once, and leaves no file.
"$vtac_program" zoo tiny_ic --int8 -o net.onnx && "$vtac_program" compile net.onnx --target vta -o net.so >/dev/null
unset NO_COLOR
cat >ctrl_c.py <<'END'
import os, re, sys, time
from terminal import session
stopped = None
def stop(pid, text, keyboard):
    global stopped
    if stopped is None and re.search(rb'run \d+ of 1000, [\d.]+ of about [\d.]+ M cycles, \d+ %(, [\d.]+ (s|min) left)?', text):
        os.write(keyboard, b'\x03')
        stopped = time.time()
code, text = session([sys.argv[1], 'run', 'net.so', '--device', 'tsim?stall=90', '--repeat', '1000', '--output-dir', 'stopped'],
                     watch=stop)
took = stopped and time.time() - stopped
assert code == 130 and 'interrupted' in text, (code, text[-300:])
assert took < 60, took  # a thousand runs take longer
assert not os.path.exists('stopped'), os.listdir('stopped')
# stopped within the simulation, or before the step behind it
assert text.count('\r\x1b[K') >= 2 and re.search(r'(and reset|interrupted before step .*)$', text.rstrip()), text[-300:]
END
holds "progress and Ctrl-C" python3 ctrl_c.py "$vtac_program"
finish
