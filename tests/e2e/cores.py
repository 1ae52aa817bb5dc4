#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# cores.py VTAC NETWORK...: cycles of a picture on each of two cores that share a memory, as the timing model predicts them and on tsim,
# for memories that are too slow for both and for one that is not. Fails where they are further apart than LIMIT, where two cores are
# slower than one after the other, and where explore's area of several cores is not that of one, so many times.
import json
import os
import subprocess
import sys
import tempfile

LIMIT = 5.0  # percent: what one core leaves another may take, which the model does not count
MEMORIES = (300, 700, 0)  # MB/s; pynq's buses ask for 800 each way


def call(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def look(vtac, network, shared):
    """Checks one network in one memory; True if all holds."""
    config = json.loads(call(vtac, "config", "show", "pynq"))
    config.update(NAME="two", CORES=2, MEM_SHARED=shared)
    with open("two.json", "w", encoding="utf-8") as out:
        json.dump(config, out)
    report = json.loads(call(vtac, "compile", network, "--target", "vta", "--config", "./two.json", "--report", "--json", "-o", "two.so"))
    ran = json.loads(call(vtac, "run", "two.so", "--device", "tsim:./two.json", "--json"))
    predicted, cycles, alone = report["cycles"], ran["cycles"], ran["cycles_alone"]
    error = 100 * (predicted / cycles - 1)
    print(f"{network:<12} {shared:>5} MB/s: predicted {predicted}, tsim {cycles} ({error:+.1f} %), one alone {alone}, {ran['scaling']:.2f} times as fast")
    return abs(error) <= LIMIT and alone <= cycles <= 2 * alone


def price(vtac):
    """True if explore has two cores at twice the area, and at up to twice the pictures."""
    keys = ("LOG_BLOCK_IN=4", "LOG_BLOCK_OUT=4", "LOG_INP_BUFF_SIZE=15", "LOG_WGT_BUFF_SIZE=18", "LOG_ACC_BUFF_SIZE=17", "LOG_BUS_WIDTH=6",
            "ARRAY_PUMP=1", "TABLE=1", "LOOP_BACK=1", "DEPTHWISE_TAPS=9", "CORES=1,2")
    words = [word for key in keys for word in ("--fix", key)]
    call(vtac, "explore", "--models", "tiny_kws", "--part", "xczu7ev", *words, "-o", "explored")
    with open("explored/front.json", encoding="utf-8") as file:
        points = json.load(file)["points"]
    one, two = (next(p for p in points if p["config"]["cores"] == cores) for cores in (1, 2))
    print(f"explore: {one['area']} and {two['area']}, {one['fps']:.0f} and {two['fps']:.0f} a second")
    area = all(abs(two["area"][key] - 2 * one["area"][key]) <= 1 for key in ("lut", "ff", "dsp", "bram"))
    return area and one["fps"] < two["fps"] <= 2.0001 * one["fps"]


def main():
    vtac = os.path.abspath(sys.argv[1])
    good = True
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in sys.argv[2:]:
            call(vtac, "zoo", name, "--int8", "-o", f"{name}.onnx")
            for shared in MEMORIES:
                good = look(vtac, f"{name}.onnx", shared) and good
        good = price(vtac) and good
    sys.exit(not good)


if __name__ == "__main__":
    main()
