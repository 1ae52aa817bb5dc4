#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/begin.sh
#
# heads.sh VTAC CONFIGS: heads of attention that do not fill blocks of channels, in windows of a picture, are one region: zeros in
# the weights around them fill them up, and they move as runs of pixels. All values are what the host computes, for two inputs
# each, and once on the RTL. Fails where a head's columns are moved one by one, or where a number beside them is taken for one.
. "$(dirname "$0")/begin.sh"

# agree DEVICE CONFIG RUN: the integers of the host.
agree() {
    "$vtac" diff windows8.onnx -O 0 --config "$configs/$2.json" --a "$1" --b llvm --input "run$3.npz" > said || { cat said; exit 1; }
    grep -q 'agree on all' said || { echo "$width columns, $1, $2:"; cat said; exit 1; }
}

for width in 5 20 24 33; do
    draw=$((seed % 100000 + width))
    /usr/bin/python3 "$here/windows_model.py" "$draw" $((draw % 3 + 3)) $((draw / 3 % 2 + 1)) $((draw / 6 % 3 + 1)) "$width"
    "$vtac" quantize windows.onnx --calib samples.npz -o windows8.onnx > quantize.log
    "$vtac" explain windows8.onnx --config "$configs/rows_pynq.json" -O 0 --offload all --json > explain.json
    python3 - <<'END'
import json
nodes = json.load(open("explain.json"))["nodes"]
assert {n["where"] for n in nodes} - {"host", "nowhere"} == {"region 0"}, nodes
there = [n["op"] for n in nodes if n["where"] == "region 0"]
assert there.count("Product") == 2 and there.count("ImageSoftmax") == 1 and "Move" not in there, there
END
    for run in 1 2; do
        agree fsim rows_pynq $run
    done
    agree fsim rows 1
done
agree tsim rows_pynq 2
echo "heads: one region for each width, and the host's integers"
