#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# container.sh IMAGE: in the image that `./run container` made, vtac says nothing that is missing, and the tutorials that need no clone are
# typed as they stand. Too slow for each commit. Storage and isolation as runtime/install/container.sh has them.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
works() { trial=$(buildah from scratch 2>/dev/null) && buildah rm "$trial" >/dev/null; }
works || export STORAGE_DRIVER="${STORAGE_DRIVER:-vfs}"
export BUILDAH_ISOLATION="${BUILDAH_ISOLATION:-chroot}"
work=$(mktemp -d)
container=$(buildah from --pull-never "$1")
trap 'buildah rm "$container" >/dev/null; rm -rf "$work"' EXIT INT TERM
cp -r "$source/compiler/site/tutorials" "$source/tests/site/tutorials.py" "$work/"
buildah run -v "$work:/tutorials" "$container" sh -eu -c '
    vtac doctor --ci >said || { cat said; exit 1; }
    python3 -B /tutorials/tutorials.py /usr /tutorials/tutorials pytorch c board ci program'
size=$(buildah images --format '{{.Size}}' "$1")
echo "container: $1, $size, and five tutorials in it"
