#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# foreign_python.sh ARCH FOLDER: Debian's Python of another machine (armhf, arm64), unpacked in FOLDER; nothing is installed.
set -eu
arch=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
[ ! -x "$folder/usr/bin/python3.11" ] || exit 0
apt=$folder.apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
own() {
    apt-get -q -o APT::Architecture="$arch" -o APT::Architectures::="$arch" -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" \
        -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}
own update || true # an index that is not there may not be needed
(cd "$apt" && own download libc6 libexpat1 libffi8 libgcc-s1 libpython3.11-minimal libpython3.11-stdlib python3.11-minimal zlib1g)
for package in "$apt"/*.deb; do dpkg-deb -x "$package" "$folder"; done
rm -rf "$apt"
