#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# vtac compile around the code: the same file to the byte wherever and however often it is made, the texts behind it, misuse.
. "$(dirname "$0")/lib.sh"

"$vtac_program" zoo tiny_ic --int8 -o net.onnx >/dev/null || exit 1
mkdir -p some/where/else
for target in llvm vta; do
    vtac compile net.onnx --target $target --emit ir,plan,ll,asm,loops,dot:first -o first.so
    exits 0
    (cd some/where/else && cp ../../../net.onnx other-name.onnx && TMPDIR=$PWD VTAC_THREADS=1 LC_ALL=C \
        "$vtac_program" compile "$PWD/other-name.onnx" --target $target --emit dot,loops,asm,ll,plan,ir:../second -o ../there.so) >out 2>err
    status=$?
    exits 0
    holds "$target: the same bytes in another folder" cmp first.so some/where/there.so
    for text in ir plan ll asm loops dot; do
        holds "$target: $text is not empty" test -s first/model.$text
        holds "$target: the same $text" cmp first/model.$text some/where/second/model.$text
    done
    vtac compile net.onnx --target $target -o third.so
    holds "$target: the same bytes without texts" cmp first.so third.so
    vtac compile net.onnx --target $target -O 1 -o other.so
    holds "$target: not those of another level" sh -c '! cmp -s first.so other.so'
    vtac compile net.onnx --target $target -O1 -o again.so
    holds "$target: -O1 is -O 1" cmp again.so other.so
    holds "$target: every node is in the graph" test "$(grep -c '^  n[0-9]* \[' first/model.dot)" = "$(grep -c '^%' first/model.ir)"
    holds "$target: the graph ends" test "$(tail -n 1 first/model.dot)" = '}'
    if command -v dot >/dev/null; then
        holds "$target: Graphviz takes it" dot -Tsvg first/model.dot -o graph.svg
    fi
    rm -rf first some/where/second
done
# Without alter-layout every value lies as its axes say; the numbers are the same.
"$vtac_program" zoo squeezenet1_1 --int8 -o squeeze.onnx >/dev/null
for model in net squeeze; do
    vtac compile $model.onnx --emit plan:blocked -o blocked.so
    exits 0
    vtac compile $model.onnx --disable-pass alter-layout --emit plan:plain -o plain.so
    exits 0
    holds "$model: a layout without --disable-pass" grep -q '\.layout' blocked/model.plan
    holds "$model: none with it" sh -c '! grep -qE "\.(layout|plain|border)" plain/model.plan'
    for seed in 1 2; do
        for way in blocked plain; do
            rm -rf $way.out
            "$vtac_program" run $way.so --seed $seed --output-dir $way.out >/dev/null
        done
        holds "$model, seed $seed: the same numbers" diff -r blocked.out plain.out
    done
done
# Without fuse every node of the graph is a step, with it some share one; the numbers are the same.
for way in "" "--disable-pass fuse"; do
    # shellcheck disable=SC2086
    vtac compile net.onnx $way --emit plan:p -o fused.so
    exits 0
    grep -c '^step' p/model.plan >steps"$(echo "$way" | wc -w)"
    for seed in 1 2; do
        "$vtac_program" run fused.so --seed $seed --output-dir "out$seed.$(echo "$way" | wc -w)" >/dev/null
    done
done
holds "fuse: fewer steps" test "$(cat steps0)" -lt "$(cat steps2)"
holds "fuse: the same numbers, seed 1" diff -r out1.0 out1.2
holds "fuse: the same numbers, seed 2" diff -r out2.0 out2.2
vtac compile net.onnx --target vta --emit dot:d -o a.so
holds "what runs on the accelerator has a colour" grep -q lightblue d/model.dot

# A file that replaces another one is readable for the same users.
umask 022
for out in mode.so mode.o mode.c; do
    echo secret >$out
    chmod 600 $out
    vtac compile net.onnx -o $out
    [ "$status" = 0 ] || continue # this kind of file is not made here
    holds "$out keeps its mode" test "$(stat -c %a $out)" = 600
