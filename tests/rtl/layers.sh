#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# What tsim and systemc say of a network's layers: with the simple memory the same cycles and reasons in every layer and
# step, with back-pressure, too; with DRAM timing others, which sum to the run's. Arguments: VTAC SOURCE
. "$(dirname "$0")/../cli/lib.sh"

vtac zoo tiny_kws --int8 -o net.onnx
exits 0
vtac compile net.onnx --target vta --config tiny --offload all -o net.so
exits 0

# look NAME URI SEED: twice over in one device, so that the second run's account replaces the first's.
look() {
    vtac run net.so --device "$2" --seed "$3" --repeat 2 --layers --steps --json
    exits 0
    good_json out
    cp out "$1.json"
}
for options in '' '?stall=20&seed=7'; do
    look tsim "tsim:tiny$options" 3
    look systemc "systemc:tiny$options" 3
    holds "the same layers with '$options'" python3 - <<'END'
import json
tsim, systemc = (json.load(open(f"{name}.json"))["layers"] for name in ("tsim", "systemc"))
assert tsim == systemc, [(a, b) for a, b in zip(tsim, systemc) if a != b][0]
assert len(tsim) > 3 and sum(layer["cycles"] > 0 for layer in tsim) > 3, tsim
END
done
look dram 'systemc:tiny?memory=dram&traffic=40&seed=5' 3
holds "other layers with DRAM timing, all cycles told" python3 - <<'END'
import json
simple, dram = (json.load(open(f"{name}.json")) for name in ("systemc", "dram"))
assert [layer["name"] for layer in simple["layers"]] == [layer["name"] for layer in dram["layers"]]
assert simple["layers"] != dram["layers"]
told = sum(layer["cycles"] for layer in dram["layers"])
assert told == dram["cycles"] > 0, (told, dram["cycles"])
END
finish
