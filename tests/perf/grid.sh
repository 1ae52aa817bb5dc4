#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# grid.sh [--check] BIN [NAME...]: the layers of grid.def (all, or those named) compiled for this machine against ONNX
# Runtime on the same model, in turn. BIN holds vtac, model_bench and grid_models. Prints a line for each layer and number
# of threads: milliseconds here and there and the peer's time over ours; then geometric mean and least. The least of all
# rounds counts: processor time for one thread, the clock for more. --check: exit status 1 where a ratio is below 0.8 or
# the mean below 1.2. For the targets x86-64-v3 and x86-64-v4 the peer is a copy that sees a processor without AVX-512, or
# without its dot products (cpuid_patch.c, cpuid_mask.c); a line before the table says how that went, and where the peer
# keeps them all the same, that the columns do not compare.
#
# VTAC_PEER: the folder with node_modules/onnxruntime-node (npm install --ignore-scripts onnxruntime-node); without it our
# times alone are printed. VTAC_GRID_HOSTS ("host"): targets, one table each; VTAC_GRID_THREADS ("1 2");
# VTAC_GRID_SECONDS of each measurement (0.3); VTAC_GRID_ROUNDS (2).
set -eu
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
check=no
if [ "${1:-}" = --check ]; then
    check=yes
    shift
fi
[ $# -ge 1 ] || { echo "usage: grid.sh [--check] BIN [NAME...]" >&2; exit 2; }
bin=$1
shift
seconds=${VTAC_GRID_SECONDS:-0.3} rounds=${VTAC_GRID_ROUNDS:-2}
peer=${VTAC_PEER:-}
if [ -z "$peer" ] || [ ! -d "$peer/node_modules/onnxruntime-node" ] || ! command -v node >/dev/null; then
    echo "grid: no peer; set VTAC_PEER to a folder with node_modules/onnxruntime-node"
    peer=
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Rows of four numbers; the least of one column.
least_of() { # FILE THREADS
    awk -v c="$([ "$2" = 1 ] && echo 1 || echo 3)" 'NR == 1 || $c < m { m = $c } END { print m }' "$1"
}

"$bin/grid_models" "$work" "$@" >"$work/names"

# How the peer runs: as it is, or a copy of it that asks us what the processor has.
as_it_is=$peer
time_peer() { # MODEL THREADS
    $runs node "$here/peer.js" "$peer" "$work/$1.onnx" "$2" "$seconds" 2>/dev/null
}

# An int8 product on the copy and on the original: where the processor has dot products, the copy must be slower.
probe() {
    "$bin/grid_models" "$work" qmatmul_256_1024 >/dev/null
    masked=$(time_peer qmatmul_256_1024 1 | cut -d ' ' -f 1)
    asked=$(cat "$work/told" 2>/dev/null || echo 0)
    whole=$(runs='' peer=$as_it_is && time_peer qmatmul_256_1024 1 | cut -d ' ' -f 1)
    has_dots=$(grep -c -m 1 -E 'avx512_vnni|avx_vnni' /proc/cpuinfo || :)
    awk -v a="${masked:-0}" -v b="${whole:-0}" -v asked="$asked" -v dots="$has_dots" -v patched="$patched" -v h="$1" 'BEGIN {
        good = asked > 0 && a > 0 && (dots == 0 || a > 1.15 * b)
        printf "--host %s: %d CPUID instructions in a copy of the peer answer as %s does; ", h, patched, h
        printf "it asked %d times, and an int8 product takes it %.2f ms, %.2f unmasked\n", asked, a, b
        exit !good }'
}

peer_for() { # HOST
    runs='' peer=$as_it_is
    case $1 in x86-64-v3 | x86-64-v4) ;; *) return 0 ;; esac
    [ -n "$peer" ] || return 0
    peer=$work/peer
    if [ ! -d "$peer" ] && [ -x "$bin/cpuid_patch" ]; then
        mkdir -p "$peer/node_modules"
        cp -r "$as_it_is"/node_modules/onnxruntime-* "$peer/node_modules"
        find "$peer" -path '*linux/x64/*' -type f -exec "$bin/cpuid_patch" {} + >"$work/patched" || return 0
    fi
    patched=$(cat "$work/patched" 2>/dev/null || echo 0)
    runs="env VTAC_CPUID=$1 VTAC_CPUID_TOLD=$work/told LD_PRELOAD=$bin/cpuid_mask.so"
    probe "$1" && return
    echo "--host $1: NOT COMPARABLE: the peer uses all that this processor has"
    runs='' peer=$as_it_is
}

slow=0
for host in ${VTAC_GRID_HOSTS:-host}; do
    peer_for "$host"
    printf '%-24s %-7s %9s %9s %6s   --host %s%s\n' layer threads ours peer ratio "$host" "${runs:+, the peer likewise}"
    : >"$work/ratios"
    while read -r name; do
        "$bin/vtac" compile "$work/$name.onnx" --host "$host" -o "$work/$name.so" >/dev/null 2>"$work/messages" || {
            cat "$work/messages" >&2
            exit 1
        }
        for threads in ${VTAC_GRID_THREADS:-1 2}; do
            : >"$work/ours"
            : >"$work/peers"
            round=0
            while [ "$round" -lt "$rounds" ]; do
                "$bin/model_bench" "$work/$name.so" "$threads" "$seconds" >>"$work/ours"
                [ -z "$peer" ] || time_peer "$name" "$threads" >>"$work/peers" || break
                round=$((round + 1))
            done
            ours=$(least_of "$work/ours" "$threads")
            if [ -s "$work/peers" ]; then
                peers=$(least_of "$work/peers" "$threads")
                awk -v n="$name" -v t="$threads" -v a="$ours" -v b="$peers" -v f="$work/ratios" \
                    'BEGIN { r = b / a; printf "%-24s %-7s %9.4f %9.4f %6.2f%s\n", n, t, a, b, r, r < 0.8 ? "  slow" : ""
                             print n, r >>f }'
            else
                printf '%-24s %-7s %9.4f\n' "$name" "$threads" "$ours"
            fi
        done
    done <"$work/names"
    if [ -s "$work/ratios" ]; then
        awk '{ s += log($2); if ($2 < 0.8) slow++; if (NR == 1 || $2 < m) { m = $2; n = $1 } }
             END { g = exp(s / NR); printf "geometric mean %.2f, least %.2f (%s), %d of %d below 0.8\n", g, m, n, slow, NR
                   exit !(slow == 0 && g >= 1.2) }' "$work/ratios" || slow=$((slow + 1))
    fi
done
[ $check = no ] || [ $slow = 0 ]
