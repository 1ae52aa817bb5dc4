#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The wheel `vtac`: the same bytes twice; installed by pip without a network into an empty environment, where it compiles with its
# own LLVM and its own linker, in the process and by the program, and runs what it made; pip finds every file as it was recorded.
# Checks the wheel as `./run wheel` does; too slow for each commit. Arguments: BUILD FOLDER, which has the wheel.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(find "$2" -name 'vtac-*.whl')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
fail() { echo "wheel: $*"; exit 1; }

"$here/../../runtime/install/wheel.sh" "$1" "$work/again" >/dev/null
cmp "$wheel" "$work/again/${wheel##*/}" || fail "it is another one each time"
/usr/bin/python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --no-cache-dir "$wheel" || fail "pip does not take it"
"$work/venv/bin/pip" check --disable-pip-version-check

# Runs a command with no folder of a toolchain in its path, and no variable of ours.
clean() { env -i HOME="$work" PATH=/usr/sbin:/sbin:/bin "$@"; }
cd "$work"
clean "$work/venv/bin/vtac" zoo tiny_ad --int8 -o ad.onnx >/dev/null
for target in llvm vta; do
    clean "$work/venv/bin/vtac" compile ad.onnx --target $target -o by_program.so >/dev/null
    clean "$work/venv/bin/vtac" run by_program.so --seed 3 --output-dir $target >/dev/null
done
cmp llvm/*.npy vta/*.npy || fail "the accelerator gives other integers than the host"
clean "$work/venv/bin/python" - <<'END'
import vta
summary = vta.compile("ad.onnx", "by_module.so", target="vta")
model = vta.Model("by_module.so")
one, two = ([[(i * seed % 17) / 17 for i in range(model.inputs[0].shape[1])]] for seed in (3, 5))
assert model.run(one)[0].tolist() != model.run(two)[0].tolist()
folder = vta.__file__.rsplit("/", 1)[0]
mapped = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
for name in ("libLLVM", "libvtac.so", "libvta.so", "libcjson", "libstdc++"):
    assert [path for path in mapped if name in path and path.startswith(folder)], name
    assert not [path for path in mapped if "/" + name in path and not path.startswith(folder)], name
END
cmp by_program.so by_module.so || fail "program and module compile to other bytes"
echo "wheel: installed by pip, compiles and runs: $(wc -c <"$wheel") bytes, $(du -sb "$work/venv/lib" | cut -f 1) installed"
