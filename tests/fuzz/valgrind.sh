#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Readers of foreign bytes under valgrind, which sees numbers that nobody has written, as the sanitizers do not: on their first
# inputs, on what was found, and on some mutations. valgrind.sh BUILD [MUTATIONS [TARGET…]]
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
build=$1
mutations=${2:-100}
shift
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- config assembler container graph importer tflite darknet keras hdf5 artifact agent client readers work
here=$(cd "$(dirname "$0")" && pwd)
status=0
for target; do
    folder=$build/tests/fuzz/seeds/$target
    [ -d "$folder" ] || folder=$here/corpus/$target
    [ -d "$folder" ] || folder=$here/corpus/assembler
    found=$here/found/$target
    [ -d "$found" ] || found=
    if said=$(valgrind -q --error-exitcode=9 --exit-on-first-error=yes --suppressions="$here/valgrind.supp" "$build/bin/test_fuzz_$target" --mutations "$mutations" "$folder" ${found:+"$found"} 2>&1); then
        echo "$target: $(echo "$said" | tail -n 1)"
    else
        status=1
        echo "$target: valgrind finds something, or it fails"
        echo "$said" | tail -n 30
    fi
done
exit $status
