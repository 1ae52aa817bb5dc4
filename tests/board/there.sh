# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced after lib.sh: what holds for a vtac-agent whichever line leads to it. `there DEVICE` prints the URI of DEVICE over
# that line; `cut_line` cuts it.
# Arguments of the script: VTAC SOURCE AGENT MODEL.so SLOW.vasm MODEL.onnx
# shellcheck disable=SC2154  # work, source and status are of lib.sh
agent=$work/agent-of-this-test # under a name of its own, to be found among processes
cp "$3" "$agent"
model=$4
slow=$5
net=$6
cache_before=${VTAC_CACHE:-}

for seed in 1 2; do
    "$vtac_program" run "$model" --device fsim --seed $seed --output-dir "ref$seed" >/dev/null
done

# ---- a model: two inferences with different data, in two connections and in one
for seed in 1 2; do
    vtac run "$model" --device "$(there fsim)" --seed $seed --output-dir "got$seed"
    exits 0
    holds "the result is that of this machine" sh -c "cmp got$seed/*.npy ref$seed/*.npy"
done
vtac run "$model" --device "$(there tsim)" --seed 2 --repeat 2 --output-dir rtl --json --layers
exits 0
good_json out
holds "the RTL's result, too" sh -c 'cmp rtl/*.npy ref2/*.npy'
"$vtac_program" run "$model" --device tsim --seed 2 --repeat 2 --json --layers >here.json
holds "and its cycles, step by step and layer by layer" python3 -c '
import json
there, here = (json.load(open(name)) for name in ("out", "here.json"))
assert there["cycles"] == here["cycles"] > 0, (there["cycles"], here["cycles"])
assert there["layers"] == here["layers"] and len(here["layers"]) > 3
'
vtac run "$model" --device "$(there fsim)" --steps
exits 0
says out "us"

# ---- a program
for program in "$source"/isa/programs/tiny.vasm "$source"/isa/programs/matmul.vasm; do
    vtac exec "$program" --device "$(there tsim)" --json
    exits 0
    "$vtac_program" exec "$program" --device tsim --json >here.json
    holds "the same counts and cycles as on this machine" python3 -c '
import json
there, here = (json.load(open(name)) for name in ("out", "here.json"))
for key in ("counts", "cycles", "expect"):
    assert there[key] == here[key], (key, there[key], here[key])
'
done
printf '.config tiny\nfinish\n.insn 0x7 0\n' >illegal.vasm
vtac exec illegal.vasm --no-check --device "$(there fsim)"
exits 1
one_line err
vtac exec "$source/isa/programs/tiny.vasm" --device "$(there fsim:pynq)"
refused 1 "made for configuration 'tiny', but device 'fsim:pynq"
vtac exec "$source/isa/programs/tiny.vasm" --device "$(there 'fsim:tiny?stroct=1')"
refused 1 "device 'fsim' has no option 'stroct'; it has 'strict', 'check'"
vtac run "$source/README.md" --device "$(there fsim)"
refused 1 "it is not a compiled model"
vtac run nothing.so --device "$(there fsim)"
refused 1 "nothing.so"

# ---- the verbs that run models and benches
vtac diff "$net" --config tiny --a "$(there fsim)" --b llvm --seed 3
exits 0
says out "agree on all"
vtac bench hw --device "$(there tsim:tiny)" --row alu_imm
exits 0
case_folder=/usr/lib/python3/dist-packages/onnx/backend/test/data/node/test_add
if [ -d $case_folder ]; then
    vtac verify $case_folder --device "$(there fsim)" --target vta
    exits 0
    says out "1 passed"
fi

# ---- the cache: sent once; what is damaged there is sent again
export VTAC_CACHE="$work/cache"
for time in first second; do
    vtac run "$model" --device "$(there fsim)" --seed 1 --output-dir "cached$time"
    exits 0
    holds "right from the cache" sh -c "cmp cached$time/*.npy ref1/*.npy"
done
holds "one file is kept" sh -c '[ "$(ls cache/models | wc -l)" = 1 ]'
kept=$(echo cache/models/*.so)
printf x | dd of="$kept" bs=1 seek=5000 conv=notrunc 2>/dev/null
vtac run "$model" --device "$(there fsim)" --seed 2 --output-dir mended
exits 0
holds "right after damage in the cache" sh -c 'cmp mended/*.npy ref2/*.npy'
holds "the file is whole again" cmp "$kept" "$model"
if [ -z "$cache_before" ]; then
    unset VTAC_CACHE
else
    export VTAC_CACHE="$cache_before"
fi

# ---- a board there: idle after Ctrl-C, after a client that was killed, after a line that was cut
board b --config tiny
at_board=$(there "uio:$work/b")
vtac exec "$source/isa/programs/tiny.vasm" --device "$(there "uio:$work/b?check=0")"
refused 1 "this agent checks every program"
vtac run "$model" --device "$at_board" --seed 1 --output-dir board
exits 0
holds "the board's result" sh -c 'cmp board/*.npy ref1/*.npy'
becomes_busy() { # 1 or 0: the register BUSY
    tries=0
    until [ "$(od -An -tu4 -j 20 -N 4 b/dev/uio0 | tr -d ' ')" = "$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return 1
        sleep 0.1
    done
}
for signal in INT KILL; do
    "$vtac_program" exec "$slow" --no-check --device "$(there "uio:$work/b")" >stopped.out 2>stopped.err &
    victim=$!
    holds "it runs" becomes_busy 1
    kill -$signal $victim
    wait $victim 2>/dev/null
    code=$?
    [ $signal = KILL ] || holds "it says that it was interrupted" sh -c "[ $code = 130 ] && grep -q interrupted stopped.err"
    holds "the accelerator is idle after $signal" becomes_busy 0
    nobody "$agent --stdio"
done
"$vtac_program" exec "$slow" --no-check --device "$(there "uio:$work/b")" >cut.out 2>cut.err &
victim=$!
holds "it runs" becomes_busy 1
cut_line
wait $victim
holds "a cut line is an error" test $? = 1
holds "in one line" sh -c '[ "$(wc -l <cut.err)" = 1 ] && grep -q "closed the connection" cut.err'
vtac run "$model" --device "$at_board" --seed 2 --output-dir aftercut
exits 0
holds "right after a line was cut" sh -c 'cmp aftercut/*.npy ref2/*.npy'
vtac doctor --device "$at_board"
exits 0
holds "the doctor looks at every part of a board there" sh -c '[ "$(grep -cE "^ok +(connection|device node|permissions|memory|identification|known answer|clock) " out)" = 7 ]'
end "$board_pid"
board old --config tiny --fault hash
vtac doctor --device "$(there "uio:$work/old")"
exits 1
holds "and fails the wrong bitstream there" grep -qE '^FAILED +identification .*another release' out
says out "'sudo vta-load' loads the bitstream"
end "$board_pid"
vtac doctor --device "$(there "uio:$work/old")"
exits 1
holds "and a board that is gone" grep -qE '^FAILED +device node ' out
nobody "$agent --stdio"
