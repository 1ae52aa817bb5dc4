#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# draw_configs.py VTA_PARAMS SEED COUNT FOLDER: COUNT legal configurations that nobody chose, as FOLDER/drawn_N.json.
#
# The keys and their bounds are those of isa/include/vta/config.def; what is legal decides VTA_PARAMS, which loads each. An array has
# at most 512 multipliers here, since tools take minutes for more; every other configuration has its multipliers at twice the clock.
import json
import os
import random
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROW = re.compile(r'VTA_CONFIG\(\w+,\s*"(\w+)",\s*(\d+),\s*(\d+),\s*(\d+),\s*(\d),')
VALUES = re.compile(r'VTA_CONFIG_VALUES\(\w+, "(\w+)", ([\d, ]+)\)')
# Parts of an entry of each buffer, as logarithms; four bytes are 2.
ENTRIES = {"LOG_UOP_BUFF_SIZE": ("",), "LOG_INP_BUFF_SIZE": ("LOG_BATCH", "LOG_BLOCK_IN"),
           "LOG_WGT_BUFF_SIZE": ("LOG_BLOCK_IN", "LOG_BLOCK_OUT"), "LOG_ACC_BUFF_SIZE": ("LOG_BATCH", "LOG_BLOCK_OUT", "")}
LOG_MULTIPLIERS, TRIES = 9, 20000


def keys():
    """Of each key that the hardware depends on, all values."""
    text = open(os.path.join(ROOT, "isa/include/vta/config.def"), encoding="utf-8").read()
    found = {}
    for key, _, least, most, hardware in ROW.findall(text):
        if hardware != "0" or key in ("ARRAY_PUMP", "ALU_DSPS", "ADDR_BITS"):
            found[key] = list(range(int(least), int(most) + 1))
    for key, values in VALUES.findall(text):
        found[key] = [int(value) for value in values.split(",")]
    return found


def main():
    params, seed, count, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    source = random.Random("configurations " + seed)
    all_keys = keys()
    made = 0
    for _ in range(TRIES):
        drawn = {key: source.choice(values) for key, values in all_keys.items()}
        drawn["ARRAY_PUMP"] = 1 + made % 2
        # Of each buffer the depth, with the smallest ones as often as all others.
        for key, parts in ENTRIES.items():
            entry = sum(drawn.get(part, 2) for part in parts)
            drawn[key] = entry + source.choice((1, 2, 3, source.randint(1, 13)))
        if drawn["LOG_BATCH"] + drawn["LOG_BLOCK_IN"] + drawn["LOG_BLOCK_OUT"] > LOG_MULTIPLIERS:
            continue
        path = os.path.join(folder, f"drawn_{made}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"NAME": f"drawn_{made}", **drawn}, file)
        if subprocess.run([params, "plain", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            made += 1
            if made == count:
                return
    os.remove(path)
    sys.exit(f"draw_configs.py: {made} legal configurations in {TRIES} draws, {count} were asked for")


main()
