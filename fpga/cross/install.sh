#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# install.sh [PREFIX]: on the board, from the unpacked package: programs, libraries and headers into PREFIX (/usr/local
# unless told), and, as root, the udev rules that let the group `vta` use the accelerator.
set -eu
prefix=${1:-/usr/local}
here=$(cd "$(dirname "$0")" && pwd)

mkdir -p "$prefix"
for part in bin lib include share; do
    cp -a "$here/$part" "$prefix/"
done
echo "installed into $prefix"

if [ "$(id -u)" != 0 ]; then
    echo "not root: the udev rules in $prefix/share/vta/udev are left to you"
    exit 0
fi
if [ "$prefix" = /usr/local ]; then
    ldconfig
    getent group vta >/dev/null || groupadd --system vta
    for rules in "$here"/share/vta/udev/*.rules; do
        [ -e "$rules" ] || continue
        cp "$rules" /etc/udev/rules.d/
        echo "udev: $(basename "$rules"); add users with: adduser NAME vta"
    done
    ! command -v udevadm >/dev/null || udevadm control --reload-rules
fi
