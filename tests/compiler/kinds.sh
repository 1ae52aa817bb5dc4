#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# Every verb that takes a model takes any kind of file, and speaks of it by the model's own names: the suite's own models of
# TensorFlow Lite, Keras and Darknet through all of them; inputs as the file has them.
#
# usage: kinds.sh VTAC SOURCE MODELS
models=$(cd "$3" && pwd)
. "$2/tests/cli/lib.sh"

# walk FILE WAY: all verbs; WAY is quantized, or float for a model that has to be quantized first.
walk() {
    model=$1
    given=$(find "$(dirname "$model")" -name '*_in.npy' | sort | head -n 1)
    vtac inspect "$model"
    exits 0
    input=$(sed -n 's|^input *%\([^ :]*\).*|\1|p' out | head -n 1)
    holds "the input has a name" test -n "$input"
    output=$(sed -n 's/^output %\([^ :]*\).*/\1/p' out | tail -n 1)
    holds "the output has a name" test -n "$output"
    vtac inspect "$model" --html graph.html
    exits 0
    holds "the page names the input" grep -qF "$input" graph.html
    vtac explain "$model"
    exits 0
    says out "in 1 region"
    vtac verify "$model"
    exits 0
    vtac bench "$model" --repeat 2 --layers
    exits 0
    vtac opt "$model"
    exits 0
    says out "%$output"
    vtac diff "$model" --input "$input=$given"
    exits 0
    says out "agree on all"
    vtac convert "$model" -o converted.onnx
    exits 0
    vtac compile "$model" -o host.so
    exits 0
    vtac run host.so --input "$input=$given" --labels labels.txt --top 1
    exits 0
    says out "$output"
    says out "label of $(awk '$1 ~ /^[0-9]+$/ { print $1 }' out | head -n 1)"
    cp out host.txt
    vtac compile converted.onnx -o host.so
    exits 0
    vtac run host.so --input "$input=$given" --labels labels.txt --top 1
    exits 0
    holds "converted: the same decision" sh -c 'awk "{ print \$1 }" out >a; awk "{ print \$1 }" host.txt | cmp - a'
    vtac compile "$model" --target vta --calib "$given" -o device.so
    exits 0
    vtac run device.so --device fsim --input "$input=$given" --top 1
    exits 0
    says out "$output"
    vtac quantize "$model" --calib "$given" -o quantized.onnx
    case $2 in
    float) exits 0 ;;
    quantized) exits 1; says err "$model: " ;;
    esac
    vtac tune "$model" --tuner random --trials 1 --repeat 1 --log tune.jsonl
    exits 0
    vtac explore --models "$model" --calib "$given" --limit 4 --fix LOG_BLOCK_IN=4 --fix LOG_BLOCK_OUT=4 --jobs 1 -o explored
    exits 0
    rm -rf explored tune.jsonl
}

seq -f "label of %.0f" 0 9999 >labels.txt # more than any of them has values
walk "$models/tflite/words_int8/words_int8.tflite" quantized
walk "$models/tflite/image_uint8/image_uint8.tflite" quantized
walk "$models/keras/residual/residual.h5" float
walk "$models/darknet/body/body.cfg" float
finish
