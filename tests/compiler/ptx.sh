#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# ptx.sh VTAC CACHE [--record] [NETWORK[:int8]...]: the zoo's networks as PTX, assembled by NVIDIA's ptxas of Debian's non-free CUDA toolkit,
# which is fetched into CACHE (tests/lib/sid.sh); ptx_zoo.py judges. Exit 75, with a line that says why: it cannot be had here.
set -eu
export LC_ALL=C.UTF-8
here=$(dirname "$0")
sid_source='bookworm non-free'
# shellcheck source=tests/lib/sid.sh
. "$here/../lib/sid.sh"
vtac=$1
sid_open "$2"
if ! sid_has; then
    sid_take nvidia-cuda-toolkit
    sid_close
fi
shift 2
echo "ptxas of $(cat "$sid_cache/versions")"
exec /usr/bin/python3 -B "$here/ptx_zoo.py" "$vtac" "$sid_cache/root/usr/bin" "$@"
