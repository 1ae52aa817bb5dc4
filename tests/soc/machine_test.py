#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""machine_test.py SOURCE VTA_PARAMS SEED: machine.c on the machine of hw/soc under Icarus, twice, with other data and another
memory: what it prints over the serial line is what this file works out for the same numbers. soc_page stands in for the accelerator."""

import pathlib
import random
import subprocess
import sys
import tempfile

MASK = 0xFFFFFFFF
WORDS, ROUNDS = 2048, 160
NOWHERE = (0x20000000, 0x88000000)  # among the devices, and behind the memory
FLAGS = "-mabi=ilp32 -mstrict-align --specs=picolibc.specs -std=gnu17 -Os -Wall -Wextra -Werror -ffunction-sections -fdata-sections"
LINK = "-nostartfiles -Wl,--gc-sections -Wl,--no-warn-rwx-segments"


class Draws:
    def __init__(self, seed):
        self.state = seed

    def __call__(self):
        self.state = (self.state * 1664525 + 1013904223) & MASK
        return self.state >> 8


def signed(x):
    return x - (1 << 32) if x >> 31 else x


def towards_zero(x, y):
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def memory_sum(draw):
    memory, total = bytearray(4 * WORDS), 0
    for _ in range(ROUNDS):
        at, value = draw() % WORDS, draw()
        kind = draw() % 3
        if kind == 0:
            memory[4 * at : 4 * at + 4] = value.to_bytes(4, "little")
        elif kind == 1:
            half = 4 * at + 2 * (value % 2)
            memory[half : half + 2] = (value & 0xFFFF).to_bytes(2, "little")
        else:
            memory[4 * at + value % 4] = value & 0xFF
        where = draw() % (4 * WORDS)
        total = (total * 31 + memory[where] + int.from_bytes(memory[4 * at : 4 * at + 4], "little")) & MASK
    return total


def arithmetic_sum(draw):
    total = 0
    for _ in range(ROUNDS // 8):
        x = draw() * draw() & MASK
        y = draw()
        y >>= draw() % 24
        parts = x // (y + 1) + x % (y + 1) + (x * (y + 1) >> 32) + towards_zero(signed(x), y + 1)
        total = (total * 31 + parts) & MASK
    return total


def parameters(tool):
    """Icarus' options for the configuration, renamed to the bench, and the hash among them."""
    words = subprocess.run([tool, "icarus", "tiny", "soc_top_tb"], capture_output=True, text=True, check=True).stdout.split()
    hash_word = next(word.split("h")[-1] for word in words if "CONFIG_HASH" in word)
    return words, int(hash_word, 16)


def sums(draws):
    """The two lines of a program with this seed, in the order in which it draws."""
    return [f"memory {memory_sum(draws):08x}", f"arithmetic {arithmetic_sum(draws):08x}"]


def build(source, folder, seed, echo=True, nowhere=0x20000000):
    example, flags = source / "runtime/baremetal", FLAGS.split()
    folders = [f"-I{source / name}" for name in ("runtime/include", "driver/include", "isa/include", "isa/base/include")]
    gcc = "riscv64-unknown-elf-gcc"
    subprocess.run([gcc, *flags, *folders, "-march=rv32im_zicsr", "-c", example / "soc/board.c", "-o", folder / "board.o"], check=True)
    own = ["-march=rv32im_zicsr", f"-DSEED={seed}U", f"-DROUNDS={ROUNDS}", f"-DECHO={int(echo)}", f"-DNOWHERE={nowhere:#x}U", source / "tests/soc/machine.c"]
    subprocess.run([gcc, *flags, *folders, "-c", *own, "-o", folder / "machine.o"], check=True)
    objects = [folder / "machine.o", folder / "board.o"]
    script = ["-march=rv32im", "-T", example / "soc/soc.ld", "-o", folder / "program"]
    subprocess.run([gcc, *flags, *LINK.split(), *objects, *script], check=True)
    image = ["riscv64-unknown-elf-objcopy", "-O", "binary", folder / "program", folder / "program.bin"]
    subprocess.run(image, check=True)
    data = (folder / "program.bin").read_bytes()
    beats = (data[at : at + 8].ljust(8, b"\0")[::-1].hex() for at in range(0, len(data), 8))
    (folder / "image").write_text("\n".join(beats) + "\n")


def run(source, bench, folder, hash_value, draw, nowhere):
    seed, wait = draw.getrandbits(32), draw.randrange(40)
    text = "".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randrange(1, 12))) + "."
    build(source, folder, seed, nowhere=nowhere)
    arguments = [f"+image={folder}/image", f"+wait={wait}", f"+send={text}", "+cycles=500000"]
    got = subprocess.run(["vvp", "-N", bench, *arguments], capture_output=True, text=True, check=True).stdout.splitlines()
    draws = Draws(seed)
    want = [
        text,
        *sums(draws),
        "timer 1",
        f"accelerator {hash_value & MASK:08x} {hash_value >> 32:08x}",
    ]
    trap = got[5].split() if len(got) > 5 else []
    ends = len(trap) == 9 and trap[6] == "00000005" and trap[8] == f"{nowhere:08x}" and got[6] == "ended by an error"
    if got[:5] != want or not ends:
        print(f"seed {seed}, wait {wait}: got\n  " + "\n  ".join(got) + "\nexpected\n  " + "\n  ".join(want))
        return False
    print(f"seed {seed}, wait {wait}: {got[7]}")
    return True


def main():
    source, tool, seed = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    print(f"seed {seed}")
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        bench = folder / "bench"
        words, hash_value = parameters(tool)
        soc = source / "hw/soc"
        files = [*sorted(soc.glob("*.v")), soc / "tb/soc_top_tb.v", soc / "tb/soc_page.v"]
        options = ["iverilog", "-g2005", "-Wall", "-Wno-timescale", *words]
        built = subprocess.run([*options, "-s", "soc_top_tb", "-o", bench, *files], capture_output=True, text=True)
        if built.returncode or built.stderr:
            print(built.stderr)
            return 1
        return 0 if all(run(source, bench, folder, hash_value, draw, nowhere) for nowhere in NOWHERE) else 1


if __name__ == "__main__":
    sys.exit(main())
