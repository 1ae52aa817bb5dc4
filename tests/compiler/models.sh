#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every shared model imports: a valid graph in which each output has the shape of its reference output.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
vtac=$1
models=$2
[ -d "$models" ] || { echo "models: $models is not there: nothing to import"; exit 77; }
failed=0
for model in "$models"/*.onnx "$models"/*/model.onnx; do
    text=$("$vtac" inspect "$model" 2>/dev/null) || { echo "FAIL $model"; failed=1; continue; }
    name=$(basename "$model" .onnx)
    golden=$(find "$models/golden/$name" -name '*_out0.npy' 2>/dev/null | sort | head -n 1)
    [ -n "$golden" ] || { echo "ok   $name: no reference output"; continue; }
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
done
exit $failed
