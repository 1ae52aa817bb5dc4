#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""board_test.py SOURCE SEED: the SDRAM's controller on a model of the chip that watches its times, with bursts drawn from two
seeds, and with times that are too short, which the model has to find; then the machine of a board, which boots machine.c from
its flash, once from an image whose first byte is wrong at first. soc_page stands in for the accelerator.
SOC_PART in the environment: "sdram" is the controller's bench alone, "machine" the board's."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

import machine_test

# Changes of soc_sdram that break a rule of the chip, each behind what the model says then. Rows are shut soon after they were opened
# where refreshes come often.
OFTEN = ("REFRESH     = 16'd370", "REFRESH = 16'd31")
SHORT = [
    ("before tRAS", ("T_RAS       = 16'd3", "T_RAS = 16'd1"), ("T_RCD       = 16'd2", "T_RCD = 16'd1"), OFTEN),
    ("before tRFC", ("T_RFC       = 16'd5", "T_RFC = 16'd3")),
    ("64 ms", ("REFRESH     = 16'd370", "REFRESH = 16'd420")),
    ("within 200 us", ("START       = 16'd11000", "START = 16'd9000")),
    ("both drive the data", ("coming[5:0] == 6'd0", "coming[2:0] == 3'd0")),
]


def vvp(bench, *arguments):
    return subprocess.run(["vvp", "-N", bench, *arguments], capture_output=True, text=True, check=True).stdout


def iverilog(soc, top, bench, files, *options):
    built = subprocess.run(["iverilog", "-g2005", "-Wno-timescale", f"-I{soc}/tb", *options, "-s", top, "-o", bench, *files], capture_output=True, text=True)
    if built.returncode or built.stderr:
        sys.exit(built.stderr)


def bursts(soc, folder, draw):
    iverilog(soc, "soc_sdram_tb", folder / "sdram", [soc / "soc_sdram.v", soc / "tb/soc_sdram_tb.v", soc / "tb/soc_sdram_chip.v"])
    good = True
    for _ in range(2):
        seed = draw.getrandbits(31)
        said = vvp(folder / "sdram", f"+seed={seed}")
        print(f"sdram, seed {seed}: {said.strip()}")
        good = good and said.startswith("passed")
    return good


def short_times(soc, folder, draw):
    parts, good = [soc / "tb/soc_sdram_tb.v", soc / "tb/soc_sdram_chip.v"], True
    text = (soc / "soc_sdram.v").read_text()
    for fault, *changes in SHORT:
        broken = text
        for now, then in changes:
            if now not in text:
                sys.exit(f"soc_sdram.v has no '{now}'")
            broken = broken.replace(now, then, 1)
        (folder / "short.v").write_text(broken)
        iverilog(soc, "soc_sdram_tb", folder / "short", [folder / "short.v", *parts])
        said = vvp(folder / "short", f"+seed={draw.getrandbits(31)}")
        if fault not in said:
            print(f"'{changes[0][1]}' is not found: {said.strip()}")
            good = False
    return good


def board(source, folder, draw):
    soc, seed = source / "hw/soc", draw.getrandbits(32)
    machine_test.build(source, folder, seed, echo=False)
    maker = [sys.executable, source / "fpga/ecp5/image.py", folder / "program.bin", folder / "image"]
    subprocess.run(maker, check=True)
    image = bytearray((folder / "image").read_bytes())
    damaged = draw.getrandbits(1)
    image[0] ^= damaged
    (folder / "flash").write_text("".join(f"{byte:02x}\n" for byte in image))
    files = [*sorted(soc.glob("*.v")), soc / "tb/soc_board_tb.v", soc / "tb/soc_sdram_chip.v", soc / "tb/soc_page.v"]
    iverilog(soc, "soc_board_tb", folder / "board", files)
    got = vvp(folder / "board", f"+flash={folder}/flash", "+cycles=1000000").splitlines()
    draws = machine_test.Draws(seed)
    want = ["no image"] * damaged + machine_test.sums(draws)
    print(f"board, seed {seed}, {'damaged' if damaged else 'whole'} image: {got[-1]}")
    if got[: len(want)] != want or f"{1 + damaged} reads of the flash, 0 others, 0 faults" not in got[-1]:
        print("got\n  " + "\n  ".join(got) + "\nexpected\n  " + "\n  ".join(want))
        return False
    return True


def main():
    source, seed = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    print(f"seed {seed}")
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        soc, part = source / "hw/soc", os.environ.get("SOC_PART")
        good = part == "machine" or bursts(soc, folder, draw)
        good = good and (part is not None or short_times(soc, folder, draw))
        return 0 if good and (part == "sdram" or board(source, folder, draw)) else 1


if __name__ == "__main__":
    sys.exit(main())
