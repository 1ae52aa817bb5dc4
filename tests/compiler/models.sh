#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every model imports: a valid graph in which each output has the shape of its reference output. Arguments: VTAC, the folder of the
# suite's own networks, and that of published ones, which may be missing.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
vtac=$1 own=$2 shared=$3
failed=0

# check FOLDER MODEL
check() {
    text=$("$vtac" inspect "$2" 2>/dev/null) || { echo "FAIL $2"; failed=1; return; }
    name=$(basename "$2" .onnx)
    golden=$(find "$1/golden/$name" -name '*_out0.npy' 2>/dev/null | sort | head -n 1)
    [ -n "$golden" ] || { echo "ok   $name: no reference output"; return; }
    # the header of a .npy file holds 'shape': (1, 1000)
    want=$(head -c 128 "$golden" | tr -d '\0' | LC_ALL=C sed -n "s/.*'shape': (\([0-9, ]*\)).*/\1/p" | tr -d ' ' | sed 's/,$//')
    output=$(printf '%s\n' "$text" | sed -n 's/^output //p' | head -n 1)
    got=$(printf '%s\n' "$text" | grep -F "$output: " | sed 's/^[^[]*\[\([0-9,]*\)\].*/\1/' | head -n 1)
    if [ "$got" = "$want" ]; then
        echo "ok   $name: [$got]"
    else
        echo "FAIL $name: output is [$got], reference is [$want]"
        failed=1
    fi
}

for model in "$own"/*.onnx "$own"/*/model.onnx; do
    check "$own" "$model"
done
if [ -d "$shared" ]; then
    for model in "$shared"/*.onnx "$shared"/*/model.onnx; do
        check "$shared" "$model"
    done
fi
exit $failed
