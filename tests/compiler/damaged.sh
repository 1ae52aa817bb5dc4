#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Damaged models and damaged compiled models through the program: cut off, or with a byte changed, at many places. Each is
# refused with exit status 1 and one line, or is still a model; nothing is ended by a signal, no output is left behind.
#
# usage: damaged.sh VTAC
set -u
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
vtac=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work" || exit 1
if ! "$vtac" zoo tiny_kws -o good.onnx >/dev/null || ! "$vtac" compile good.onnx -o good.so >/dev/null 2>&1; then
    echo "no model to damage"
    exit 1
fi
refused=0
wrong=0

# try WHAT WORD...: runs vtac, whose input is damaged as WHAT says
try() {
    what=$1
    shift
    "$vtac" "$@" >out 2>err
    status=$?
    if [ $status -eq 1 ]; then
        refused=$((refused + 1))
        [ "$(grep -c '' err)" -eq 1 ] || { echo "$what: the message is not one line:"; cat err; wrong=1; }
        [ ! -e bad.made.so ] || { echo "$what: a file is left behind"; wrong=1; }
    elif [ $status -ne 0 ]; then
        echo "$what: exit status $status"
        wrong=1
    fi
    rm -f bad.made.so
}

# change FILE PLACE: a copy with another byte there
change() {
    cp "$1" bad
    byte=$(od -An -tu1 -j "$2" -N1 bad | tr -d ' ')
    # shellcheck disable=SC2059  # the format is the byte
    printf "$(printf '\\%03o' $(((byte + 1) % 256)))" | dd of=bad bs=1 seek="$2" conv=notrunc 2>/dev/null
}

for model in good.onnx good.so; do
    size=$(wc -c <$model)
    i=0
    while [ $i -lt 24 ]; do
        place=$((size * i / 24 + i))
        head -c $place $model >bad
        cut_off=$refused
        if [ $model = good.so ]; then
            try "$model cut off at $place" run bad --fill ones
        else
            try "$model cut off at $place" compile bad -o bad.made.so
        fi
        [ $refused -gt $cut_off ] || { echo "$model cut off at $place is taken"; wrong=1; }
        change $model $place
        before=$refused
        if [ $model = good.so ]; then
            try "$model changed at $place" run bad --fill ones
            [ $refused -gt $before ] || { echo "$model changed at $place is run"; wrong=1; }
        else
            try "$model changed at $place" inspect bad
        fi
        i=$((i + 1))
    done
done
echo "$refused refused"
exit $wrong
