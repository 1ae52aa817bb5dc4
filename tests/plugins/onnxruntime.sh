#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# onnxruntime.sh BUILD [HOST]: the provider in ONNX Runtime. HOST is the library of a real one; without it, the stand-in.
# Networks of the zoo in 8 bits run by the provider and by the artifact of the whole network, with the same bytes; then the cache, a
# damaged artifact, a device that fails as it runs, options that cannot be.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
plugin_name=libvta-onnxruntime.so
stand_in=libort_standin.so
runner=ort_run
# shellcheck source=tests/plugins/lib.sh
. "$here/lib.sh"

for net in tiny_ic tiny_kws tiny_ad; do
    "$vtac" zoo $net --int8 -o "$work/whole.onnx" >/dev/null
    /usr/bin/python3 "$here/onnx_cut.py" "$work/whole.onnx" "$work/$net.onnx"
    "$vtac" compile "$work/$net.onnx" --host host -o "$work/$net.so" >/dev/null
    run 0 "$work/$net.onnx" "$work/$net.so" config=tiny
    said '[0-9]+ nodes run as one on the accelerator'
done
cat "$work/out"
[ $# -lt 2 ] || run 0 "$work/tiny_ic.onnx" host

# A size that only the run knows: 1, 2 and 3 rows.
/usr/bin/python3 "$here/onnx_cut.py" "$work/whole.onnx" "$work/open.onnx" --open
"$vtac" compile "$work/open.onnx" --dynamic --host host -o "$work/open.so" >/dev/null
run 0 "$work/open.onnx" "$work/open.so" config=tiny
said '[0-9]+ nodes run as one on the accelerator'
[ $# -lt 2 ] || run 0 "$work/open.onnx" host

# A second session compiles nothing; a damaged artifact is compiled again.
folder=$VTAC_CACHE/plugins
[ "$(stat -c %a "$folder")" = 700 ] || fail "the cache folder is open to others"
before=$(cd "$folder" && stat -c '%n %Y %s %i' ./*)
run 0 "$work/tiny_ad.onnx" "$work/tiny_ad.so" config=tiny
[ "$before" = "$(cd "$folder" && stat -c '%n %Y %s %i' ./*)" ] || fail 'a second session writes to the cache'
for file in "$folder"/*.so; do
    printf 'x' | dd of="$file" bs=1 seek=5000 conv=notrunc 2>/dev/null
done
run 0 "$work/tiny_ad.onnx" "$work/tiny_ad.so" config=tiny
said 'nodes run as one'
for file in "$folder"/*.plan; do
    echo nonsense >"$file"
done
run 0 "$work/tiny_ad.onnx" "$work/tiny_ad.so" config=tiny
said 'nodes run as one'

# Without a folder of its own it goes on without a cache.
chmod 777 "$folder"
run 0 "$work/tiny_ad.onnx" "$work/tiny_ad.so" config=tiny
said 'nothing is cached: others may write'
chmod 700 "$folder"
run 0 "$work/tiny_ad.onnx" "$work/tiny_ad.so" config=tiny cache=/proc/none
said 'nothing is cached: cannot make'
[ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'vtac-plugin-*' -user "$(id -un)" -newer "$work/whole.onnx" 2>/dev/null)" ] || fail 'temporary folders are left'

# The device fails as it runs: the simulator goes on, with the same integers and one line.
device="pipe:/usr/bin/python3 $here/relay.py $work/gone $build/bin/vtac-agent --stdio?device=fsim:tiny"
run 0 "$work/tiny_kws.onnx" "$work/tiny_kws.so" "device=$device" config=tiny
said 'nodes run as one'
not_said 'in its place'
RUN_AFTER_FIRST=$work/gone run 0 "$work/tiny_kws.onnx" "$work/tiny_kws.so" "device=$device" config=tiny
said 'from here on the simulator fsim computes in its place'
[ "$(grep -c log: "$work/out")" = 2 ] || fail 'more than one line'

# An option that cannot be is the host's error, in one sentence.
run 3 "$work/tiny_ad.onnx" "$work/tiny_ad.so" devise=fsim
said "unknown option 'devise': did you mean 'device'"
run 3 "$work/tiny_ad.onnx" "$work/tiny_ad.so" device=nope
said "unknown device 'nope'"
run 3 "$work/tiny_ad.onnx" "$work/tiny_ad.so" config=/nowhere.json
said "cannot open '/nowhere.json'"
run 3 "$work/tiny_ad.onnx" "$work/tiny_ad.so" offload=some
said "option 'offload' takes pays or all, not 'some'"
run 3 "$work/tiny_ad.onnx" "$work/tiny_ad.so" threads=-1
said "option 'threads' takes 0 to 1024"
run 3 "$work/tiny_ad.onnx" "$work/tiny_ad.so" device=fsim:tiny config=pynq
said 'differs in LOG_BLOCK_IN'

# A model of floats stays with the host, without a word.
"$vtac" zoo tiny_ad -o "$work/whole.onnx" >/dev/null
/usr/bin/python3 "$here/onnx_cut.py" "$work/whole.onnx" "$work/float.onnx"
if [ $# -ge 2 ]; then
    run 0 "$work/float.onnx" host
    not_said 'log:'
fi
exit $failed
