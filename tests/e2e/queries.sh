#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/begin.sh
#
# queries.sh VTAC CONFIGS: rows that are a picture between two dense layers, a gate that is mixed along places, and learned queries, of
# drawn sizes: one region, whose values are what the host computes, for two inputs each, and once on the RTL. Fails where a convolution
# cannot read rows as a picture, where pixels cannot become channels, or where a product with a constant in front stays in floats.
. "$(dirname "$0")/begin.sh"

# agree DEVICE RUN: the integers of the host.
agree() {
    "$vtac" diff queries8.onnx -O 0 --config "$configs/rows_pynq.json" --a "$1" --b llvm --input "run$2.npz" > said || { cat said; exit 1; }
    grep -q 'agree on all' said || { cat said; exit 1; }
}

for each in 16 32; do
    draw=$((seed % 100000 + each))
    /usr/bin/python3 "$here/queries_model.py" "$draw" $((draw % 2 * 4 + 4)) $((draw / 3 % 2 + 1)) "$each" $((draw / 6 % 9 + 3))
    "$vtac" quantize queries.onnx --calib samples.npz -o queries8.onnx > quantize.log
    "$vtac" explain queries8.onnx --config "$configs/rows_pynq.json" -O 0 --offload all --json > explain.json
    python3 - <<'END'
import json
told = json.load(open("explain.json"))
assert told["regions"] == 1 and told["share"] > 0.98, (told["regions"], told["share"])
there = [n["op"] for n in told["nodes"] if n["where"] == "region 0"]
assert there.count("Product") == 2 and there.count("Runs") >= 2 and there.count("ImageTranspose") >= 3, there
END
    agree fsim 1
    agree fsim 2
done
agree tsim 2
echo "queries: one region for each width, and the host's integers"
