#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/begin.sh
#
# lengths.sh VTAC CONFIGS: channels that look at channels (XCiT), of drawn sizes, with queries and keys that are divided by their length
# in the forms that exporters write. All is one region, with the host's integers at two levels, for two inputs each, and once on the RTL;
# answers of floats and of integers are near those of a reference in double. So it is where tokens fill no blocks, and on a smaller machine the
# integers are the same. What is no length is right, too.
. "$(dirname "$0")/begin.sh"
# shellcheck source=tests/e2e/doubles.sh
. "$here/doubles.sh"

config=$configs/rows_pynq.json
draw=$((seed % 100000))
for form in clip max square floor uneven; do
    heads=$((draw % 3 + 1)) each=$((draw / 3 % 2 * 16 + 16)) tokens=$((draw / 6 % 4 * 16 + 16))
    [ "$form" != uneven ] || tokens=$((tokens + draw % 15 + 1))
    echo "$form: $tokens tokens, $heads heads of $each channels"
    written=$form
    [ "$form" != uneven ] || written=clip
    /usr/bin/python3 "$here/lengths_model.py" "$draw" "$written" "$tokens" "$heads" "$each"
    "$vtac" compile lengths.onnx -o float.so > compile.log
    "$vtac" quantize lengths.onnx --calib samples.npz -o lengths8.onnx > quantize.log
    "$vtac" explain lengths8.onnx --config "$config" -O 0 --offload all --json > explain.json
    python3 - "$form" <<'END'
import json, sys
told = json.load(open("explain.json"))
there = [n["op"] for n in told["nodes"] if n["where"].startswith("region")]
host = {n["op"] for n in told["nodes"] if n["where"] == "host"}
if sys.argv[1] == "floor":
    assert "ImageNorm" not in there, there
else:
    assert told["regions"] == 1 and there.count("ImageNorm") == 2 and there.count("Product") == 2 and there.count("ImageSoftmax") == 1, there
    assert host <= {"QuantizeLinear", "DequantizeLinear", "Reshape"}, host
END
    "$vtac" compile lengths8.onnx --target vta --offload all --config "$config" -o there.so > compile.log
    for run in 1 2; do
        near float.so 1e-5 "$run"
        near there.so 0.01 "$run"
        agree lengths8.onnx fsim 0 "$run" "$config"
        agree lengths8.onnx fsim 3 "$run" "$config"
    done
    agree lengths8.onnx fsim 0 1 "$configs/rows.json"
    case $form in square | uneven) agree lengths8.onnx tsim 0 2 "$config" ;; esac
    draw=$(((draw * 1103515245 + 12345) % 16777216))
done
echo "lengths: one region each, and the host's integers"
