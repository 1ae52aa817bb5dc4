#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# vtac bench MODEL: figures that are consistent in themselves and with what the compiler says of the model. How fast it is
# is for tests/perf.
. "$(dirname "$0")/lib.sh"
mkdir tmp
export TMPDIR="$work/tmp"

"$vtac_program" zoo tiny_ic --int8 -o net.onnx >/dev/null || exit 1
vtac compile net.onnx --target vta --report --json -o net.so
exits 0
cp out report.json
cat >judge.py <<'END'
import json, sys
b, report = json.load(open('out')), json.load(open('report.json'))
runs, device, layers = int(sys.argv[1]), sys.argv[2], len(sys.argv) > 3
assert b['runs'] == runs or runs == 0 and 5 <= b['runs'] <= 10000, b['runs']
assert 0 < b['least_ms'] <= b['median_ms'] <= b['most_ms'] and b['spread'] >= 0, b
assert b['device'] == device, b['device']
assert abs(b['gflops'] - b['flops'] / b['median_ms'] * 1e-6) <= 0.01 * b['gflops'] + 0.001, b
# multiplications and additions are at least those of the report's MACs; a border or a padded block may add some
assert 2 * report['macs'] <= b['flops'] + 1e5 and b['flops'] < 4 * report['macs'], (b['flops'], report['macs'])
assert ('steps' in b) == layers
if layers:
    assert all(0 < s['least_us'] <= s['median_us'] for s in b['steps'])
    # a whole run and a run step by step are timed apart: of many runs the least and the most can be compared
    assert runs < 5 or sum(s['least_us'] for s in b['steps']) <= 1e3 * b['most_ms'] * 1.2
    assert sum(s['cycles'] for s in b['steps']) == b['cycles'] == sum(l['cycles'] for l in b['layers'])
assert (b['cycles'] > report['cycles'] / 2) == device.startswith('tsim'), b['cycles']
END
vtac bench net.onnx --json
exits 0
good_json out
holds "on the host" python3 judge.py 0 ''
vtac bench net.onnx --json --repeat 7 --layers --threads 1 -O 0
exits 0
holds "each step, without optimization" python3 judge.py 7 '' layers
says out '"threads": 1, '
vtac bench net.so --json --repeat 2 --layers --device tsim
exits 0
holds "a compiled model on the RTL" python3 judge.py 2 tsim:pynq layers
vtac bench net.onnx --target vta --json --repeat 9 --threads 2
exits 0
holds "compiled for the accelerator" python3 judge.py 9 fsim:pynq
vtac bench net.onnx --target vta --layers --repeat 3
exits 0
says out "GFLOP/s"
says out "region0"
says out "predicted"
vtac bench hardware
exits 1
one_line err
vtac bench net.onnx --repeat 0
refused 2 "--repeat takes a number up to 10000, not '0'"
vtac bench net.onnx --host z80
exits 1
one_line err
holds "no model is left behind" [ -z "$(ls -A "$TMPDIR")" ]
export TMPDIR="$work/nowhere"
vtac bench net.onnx
exits 1
says err "cannot make a temporary file in '$work/nowhere': No such file or directory; set TMPDIR"
one_line err

# A folder whose name is as long as one can be: one for temporary files fits below it, or not even that, but no file in it.
deep() {
    long=$work
    while [ $((${#long} + 201)) -lt $(($1 - 1)) ]; do
        long=$long/$(printf '%0200d' 0)
    done
    long=$long/$(printf "%0$(($1 - ${#long} - 1))d" 0)
    mkdir -p "$long"
    export TMPDIR="$long"
}
deep 4075 # "/vtac-bench-XXXXXX" makes it 4093
if "$vtac_program" devices --runnable | grep -qx tsim && command -v iverilog >/dev/null; then
    vtac bench hw --row icarus_mcycles_per_s
    exits 1
    says err "the name of a temporary file 'image' is too long; set TMPDIR"
    one_line err
fi
deep 4090
vtac bench net.onnx
refused 1 "the name of the folder for temporary files is too long; set TMPDIR"
export TMPDIR="$work"
finish
