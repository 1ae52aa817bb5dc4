#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# slots.sh SOURCE CC: the numbers and layouts of ort_abi.h and of the lists of calls against ONNX Runtime's own header, 1.23 or
# later: in VTAC_ORT_HEADERS, or where Debian's libonnxruntime-dev puts it. Skipped where there is none.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
source=$1
cc=$2
folder=${VTAC_ORT_HEADERS:-/usr/include/onnxruntime}
if [ ! -f "$folder/onnxruntime_ep_c_api.h" ]; then
    echo "slots: onnxruntime_ep_c_api.h is not in '$folder'; VTAC_ORT_HEADERS names another one"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
plugins=$source/compiler/plugins/onnxruntime
{
    echo 'int main(void) {'
    cat "$plugins/ort_calls.def" "$source/tests/plugins/ort_host_calls.def" | tr '\n' ' ' | grep -oE 'ORT_CALL\([^,]*, [A-Za-z0-9_]+, [0-9]+' |
        sed 's/ORT_CALL([^,]*, \([A-Za-z0-9_]*\), \([0-9]*\)/CALL(\1, \2)/; s/$/;/'
    sed -n '/^struct Ort\|^typedef struct Ort.* {$/,/^}/p' "$plugins/ort_abi.h" | awk '
        /^(typedef )?struct Ort/ { name = ($1 == "typedef") ? $3 : $2; next }
        /^}/ { printf "    SIZE(%s);\n", name; next }
        match($0, /\(\*[A-Za-z_]+\)\(/) { printf "    MEMBER(%s, %s);\n", name, substr($0, RSTART + 2, RLENGTH - 4); next }
        match($0, /^    (uint32_t|bool) [a-z_]+;/) { split($0, word, /[ ;]+/); printf "    MEMBER(%s, %s);\n", name, word[3] }'
    echo 'return 0; }'
} >"$work/list.c"
grep -c 'CALL\|MEMBER' "$work/list.c" | sed 's/$/ numbers and layouts/'
program() { # NAME HEADER CALL SIZE FLAGS…: compiles the list with a header, and runs it
    name=$1
    {
        printf '#include <stddef.h>\n#include <stdio.h>\n#include "%s"\n' "$2"
        printf '#define CALL(name, slot) printf("%%s %%zu\\n", #name, (size_t)(%s))\n' "$3"
        printf '#define MEMBER(type, name) printf("%%s.%%s %%zu\\n", #type, #name, offsetof(struct type, name))\n'
        printf '#define SIZE(type) %s\n' "$4"
        cat "$work/list.c"
    } >"$work/$name.c"
    shift 4
    $cc -std=c17 "$@" -o "$work/$name" "$work/$name.c"
    "$work/$name" >"$work/$name.list"
}
program ours ort_abi.h slot '(void)0' -I"$plugins"
program theirs onnxruntime_c_api.h 'offsetof(OrtApi, name) / sizeof(void *)' '(void)0' -I"$folder"
diff "$work/ours.list" "$work/theirs.list" && echo 'slots: all as in the header'
