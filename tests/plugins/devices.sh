#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# devices.sh BUILD: both plug-ins in their stand-ins on the RTL and on a virtual board, whose configuration is read off its
# registers, with the bytes of the artifact of the whole network.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
board=
trap '[ -z "$board" ] || kill "$board" 2>/dev/null || true; rm -rf "$work"' EXIT INT TERM
"$build/bin/vtac" zoo tiny_kws --int8 -o "$work/whole.onnx" >/dev/null
/usr/bin/python3 "$here/onnx_cut.py" "$work/whole.onnx" "$work/kws.onnx"
/usr/bin/python3 "$here/tfl_nets.py" "$work" 2
"$build/bin/vtac" compile "$work/kws.onnx" --host host -o "$work/kws.so" >/dev/null
"$build/bin/vtac" compile "$work/net1.tflite" --host host -o "$work/net1.so" >/dev/null
"$build/bin/vtac" board --dir "$work/board" --config tiny >"$work/said" 2>&1 &
board=$!
tries=0
until grep -q 'is ready: --device' "$work/said"; do
    tries=$((tries + 1))
    [ $tries -lt 2400 ] || { cat "$work/said"; exit 1; }
    sleep 0.25
done
for device in tsim:tiny "uio:$work/board"; do
    for plugin in onnxruntime tflite; do
        case $plugin in
        onnxruntime) set -- ort kws.onnx kws.so ;;
        tflite) set -- tfl net1.tflite net1.so offload=all ;;
        esac
        "$build/bin/$1_run" "$build/lib/lib$1_standin.so" "$build/lib/libvta-$plugin.so" "$work/$2" "$work/$3" "cache=$work/cache" log=all \
            "device=$device" ${4:+"$4"} >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
        grep -q 'nodes run as one on the accelerator' "$work/out" || { cat "$work/out"; exit 1; }
        echo "$plugin on ${device%%:*}: $(tail -n 1 "$work/out")"
    done
done
