#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# built.sh BUILD programs COUNT [SEED]
# built.sh BUILD networks CONFIG NETWORK...
#
# The form of the RTL that is synthesized (tsim?form=built: its memories, its multipliers, the array's clock of twice the rate) beside
# the one that is quick to simulate: the same bytes, in as many cycles.
#
# programs: COUNT random ones, spread over all shipped configurations and those of tests/lib/configs, half of them on a quick memory and
# half on one that stalls, each twice with other data, and two damaged copies of each, on both forms and the interpreter.
# networks: of the zoo (NAME=OPTIONS for options of vtac zoo, separated by commas), two inputs each. SEED: of the programs.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country

build=$(cd "$1" && pwd)
what=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
vtac=$build/bin/vtac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # a list of names from here holds no blank

# both COUNT SEED OPTIONS CONFIG...: on both forms, with a memory of these options.
both() {
    count=$1 seed=$2 options=watchdog=20000\&$3
    shift 3
    for config; do
        shift
        set -- "$@" --config "$config"
    done
    echo "memory: $options"
    "$build/bin/test_conformance_random" "$@" --count "$count" --seed "$seed" --same-cycles 1 \
        --device "tsim?$options" --device "tsim?$options&form=built"
}

# on DEVICE FOLDER SEED: the outputs go into the folder; prints the cycles.
on() {
    "$vtac" run model.so --device "$1" --seed "$3" --output-dir "$2" --json >ran.json
    python3 -c 'import json; print(json.load(open("ran.json"))["cycles"])'
}

# network CONFIG NAME=OPTIONS: one line of cycles; status 1 where the forms differ.
network() {
    name=${2%%=*} options=
    [ "$name" = "$2" ] || options=$(echo "${2#*=}" | tr , ' ')
    # shellcheck disable=SC2086  # words
    "$vtac" zoo "$name" --int8 $options -o model.onnx >/dev/null
    "$vtac" compile model.onnx --target vta --config "$1" -o model.so >/dev/null
    for seed in 1 2; do
        rm -rf quick built
        mkdir quick built
        quick=$(on "tsim:$1" quick $seed)
        built=$(on "tsim:$1?form=built" built $seed)
        [ "$quick" -gt 0 ] || { echo "$name on $1: nothing runs on the accelerator"; return 1; }
        [ "$quick" = "$built" ] || { echo "$name on $1: $quick cycles, as built $built"; return 1; }
        diff -r quick built || { echo "$name on $1: outputs differ"; return 1; }
    done
    printf '%-10s %-20s %10s cycles, the same bytes and cycles as built\n' "$1" "$2" "$quick"
}

case $what in
programs)
    seed=${2:-$("$root/tests/lib/seed.sh" rtl_built)}
    set -- "$1" "$seed" "$root"/isa/configs/*.json "$root"/tests/lib/configs/*.json
    count=$1
    shift 2
    both $(((count + 1) / 2)) "$seed" 'latency=8&bandwidth=0' "$@"
    both $((count / 2)) $((seed + count)) "stall=25&seed=$((seed % 1000000 + 1))" "$@"
    ;;
networks)
    config=$1
    shift
    status=0
    for each; do
        network "$config" "$each" || status=1
    done
    exit $status
    ;;
*) echo "built.sh: expected programs or networks, not '$what'" >&2 && exit 2 ;;
esac
