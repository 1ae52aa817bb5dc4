#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""units_test.py SOURCE SEED: the benches of units of hw/soc under Icarus, each with data drawn from two seeds: a bench compares with
what it works out itself, and ends with "passed". SOC_PART in the environment: this bench alone."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

# Of each bench: the files that it judges, and the parameters of each of its forms.
BENCHES = {
    "soc_devices_tb": (("soc_devices", "soc_uart"), ((),)),
    "soc_cache_tb": (("soc_cache",), ((), ("APART=1",), ("LOG_BUS_BYTES=4",))),
    "soc_host_tb": (("soc_host",), ((), ("LOG_BUS_BYTES=4",))),
    "soc_join_tb": (("soc_join",), ((),)),
    "soc_boot_tb": (("soc_boot",), ((),)),
}


def run(soc, folder, bench, parts, form, seed):
    files = [soc / f"tb/{bench}.v", *(soc / f"{part}.v" for part in parts)]
    words = ["iverilog", "-g2005", "-Wall", "-Wno-timescale", f"-I{soc}/tb", *(f"-P{bench}.{value}" for value in form), "-s", bench]
    built = subprocess.run([*words, "-o", f"{folder}/{bench}", *files], capture_output=True, text=True, check=False)
    if built.returncode or built.stderr:
        sys.exit(built.stderr)
    said = subprocess.run(["vvp", "-N", f"{folder}/{bench}", f"+seed={seed}"], capture_output=True, text=True, check=True).stdout
    print(f"{bench}{''.join(f' {value}' for value in form)}, seed {seed}: {said.strip()}")
    return said.startswith("passed")


def main():
    soc, seed = pathlib.Path(sys.argv[1]) / "hw/soc", int(sys.argv[2])
    print(f"seed {seed}")
    draw, good = random.Random(seed), True
    with tempfile.TemporaryDirectory() as name:
        for bench, (parts, forms) in BENCHES.items():
            for form in forms if os.environ.get("SOC_PART", bench) == bench else ():
                good = all([run(soc, name, bench, parts, form, draw.getrandbits(31)) for _ in range(2)]) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
