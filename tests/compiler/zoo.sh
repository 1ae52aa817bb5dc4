#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every model of the zoo is written, imports with the shapes of its architecture, and is the same bytes for
# the same seed and others for another.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
vtac=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work"

# name, convolutions, parameters in thousands (as published, biases and norms included), output
while read -r name convs thousands output; do
    "$vtac" zoo "$name" -o a.onnx >/dev/null
    "$vtac" inspect a.onnx >ir
    got=$(grep -c ' = Conv(' ir || true)
    [ "$got" = "$convs" ] || { echo "$name: $got convolutions, expected $convs"; exit 1; }
    size=$(($(wc -c <a.onnx) / 4000))
    low=$((thousands * 98 / 100)) high=$((thousands * 103 / 100 + 10))
    { [ "$size" -ge "$low" ] && [ "$size" -le "$high" ]; } || { echo "$name: $size thousand weights, expected $thousands"; exit 1; }
    value=$(sed -n 's/^output //p' ir | tail -n 1)
    grep -qF "$value: f32[$output]" ir || { echo "$name: output is not [$output]"; exit 1; }
    echo "ok $name: $got convolutions, $size thousand weights, [$output]"
done <<TABLE
resnet18 20 11690 1,1000
resnet34 36 21798 1,1000
resnet50 53 25557 1,1000
mobilenet_v1 27 4232 1,1000
mobilenet_v2 52 3505 1,1000
squeezenet1_1 26 1235 1,1000
vgg11 8 132863 1,1000
densenet121 120 7979 1,1000
tiny_ic 9 78 1,10
tiny_kws 9 23 1,12
tiny_vww 27 215 1,2
tiny_ad 0 267 1,640
lstm 0 100 32,10
gru 0 76 32,10
bilstm 0 201 32,10
crnn 2 106 32,10
vad 4 243 1,1
transformer 0 198 64,128
shufflenet_v2 56 2279 1,1000
mobilenet_v3_small 52 2543 1,1000
efficientnet_lite0 49 4652 1,1000
yolov5n 60 1872 1,3,10,10,85
ssd_mobilenet_v2 84 2935 1,12828,4
unet 19 1947 1,3,128,128
deeplab 33 450 1,21,224,224
vit_tiny 1 5717 1,1000
deit_tiny 1 5919 1,1000
bert 0 413 1,128,128
minilm 0 10671 1,64,384
gpt 0 462 1,64,512
llama 0 471 1,64,512
whisper 2 488 1,100,128
whisper_decoder 0 608 1,48,512
conformer 8 1060 1,64,144
mobilevit 35 1288 1,1000
swin 1 400 1,100
tcn 14 141 1,10,256
c3d 5 1609 1,10
TABLE

"$vtac" zoo tiny_ic -o b.onnx >/dev/null
"$vtac" zoo tiny_ic -o c.onnx >/dev/null
"$vtac" zoo tiny_ic --seed 2 -o d.onnx >/dev/null
cmp b.onnx c.onnx
! cmp -s b.onnx d.onnx || { echo "seeds 1 and 2 give the same weights"; exit 1; }

# quantized ones: integers, the same bytes again, others for another seed
"$vtac" zoo tiny_kws --int8 -o b.onnx >/dev/null
"$vtac" zoo tiny_kws --int8 -o c.onnx >/dev/null
"$vtac" zoo tiny_kws --int8 --seed 2 -o d.onnx >/dev/null
cmp b.onnx c.onnx
! cmp -s b.onnx d.onnx || { echo "seeds 1 and 2 give the same quantized model"; exit 1; }
convolutions=$("$vtac" inspect b.onnx --after fold-qdq | grep -c '= QLinearConv(')
[ "$convolutions" -eq 9 ] || { echo "tiny_kws has 9 convolutions, quantized $convolutions"; exit 1; }

# transformers: between the first and the last layer all are integers of rows, the last normalization too
while read -r name norms softmaxes floats; do
    "$vtac" zoo "$name" --int8 -o t.onnx >/dev/null
    "$vtac" inspect t.onnx --after fold-qdq >ir
    for row in "RowNorm $norms" "RowSoftmax $softmaxes" "LayerNormalization $floats" "ReduceMean 0" "Softmax 0" "Sqrt 0" "QuantizeLinear 1"; do
        got=$(grep -cE "= (vtac\.)?${row% *}\(" ir || true)
        [ "$got" = "${row#* }" ] || { echo "$name: $got ${row% *}, expected ${row#* }"; exit 1; }
    done
    echo "ok $name: $norms normalizations and $softmaxes softmaxes in integers"
done <<TABLE
bert 5 2 0
gpt 5 2 0
llama 5 2 0
whisper 5 2 0
conformer 10 2 0
swin 11 4 0
vit_tiny 25 12 0
TABLE

# sizes that are chosen
"$vtac" zoo gpt --layers 1 --width 48 --heads 3 --tokens 20 -o t.onnx >/dev/null
"$vtac" inspect t.onnx >ir
grep -q '^input  *%input: f32\[1,20,48\]' ir || { echo "gpt: tokens and width are not those that were asked for"; exit 1; }
[ "$(grep -c '= Softmax(' ir)" = 1 ] || { echo "gpt: more than one layer"; exit 1; }
refused() { # WHAT THE MESSAGE SAYS, THEN THE ARGUMENTS
    says=$1
    shift
    if message=$("$vtac" zoo "$@" -o never.onnx 2>&1); then echo "zoo $*: not refused"; exit 1; fi
    case $message in
    *"$says"*) ;;
    *) echo "zoo $*: $message"; exit 1 ;;
    esac
    [ ! -e never.onnx ] || { echo "a failed call left a file"; exit 1; }
}
refused "has the sizes of its architecture" vit_tiny --layers 2
refused "give both" bert --width 64
refused "no multiple" llama --width 60 --heads 4
refused "numbers from 1 on" gpt --layers 0

message=$("$vtac" zoo resnet19 2>&1) && { echo "resnet19 exists?"; exit 1; }
case $message in
*"did you mean 'resnet18'"* | *"did you mean 'resnet"*) ;;
*) echo "wrong message: $message"; exit 1 ;;
esac
[ ! -e resnet19.onnx ] || { echo "a failed call left a file"; exit 1; }
