#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/begin.sh
#
# queries.sh VTAC CONFIGS: rows that are a picture between two dense layers, a gate and rows that are mixed along places, and learned queries, of
# drawn sizes: one region, whose values are what the host computes, for two inputs each, and once on the RTL. Fails where a convolution
# cannot read rows as a picture, where pixels cannot become channels, or where a product with a constant in front stays in floats.
. "$(dirname "$0")/begin.sh"

# agree DEVICE RUN: the integers of the host.
agree() {
    "$vtac" diff queries8.onnx -O 0 --config "$configs/rows_pynq.json" --a "$1" --b llvm --input "run$2.npz" > said || { cat said; exit 1; }
    grep -q 'agree on all' said || { cat said; exit 1; }
}

# look SIDE EACH: one region for pictures of so many patches a side and heads of so many channels.
look() {
    draw=$((seed % 100000 + $1 + $2))
    /usr/bin/python3 "$here/queries_model.py" "$draw" "$1" $((draw / 3 % 2 + 1)) "$2" $((draw / 6 % 9 + 3))
    "$vtac" quantize queries.onnx --calib samples.npz -o queries8.onnx > quantize.log
    "$vtac" explain queries8.onnx --config "$configs/rows_pynq.json" -O 0 --offload all --json > explain.json
    python3 - <<'END'
import json
told = json.load(open("explain.json"))
assert told["regions"] == 1 and told["share"] > 0.98, (told["regions"], told["share"])
there = [n["op"] for n in told["nodes"] if n["where"] == "region 0"]
assert there.count("Product") == 2 and there.count("Runs") >= 2 and there.count("ImageTranspose") >= 7 and "Move" not in there, there
END
    agree fsim 1
    agree fsim 2
}

look $((seed % 2 * 4 + 4)) 16
look $(((seed + 1) % 2 * 4 + 4)) 32
agree tsim 2
look $((seed % 3 + 5)) 16 # these tokens fill no blocks
agree tsim 2
echo "queries: one region for each size, and the host's integers"
