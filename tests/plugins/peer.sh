#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# peer.sh onnxruntime|tflite BUILD: the plug-in in the real program, whose library is below the folder VTAC_PEER: npm's
# onnxruntime-node, tfjs-tflite-node (npm install --ignore-scripts onnxruntime-node there). Skipped without it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
case $1 in
onnxruntime) pattern="*/linux/x64/libonnxruntime.so*" ;;
tflite) pattern="*/linux_amd64/libtensorflowlite_c.so" ;;
esac
library=
[ -z "${VTAC_PEER:-}" ] || library=$(find "$(cd "$VTAC_PEER" && pwd)" -path "$pattern" | head -n 1)
if [ -z "$library" ]; then
    echo "peer: no $1; set VTAC_PEER to a folder with its package of npm"
    exit 77
fi
exec "$here/$1.sh" "$2" "$library"
