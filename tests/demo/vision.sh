#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# The vision transformer of the demo: a few steps of its training, the same weights on any machine, and what becomes of it: one
# region on a machine with functions on rows, with the host's integers on the simulators. Fails where attention between
# convolutions goes through the host.
# Arguments: VTAC SOURCE SHAPES
shapes=$3
. "$(dirname "$0")/../cli/lib.sh"

"$shapes" train --vision --steps 5 -o vision.onnx >log || wrong "shapes train failed"
holds "the weights are those of any machine" grep -qx "weights $(sed -n 's/^5v //p' "$source/tests/demo/weights.txt")" log
"$shapes" draw --pictures 32 --seed 2 -o calibration || wrong "shapes draw failed"
vtac quantize vision.onnx --calib calibration --preprocess tf --max-loss 0 -o int8.onnx
exits 0
vtac explain int8.onnx --config pynq_lm --offload all --json
holds "the network is one region" python3 -c 'import json; assert json.load(open("out"))["regions"] == 1'
seed=$(sh "$source/tests/lib/seed.sh" demo_vision)
echo "seed $seed"
for round in 1 2; do
    vtac diff int8.onnx --config pynq_lm --seed $((seed + round))
    exits 0
    says out "agree on all"
done
vtac diff int8.onnx --config pynq_lm --a tsim --b llvm --seed "$seed"
exits 0
says out "agree on all"

# On pictures, as `shapes score` has them, against the floats.
vtac compile vision.onnx -o float.so
exits 0
vtac compile int8.onnx --target vta --config pynq_lm --offload all -o vta.so
exits 0
"$shapes" score float.so vta.so@fsim --pictures 50 --seed "$seed" --json >score.json
holds "scores of both" python3 -c 'import json; assert len(json.load(open("score.json"))["models"]) == 2'

"$shapes" draw --vision -o x 2>err
holds "--vision where nothing learns is misuse" test $? = 2
finish
