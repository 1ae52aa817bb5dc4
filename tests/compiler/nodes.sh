#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# nodes.sh VTAC CACHE JOBS [--device opencl:0] [--record] [--every N] [NAME…]: all of ONNX's own test cases, as Debian sid has them, fetched into CACHE (tests/lib/sid.sh); nodes.py
# judges them. Exit 75, with a line that says why: they cannot be had here.
set -eu
export LC_ALL=C.UTF-8
here=$(dirname "$0")
# shellcheck source=tests/lib/sid.sh
. "$here/../lib/sid.sh"
vtac=$1
jobs=$3
sid_open "$2"
if ! sid_has; then
    sid_take libonnx-testdata
    sid_close
fi
shift 3
if [ "${1:-}" = --device ]; then
    device=${2:?}
    shift 2
    set -- --device "$device" "$(dirname "$vtac")/../nodes-$device" "$@"
fi
echo "ONNX's cases of $(cat "$sid_cache/versions")"
exec /usr/bin/python3 -B "$here/nodes.py" "$vtac" "$sid_cache/root/usr/share/libonnx-testdata/data" "$jobs" "$here/nodes.txt" "$@"