done
ln -s mode.so through.so
vtac compile net.onnx -o through.so
exits 0
holds "a link to a file stays one" test -L through.so

# Buffers that hold no piece of any layer: what was to go there altogether is refused, with what it lacks; otherwise the host does
# all of it, and says so.
"$vtac_program" zoo tiny_ic --int8 -o ic.onnx >/dev/null
"$vtac_program" zoo tiny_ad --int8 -o ad.onnx >/dev/null
"$vtac_program" config show tiny | sed 's/"tiny"/"least"/; s/\("LOG_[A-Z]*_BUFF_SIZE"\) : [0-9]*/\1 : 6/' >least.json
vtac compile ad.onnx --target vta --config ./least.json --offload all -o none.so
refused 1 "vtac: ad.onnx: nothing of it can run on 'least': layer 'Gemm_"
says err "does not fit the buffers: its smallest piece needs 5 accumulators of 4 (LOG_ACC_BUFF_SIZE); larger ones would help"
holds "no file" test ! -e none.so
vtac compile ad.onnx --target vta --config ./least.json -o none.so
exits 0
one_line err
says err "ad.onnx: nothing of it runs on 'least': layer 'Gemm_"
vtac compile ad.onnx -o host.so
for model in none host; do
    "$vtac_program" run $model.so --seed 3 --output-dir $model >/dev/null
done
holds "the host does it" diff -r none host
vtac explain ic.onnx --config ./least.json --offload all --json
exits 0
holds "convolutions and sums have their reason" python3 -c 'import json
for op, count, needs in ("QLinearConv", 9, 5), ("QLinearAdd", 3, 12):
    nodes = [n for n in json.load(open("out"))["nodes"] if n["op"] == op]
    assert len(nodes) == count and all(n["where"] == "host" for n in nodes), nodes
    assert all(f"needs {needs} accumulators of 4" in n["reason"] for n in nodes), nodes'
cat >odd.ir <<'END'
graph "a \"b\" \\ <c>"
input %"x\"\\": f32[2]
%"y{}|<>": f32[2] = Neg(%"x\"\\")
output %"y{}|<>"
END
vtac compile odd.ir --emit dot:odd -o odd.so
exits 0
if command -v dot >/dev/null; then
    holds "strange names" dot -Tsvg odd/model.dot -o odd.svg
fi

rm -f m.so
vtac compile net.onnx -Ofast -o m.so
refused 2 "vtac compile: unknown option '-Ofast'"
vtac compile net.onnx --emit ir -o m.so
refused 2 "--emit takes LIST:DIR, as in ir,asm:texts, not 'ir'"
vtac compile net.onnx --emit ir,wasm:d -o m.so
refused 2 "--emit knows ir, plan, ll, asm, loops, dot and kernels, not 'wasm'"
touch file
vtac compile net.onnx --emit ir:file -o m.so
exits 1
one_line err
vtac compile net.onnx -o nowhere/m.so
exits 1
one_line err
holds "nothing half-written" test ! -e m.so
# A model is not written over by what is made of it, whatever its name.
cp net.onnx own.onnx
cp net.onnx own.so
ln -s own.onnx link.so
for words in "own.onnx -o own.onnx" "own.onnx -o ./own.onnx" "own.onnx -o link.so" "own.so"; do
    # shellcheck disable=SC2086  # these are words
    vtac compile $words
    exits 1
    one_line err
    says err "is the model itself; name another file with -o"
    holds "$words: the model is as it was" cmp net.onnx "${words%% *}"
done
# An output that is no file is written to and stays what it is: a pipe as /dev/null is.
mkfifo pipe
for out in "compile net.onnx -o" "convert net.onnx -o"; do
    cat pipe >got &
    # shellcheck disable=SC2086  # these are words
    vtac $out pipe
    exits 0
    wait $!
    # shellcheck disable=SC2086
    vtac $out kept
    exits 0
    holds "a pipe gets the bytes of a file" cmp got kept
    holds "the pipe is still one" test -p pipe
done
finish
