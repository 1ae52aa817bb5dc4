#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh CACHE: puts Debian sid's nextpnr for Xilinx, its chip databases and the libraries that it runs with into CACHE (tests/lib/sid.sh).
# Fetched files stay. Exit 75, with a line that says why: it cannot be had here.
set -eu
export LC_ALL=C.UTF-8
# shellcheck source=tests/lib/sid.sh
. "$(dirname "$0")/../../tests/lib/sid.sh"
package=nextpnr-himbaechel-xilinx
sid_open "$1"
! sid_has || exit 0
[ "$(dpkg --print-architecture)" = amd64 ] || sid_cannot "the router's packages are fetched for amd64 alone"
# Libraries of the router among all its dependencies.
names=$(sid_apt apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances $package |
    grep -E '^(nextpnr|lib[a-z])' | grep -vE '^lib(debian-installer|newt|perl|textwrap|db|gdbm|selinux|slang|pcre)' | sort -u)
[ -n "$names" ] || sid_cannot "it has no package $package"
# shellcheck disable=SC2086  # names of packages
sid_take $names
# The router looks for its databases from where its program lies, which is its loader here.
cp "$sid_cache/root/usr/lib64/ld-linux-x86-64.so.2" "$sid_cache/root/usr/bin/ld.so"
sid_close
grep "^$package" "$sid_cache/versions"
