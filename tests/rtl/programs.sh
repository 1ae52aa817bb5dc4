#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# programs.sh VTAC DEVICE...: the shipped programs leave the same bytes in all their data on every DEVICE, twice: first with
# the contents that they give themselves, where the results must be those that they expect as well; then with random
# ones, on a slow memory that stalls at random.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
vtac=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
programs=$here/../../isa/programs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # a list of names from here holds no blank
seed=$("$here/../lib/seed.sh" rtl_programs)
echo "seed $seed"

# without_expect FILE: what a program expects of its own data does not hold for others.
without_expect() {
    awk '/^\.expect/ { skip = 1 }
         skip { depth += gsub(/{/, "{") - gsub(/}/, "}"); if (depth == 0) skip = 0; next }
         { print }' "$1"
}

# random_bytes FILE: as many as it has, others for each seed and name.
random_bytes() {
    python3 -c 'import os, random, sys
path, seed, name = sys.argv[1:4]
source = random.Random(seed + " " + name)
size = os.path.getsize(path)
open(path, "wb").write(bytes(source.randrange(256) for _ in range(size)))' "$1" "$seed" "$2"
}

# runs PROGRAM DEVICE OUT [OPTION...]: every symbol of the program goes into the folder OUT.
runs() {
    file=$1 uri=$2 folder=$3
    shift 3
    mkdir "$folder"
    for symbol in $symbols; do
        set -- "$@" --dump "$symbol=$folder/$symbol"
    done
    "$vtac" exec "$file" --device "$uri" "$@" > "$work/said" 2>&1 || { cat "$work/said"; exit 1; }
}

count=0
for program in "$programs"/*.vasm; do
    name=$(basename "$program" .vasm)
    symbols=$(sed -n 's/^\.data *\([A-Za-z0-9_]*\).*/\1/p' "$program")
    inputs=$(sed -n 's/^\.data *\([A-Za-z0-9_]*\).*=.*/\1/p' "$program")
    without_expect "$program" > "$work/$name.vasm"
    first=
    for device; do
        out=$work/$name-$device
        runs "$program" "$device" "$out-own"
        grep -q '^expect.*: ok, ' "$work/said" || { echo "$name, $device: nothing that it expects was met"; exit 1; }
        if [ -z "$first" ]; then
            first=$out
            mkdir "$work/$name-random"
            for symbol in $inputs; do
                cp "$first-own/$symbol" "$work/$name-random"
                random_bytes "$work/$name-random/$symbol" "$name $symbol"
            done
        fi
        options=
        case $device in fsim) ;; *) options="?latency=100&stall=30&seed=$seed" ;; esac
        memory=
        for symbol in $inputs; do
            memory="$memory --mem $name-random/$symbol@$symbol"
        done
        # shellcheck disable=SC2086  # a list
        runs "$work/$name.vasm" "$device$options" "$out-random" $memory
        for data in own random; do
            diff -r "$first-$data" "$out-$data" || { echo "$name, $device, $data data: not what ${first##*-} leaves"; exit 1; }
        done
        count=$((count + 2))
    done
    ! diff -rq "$first-own" "$first-random" > "$work/said" || { echo "$name: other data, the same results"; exit 1; }
done
echo "$count runs"
[ "$count" -ge $((10 * $#)) ]
