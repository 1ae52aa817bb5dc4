#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# estimated_test.sh BUILD: what `./run estimated` says of one layer with a choice and of one without. Its outputs under qemu are
# compared by the script itself.
build=$1
here=$(cd "$(dirname "$0")" && pwd)
set -- "$build/bin/vtac" "$here/../.."
. "$here/../cli/lib.sh"
estimated() { python3 -B "$here/estimated.py" "$build/bin" "$build/cross" --trials 2 "$@" >out 2>err; }

estimated --records found.jsonl conv_c5_k3_o17 conv_dw33_s2_k5
status=$?
[ $status -ne 77 ] || { cat out && exit 77; }
holds "it ends well" test $status = 0
holds "a layer with a choice" grep -Eq '^conv_c5_k3_o17 +1 +[01] +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+' out
holds "a layer without" grep -Eq '^conv_dw33_s2_k5 +0 +0$' out
holds "misses cost something" awk '/^conv_c5/ { good = $7 > $4 } END { exit !good }' out
holds "records are of what is better alone" sh -c 'test "$(awk "/^conv_c5/ { print \$3 }" out)" = "$(cat found.jsonl 2>/dev/null | wc -l)"'
estimated nobody
holds "a name that nothing has" test $? = 1
holds "is named" grep -q "no network and no layer 'nobody'" err
finish
