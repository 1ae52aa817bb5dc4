#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Random graphs on every device and configuration, one after the other, for a time: graphs.sh BUILD SECONDS [SEED]
# Stops at the first failure, which random_graphs has made small and written as an ONNX model.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
build=$1
end=$(($(date +%s) + $2))
seed=${3:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
first=$seed
echo "seeds from $seed on"
while [ "$(date +%s)" -lt "$end" ]; do
    for config in tiny pynq pynq512 ultra96 wide batch2; do
        for device in "fsim:$config?strict=1&check=1 20" "tsim:$config 4" "systemc:$config 2"; do
            [ "$(date +%s)" -lt "$end" ] || break 2
            "$build/bin/random_graphs" "${device% *}" "$config" "${device##* }" "$seed"
            seed=$((seed + ${device##* }))
        done
    done
done
echo "$((seed - first)) graphs without a finding"
