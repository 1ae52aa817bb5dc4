#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# verb.sh SOURCE PRESET: `./run install`, twice, into a folder with a space in its name: what it tells the shell to export is enough for the
# program, its manual pages, C with pkg-config and Python; a folder that cannot be written is refused.
set -eu
source=$1
PRESET=$2
export PRESET
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"

fail() { echo "verb.sh: $*"; exit 1; }

for prefix in "$work/a folder" "$work/a folder" "$work/other"; do
    ./run install "$prefix" >"$work/said"
    grep '^export ' "$work/said" >"$work/exports"
    cat >"$work/hello.c" <<'END'
#include <stdio.h>
#include <vta/driver.h>
int main(void)
{
    return puts(vta_version()) < 0;
}
END
    (
        cd "$work"
        PATH=/usr/bin:/bin
        # shellcheck disable=SC1091  # what it printed
        . ./exports
        [ "$(command -v vtac)" = "$prefix/bin/vtac" ] || fail "vtac is $(command -v vtac)"
        version=$(vtac --version | sed -n '1s/^vtac \([0-9.]*\).*/\1/p')
        eval "cc hello.c $(pkg-config --cflags --libs vta) -o hello"
        [ "$(./hello)" = "$version" ] || fail "the program says '$(./hello)', vtac '$version'"
        [ "$(/usr/bin/python3 -c 'import vta; print(vta.__version__)')" = "$version" ] || fail 'Python has another version'
        gzip -dc "$prefix/share/man/man1/vtac-compile.1.gz" | grep -q 'target TARGET' || fail 'the manual of compile lacks its options'
        vtac zoo tiny_kws --int8 -o kws.onnx >/dev/null
        vtac compile kws.onnx --target vta -o kws.so >/dev/null
        vtac run kws.so --device fsim --top 1 | grep -q 'one run' || fail 'the model did not run'
    )
done

: >"$work/file"
./run install "$work/file" >"$work/said" 2>&1 && fail 'a file was taken for a folder'
[ "$(grep -c "cannot write into '$work/file'" "$work/said")" = 1 ] || fail "a file: $(cat "$work/said")"
