#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# grid.sh [--check] BIN [NAME...]: the layers of grid.def and the networks of the zoo, as floats and in 8 bits (all; those
# named, as conv_c64_k3, resnet18, resnet18_int8; the words layers and zoo name all of a kind), compiled for this machine
# against ONNX Runtime on the same model, in turn. grid.sh BIN random COUNT SEED: COUNT layers that grid_random.py draws.
# BIN holds vtac, model_bench and grid_models. Prints a line for each model and number of threads: milliseconds here and
# there and the peer's time over ours; then geometric mean and least of the layers, of the networks and of all, for each
# number of threads. The least of all rounds counts: processor time for one thread, the clock for more. What is below 0.8 is
# measured again, both peers in turn, before it counts: the line says of how many rounds the best of each is. --check: exit
# status 1 where a ratio is below 0.8 or the mean of all below 1.2. For the targets
# x86-64-v3 and x86-64-v4 the peer is a copy that sees a processor without AVX-512, or without its dot products
# (cpuid_patch.c, cpuid_mask.c); a line before the table says how that went, and where the peer keeps them all the same,
# that the columns do not compare.
#
# VTAC_PEER: the folder with node_modules/onnxruntime-node (npm install --ignore-scripts onnxruntime-node); without it our
# times alone are printed. VTAC_GRID_HOSTS ("host"): targets, one table each; VTAC_GRID_THREADS ("1 2");
# VTAC_GRID_SECONDS of each measurement (0.1); VTAC_GRID_ROUNDS (2); VTAC_GRID_AGAIN: rounds more of what is below 0.8 (4).
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
seconds=${VTAC_GRID_SECONDS:-0.1} rounds=${VTAC_GRID_ROUNDS:-2} again=${VTAC_GRID_AGAIN:-4}
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

# The networks of the zoo, as floats and in 8 bits.
zoo_names() { "$bin/vtac" zoo list | awk '{ print $1; print $1 "_int8" }'; }

# The models' names, of which the layers are written at once; networks are written when their turn comes.
choose() { # [NAME...]
    [ $# -gt 0 ] || set -- layers zoo
    for name in "$@"; do
        case $name in
            layers) "$bin/grid_models" "$work" ;;
            zoo) zoo_names ;;
            *) "$bin/grid_models" "$work" "$name" | grep . || zoo_names | grep -x -e "$name" || {
                echo "grid: no layer and no network '$name'; grid.def and vtac zoo list have their names" >&2
                return 1
            } ;;
        esac
    done
}

write_network() { # NAME
    case $1 in
        *_int8) "$bin/vtac" zoo "${1%_int8}" --int8 -o "$work/$1.onnx" ;;
        *) "$bin/vtac" zoo "$1" -o "$work/$1.onnx" ;;
    esac >/dev/null
}

if [ "${1:-}" = random ]; then
    [ $# = 3 ] || { echo "usage: grid.sh BIN random COUNT SEED" >&2; exit 2; }
    /usr/bin/python3 "$here/grid_random.py" "$work" "$2" "$3" >"$work/names"
else
    choose "$@" >"$work/names"
fi

# The peer that runs: as it is, or a copy that asks us for the features of the processor.
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

# measure NAME THREADS ROUNDS: so many rounds more, ours and the peer's in turn; then the row in the file `row`: ours, the
# peer's (- where it cannot run the model), the ratio (-).
measure() {
    left=$3
    while [ "$left" -gt 0 ]; do
        "$bin/model_bench" "$work/model.so" "$2" "$seconds" >>"$work/ours"
        [ -z "$peer" ] || time_peer "$1" "$2" >>"$work/peers" || left=0
        left=$((left - 1))
    done
    ours=$(least_of "$work/ours" "$2")
    peers=$([ -s "$work/peers" ] && least_of "$work/peers" "$2" || echo -)
    echo "$ours $peers" | awk '{ print $1, $2, $2 == "-" ? "-" : $2 / $1 }' >"$work/row"
}

is_slow() { awk '{ exit !($3 != "-" && $3 < 0.8) }' "$work/row"; }

# row NAME THREADS: measured, again where it is slow, and printed; a line of `ratios`: name, threads, kind, ratio.
row() {
    : >"$work/ours"
    : >"$work/peers"
    measure "$1" "$2" "$rounds"
    note=
    if is_slow && [ "$again" -gt 0 ]; then
        measure "$1" "$2" "$again"
        note="  best of $((rounds + again))"
    fi
    ! is_slow || note="$note  slow"
    read -r ours peers ratio <"$work/row"
    if [ "$ratio" = - ]; then
        printf '%-*s %-7s %9.4f%s\n' "$wide" "$1" "$2" "$ours" "${peer:+  the peer cannot run it}"
        return
    fi
    printf '%-*s %-7s %9.4f %9.4f %6.2f%s\n' "$wide" "$1" "$2" "$ours" "$peers" "$ratio" "$note"
    echo "$1 $2 $kind $ratio" >>"$work/ratios"
}

# summary THREADS KIND WHAT: geometric mean and least of those rows (- for any); fails where the grid would not hold.
summary() {
    awk -v t="$1" -v k="$2" -v what="$3" '(t == "-" || $2 == t) && (k == "-" || $3 == k) {
            r = $4; s += log(r); slow += r < 0.8; if (++rows == 1 || r < m) { m = r; n = $1 } }
        END { if (!rows) exit 0
              g = exp(s / rows)
              printf "%-24s geometric mean %.2f, least %.2f (%s), %d of %d below 0.8\n", what, g, m, n, slow, rows
              exit !(slow == 0 && g >= 1.2) }' "$work/ratios"
}

slow=0 failed=0
wide=$(awk 'BEGIN { n = 24 } length > n { n = length } END { print n }' "$work/names")
for host in ${VTAC_GRID_HOSTS:-host}; do
    peer_for "$host"
    printf '%-*s %-7s %9s %9s %6s   --host %s%s\n' "$wide" layer threads ours peer ratio "$host" "${runs:+, the peer likewise}"
    : >"$work/ratios"
    while read -r name; do
        kept=yes kind=layer
        [ -f "$work/$name.onnx" ] || { kept=no kind=network && write_network "$name"; }
        "$bin/vtac" compile "$work/$name.onnx" --host "$host" -o "$work/model.so" >/dev/null 2>"$work/messages" || {
            cat "$work/messages" >&2
            failed=$((failed + 1))
            continue
        }
        for threads in ${VTAC_GRID_THREADS:-1 2}; do
            row "$name" "$threads"
        done
        [ $kept = yes ] || rm -f "$work/$name.onnx"
    done <"$work/names"
    for threads in ${VTAC_GRID_THREADS:-1 2}; do
        for kind in layer network; do
            summary "$threads" $kind "${kind}s, $threads thread$([ "$threads" = 1 ] || echo s):" || :
        done
    done
    summary - - "all, --host $host:" || slow=$((slow + 1))
done
[ $failed = 0 ] || { echo "grid: $failed models did not compile" >&2; exit 1; }
[ $check = no ] || [ $slow = 0 ]
