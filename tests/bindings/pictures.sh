#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What the programs of the bindings' README are shown: the demo's classifier for the accelerator, here and as a module, two of its pictures
# as bytes, and the class that vtac itself names. Arguments: VTAC SHAPES SOURCE FOLDER
set -eu
vtac=$1 shapes=$2 demo=$3/compiler/demo
mkdir -p "$4"
cd "$4"
"$shapes" draw --pictures 8 --seed 2 -o calibration >/dev/null
"$vtac" quantize "$demo/shapes.onnx" --calib calibration --preprocess tf -o int8.onnx >/dev/null
"$vtac" compile int8.onnx --target vta --host x86-64-v2 -o shapes.so >/dev/null
"$vtac" compile int8.onnx --target vta --host wasm32 -o shapes.wasm >/dev/null
for picture in "$demo"/pictures/heart_1.png "$demo"/pictures/star_1.png; do
    name=$(basename "$picture" .png)
    "$vtac" run shapes.so --input "$picture" --preprocess tf --top 1 | sed -n 's/^ *\([0-9][0-9]*\)  .*/\1/p' | head -n 1 >"$name.class"
    python3 -B "$3/tests/bindings/png.py" "$picture" "$name.rgb"
done
