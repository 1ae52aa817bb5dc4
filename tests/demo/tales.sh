#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# The demo's language model: learns the same twice, tells tales in the words of its tokenizer, and says the same with caches
# that grow, with caches of a fixed size, and with several tokens a run.
. "$(dirname "$0")/../cli/lib.sh"
tales=$3
tales_in() { ran="tales $*"; "$tales" "$@" >out 2>err; status=$?; }

tales_in tell --tales 3 --seed 5
exits 0
holds "tales of questions and answers" test "$(grep -c '? [A-Za-z ]*\.$' out)" = 3
cp out told
tales_in tell --tales 3 --seed 5
holds "the same tales again" cmp out told
tales_in tell --tales 3 --seed 6
holds "others of another seed" sh -c '! cmp -s out told'

tales_in train --steps 120 -o one.onnx
exits 0
cp out first
tales_in train --steps 120 -o two.onnx
holds "the same weights again" test "$(grep -o 'weights [0-9a-f]*' out)" = "$(grep -o 'weights [0-9a-f]*' first)"
holds "and the same model" cmp one.onnx two.onnx
holds "it learns" awk '/^step *50 / { early = $NF } /^step *100 / { late = $NF } END { exit !(late + 0 < 0.8 * early) }' first
tales_in train --steps 20 --seed 2 -o two.onnx
holds "other weights of another seed" sh -c '! cmp -s one.onnx two.onnx'
holds "under a megabyte" test "$(wc -c <one.onnx)" -lt 1000000

vtac compile one.onnx --dynamic -o grows.so
exits 0
vtac compile one.onnx --context 64 -o step.so
exits 0
vtac compile one.onnx --context 64:8 -o steps.so
exits 0
prompt='Tom has a red ball. Tom gives the ball to Mia. Mia goes to the park.'
for how in '--temperature 0' '--temperature 1 --seed 3'; do
    for form in grows step steps; do
        # shellcheck disable=SC2086
        vtac run $form.so --generate 30 --prompt "$prompt" --ignore-end $how
        exits 0
        cp out $form.txt
    done
    holds "caches that grow and of a fixed size" cmp grows.txt step.txt
    holds "several tokens a run" cmp grows.txt steps.txt
    holds "words of the tales" awk '{ gsub(/[.?]/, ""); for (i = 1; i <= NF; i++) if ($i !~ /^[A-Za-z]+$/) exit 1; exit NF < 10 }' grows.txt
done
# In 8 bits, and with weights of 4: the accelerator, which holds the caches, says what the host says.
rows=pynq_lm
mkdir inputs
for begin in "$prompt" 'Ada has a green hat. Zoe goes to the shop.' 'Leo has a black drum. Where is'; do
    vtac run step.so --generate 40 --prompt "$begin" --ignore-end --temperature 1 --seed 5 --save-inputs some
    exits 0
    for file in some/*; do mv "$file" "inputs/${begin%% *}${file#some/}"; done
done
for weights in int8 int4; do
    vtac quantize one.onnx --context 64 --calib inputs --weights $weights -o $weights.onnx
    exits 0
    vtac compile $weights.onnx -o host.so
    exits 0
    vtac compile $weights.onnx --target vta --config "$rows" --offload all -O 0 -o held.so
    exits 0
    for how in '--prompt Tom' '--temperature 1 --seed 4 --prompt Mia'; do
        # shellcheck disable=SC2086
        vtac run host.so --generate 60 --ignore-end $how
        exits 0
        cp out host.txt
        # shellcheck disable=SC2086
        for time in once twice; do
            vtac run held.so --device fsim --generate 60 --ignore-end $how
            exits 0
            holds "the accelerator says the same ($weights, $time)" cmp host.txt out
        done
    done
    # A generation that is kept goes on there, too, but not on another target.
    vtac run held.so --device fsim --generate 20 --ignore-end --ids 1,3 --keep kept.bin
    exits 0
    begun=$(cat out)
    vtac run held.so --device fsim --generate 20 --ignore-end --ids 4 --resume kept.bin
    exits 0
    mv out rest.txt
    vtac run host.so --generate 20 --ignore-end --ids "1,3,$begun,4"
    exits 0
    holds "the accelerator goes on ($weights)" cmp out rest.txt
    vtac run host.so --generate 20 --ids 4 --resume kept.bin
    exits 1
    says err "kept.bin: it was kept on another target"
    one_line err
done
# Few bits change little of it, on tales of another seed: perplexity, and next tokens where the model of floats prefers one clearly.
tales_in tell --tales 8 --seed 999
cp out unseen.txt
for bits in 8:1:98 4:4:95; do
    weights=int${bits%%:*}
    vtac compile "$weights.onnx" -o host.so
    exits 0
    vtac perplexity step.so host.so --text unseen.txt --json
    exits 0
    holds "perplexity and next tokens ($weights)" python3 -c '
import json, sys
most, least = map(float, sys.argv[1].split(":")[1:])
row = json.load(open("out"))["models"][1]
print(row)
sys.exit(row["change"] > most or row["same_clear"] < least)' "$bits"
done
vtac run step.so --generate 1000 --prompt "$prompt" --ignore-end --json
holds "to the end of the context" test "$(python3 -c 'import json; r = json.load(open("out")); print(r["end"], r["prompt_tokens"] + r["new_tokens"])')" = 'context 65'

for words in '' 'sing' 'train' 'train --steps 0 -o x.onnx' 'train --steps' 'tell -o x' 'tell --rate 3'; do
    # shellcheck disable=SC2086
    tales_in $words
    exits 2
done
tales_in train --steps 1 -o /nowhere/x.onnx
holds "a folder that is not there" grep -q "^tales: .*/nowhere/x.onnx" err
finish
