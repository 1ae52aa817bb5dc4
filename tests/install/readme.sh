#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The C program of the README, word for word, built against an installed tree: it names the classes of pictures with a model
# for the host and the same for the accelerator: drawn ones with the demo's classifier, and photographs where a published model is
# there. Arguments: BUILD CC README SHAPES SHARED; without python3-onnx or python3-pil, exit status 77.
set -eu
readme=$3 shapes=$4 models=$5
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/install/lib.sh
. "$(dirname "$0")/lib.sh"

awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' "$readme" >"$work/classify.c"
lines=$(wc -l <"$work/classify.c")
if [ "$lines" -le 20 ] || [ "$lines" -gt 50 ]; then
    echo "readme: a program of $lines lines"
    exit 1
fi
# shellcheck disable=SC2046,SC2086  # flags are meant to be split
eval "\$cc -std=c17 -Wall -Wextra -Werror \$CFLAGS -o \"\$work/classify\" \"\$work/classify.c\" $(pkg-config --cflags --libs vta) -ljpeg"
LD_LIBRARY_PATH=$libdir
export LD_LIBRARY_PATH
# Libraries that the program and our library ask for themselves: a sanitizer's library may need C++.
if readelf -d "$work/classify" "$libdir/libvta.so" | grep 'NEEDED.*\(LLVM\|stdc++\)'; then
    echo 'readme: the program needs LLVM or C++'
    exit 1
fi

failed=0
# The same program on a device that runs kernels: what it gives as options is its only change.
sed 's/vta_model_load(argv\[1\], NULL,/vta_model_load(argv[1], \&(vta_model_options){.size = sizeof(vta_model_options), .device = "opencl:0"},/' \
    "$work/classify.c" >"$work/classify_gpu.c"
[ "$(diff "$work/classify.c" "$work/classify_gpu.c" | grep -c '^>')" = 1 ] || { echo 'readme: the program loads no model as it did'; exit 1; }
targets='llvm vta'
if "$prefix/bin/vtac" doctor --device opencl:0 >/dev/null 2>&1; then
    # shellcheck disable=SC2046,SC2086
    eval "\$cc -std=c17 -Wall -Wextra -Werror \$CFLAGS -o \"\$work/classify_gpu\" \"\$work/classify_gpu.c\" $(pkg-config --cflags --libs vta) -ljpeg"
    targets="$targets opencl"
    VTAC_CACHE=$work/cache
    export VTAC_CACHE
fi

# The demo's classifier as it takes what this program makes of a JPEG file.
"$shapes" names >"$work/names"
"$shapes" draw --pictures 20 --seed 5 -o "$work/drawn" >/dev/null
/usr/bin/python3 -B "$here/../own/photographs.py" "$here/../../compiler/demo/shapes.onnx" "$work/shapes.onnx" "$work/photographs" \
    "$work"/drawn/*.png
"$prefix/bin/vtac" quantize "$work/shapes.onnx" --calib "$work/photographs" --preprocess imagenet -o "$work/shapes8.onnx" >/dev/null 2>&1

# look PICTURE CLASS: the program says so.
look() {
    said=$("$program" "$work/m.so" "$1") || said="nothing, exit status $?"
    case $said in
    "class $2, score "*) echo "ok   $target $(basename "$1"): $said" ;;
    *) echo "FAIL $target $(basename "$1") is not class $2: $said"; failed=1 ;;
    esac
}

program=$work/classify
for target in $targets; do
    [ "$target" != opencl ] || program=$work/classify_gpu
    "$prefix/bin/vtac" compile "$work/shapes8.onnx" --host host --target "$target" -o "$work/m.so" >/dev/null 2>&1
    for name in circle heart cross star; do
        look "$work/photographs/${name}_1.jpg" $(($(grep -nx "$name" "$work/names" | cut -d : -f 1) - 1))
    done
    [ -d "$models" ] || continue
    "$prefix/bin/vtac" compile "$models/mobilenetv2-12-int8.onnx" --host host --target "$target" -o "$work/m.so" >/dev/null 2>&1
    for row in goldfish:1 kimono:614 hummingbird:94 parrot:88; do
        look "$models/images/${row%:*}.jpg" "${row#*:}"
    done
done
if "$work/classify" "$work/none.so" "$work/photographs/heart_1.jpg" 2>"$work/err"; then echo 'readme: a missing model runs'; failed=1; fi
grep -q 'none.so: cannot load it' "$work/err" || { echo "readme: a missing model is not named: $(cat "$work/err")"; failed=1; }
if "$work/classify" "$work/m.so" "$work/none.jpg" 2>"$work/err"; then echo 'readme: a missing picture runs'; failed=1; fi
{ [ "$(wc -l <"$work/err")" = 1 ] && grep -q 'none.jpg: No such file' "$work/err"; } || { echo "readme: a missing picture is not named: $(cat "$work/err")"; failed=1; }
exit $failed
