#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cpu_test.py SOURCE SEED [PROGRAMS]: random programs on soc_cpu under Icarus, each instruction compared with rv32.py.

A program is drawn from everything that the core has, and from what it must refuse: all instructions of RV32IM and Zicsr,
loops, jumps that nobody takes, misaligned and absent addresses, illegal words, interrupts between any two instructions, code that
was just written. Memory answers at once, or whenever it likes. SOC_PART=N in the environment: N programs."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

import rv32

WORDS = 16384
BYTES = 4 * WORDS
DATA = 0x8000
STOP, LINES, LATER = -4, -8, -12  # from the end of memory: what the bench gives a meaning
HANDLER = 0x40
LONGEST = 200000  # cycles of a run: the bench ends it then
FREE = range(1, 20)  # registers that anything may change; the others:
PATCH, CODE, WILD, RAISED, TOP, BASE, COUNT, HANDLER_Y, HANDLER_X, RESUME = 20, 21, 22, 23, 24, 25, 26, 29, 30, 31


def r_type(opcode, rd, op, rs1, rs2, top):
    return top << 25 | rs2 << 20 | rs1 << 15 | op << 12 | rd << 7 | opcode


def i_type(opcode, rd, op, rs1, imm):
    return (imm & 0xFFF) << 20 | rs1 << 15 | op << 12 | rd << 7 | opcode


def s_type(op, rs1, rs2, imm):
    return (imm >> 5 & 127) << 25 | rs2 << 20 | rs1 << 15 | op << 12 | (imm & 31) << 7 | 0x23


def branch(op, rs1, rs2, offset):
    return (offset >> 12 & 1) << 31 | (offset >> 5 & 63) << 25 | rs2 << 20 | rs1 << 15 | op << 12 | (offset >> 1 & 15) << 8 | (
        offset >> 11 & 1
    ) << 7 | 0x63


def jal(rd, offset):
    return (offset >> 20 & 1) << 31 | (offset >> 1 & 1023) << 21 | (offset >> 11 & 1) << 20 | (offset >> 12 & 255) << 12 | rd << 7 | 0x6F


def upper(opcode, rd, value):
    return value & 0xFFFFF000 | rd << 7 | opcode


def addi(rd, rs1, imm):
    return i_type(0x13, rd, 0, rs1, imm)


def csr(op, rd, number, rs1):
    return i_type(0x73, rd, op, rs1, number)


def constant(rd, value):
    """Two instructions that leave any value in rd."""
    low = rv32.signed(value, 12)
    return [upper(0x37, rd, value - low & rv32.MASK), addi(rd, rd, low)]


def handler():
    """Skips what trapped; goes on at RESUME after a jump to nowhere; lowers the lines after an interrupt."""
    return [
        csr(2, HANDLER_X, 0x342, 0),
        branch(4, HANDLER_X, 0, 36),
        addi(HANDLER_Y, 0, 1),
        branch(0, HANDLER_X, HANDLER_Y, 20),
        csr(2, HANDLER_X, 0x341, 0),
        addi(HANDLER_X, HANDLER_X, 4),
        csr(1, 0, 0x341, HANDLER_X),
        0x30200073,
        csr(1, 0, 0x341, RESUME),
        0x30200073,
        s_type(2, TOP, 0, LINES),
        0x30200073,
    ]


