#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/begin.sh
#
# linear.sh VTAC CONFIGS: linear attention (EfficientViT) and separable one (MobileViTv2) of drawn sizes in the forms that exporters write. All is one region, with the host's
# integers at two levels, on two configurations, for two inputs each, and once on the RTL; answers of floats and of integers are near those of
# a reference in double. An epsilon that counts, heads that fill no blocks, odd numbers of tokens and two images are right, too.
. "$(dirname "$0")/begin.sh"
# shellcheck source=tests/e2e/doubles.sh
. "$here/doubles.sh"

draw=$((seed % 100000))
for form in pad tokens join scores sums rows score floor uneven images; do
    heads=$((draw % 3 + 1)) each=$((draw / 3 % 2 * 16 + 16)) tokens=$((draw / 6 % 4 * 16 + 32)) images=1 written=$form
    case $form in
    score) tokens=$((tokens / 32 * 32)) ;;
    uneven) tokens=$((tokens + draw % 15 + 1)) each=$((each + draw % 7 + 1)) written=pad ;;
    images) images=2 written=pad ;;
    esac
    echo "$form: $images images of $tokens tokens, $heads heads of $each channels"
    /usr/bin/python3 "$here/linear_model.py" "$draw" "$written" "$tokens" "$heads" "$each" "$images"
    "$vtac" compile linear.onnx -o float.so > compile.log
    "$vtac" quantize linear.onnx --calib samples.npz -o linear8.onnx > quantize.log
    config=$configs/rows_pynq.json
    "$vtac" explain linear8.onnx --config "$config" -O 0 --offload all --json > explain.json
    python3 - "$form" <<'END'
import json, sys
told = json.load(open("explain.json"))
there = [n["op"] for n in told["nodes"] if n["where"].startswith("region")]
host = {n["op"] for n in told["nodes"] if n["where"] == "host"}
print(told["regions"], "regions,", there.count("ImageSoftmax"), "shares, host:", *sorted(host))
if sys.argv[1] not in ("floor", "uneven", "images"):
    assert told["regions"] == 1 and there.count("ImageSoftmax") == (1 if sys.argv[1] == "score" else 2), there
    assert there.count("Product") == there.count("ImageSoftmax"), there
    assert host <= {"QuantizeLinear", "DequantizeLinear", "Reshape"}, host
END
    "$vtac" compile linear8.onnx --target vta --offload all --config "$config" -o there.so > compile.log
    for run in 1 2; do
        near float.so 1e-5 "$run"
        near there.so 0.008 "$run"
        agree linear8.onnx fsim 3 "$run" "$config"
    done
    [ "$form" != join ] || agree linear8.onnx tsim 0 2 "$config"
    config=$configs/rows.json
    agree linear8.onnx fsim 0 1 "$config"
    draw=$(((draw * 1103515245 + 12345) % 16777216))
done
echo "linear: one region each, and the host's integers"
