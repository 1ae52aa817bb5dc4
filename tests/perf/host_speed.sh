#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# host_speed.sh [--check] VTAC MODEL_BENCH [FOLDER_OF_MODELS]: compiled models against ONNX Runtime, in turn, on this
# machine. Prints a line for each model and number of threads: milliseconds here and there, and their ratio, which is
# the peer's time over ours: above 1 we are faster. One thread is judged by processor time, which other work on the
# machine leaves alone, more threads by the clock; the least of all rounds counts. --check: exit status 1 where a ratio
# stays below 0.8 (VTAC_SPEED_LEAST).
#
# The peer is looked for in VTAC_PEER, a folder with node_modules/onnxruntime-node (npm install --ignore-scripts
# onnxruntime-node); without it, or without node, exit status 77. VTAC_SPEED_MODELS: names of some models;
# VTAC_SPEED_SECONDS: of each measurement (1); VTAC_SPEED_ROUNDS (3).
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
here=$(cd "$(dirname "$0")" && pwd)
check=no
if [ "${1:-}" = --check ]; then
    check=yes
    shift
fi
[ $# -ge 2 ] || { echo "usage: host_speed.sh [--check] VTAC MODEL_BENCH [MODELS]" >&2; exit 2; }
vtac=$1 bench=$2 models=${3:-}
peer=${VTAC_PEER:-}
if [ -z "$peer" ] || [ ! -d "$peer/node_modules/onnxruntime-node" ] || ! command -v node >/dev/null; then
    echo "host_speed: no peer; set VTAC_PEER to a folder with node_modules/onnxruntime-node"
    exit 77
fi
seconds=${VTAC_SPEED_SECONDS:-1} rounds=${VTAC_SPEED_ROUNDS:-3} least=${VTAC_SPEED_LEAST:-0.8}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# One line of four numbers for each round; the least of each column.
least_of() {
    awk 'NR == 1 { for (i = 1; i <= 4; i++) m[i] = $i }
         { for (i = 1; i <= 4; i++) if ($i < m[i]) m[i] = $i }
         END { print m[1], m[2], m[3], m[4] }' "$1"
}

slow=0
compare() { # NAME MODEL.onnx
    "$vtac" compile "$2" --host host -o "$work/model.so" >/dev/null 2>"$work/messages" || {
        cat "$work/messages" >&2
        exit 1
    }
    for threads in 1 2; do
        : >"$work/ours"
        : >"$work/peers"
        round=0
        while [ "$round" -lt "$rounds" ]; do
            "$bench" "$work/model.so" "$threads" "$seconds" >>"$work/ours"
            node "$here/peer.js" "$peer" "$2" "$threads" "$seconds" >>"$work/peers" 2>/dev/null || break
            round=$((round + 1))
        done
        if [ ! -s "$work/peers" ]; then
            printf '%-46s %s   %8.2f  the peer cannot load it\n' "$1" "$threads" "$(least_of "$work/ours" | cut -d' ' -f3)"
            continue
        fi
        column=$([ "$threads" = 1 ] && echo 1 || echo 3)
        ours=$(least_of "$work/ours" | cut -d' ' -f"$column")
        peers=$(least_of "$work/peers" | cut -d' ' -f"$column")
        verdict=$(awk -v a="$ours" -v b="$peers" -v least="$least" 'BEGIN { print (b / a < least) ? "slow" : "" }')
        awk -v n="$1" -v t="$threads" -v a="$ours" -v b="$peers" -v v="$verdict" \
            'BEGIN { printf "%-46s %s   %8.2f  %8.2f  %5.2f  %s\n", n, t, a, b, b / a, v }'
        [ -z "$verdict" ] || slow=$((slow + 1))
    done
}

wanted() {
    case " ${VTAC_SPEED_MODELS:-$1} " in *" $1 "*) return 0 ;; esac
    return 1
}

printf '%-46s %s   %8s  %8s  %5s\n' model threads ours peer ratio
for name in resnet18 resnet50 squeezenet1_1 mobilenet_v2; do
    if wanted $name; then
        "$vtac" zoo $name -o "$work/$name.onnx" >/dev/null
        compare $name "$work/$name.onnx"
    fi
done
for path in ${models:+"$models"/*int8*.onnx "$models"/*fp32*.onnx}; do
    [ -e "$path" ] || continue
    name=$(basename "$path" .onnx)
    if wanted "$name"; then
        compare "$name" "$path"
    fi
done
echo "$slow below $least of the peer's speed"
[ $check = no ] || [ $slow = 0 ]
