#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh CACHE: puts Debian sid's nextpnr for ECP5, its chip databases, ecppack and the libraries that they run with into CACHE
# (tests/lib/sid.sh). Fetched files stay. Exit 75, with a line that says why: it cannot be had here.
set -eu
export LC_ALL=C.UTF-8
# shellcheck source=tests/lib/sid.sh
. "$(dirname "$0")/../../tests/lib/sid.sh"
packages='nextpnr-ecp5 fpga-trellis'
sid_open "$1"
! sid_has || exit 0
[ "$(dpkg --print-architecture)" = amd64 ] || sid_cannot "the router's packages are fetched for amd64 alone"
# Libraries of the programs among all their dependencies.
# shellcheck disable=SC2086  # names of packages
names=$(sid_apt apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances $packages |
    grep -E '^(nextpnr|fpga|zlib1g$|lib[a-z])' | grep -vE '^lib(debian-installer|newt|perl|textwrap|db|gdbm|selinux|slang|pcre|c-gconv)' | sort -u)
[ -n "$names" ] || sid_cannot "it has no packages $packages"
# shellcheck disable=SC2086
sid_take $names
# The router knows its databases by a path from the root; of its copy here it is one from the folder that it runs in.
LC_ALL=C sed -i 's|/usr/share/nextpnr|usr//share/nextpnr|g' "$sid_cache/root/usr/bin/nextpnr-ecp5"
sid_close
grep -E '^(nextpnr-ecp5|fpga-trellis) ' "$sid_cache/versions"
