#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Memory runs out at every allocation in turn (starve.c), here and, in larger steps, of a client of an agent. An allocator
# of the program's own and a sanitizer's exclude each other: there this is not built. Arguments: BUILD CC
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/install/lib.sh
. "$here/lib.sh"

cd "$work"
"$prefix/bin/vtac" zoo tiny_ic --int8 -o ic.onnx >/dev/null
"$prefix/bin/vtac" compile ic.onnx --target vta -o ic.so >/dev/null
# shellcheck disable=SC2046  # flags are meant to be split
eval "\$cc -std=c17 -Wall -Wextra -Werror -O1 -g -o starve \"\$here/starve.c\" $(pkg-config --cflags --libs vta)"
export LD_LIBRARY_PATH="$libdir"
./starve fsim ic.so 1
./starve "pipe:'$prefix/bin/vtac-agent' --stdio?device=fsim" ic.so 3
