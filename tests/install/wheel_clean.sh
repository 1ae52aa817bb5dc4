#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016  # hooks are for mmdebstrap's shell
#
# The wheel `vtac` in a Debian 12 that has nothing but python3-venv: pip installs it without a network, it compiles a network for the
# host and for the accelerator, by the program and by `import vta`, and all of them give the integers of this build, for two seeds. It
# fetches packages of Debian; as root, or where user namespaces are allowed. Arguments: BUILD FOLDER, which has the wheel.
set -eu
build=$(cd "$1" && pwd)
wheel=$(find "$(cd "$2" && pwd)" -name 'vtac-*.whl')
command -v mmdebstrap >/dev/null || { echo "no mmdebstrap: 'apt-get install mmdebstrap'"; exit 77; }
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT INT TERM
fail() { echo "wheel: $*"; exit 1; }

mkdir "$work/try"
cp "$wheel" "$work/try/"
cd "$work/try"
"$build/bin/vtac" zoo tiny_ic --int8 -o ic.onnx >/dev/null
"$build/bin/vtac" compile ic.onnx -o here.so >/dev/null
for seed in 3 5; do "$build/bin/vtac" run here.so --seed $seed --output-dir here$seed >/dev/null; done
cmp -s here3/*.npy here5/*.npy && fail "one input is as the other"
rm here.so
cat >inside.sh <<'X'
set -eu
cd /root
python3 -m venv tried
tried/bin/pip install --quiet --disable-pip-version-check --no-index --no-cache-dir /try/*.whl
PATH=$PWD/tried/bin:$PATH
if command -v cc || command -v ld || command -v ld.lld; then exit 1; fi
for target in llvm vta; do
    vtac compile /try/ic.onnx --target $target -o ic_$target.so # not vta.so, which Python would take for the module
    python -c "import vta; vta.compile('/try/ic.onnx', 'module.so', target='$target'); print(vta.Model('module.so').outputs[0].shape)"
    cmp ic_$target.so module.so
    for seed in 3 5; do
        vtac run ic_$target.so --seed $seed --output-dir $target$seed
        for file in $target$seed/*.npy; do cmp "$file" "/try/here$seed/${file##*/}"; done
    done
done
du -sb tried/lib/python*/site-packages/vta* | awk '{ sum += $1 } END { print "installed " sum }'
X
clean='env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8'
mmdebstrap --variant=minbase --include=python3-venv --customize-hook="copy-in $work/try /" \
    --customize-hook="chroot \"\$1\" $clean sh /try/inside.sh >'$work/said' 2>&1" bookworm /dev/null >"$work/log" 2>&1 ||
    { for file in log said; do [ ! -e "$work/$file" ] || tail -n 20 "$work/$file"; done; fail "a clean Debian does not take it"; }
echo "wheel: a clean Debian 12 with python3-venv: installed by pip, compiles for the host and the accelerator, the integers of this build;" \
    "$(wc -c <"$wheel") bytes, $(sed -n 's/^installed //p' "$work/said") installed"
