#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The library as a guest in another program: what it exports is what its headers declare, no more and no less; no
# external name is without our prefix, in the archive either; each header compiles alone, as the strictest C and C++.
# Arguments: BUILD CC CXX MAP MAP_OF_LIBVTAC
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/install/lib.sh
. "$here/lib.sh"
cxx=$3
map=$4
failed=0
fail() { echo "names: $*"; failed=1; }

headers=$(cd "$prefix/include" && find vta vtac.h -type f | sort) # vta.hpp is a binding, and tested as such
[ "$(echo "$headers" | wc -l)" -le 8 ] || fail "more than eight headers: $headers"
for header in $headers; do
    echo "#include <$header>" >"$work/alone.c"
    $cc -std=c99 -pedantic-errors -Wall -Wextra -Wconversion -Werror -fsyntax-only -I"$prefix/include" "$work/alone.c" ||
        fail "$header is not strict C99"
    $cxx -x c++ -std=c++17 -pedantic-errors -Wall -Wextra -Wconversion -Werror -fsyntax-only -I"$prefix/include" "$work/alone.c" ||
        fail "$header is not strict C++17"
    $cc -E -P -I"$prefix/include" "$work/alone.c"
done | sed '/^static inline /,/^}/d' | grep -v '^typedef .*(' | grep -oE '\b(vta_|VTA)[A-Za-z0-9_]+\(' | tr -d '(' | sort -u >"$work/declared"

library=$(readlink -f "$libdir/libvta.so")
readelf -dW "$library" | grep -q 'SONAME.*\[libvta\.so\.1\]' || fail 'its SONAME is not libvta.so.1'
nm -D --defined-only --with-symbol-versions "$library" | sed -n 's/.* [TWDBRV] \(.*\)/\1/p' | sort -u >"$work/exported"
sed -n 's/@@\{0,1\}VTA_1\.[0-9]*$//p' "$work/exported" | sort -u >"$work/versioned"
sed -n 's/^    \([A-Za-z0-9_]*\);$/\1/p' "$map" | sort -u >"$work/promised"
diff "$work/promised" "$work/declared" || fail 'what the map promises (<) is not what the headers declare (>)'
diff "$work/promised" "$work/versioned" || fail 'what the map promises (<) is not what the library exports (>)'
sed 's/@.*//' "$work/exported" | grep -v '^VTA_1\.[0-9]*$' | sort -u | diff "$work/versioned" - || fail 'an export has no version'

# The same of libvtac.
library=$(readlink -f "$libdir/libvtac.so")
readelf -dW "$library" | grep -q 'SONAME.*\[libvtac\.so\.1\]' || fail 'its SONAME is not libvtac.so.1'
sed -n 's/^    \([A-Za-z0-9_]*\);$/\1/p' "$5" | sort -u >"$work/promised"
nm -D --defined-only --with-symbol-versions "$library" | sed -n 's/.* [TWDBRV] \(.*\)@@VTAC_1\.[0-9]*$/\1/p' | sort -u >"$work/versioned"
nm -D --defined-only "$library" | sed -n 's/.* [TWDBRV] \(.*\)/\1/p' | grep -v '^VTAC_1\.[0-9]*$' | sed 's/@.*//' | sort -u >"$work/exported"
diff "$work/promised" "$work/versioned" || fail 'what the map of libvtac promises (<) is not what it exports (>)'
diff "$work/promised" "$work/exported" || fail 'an export of libvtac has no version'
$cc -E -P -I"$prefix/include" "$prefix/include/vtac.h" | grep -oE '\blibvtac_[a-z]+\(' | tr -d '(' | sort -u | diff "$work/promised" - ||
    fail 'what the map of libvtac promises (<) is not what vtac.h declares (>)'

nm --defined-only -g "$libdir/libvta.a" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$work/archive"
[ "$(wc -l <"$work/archive")" -gt 100 ] || fail 'nm finds few names in libvta.a'
foreign=$(grep -vE '^(__odr_asan\.)?(vta_|VTA)' "$work/archive") && fail "names without our prefix in libvta.a: $foreign"
echo "names: $(wc -l <"$work/declared") functions, $(echo "$headers" | wc -l) headers"
exit $failed