class Program:
    """Words from RESET on; `draws` are the ways in which it grows."""

    def __init__(self, draw):
        self.draw, self.words = draw, []
        for number in draw.sample((*rv32.STATUS, *rv32.CYCLES, *rv32.RETIRED), len(rv32.STATUS) + 8):
            self.words.append(csr(2, draw.choice(FREE), number, 0))  # as a reset leaves them
        wild = draw.choice((0x7FFF0000, 0xFFFF0000))
        self.words += constant(BASE, DATA) + constant(TOP, BYTES) + constant(WILD, wild) + constant(HANDLER_X, HANDLER)
        self.words += [csr(1, 0, 0x305, HANDLER_X)] + constant(HANDLER_X, 0x888) + [csr(1, 0, 0x304, HANDLER_X), csr(6, 0, 0x300, 8)]
        for register in FREE:
            self.words += constant(register, self.number())
        for _ in range(draw.randrange(150, 400)):
            draw.choice(DRAWS)(self)
        self.words += [s_type(2, TOP, 0, STOP), jal(0, 0)]

    def number(self):
        draw = self.draw
        return draw.choice((0, 1, rv32.MASK, 1 << 31, (1 << 31) - 1, draw.randrange(64), draw.getrandbits(32), draw.getrandbits(32), DATA))

    def any(self):
        return self.draw.choice(FREE)

    def source(self):
        return self.draw.choice((0, *FREE))

    def target(self):
        return self.draw.choice((0, *FREE, *FREE, *FREE))

    # ---- ways to grow

    def operate(self):
        self.words.append(r_type(0x33, self.target(), self.draw.randrange(8), self.source(), self.source(), 0))

    def subtract(self):
        self.words.append(r_type(0x33, self.target(), self.draw.choice((0, 5)), self.source(), self.source(), 32))

    def multiply(self):
        self.words.append(r_type(0x33, self.target(), self.draw.randrange(8), self.source(), self.source(), 1))

    def immediate(self):
        op, imm = self.draw.randrange(8), self.draw.getrandbits(12)
        if op in (1, 5):
            imm = imm & 31 | (1024 if op == 5 and imm & 64 else 0)
        self.words.append(i_type(0x13, self.target(), op, self.source(), imm))

    def wide(self):
        self.words.append(upper(self.draw.choice((0x37, 0x17)), self.target(), self.draw.getrandbits(32)))

    def renew(self):
        self.words += constant(self.any(), self.number())

    def offset(self, size):
        value = self.draw.randrange(-2048, 2048)
        return value if self.draw.random() < 0.1 else value - value % size

    def load(self):
        op = self.draw.choice((0, 1, 2, 4, 5))
        base = WILD if self.draw.random() < 0.05 else BASE
        self.words.append(i_type(0x03, self.target(), op, base, self.offset(1 << (op & 3))))

    def store(self):
        op = self.draw.randrange(3)
        base = WILD if self.draw.random() < 0.05 else BASE
        self.words.append(s_type(op, base, self.source(), self.offset(1 << op)))

    def filler(self, count):
        for _ in range(count):
            self.draw.choice((Program.operate, Program.immediate, Program.multiply, Program.load, Program.store))(self)

    def skip(self):
        """A branch forward over some instructions, or to the half of a word, which traps if it is taken."""
        count = self.draw.randrange(1, 5)
        odd = 2 if self.draw.random() < 0.1 else 0
        op = self.draw.choice((0, 1, 4, 5, 6, 7))
        self.words.append(branch(op, self.source(), self.source(), 4 * count + 4 + odd))
        self.filler(count)

    def loop(self):
        self.words += [addi(COUNT, 0, self.draw.randrange(1, 6))]
        begin = len(self.words)
        self.filler(self.draw.randrange(1, 6))
        self.words += [addi(COUNT, COUNT, -1)]
        self.words += [branch(1, COUNT, 0, 4 * (begin - len(self.words)))]

    def leap(self):
        count = self.draw.randrange(0, 4)
        odd = 2 if self.draw.random() < 0.1 else 0
        if self.draw.random() < 0.5:
            self.words.append(jal(self.target(), 4 * count + 4 + odd))
        else:
            link = self.target()
            self.words.append(upper(0x17, CODE, 0))
            self.words.append(i_type(0x67, link, 0, CODE, 4 * count + 8 + odd + self.draw.randrange(2)))
        self.filler(count)

    def nowhere(self):
        here = rv32.RESET + 4 * len(self.words)
        self.words += constant(RESUME, here + 12) + [i_type(0x67, self.target(), 0, WILD, self.draw.randrange(0, 2048, 4))]

    def status(self):
        number = self.draw.choice((*rv32.STATUS, *rv32.CYCLES, *rv32.RETIRED, 0x7C0, 0x180, 0x3A0))
        op = self.draw.choice((1, 2, 3, 5, 6, 7))
        operand = 0 if number == 0x305 or self.draw.random() < 0.3 else self.draw.choice(FREE)
        if number == 0x305 and op & 3 == 1:
            op += 1
        self.words.append(csr(op, self.target(), number, operand))

    def illegal(self):
        draw, rest = self.draw, self.draw.getrandbits(32)
        fields = rest & ~0x7F
        word = draw.choice(
            (
                rest & ~3 | draw.randrange(3),  # of 16 bits
                fields | draw.choice((0x07, 0x0B, 0x27, 0x2F, 0x43, 0x53, 0x57, 0x5B, 0x7B, 0x3B, 0x1B)),
                fields & ~0x7000 | draw.choice((3, 6, 7)) << 12 | 0x03,
                fields & ~0x7000 | draw.randrange(3, 8) << 12 | 0x23,
                fields & ~0x7000 | draw.choice((2, 3)) << 12 | 0x63,
                fields & ~0x7000 | draw.randrange(1, 8) << 12 | 0x67,
                fields & ~0x7000 | draw.randrange(2, 8) << 12 | 0x0F,
                fields & 0x1FFFFFF | draw.choice((2, 3, 16, 33, 64, 96, 127)) << 25 | 0x33,
                fields & 0x1FF8FFF | draw.choice((1, 2, 4, 6, 7)) << 12 | 32 << 25 | 0x33,
                fields & 0x1FF8FFF | draw.choice((1, 5)) << 12 | draw.choice((1, 2, 16, 33, 64)) << 25 | 0x13,
                fields & ~0x7000 | draw.choice((0, 4)) << 12 | 1 << 31 | 0x73,
                0,
                rv32.MASK,
            )
        )
        self.words.append(word)

    def call(self):
        self.words.append(self.draw.choice((0x73, 0x00100073)))

    def interrupt(self):
        self.words += [addi(RAISED, 0, self.draw.randrange(4)), s_type(2, TOP, RAISED, LINES)]
        self.filler(self.draw.randrange(3))
        self.words += [csr(self.draw.choice((6, 7)), 0, 0x300, 8)]

    def wait(self):
        """WFI ends by a line that is enabled, and by no other: those that are not may be raised before."""
        draw = self.draw
        enabled = draw.randrange(1, 4)
        before = draw.randrange(4) & ~enabled
        after = before | draw.choice([lines for lines in range(1, 4) if lines & enabled])
        self.words += [*constant(RAISED, (enabled & 1) << 7 | (enabled & 2) << 10), csr(1, 0, 0x304, RAISED)]
        self.words += [addi(RAISED, 0, before), s_type(2, TOP, RAISED, LINES)]
        self.words += [addi(RAISED, 0, after), s_type(2, TOP, RAISED, LATER), 0x10500073]
        self.words += [*constant(RAISED, 0x880), csr(1, 0, 0x304, RAISED)]

    def fence(self):
        self.words.append(self.draw.choice((0x0FF0000F, 0x0000100F)))

    def patch(self):
        """Writes an instruction that comes soon, and says so by FENCE.I."""
        distance = 12 + 4 * self.draw.randrange(3)
        self.words += constant(PATCH, addi(self.any(), self.any(), self.draw.randrange(2048)))
        self.words += [upper(0x17, CODE, 0), s_type(2, CODE, PATCH, distance), 0x0000100F]
        self.words += [addi(0, 0, 0)] * (distance // 4 - 3)
        self.words += [addi(self.any(), 0, 1)]


DRAWS = (
    [Program.operate, Program.immediate, Program.multiply, Program.load, Program.store, Program.skip] * 3
    + [Program.subtract, Program.wide, Program.renew, Program.loop, Program.leap, Program.status, Program.illegal] * 2
    + [Program.nowhere, Program.call, Program.interrupt, Program.wait, Program.fence, Program.patch]
)


def image(program, draw):
    memory = bytearray(BYTES)
    for base, words in ((HANDLER, handler()), (rv32.RESET, program.words)):
        for index, word in enumerate(words):
            memory[base + 4 * index : base + 4 * index + 4] = word.to_bytes(4, "little")
    assert rv32.RESET + 4 * len(program.words) < DATA - 2048
    memory[DATA - 2048 : DATA + 2048] = draw.randbytes(4096)
    return memory


def expected(memory, lines):
    """What the program leaves, a line an instruction, while `lines` says what counters of cycles said."""
    hart = rv32.Hart(memory)
    state = {"seen": 0, "stop": False, "cycles": {0: 0, 32: 0}}

    def cycles(shift):
        """The half that the core read, if it is later than the one before, and not by more than a run takes."""
        words = lines[state["seen"]].split()
        if len(words) != 3 or words[1] == "T":
            return 0  # nobody sees what was read
        value = int(words[2], 16)
        passed = value - state["cycles"][shift] & rv32.MASK
        if not (0 < passed < LONGEST if shift == 0 else passed <= 1):
            return ~value & rv32.MASK
        state["cycles"][shift] = value
        return value

    def set_cycles(shift, value):
        state["cycles"][shift] = value

    def stored(addr, value):
        if addr == BYTES + STOP:
            state["stop"] = True
        if addr in (BYTES + LINES, BYTES + LATER):
            hart.mip = (value & 1) << 7 | (value & 2) << 10

    hart.cycles, hart.set_cycles, hart.stored = cycles, set_cycles, stored
    while not state["stop"] and state["seen"] < len(lines):
        pc, left = hart.pc, hart.step()
        state["seen"] += 1
        if left[0] == "x":
            yield f"{pc:08x} x{left[1]} {left[2]:08x}"
        elif left[0] == "w":
            yield f"{pc:08x} w {left[1]:08x} {left[2]:08x} {left[3]:x}"
        elif left[0] == "T":
            yield f"{pc:08x} T {left[1]:08x} {left[2]:08x}"
        else:
            yield f"{pc:08x} -"


def run(bench, folder, seed, waits):
    draw = random.Random(seed)
    program = Program(draw)
    memory = image(program, draw)
    with open(folder / "image", "w") as file:
        for index in range(WORDS):
            file.write(f"{int.from_bytes(memory[4 * index : 4 * index + 4], 'little'):08x}\n")
    arguments = [f"+image={folder}/image", f"+trace={folder}/trace", f"+seed={seed}", f"+waits={waits}"]
    done = subprocess.run(["vvp", "-N", bench, *arguments], capture_output=True, text=True, check=True)
    got = (folder / "trace").read_text().splitlines()
    if "no end" in done.stdout:
        print(f"seed {seed}, waits {waits}: {done.stdout.strip()}, after {got[-1:]}")
        return 0
    want = list(expected(memory, got))
    for number, (a, b) in enumerate(zip(got, want)):
        if a != b:
            print(f"seed {seed}, waits {waits}, instruction {number + 1}: the core left '{a}', rv32.py says '{b}'")
            return 0
    if f" w {BYTES + STOP:08x} " not in want[-1]:
        print(f"seed {seed}, waits {waits}: {len(got)} instructions, and rv32.py's program goes on")
        return 0
    return len(want)


def main():
    source, seed, programs = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else int(os.environ.get("SOC_PART", "24"))
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        bench = folder / "bench"
        soc = source / "hw/soc"
        files = [soc / "tb/soc_cpu_tb.v", *(soc / f"soc_{part}.v" for part in ("cpu", "fetch", "alu", "muldiv", "csr"))]
        warned = subprocess.run(
            ["iverilog", "-g2005", "-Wall", "-Wno-timescale", "-s", "soc_cpu_tb", "-o", bench, *files], capture_output=True, text=True
        )
        if warned.returncode or warned.stderr:
            print(warned.stderr)
            return 1
        total = 0
        for index in range(programs):
            count = run(bench, folder, seed + index, (0, 0, 1, 3)[index % 4])
            if count == 0:
                return 1
            total += count
    print(f"{programs} programs, {total} instructions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
