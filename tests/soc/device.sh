#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# device.sh VTAC SOURCE: a classifier on `--device soc:tiny`, the whole machine simulated. For two inputs the outputs are the bytes of
# fsim with kernels of this machine; the cycles of host and accelerator sum to the run's. What cannot run is refused in one line.
. "$(dirname "$0")/../cli/lib.sh"
seed=$("$source/tests/lib/seed.sh" soc_device)
echo "seed $seed"

# refused TEXT: the last run failed with one line that says so, behind those of its progress
refused() {
    exits 1
    sed -i '/^soc: /d; /^sending /d' err
    one_line err
    says err "$1"
}

vtac zoo tiny_kws --int8 -o floats.onnx
vtac convert floats.onnx --integers -o net.onnx
exits 0
for host in rv32im x86-64-v2; do
    vtac compile net.onnx --host $host --target vta --config tiny --offload all -o net.$host
    exits 0
done
/usr/bin/python3 "$source/tests/cross/inputs.py" "$seed" -128 127 "i8 1 1 49 10" \
    "$vtac_program" run net.x86-64-v2 --device fsim --input 'in{}.npy' --output-dir 'here{}' || exit 1
vtac run net.rv32im --device soc:tiny --input in1.npy --input in2.npy --output-dir there --layers --json
exits 0
cp out told.json
/usr/bin/python3 - <<'END'
import glob
import json
import sys

with open("told.json", encoding="utf-8") as file:
    runs = json.load(file)["results"]
if len(runs) != 2:
    sys.exit(f"{len(runs)} runs")
for number, run in enumerate(runs):
    steps, layers = run["steps"], run["layers"]
    kinds = [step["op"] for step in steps]
    if sum(step["cycles"] for step in steps) != run["cycles"] or not all(step["cycles"] > 0 for step in steps):
        sys.exit(f"cycles of steps do not sum to {run['cycles']}: {steps}")
    if kinds[:2] != ["Pack", "Region"] or "RowSoftmax" not in kinds or len(layers) < 11:
        sys.exit(f"steps {kinds}, {len(layers)} layers")
    (here,), (there,) = glob.glob(f"here{number + 1}/*.npy"), glob.glob(f"there/{number}_*.npy")
    if open(here, "rb").read() != open(there, "rb").read():
        sys.exit(f"input {number + 1}: not the bytes of fsim")
END
status=$?
ran="two inputs on the machine"
exits 0

vtac run net.x86-64-v2 --device soc:tiny
refused "no object for the machine's processor"
vtac run net.rv32im --device soc:none
refused "no configuration is called 'none'"
vtac run net.rv32im --device 'soc:tiny?speed=3'
refused "option 'speed=3'"
vtac run net.rv32im --device 'soc:tiny?cycles=100000'
refused "did not end within 100000 cycles"
vtac run net.rv32im --device soc:tiny --timeout 0.01
refused "no end after 0.01 s"
echo 'const char vta_model_artifact[40 << 20] = {1};' >large.c
riscv64-unknown-elf-gcc -march=rv32im -mabi=ilp32 -c large.c -o large.o
vtac run large.o --device soc:tiny
refused "than the 32 MiB of the machine"
mkdir -p bin
for program in sh python3 verilator g++ env perl; do ln -sf "$(command -v $program)" "bin/$program"; done
PATH=$work/bin vtac run net.rv32im --device soc:tiny
refused "there is no 'riscv64-unknown-elf-gcc' here; install gcc-riscv64-unknown-elf"
vtac exec --device soc:tiny /dev/null
[ "$status" != 0 ] || wrong "a program of the accelerator alone is taken"
vtac doctor --device soc:tiny
exits 0
vtac devices
says out "soc:CONFIG"
finish
