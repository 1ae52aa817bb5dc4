#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cpuid_test.sh BIN: a patched copy of cpuid_ask sees the processor that VTAC_CPUID names, without harm to the rest of it.
set -eu
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
as_it_is=$("$bin/cpuid_ask")
cp "$bin/cpuid_ask" "$work/ask"
count=$("$bin/cpuid_patch" "$work/ask")
[ "$count" = 1 ] || { echo "patched $count instructions, not 1"; exit 1; }

sees() { # LEVEL SED: what the level takes away from the line of the whole processor
    wanted=$(printf '%s\n' "$as_it_is" | sed "$2")
    got=$(ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 VTAC_CPUID=$1 VTAC_CPUID_TOLD="$work/told" LD_PRELOAD="$bin/cpuid_mask.so" "$work/ask")
    [ "$got" = "$wanted" ] || { echo "$1: '$got', not '$wanted'"; exit 1; }
    [ "$(cat "$work/told")" = 1 ] || { echo "$1: asked $(cat "$work/told") times"; exit 1; }
}

sees none ''
sees x86-64-v4 's/dots 1/dots 0/'
sees x86-64-v3 's/dots 1/dots 0/;s/vectors 1/vectors 0/'
! "$work/ask" 2>/dev/null || { echo "the copy runs on its own"; exit 1; }
