#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tflite.sh BUILD [HOST]: the delegate in TensorFlow Lite. HOST is the C library of a real one; without it, the stand-in. Random
# networks, and with a real host the published models of ../shared/models, run by the delegate and without it, with the same
# bytes; then the cache, a device that fails as it runs, options that cannot be.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
plugin_name=libvta-tflite.so
stand_in=libtfl_standin.so
runner=tfl_run
# shellcheck source=tests/plugins/lib.sh
. "$here/lib.sh"

# Network 0, 3, … join tensors of two scales, which the real kernel refuses.
/usr/bin/python3 "$here/tfl_nets.py" "$work" 6
for number in 1 2 4 5; do
    net=$work/net$number
    "$vtac" compile "$net.tflite" --host host -o "$net.so" >/dev/null
    run 0 "$net.tflite" "$net.so" offload=all
    said 'vtac: [0-9]+ nodes run as one on the accelerator'
    [ $# -lt 2 ] || run 0 "$net.tflite" host offload=all config=tiny
done
if [ $# -lt 2 ]; then
    "$vtac" compile "$work/net0.tflite" --host host -o "$work/net0.so" >/dev/null
    run 0 "$work/net0.tflite" "$work/net0.so" offload=all config=ultra96
fi
cat "$work/out"

# A second session compiles nothing.
folder=$VTAC_CACHE/plugins
before=$(cd "$folder" && stat -c '%n %Y %s %i' ./*)
run 0 "$work/net1.tflite" "$work/net1.so" offload=all
[ "$before" = "$(cd "$folder" && stat -c '%n %Y %s %i' ./*)" ] || fail 'a second session writes to the cache'

# Of many files the oldest go.
number=0
while [ $number -lt 600 ]; do
    touch -d "2001-01-01 $((number / 60)):$((number % 60))" "$folder/old$number.plan"
    number=$((number + 1))
done
run 0 "$work/net1.tflite" "$work/net1.so" offload=all
[ "$(find "$folder" -type f | wc -l)" -le 512 ] || fail 'the cache grows for ever'
[ ! -e "$folder/old0.plan" ] || fail 'the oldest file stays'
[ -e "$folder/old599.plan" ] || fail 'not the oldest files went'

# The device goes away as it runs: the simulator goes on, with the same integers and one line.
device="pipe:/usr/bin/python3 $here/relay.py $work/gone $build/bin/vtac-agent --stdio?device=fsim:tiny"
RUN_AFTER_FIRST=$work/gone run 0 "$work/net2.tflite" "$work/net2.so" "device=$device" config=tiny offload=all
said 'from here on the simulator fsim computes in its place'
[ "$(grep -c vtac: "$work/out")" = 2 ] || fail 'more than one line'

# An option that cannot be is the host's error, in one sentence.
run 3 "$work/net1.tflite" "$work/net1.so" devise=fsim
said "vtac: unknown option 'devise': did you mean 'device'"
run 3 "$work/net1.tflite" "$work/net1.so" device=nope
said "vtac: unknown device 'nope'"
run 3 "$work/net1.tflite" "$work/net1.so" config=/nowhere.json
said "vtac: cannot open '/nowhere.json'"

models=$here/../../../shared/models/tflite
if [ $# -ge 2 ] && [ -d "$models" ]; then
    for model in "$models"/*int8/*.tflite; do
        case $model in
        *person_detect*) continue ;; # this host refuses its quantized dimensions, without the delegate, too
        esac
        run 0 "$model" host
        said 'nodes run as one'
        not_said 'stays'
        echo "${model##*/}: $(grep -o '[0-9]* nodes' "$work/out") on the accelerator, $(tail -n 1 "$work/out")"
    done
fi
exit $failed
