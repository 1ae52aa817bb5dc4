#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The packages in a Debian 12 that has nothing else: installed by its own apt with what they depend on, then the compiler used and
# the programs of the READMEs built and run there, word for word. As root, or where user namespaces are allowed; it fetches
# packages of Debian. Arguments: PACKAGES VTAC SHAPES
set -eu
packages=$(cd "$1" && pwd)
vtac=$2 shapes=$3
source=$(cd "$(dirname "$0")/../.." && pwd)
command -v mmdebstrap >/dev/null || { echo "no mmdebstrap: 'apt-get install mmdebstrap'"; exit 77; }
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT INT TERM
"$source/tests/bindings/pictures.sh" "$vtac" "$shapes" "$source" "$work/try/pictures"
mkdir "$work/try/packages"
cp "$packages"/*.deb "$work/try/packages/"
cp "$source/tests/bindings/readme.sh" "$source/runtime/bindings/README.md" "$work/try/"
cp "$source/README.md" "$work/try/FRONT.md"
cat >"$work/try/inside.sh" <<'X'
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root
apt-get install -y -q --no-install-recommends /try/packages/*.deb openjdk-17-jdk-headless
dpkg --audit
mkdir /used
cd /used
vtac zoo tiny_ad --int8 -o ad.onnx
vtac compile ad.onnx --target vta -o ad.so
vta-run ad.so >run.txt
vtac run ad.so --device 'pipe:vtac-agent --stdio?device=fsim' >agent.txt
vtac config schema >schema.json
awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' /try/FRONT.md >classify.c
gcc -std=c17 -Wall -Wextra -Werror classify.c $(pkg-config --cflags --libs vta) -ljpeg -o classify
printf '#include <stdio.h>\n#include <vtac.h>\nint main(void) { libvtac_options o = {sizeof o, "own.so"}; char *said; int s = libvtac_compile("ad.onnx", &o, &said); puts(said); libvtac_free(said); return s; }\n' >compile.c
gcc -std=c99 compile.c $(pkg-config --cflags --libs vtac) -o compile
./compile
vta-run own.so >/dev/null
python3 -c 'import vta; print(vta.compile("ad.onnx", "py.so"))'
if ./classify none.so classify.c 2>said; then exit 1; fi
grep none.so said
sh /try/readme.sh /try/README.md /usr /try/pictures cpp python go java js
apt-get remove -y -q libvta1
test ! -e /usr/lib/libvta.so.1
X
mmdebstrap --variant=apt --include=gcc,g++,libc6-dev,pkgconf,libjpeg62-turbo-dev,nodejs,python3 \
    --customize-hook="copy-in $work/try /" \
    --customize-hook='chroot "$1" sh /try/inside.sh' \
    bookworm /dev/null >"$work/log" 2>&1 || { tail -n 40 "$work/log"; echo 'chroot: the packages do not do'; exit 1; }
grep '^readme: ' "$work/log"
echo "chroot: installed, used, removed"
