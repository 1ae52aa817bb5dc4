#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# steps.sh VTAC GENERATE_STEPS: a decoder with caches of a fixed size, for the host and for the accelerator: its steps ask for no memory.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
vtac=$1
steps=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$vtac" zoo llama --cache --layers 1 --width 64 --heads 2 --words 70 -o open.onnx > log
"$vtac" quantize open.onnx --context 32 -o net.onnx > log 2>&1
"$vtac" compile net.onnx -o host.so > log
"$vtac" compile net.onnx --target vta --config pynq_lm --offload all -O 1 -o held.so > log
"$steps" host.so fsim
"$steps" held.so fsim
