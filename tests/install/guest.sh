#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A hostile host: a program with names, signals, threads and forks of its own uses the installed library, on the functional
# simulator and through an agent. Nothing is printed by the library. Arguments: BUILD CC
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/install/lib.sh
. "$here/lib.sh"

cd "$work"
"$prefix/bin/vtac" zoo tiny_ic --int8 -o ic.onnx >/dev/null
"$prefix/bin/vtac" compile ic.onnx --target vta -o ic.so >/dev/null
"$prefix/bin/vtac" zoo tiny_ad --int8 -o ad.onnx >/dev/null
"$prefix/bin/vtac" compile ad.onnx --target vta -o ad.so >/dev/null
# shellcheck disable=SC2046,SC2086  # flags are meant to be split
eval "\$cc -std=c17 -Wall -Wextra -Werror \$CFLAGS -rdynamic -o guest \"\$here/guest.c\" $(pkg-config --cflags --libs vta) -lpthread"
export LD_LIBRARY_PATH="$libdir"
for run in 'fsim 2000' "pipe:'$prefix/bin/vtac-agent' --stdio?device=fsim 50"; do
    ./guest "${run% *}" ic.so ad.so "${run##* }" >out 2>err || { cat err; exit 1; }
    [ ! -s err ] || { echo "guest: something was printed:"; cat err; exit 1; }
    [ "$(grep -vc '^guest: ' out)" = 0 ] || { echo "guest: the library printed:"; cat out; exit 1; }
    cat out
done
