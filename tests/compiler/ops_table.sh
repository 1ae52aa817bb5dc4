#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The operator tables of compiler/OPERATORS.md are what the tables in the code say: `vtac ops --markdown`. Inputs are those of
# ONNX's text, in its order; a row of ops.def whose names stand in another order makes the test fail.
#
# usage: ops_table.sh VTAC OPERATORS.md
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
wanted=$("$1" ops --markdown)
found=$(sed -n '/^| domain | operators | types | /,$p' "$2")
[ -n "$found" ] || { echo "$2: no operator table in it"; exit 1; }
[ "$found" = "$wanted" ] || { echo "$2: its operator table is not what 'vtac ops --markdown' prints; put that there"; exit 1; }
rows=$(printf '%s\n' "$wanted" | wc -l)
json=$("$1" ops --json)
while read -r name inputs; do
    printf '%s\n' "$json" | grep -q "\"name\": \"$name\".*\"inputs\": \"$inputs\"" || { echo "$name: its inputs are not $inputs"; exit 1; }
done <<END
Conv x, weight, \[bias\]
Gemm a, b, \[c\]
QLinearConv x, x_scale, x_zero, weight, weight_scale, weight_zero, y_scale, y_zero, \[bias\]
Pad x, pads, \[value\], \[axes\]
Resize x, \[roi\], \[scales\], \[sizes\]
Slice x, starts, ends, \[axes\], \[steps\]
NonMaxSuppression boxes, scores, \[max_outputs\], \[iou_threshold\], \[score_threshold\]
BatchNormalization x, scale, bias, mean, variance
LSTM x, w, r, \[b\], \[lengths\], \[initial_h\], \[initial_c\], \[p\]
Concat x, ...
END
echo "ok: $rows lines"
