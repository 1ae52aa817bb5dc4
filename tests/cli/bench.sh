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

# Steps that are slow for their kind: a convolution of one channel, which waits for memory; of two that are alike, none is.
# Fails where a mark is missing or too many.
cat >cliff.py <<'END'
import numpy as np, onnx, sys
from onnx import TensorProto, helper, numpy_helper
layers = {'one': [(64, 64, 3, 1), (1, 64, 1, 1), (512, 1, 1, 1)], 'alike': [(64, 64, 3, 1)] * 2}[sys.argv[1]]
nodes, weights, value = [], [], 'x'
for i, (outputs, inputs, kernel, groups) in enumerate(layers):
    shape = (outputs, inputs // groups, kernel, kernel)
    weights.append(numpy_helper.from_array(np.linspace(-0.1, 0.1, int(np.prod(shape)), dtype=np.float32).reshape(shape), f'w{i}'))
    nodes.append(helper.make_node('Conv', [value, f'w{i}'], [f'v{i}'], name=f'layer{i}', group=groups, pads=[kernel // 2] * 4))
    value = f'v{i}'
x = helper.make_tensor_value_info('x', TensorProto.FLOAT, [1, layers[0][1], 40, 40])
y = helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, layers[-1][0], 40, 40])
onnx.save(helper.make_model(helper.make_graph(nodes, 'cliff', [x], [y], weights),
                            opset_imports=[helper.make_opsetid('', 17)], ir_version=8), 'cliff.onnx')
END
marks() { # WHICH "MARKED..."
    /usr/bin/python3 cliff.py "$1"
    vtac bench cliff.onnx --layers --json --threads 1 --repeat 60
    exits 0
    holds "$1: marked are '$2'" python3 -c '
import json, sys
steps = json.load(open("out"))["steps"]
marked = sorted({s["name"].split(".")[0] for s in steps if s["slow"]})
assert "layer0" not in marked and set(sys.argv[1].split()) <= set(marked), steps
assert sys.argv[1] or not marked, steps' "$2"
}
marks one layer2
vtac bench cliff.onnx --layers --threads 1
exits 0
says out "slow: "
says out "the share of the speed that the best step of its kind reaches here"
marks alike ""
vtac bench cliff.onnx --layers --threads 1
exits 0
holds "nothing is explained where nothing is slow" sh -c '! grep -q slow out'
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

# Images one after the other and overlapped, on the RTL's clock: twice with other pictures and processors; what the rates must be
# follows from the parts, of which one place has the most to do.
if "$vtac_program" devices --runnable | grep -qx tsim; then
    vtac zoo tiny_ic --int8 -o ic.onnx
    vtac compile ic.onnx --target vta --config pynq -o ic.so
    pictures=$source/compiler/demo/pictures
    for slower in 1 400; do
        vtac bench ic.so --pipeline --repeat 3 --slower $slower --json --input "$pictures/arrow_1.png" --input "$pictures/star_1.png"
        exits 0
        good_json out
        holds "the rates of a processor $slower times as slow" python3 -c '
import json, sys
r = json.load(open("out"))
host, there = r["before_ms"] + r["host_ms"], r["accelerator_ms"]
assert abs(there - 1e-3 * r["cycles"] / r["clock_mhz"]) < 1e-3 and r["cycles"] > 10000 and r["images"] == 3, r
assert abs(r["in_turn_per_s"] - 1e3 / (host + there)) < 0.01 * r["in_turn_per_s"], r
most = 1e3 / max(host, there)
late = max(0, r["images"] * host - there)  # one image may have taken what all did, on a machine that was busy then
least = 1e3 / (max(host, there) + late / r["images"]) if host < there else most
assert 0.97 * least < r["overlapped_per_s"] < 1.03 * most, (r, least, most)
assert abs(r["gain"] - r["overlapped_per_s"] / r["in_turn_per_s"]) < 1e-3 * r["gain"] and r["gain"] > 1, r
assert host > there or r["slower"] == 1, r
'
    done
    vtac bench ic.so --pipeline --device fsim
    refused 1 "tells no cycles"
    vtac bench net.onnx --pipeline
    refused 1 "nothing of it runs on an accelerator"
    vtac bench ic.so --pipeline --slower -1
    refused 2 "--slower takes a number above 0, not '-1'"
fi

# ---- a launch: figures in order, of a device that is named; twice the processor, twice the time
for device in fsim:tiny tsim:tiny; do
    vtac bench launch --device $device --json
    exits 0
    good_json out
    holds "a launch on $device" python3 - $device <<'END'
import json, sys
b = json.load(open('out'))
assert b['device'] == sys.argv[1] and b['launches'] > 100, b
assert 0 < b['host_least_us'] <= b['host_us'] <= b['host_most_us'] and b['passed_us'] > 0, b
assert (b['cycles'] > 10) == ('tsim' in sys.argv[1]), b
END
done
vtac bench launch
exits 0
says out "fsim:pynq: a launch costs the host"
says out "the simulator's own work is in it"
vtac bench launch --slower 0
refused 2 "--slower takes a number above 0, not '0'"
vtac bench launch --device uio:nowhere
refused 1 "there is no folder 'nowhere'"
finish
