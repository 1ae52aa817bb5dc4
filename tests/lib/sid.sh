# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Packages of Debian sid (or of another suite: sid_source='bookworm non-free'), beside what is installed: apt-get downloads with a state, a cache and a source of its own, dpkg -x unpacks. The
# mirror is that of the machine's own sources. To be sourced, under set -eu:
#
#   sid_open CACHE    nothing, where CACHE is whole; else what is needed to fetch
#   sid_has           whether CACHE is whole
#   sid_apt PROGRAM … apt-get and apt-cache, as they see sid
#   sid_take NAME…    unpacks them into CACHE/root; sid_close then writes CACHE/versions, with which it is whole
#   sid_cannot WHY    exit 75, with that line: it cannot be had here

sid_cannot() { echo "$(basename "$0"): not from Debian ${sid_source:-sid}: $*" >&2; exit 75; }

sid_has() { [ -s "$sid_cache/versions" ]; }

sid_apt() {
    sid_program=$1
    shift
    "$sid_program" -q -o Dir::State="$sid_work/state" -o Dir::Cache="$sid_work/cache" -o Dir::Etc::SourceList="$sid_work/sources.list" \
        -o Dir::Etc::SourceParts=/nonexistent -o APT::Sandbox::User=root "$@"
}

sid_open() {
    mkdir -p "$1"
    sid_cache=$(cd "$1" && pwd)
    sid_work=$sid_cache/apt
    ! sid_has || return 0
    for sid_tool in apt-get apt-cache dpkg dpkg-deb; do
        command -v $sid_tool >/dev/null || sid_cannot "there is no $sid_tool; it comes from Debian's packages"
    done
    # shellcheck disable=SC2016  # apt's variables
    sid_mirror=$(apt-get indextargets --format '$(SITE) $(COMPONENT) $(IDENTIFIER)' |
        awk '$1 ~ /\/debian\/?$/ && $2 == "main" && $3 == "Packages" { print $1; exit }')
    [ -n "$sid_mirror" ] || sid_cannot "the sources of apt name no mirror of Debian"
    sid_key=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -s $sid_key ] || sid_cannot "there is no $sid_key (package debian-archive-keyring)"
    mkdir -p "$sid_work/state/lists/partial" "$sid_work/cache/archives/partial" "$sid_work/packages" "$sid_cache/root"
    echo "deb [signed-by=$sid_key] $sid_mirror ${sid_source:-sid main}" >"$sid_work/sources.list"
    sid_apt apt-get update -o APT::Update::Error-Mode=any >"$sid_work/log" 2>&1 || sid_cannot "its list of packages cannot be fetched: $(tail -n 1 "$sid_work/log")"
}

sid_take() {
    (cd "$sid_work/packages" && sid_apt apt-get download "$@") >>"$sid_work/log" 2>&1 ||
        sid_cannot "$(grep '^E:' "$sid_work/log" | tail -n 1)"
    for sid_deb in "$sid_work"/packages/*.deb; do
        dpkg -x "$sid_deb" "$sid_cache/root"
        dpkg-deb -f "$sid_deb" Package Version | sed 's/^[A-Za-z]*: //' | paste -d ' ' - -
    done >"$sid_work/versions"
}

sid_close() {
    rm -rf "$sid_work/packages" "$sid_work/cache" "$sid_work/state"
    mv "$sid_work/versions" "$sid_cache/versions"
}
