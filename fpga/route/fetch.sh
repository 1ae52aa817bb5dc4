#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh CACHE: puts Debian sid's nextpnr for Xilinx, its chip databases and the libraries that it runs with into CACHE, beside what is
# installed: apt-get downloads with a state, a cache and a source of its own, dpkg -x unpacks. The mirror is that of the machine's own
# sources. What is there stays. Exit 75, with a line that says why: it cannot be had here.
set -eu
export LC_ALL=C.UTF-8
package=nextpnr-himbaechel-xilinx
mkdir -p "$1"
cache=$(cd "$1" && pwd)
[ ! -s "$cache/versions" ] || exit 0
cannot() { echo "fetch.sh: no router: $*" >&2; exit 75; }

for tool in apt-get apt-cache dpkg dpkg-deb; do
    command -v $tool >/dev/null || cannot "there is no $tool; it comes from Debian's packages"
done
[ "$(dpkg --print-architecture)" = amd64 ] || cannot "its packages are fetched for amd64 alone"
# shellcheck disable=SC2016  # apt's variables
mirror=$(apt-get indextargets --format '$(SITE) $(COMPONENT) $(IDENTIFIER)' | awk '$1 ~ /\/debian\/?$/ && $2 == "main" && $3 == "Packages" { print $1; exit }')
[ -n "$mirror" ] || cannot "the sources of apt name no mirror of Debian"
key=/usr/share/keyrings/debian-archive-keyring.gpg
[ -s $key ] || cannot "there is no $key (package debian-archive-keyring)"
work=$cache/apt
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/packages" "$cache/root"
echo "deb [signed-by=$key] $mirror sid main" >"$work/sources.list"
apt() {
    program=$1
    shift
    "$program" -q -o Dir::State="$work/state" -o Dir::Cache="$work/cache" -o Dir::Etc::SourceList="$work/sources.list" \
        -o Dir::Etc::SourceParts=/nonexistent -o APT::Sandbox::User=root "$@"
}
apt apt-get update >"$work/log" 2>&1 || cannot "sid's list of packages cannot be fetched: $(tail -n 1 "$work/log")"
# What it runs with: the libraries among all that it depends on.
names=$(apt apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances $package |
    grep -E '^(nextpnr|lib[a-z])' | grep -vE '^lib(debian-installer|newt|perl|textwrap|db|gdbm|selinux|slang|pcre)' | sort -u)
[ -n "$names" ] || cannot "sid has no package $package"
# shellcheck disable=SC2086  # names of packages
(cd "$work/packages" && apt apt-get download $names) >>"$work/log" 2>&1 || cannot "$(grep '^E:' "$work/log" | tail -n 1)"
for deb in "$work"/packages/*.deb; do
    dpkg -x "$deb" "$cache/root"
    dpkg-deb -f "$deb" Package Version | sed 's/^[A-Za-z]*: //' | paste -d ' ' - -
done >"$work/versions"
# The router looks for its databases from where its program lies, which is its loader here.
cp "$cache/root/usr/lib64/ld-linux-x86-64.so.2" "$cache/root/usr/bin/ld.so"
rm -rf "$work/packages" "$work/cache" "$work/state"
mv "$work/versions" "$cache/versions"
grep "^$package" "$cache/versions"
