#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# vtac diff on a device that is wrong in a known way: one bit of what one STORE wrote. It must name that instruction, one
# element, and two values that differ by that bit. Arguments: VTAC SOURCE FAKE, a simulator that breaks the store of its seed.
fake=$3
. "$(dirname "$0")/../cli/lib.sh"

"$vtac_program" zoo tiny_ic --int8 -o net.onnx >/dev/null || exit 1
cat >judge.py <<'END'
import json, sys
d, told = json.load(open('out')), [line.split()[1] for line in open('err') if line.startswith('broken: ')]
assert d['equal'] is False and len(told) == 1, (d, told)
assert d['instruction'] == int(told[0]), f"{d['instruction']} is blamed, {told[0]} is broken"
assert ' store ' in ' ' + d['text'] and d['tile'] == [0, 0], d
assert d['differing'] == 1 and d['a'] ^ d['b'] == 1, d
assert d['layer'] and len(d['index']) in (2, 4), d
print(d['layer'], d['index'])
END
for store in 1 7 40; do
    vtac diff net.onnx --a "tsim:tiny?object=$fake&seed=$((1000 + store))" --b llvm --config tiny --seed $store --json
    exits 1
    good_json out
    holds "store $store" python3 judge.py
    cat held
    vtac diff net.onnx --a llvm --b "tsim:tiny?object=$fake&seed=$((1000 + store))" --config tiny --seed $store
    exits 1
    says out "elements differ, first ["
    says out " wrote it, row 0, tile 0: "
done
vtac diff net.onnx --a "tsim:tiny?object=$fake" --b fsim --config tiny
exits 0
says out "agree on all"
finish
