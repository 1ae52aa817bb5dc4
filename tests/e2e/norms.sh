#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/begin.sh
#
# norms.sh VTAC CONFIGS: normalizations of planes and by neighbouring channels in every form that exporters write, of drawn shapes, on
# machines with functions on rows: one region holds them with the convolutions around them, all values are what the host computes, and the outputs of the
# quantized model are near those in floats. Inputs are drawn twice. Without these functions the host does them.
. "$(dirname "$0")/begin.sh"

# one_region CONFIG COUNT: the whole network is one region, with so many normalizations of planes; where a small machine has no room
# for a group, the reason says so.
one_region() {
    "$vtac" explain norms8.onnx --config "$1" -O 0 --offload all --json > explain.json
    python3 - "$2" "$1" <<'END_OF_PYTHON'
import json, sys
nodes = json.load(open("explain.json"))["nodes"]
small = [n["reason"] for n in nodes if n["op"] == "PlaneNorm" and "its groups do not fit" in n["reason"]]
if small and not sys.argv[2].endswith("rows_pynq.json"):
    print("on %s: %s" % (sys.argv[2].split("/")[-1], small[0]))
    sys.exit(0)
assert {n["where"] for n in nodes} - {"host", "nowhere"} == {"region 0"}, nodes
assert {n["op"] for n in nodes if n["where"] == "host"} <= {"QuantizeLinear", "DequantizeLinear"}, nodes
assert [n["op"] for n in nodes if n["where"] == "region 0"].count("PlaneNorm") == int(sys.argv[1]), nodes
END_OF_PYTHON
}

# same_run CONFIG LEVEL: the model as it is compiled, whose layers may be joined, answers as on the host.
same_run() {
    "$vtac" compile norms8.onnx --target vta --offload all --config "$1" -O "$2" -o there.so > compile.log
    "$vtac" compile norms8.onnx -o here.so > compile.log
    for round in 1 2; do
        for side in here there; do
            rm -rf "$side" && mkdir "$side"
            "$vtac" run "$side.so" --input run$round.npz --output-dir "$side" > run.log
        done
        cmp here/*.npy there/*.npy
    done
}

draw=$seed
for form in instance group by_group neighbours torch parts clamped; do
    draw=$(((draw * 1103515245 + 12345) % 16777216))
    groups=$((draw / 64 % 5 + 2))
    channels=$((groups * (draw / 4096 % 9 + 1)))
    height=$((draw / 8 % 17 + 4))
    width=$((draw / 128 % 19 + 4))
    count=2
    [ "$form" != neighbours ] || count=0
    echo "$form: $channels channels in $groups groups, $height x $width"
    /usr/bin/python3 "$here/norms_model.py" "$((seed % 100000))" "$form" "$channels" "$groups" "$height" "$width"
    if [ "$form" != clamped ]; then
        "$vtac" quantize norms.onnx --calib samples.npz --json -o norms8.onnx > quality.json
        python3 - <<'END_OF_PYTHON'
import json
quality = json.load(open("quality.json"))["quality"]
assert min(o["snr_db"] for o in quality["outputs"]) > 20, quality
END_OF_PYTHON
    fi
    for config in "$configs/rows_pynq.json" "$configs/rows.json"; do
        one_region "$config" "$count"
        same_run "$config" $((draw % 2 * 3))
        for round in 1 2; do
            "$vtac" diff norms8.onnx -O $((round * 3 - 3)) --config "$config" --input run$round.npz > said || { cat said; exit 1; }
            grep -q 'agree on all' said || { echo "$form, $config:"; cat said; exit 1; }
        done
    done
done
"$vtac" diff norms8.onnx --config pynq --input run1.npz > said || { cat said; exit 1; }
grep -q 'agree on all' said || { cat said; exit 1; }
"$vtac" explain norms8.onnx --config pynq --offload all | grep 'PlaneNorm.*ROWS 1' > /dev/null
echo "norms: one region each, and the host's integers"
