#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu_nests.sh VTAC GPU_NESTS FORM NETWORK[:int8]...: networks of the zoo for gpu_nests.c.
set -eu
vtac=$1 program=$2 form=$3
shift 3
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
files=
for name in "$@"; do
    base=${name%:int8}
    # shellcheck disable=SC2046  # an option, or none
    "$vtac" zoo "$base" -o "$name.onnx" $([ "$base" = "$name" ] || echo --int8) >/dev/null
    files="$files $name.onnx"
done
# shellcheck disable=SC2086  # names of files
"$program" "$form" $files
