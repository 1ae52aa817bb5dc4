#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# container.sh IMAGE [OPTION…]: the image of the Containerfile, by buildah; OPTION… are those of `buildah bud`. Where no registry can be asked
# for Debian's image, mmdebstrap makes the same of Debian's packages. Storage and isolation are buildah's own, or what works without leave to
# mount where those do not: STORAGE_DRIVER and BUILDAH_ISOLATION choose others.
set -eu
image=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
base=$(sed -n 's/^FROM \([^ ]*\)$/\1/p' "$root/runtime/install/Containerfile")

works() { trial=$(buildah from scratch 2>/dev/null) && buildah rm "$trial" >/dev/null; }
works || export STORAGE_DRIVER="${STORAGE_DRIVER:-vfs}"
works || { echo "container: buildah cannot make a container here: $(buildah from scratch 2>&1 | tail -n 1)" >&2; exit 1; }
export BUILDAH_ISOLATION="${BUILDAH_ISOLATION:-chroot}"

if ! buildah inspect --type image "$base" >/dev/null 2>&1 && ! buildah pull -q "$base" >/dev/null 2>&1; then
    echo "no registry gives $base: made of Debian's packages by mmdebstrap"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT INT TERM
    mmdebstrap --quiet --variant=minbase bookworm "$work/base.tar"
    made=$(buildah from scratch)
    buildah add -q "$made" "$work/base.tar" / >/dev/null
    buildah config --cmd /bin/bash "$made"
    buildah commit -q "$made" "$base" >/dev/null
    buildah rm "$made" >/dev/null
fi
buildah bud --pull-never "$@" -f "$root/runtime/install/Containerfile" --ignorefile "$root/.containerignore" -t "$image" "$root"
