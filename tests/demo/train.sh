#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# The trainer still learns: a seventh of the training of the shipped classifier, judged on pictures that it has not seen.
# Arguments: VTAC SOURCE SHAPES
shapes=$3
. "$(dirname "$0")/../cli/lib.sh"

# right FILE: how many pictures the only model in a score got right.
right() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["models"][0]["right"])' "$1"
}

"$shapes" train --steps 700 -o model.onnx >log || wrong "shapes train failed"
first=$(sed -n '1s/.*loss \([0-9.]*\).*/\1/p' log)
last=$(sed -n 's/.*loss \([0-9.]*\).*/\1/p' log | tail -n 1)
cat log
echo "loss $last, a quarter less than $first is asked for"
holds "the weights are those of any machine" grep -qx "weights $(sed -n 's/^700 //p' "$source/tests/demo/weights.txt")" log
holds "the loss falls by a quarter" awk "BEGIN { exit !($last < 0.75 * $first) }"
vtac compile model.onnx --host host -o model.so
exits 0
for seed in 3 "$(sh "$source/tests/lib/seed.sh" demo_train)"; do
    "$shapes" score model.so --pictures 500 --seed "$seed" --json >score.json
    echo "$(right score.json) of 500 right, 150 asked for"
    holds "three times chance, on the pictures of seed $seed" test "$(right score.json)" -gt 150
done

# The same seed makes the same file; another one, another.
for run in one two; do
    "$shapes" train --steps 5 -o "$run.onnx" >log || wrong "shapes train failed"
done
"$shapes" train --steps 5 --seed 9 -o three.onnx >log || wrong "shapes train failed"
holds "training repeats itself" cmp one.onnx two.onnx
holds "a seed of its own" sh -c '! cmp -s one.onnx three.onnx'

# Misuse.
for words in "" "train" "train --steps 0 -o x" "train -o x extra" "score" "classify a.so" "names -o x" "paint -o x"; do
    # shellcheck disable=SC2086
    "$shapes" $words >out 2>err
    holds "shapes $words is misuse" test $? = 2
done
holds "nothing was written" test ! -e x
"$shapes" train --steps 1 -o none/such/x 2>err
holds "a folder that is not there" test $? = 1
one_line err
"$shapes" score model.onnx 2>err
holds "what is no compiled model" test $? = 1
one_line err
finish
