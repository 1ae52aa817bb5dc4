#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Random graphs on the devices of each configuration that comes with vtac, one after the other, against the host as it is compiled
# and as it is without optimizations: graphs.sh BUILD seconds|graphs COUNT [SEED]
# For a time it takes every device; for so many graphs fsim, and tsim of two configurations. Stops at the first failure, which
# random_graphs has made small and written as an ONNX model.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
build=$1
unit=$2
count=$3
seed=${4:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
first=$seed
began=$(date +%s)
configs=$(cd "$(dirname "$0")/../../isa/configs" && ls -- *.json)

# enough: so many graphs, or so long.
enough() {
    case $unit in
    graphs) [ $((seed - first)) -ge "$count" ] ;;
    *) [ $(($(date +%s) - began)) -ge "$count" ] ;;
    esac
}

# compare DEVICE CONFIG GRAPHS: of what is left to do at most so many.
compare() {
    ! enough || return 0
    graphs=$3
    [ "$unit" != graphs ] || [ $((first + count - seed)) -ge "$graphs" ] || graphs=$((first + count - seed))
    "$build/bin/random_graphs" "$1" "$2" "$graphs" "$seed"
    seed=$((seed + graphs))
}

echo "seeds from $seed on"
while ! enough; do
    for file in $configs; do
        config=${file%.json}
        compare "fsim:$config?strict=1&check=1" "$config" 20
        case $unit,$config in seconds,* | graphs,tiny | graphs,pynq) compare "tsim:$config" "$config" 4 ;; esac
        [ "$unit" = graphs ] || compare "systemc:$config" "$config" 2
    done
done
echo "$((seed - first)) graphs without a finding"
