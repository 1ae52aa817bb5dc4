#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/begin.sh
#
# embeddings.sh VTAC CONFIGS: rows that are looked up or given, their sum and its normalization, in front of the first product of a
# network, and a sum and its normalization behind the last one, of drawn sizes. All but the lookups is one region, with the host's integers at every level, for two inputs each, and once on the
# RTL; answers are off by at most 1 % of their range in the mean from a reference in double. Fails where the host adds or normalizes.
. "$(dirname "$0")/begin.sh"
# shellcheck source=tests/e2e/doubles.sh
. "$here/doubles.sh"

config=$configs/rows_pynq.json
draw=$((seed % 100000))
for form in words before given last half; do
    width=$((draw % 3 * 16 + 32))
    tokens=$((draw / 3 % 3 * 16 + 16))
    [ "$form" != before ] || tokens=$((tokens + draw % 15 + 1)) # these fill no blocks
    echo "$form: $tokens tokens of $width columns"
    /usr/bin/python3 "$here/embeddings_model.py" "$draw" "$form" "$tokens" "$width"
    "$vtac" quantize embeddings.onnx --calib samples.npz -o embeddings8.onnx > quantize.log
    "$vtac" explain embeddings8.onnx --config "$config" -O 0 --offload all --json > explain.json
    python3 - "$form" <<'END'
import json, sys
told = json.load(open("explain.json"))
form = sys.argv[1]
there = [n["op"] for n in told["nodes"] if n["where"] == "region 0"]
host = {n["op"] for n in told["nodes"] if n["where"] == "host"}
sums, norms = {"words": 3, "before": 2, "given": 1, "last": 3, "half": 3}[form], {"last": 2, "half": 2}.get(form, 1)
assert told["regions"] == 1 and there.count("ImageNorm") == norms and there.count("QLinearAdd") == sums, (told["regions"], there)
assert host <= {"DequantizeLinear", "Gather" if form != "given" else "QuantizeLinear"}, host
assert "ImageTranspose" not in there, there
END
    "$vtac" compile embeddings8.onnx --target vta --offload all --config "$config" -o there.so > compile.log
    for run in 1 2; do
        agree embeddings8.onnx fsim 0 "$run" "$config"
        agree embeddings8.onnx fsim 3 "$run" "$config"
        near there.so 0.01 "$run"
    done
    draw=$(((draw * 1103515245 + 12345) % 16777216))
done
agree embeddings8.onnx tsim 0 2 "$config"

# Sums that would take years to follow, and rows that nothing but their normalization reads: these keep their precision.
for form in twice alone; do
    /usr/bin/python3 "$here/embeddings_model.py" "$draw" "$form" 16 32
    timeout 60 "$vtac" quantize embeddings.onnx --calib samples.npz -o embeddings8.onnx > quantize.log || { echo "$form: not quantized in a minute"; exit 1; }
    timeout 60 "$vtac" compile embeddings8.onnx --target vta --offload all --config "$config" -o there.so > compile.log
    near there.so 0.01 1
    near there.so 0.01 2
done
"$vtac" explain embeddings8.onnx --config "$config" --offload all --json > explain.json
python3 - <<'END'
import json
told = json.load(open("explain.json"))
assert not [n for n in told["nodes"] if n["op"] == "ImageNorm"], told["nodes"]
END
echo "embeddings: one region each, and the host's integers"
