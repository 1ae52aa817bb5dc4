#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A board's wheel: the same bytes twice; pip takes it for that machine; Debian's Python of that machine, under qemu-user, imports it
# and runs a model compiled here, on the functional simulator, to the same numbers as this machine, for two inputs.
# Arguments: BUILD FOLDER ARCH (armhf, aarch64); FOLDER has the wheel.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
case $3 in
armhf) machine=armv7l qemu=qemu-arm debian=armhf host=pynq config=pynq ;;
aarch64) machine=aarch64 qemu=qemu-aarch64 debian=arm64 host=ultra96 config=ultra96 ;;
esac
wheel=$(find "$2" -name "vta-*_$machine.whl")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
fail() { echo "wheel: $*"; exit 1; }

"$here/../../runtime/install/wheel.sh" "$build" "$work/again" "$3" >/dev/null
cmp "$wheel" "$work/again/${wheel##*/}" || fail "it is another one each time"
tag=$(basename "$wheel" .whl)
/usr/bin/python3 -m pip install --quiet --disable-pip-version-check --no-index --no-cache-dir --no-deps --only-binary=:all: \
    --platform "${tag##*-}" --python-version 3.11 --target "$work/site" "$wheel" || fail "pip does not take it"
"$here/foreign_python.sh" "$debian" "$build/python-$debian" >"$work/log" 2>&1 || { tail -n 3 "$work/log"; fail "no Python of $debian"; }

"$build/bin/vtac" zoo tiny_ad --int8 -o "$work/ad.onnx" >/dev/null
"$build/bin/vtac" compile "$work/ad.onnx" --target vta --config "$config" -o "$work/here.so" >/dev/null
"$build/bin/vtac" compile "$work/ad.onnx" --target vta --config "$config" --host "$host" -o "$work/there.so" >/dev/null
cat >"$work/run.py" <<'END'
import platform, sys
import vta
model = vta.Model(sys.argv[1], device="fsim:" + sys.argv[2])
for seed in (3, 5):
    print([float(v) for v in model.run_views([[(i * seed % 17) / 17 for i in range(model.inputs[0].shape[1])]])[0].data.cast("B").cast("f")[:9]])
print(platform.machine(), file=sys.stderr)
END
export PYTHONDONTWRITEBYTECODE=1
"$qemu" -L "$build/python-$debian" -E "PYTHONPATH=$work/site" "$build/python-$debian/usr/bin/python3.11" "$work/run.py" "$work/there.so" "$config" >"$work/there" 2>"$work/said" ||
    { cat "$work/said"; fail "Python of $debian does not run it"; }
mkdir "$work/local"
cp -r "$here/../../runtime/bindings/python/vta" "$work/local/vta"
cp "$build/lib/_vta.abi3.so" "$work/local/vta/"
LD_LIBRARY_PATH=$build/lib PYTHONPATH=$work/local /usr/bin/python3 "$work/run.py" "$work/here.so" "$config" >"$work/here" 2>/dev/null
cmp "$work/here" "$work/there" || { cat "$work/here" "$work/there"; fail "other numbers than here"; }
[ "$(sort -u "$work/here" | wc -l)" = 2 ] || fail "one input is as the other"
echo "wheel: $(basename "$wheel"), $(wc -c <"$wheel") bytes: imported by Python on $(cat "$work/said") under $qemu, the same numbers as here"
