#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""where.py PROGRAM SAMPLES [COUNT]: the functions of a program for hw/soc in which the core was, by cycles, those first that took
most. SAMPLES has an address every 64 cycles (+samples= of soc_top_tb)."""

import bisect
import collections
import subprocess
import sys

EVERY = 64


def main():
    program, samples = sys.argv[1:3]
    listing = subprocess.run(["riscv64-unknown-elf-nm", "-n", program], capture_output=True, text=True, check=True).stdout
    symbols = [(int(at, 16), name) for at, kind, name in map(str.split, listing.splitlines()) if kind in "tTwW"]
    starts = [at for at, _ in symbols]
    with open(samples, encoding="ascii") as file:
        found = collections.Counter(symbols[max(bisect.bisect(starts, int(line, 16)) - 1, 0)][1] for line in file)
    total = found.total()
    for name, count in found.most_common(int(sys.argv[3]) if len(sys.argv) > 3 else 20):
        print(f"{100 * count / total:6.2f} % {count * EVERY:12,d} cycles  {name}")


if __name__ == "__main__":
    main()
