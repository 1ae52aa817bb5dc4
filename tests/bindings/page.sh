#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The demo's classifier as one page in Chromium, without a server: the same classes for its pictures as the model has here.
# Arguments: VTAC SHAPES SOURCE
set -eu
vtac=$1 shapes=$2 source=$3
command -v chromium >/dev/null || { echo "no chromium: 'apt-get install chromium'"; exit 77; }
command -v node >/dev/null || { echo "no Node: 'apt-get install nodejs'"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work"
fail() { echo "page: $*"; exit 1; }
demo=$source/compiler/demo
"$shapes" draw --pictures 8 --seed 2 -o calibration >/dev/null
"$vtac" quantize "$demo/shapes.onnx" --calib calibration --preprocess tf -o int8.onnx >/dev/null
"$vtac" compile int8.onnx --target vta -o shapes.so >/dev/null
"$vtac" compile int8.onnx --target vta --host wasm32 -o shapes.html >/dev/null
"$shapes" names >names.txt
"$vtac" compile int8.onnx --target vta --host wasm32 --classes names.txt --preprocess tf -o named.html >/dev/null
"$vtac" compile int8.onnx --target webgpu --host wasm32 --classes names.txt --preprocess unit -o gpu.html >/dev/null
! grep -qE '(src|href)=|url\(' shapes.html || fail 'the page asks for something elsewhere'

timeout 120 node "$source/tests/bindings/page.mjs" "$work/shapes.html" "$work/profile" "$demo"/pictures/*.png >said ||
    { cat said; fail 'the page does not answer'; }
cat said
checked=0
for picture in "$demo"/pictures/*.png; do
    name=$(basename "$picture")
    "$vtac" run shapes.so --input "$picture" --preprocess tf --top 1 >here
    class=$(sed -n 's/^ *\([0-9][0-9]*\)  .*/\1/p' here | head -n 1)
    [ -n "$class" ] || { cat here; fail "no class for $name here"; }
    [ "$(grep -c "^$name $class\$" said)" = 2 ] || { cat here; fail "$name is not class $class on the page"; }
    checked=$((checked + 1))
done
[ "$checked" -ge 5 ] || fail "$checked pictures"
grep -qE '^steps ([4-9]|[1-9][0-9])$' said || fail 'no table of steps'
grep -qE '^wrong [A-Za-z].*' said || fail 'a file that is no picture goes unnoticed'

# Names and values that a page was compiled with; a dropped picture, a camera, a GPU.
for picture in heart bolt; do
    timeout 120 node "$source/tests/bindings/page_more.mjs" "$work/named.html" "$work/profile2" "$demo/pictures/${picture}_1.png" >said || { cat said; fail 'named: no answer'; }
    printf 'scale as compiled: tf\ndropped %s\ndropped %s\nfits true\ncamera true\ncamera false, \n' $picture $picture >wanted
    cmp said wanted || { cat said; fail "named: not as it should be"; }
done
timeout 120 node "$source/tests/bindings/page_more.mjs" "$work/gpu.html" "$work/profile3" "$demo/pictures/heart_1.png" >said || { cat said; fail 'gpu: no answer'; }
grep -q '^scale as compiled: unit$' said || { cat said; fail 'gpu: other values'; }
[ "$(sed -n 's/^gpu \(.*\),.*/\1/p' said | paste -sd' ')" = 'true to false false to true' ] || { cat said; fail 'gpu: its button'; }
echo "</script><b>" >odd.txt
"$vtac" compile int8.onnx --host wasm32 --classes odd.txt -o odd.html >/dev/null
[ "$(grep -c 'u003c/script' odd.html)" = 1 ] || fail 'a name ends the script'
if "$vtac" compile int8.onnx --host wasm32 --classes none.txt -o none.html 2>said; then fail 'a file that is not there'; fi
grep -q "'none.txt'" said || { cat said; fail 'none.txt is not named'; }
[ ! -e none.html ] || fail 'a page without its names'
if "$vtac" compile int8.onnx --classes names.txt -o none.so 2>said; then fail 'names in a shared object'; fi
grep -q -- '--classes' said || { cat said; fail '--classes is not named'; }
echo "page: $checked pictures, twice, as here; dropped, by camera and GPU"
