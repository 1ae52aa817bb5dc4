#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Weights that stay on chip (kept_test.c): two networks of the zoo in turn on one device.
#
#     kept.sh VTAC KEPT CONFIG "DEVICE ..."
set -eu
vtac=$1
kept=$2
config=$3
devices=$4
seed=$("$(dirname "$0")/../lib/seed.sh" e2e_kept)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in tiny_ad tiny_kws; do
    "$vtac" zoo $name --int8 -o "$work/$name.onnx" >/dev/null
    "$vtac" compile "$work/$name.onnx" --target vta --config "$config" -o "$work/$name.so" >/dev/null
done
failed=0
for device in $devices; do
    for number in 1 2; do
        "$kept" "$device" "$work/tiny_ad.so" "$work/tiny_kws.so" $((seed + number)) || failed=1
    done
done
exit $failed
