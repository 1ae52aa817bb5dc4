# SPDX-License-Identifier: Apache-2.0
"""RV32IM with Zicsr in machine mode, written from the specification: what each instruction does, for a test to compare with.

A Hart has `pc`, `x`, `memory` (bytes) and the machine's registers. step() does one instruction and returns what it left, as the
bench soc_cpu_tb prints it: ("x", rd, value), ("w", addr, data, strobes), ("T", cause, value) or ("-",).
"""

MASK = 0xFFFFFFFF
INTERRUPT = 1 << 31
RESET = 0x100

# The registers that a program may name: number → (attribute, the bits that a write changes; None where nothing does).
STATUS = {
    0x300: ("mstatus", 0x88),
    0x301: ("misa", 0),
    0x304: ("mie", 0x880),
    0x305: ("mtvec", 0xFFFFFFFC),
    0x340: ("mscratch", MASK),
    0x341: ("mepc", 0xFFFFFFFC),
    0x342: ("mcause", 0x8000000F),
    0x343: ("mtval", MASK),
    0x344: ("mip", 0),
    0xF11: ("zero", None),
    0xF12: ("zero", None),
    0xF13: ("zero", None),
    0xF14: ("zero", None),
}
CYCLES = {0xB00: 0, 0xB80: 32, 0xC00: 0, 0xC80: 32}  # what a model without a clock cannot know
RETIRED = {0xB02: 0, 0xB82: 32, 0xC02: 0, 0xC82: 32}


def signed(value, bits=32):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Trap(Exception):
    def __init__(self, cause, value=0):
        super().__init__(cause, value)
        self.cause, self.value = cause, value & MASK


def divide(op, x, y):
    """DIV, DIVU, REM, REMU as op 4 to 7; Python rounds down, the machine towards 0."""
    if op in (4, 6):
        x, y = signed(x), signed(y)
    if y == 0:
        return x if op >= 6 else -1
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return x - quotient * y if op >= 6 else quotient


def multiply(op, x, y):
    if op == 0:
        return x * y
    return ((signed(x) if op < 3 else x) * (signed(y) if op == 1 else y)) >> 32


def compute(op, other, x, y):
    shift = y & 31
    return (
        x - y if other and op == 0 else x + y,
        x << shift,
        int(signed(x) < signed(y)),
        int(x < y),
        x ^ y,
        signed(x) >> shift if other else x >> shift,
        x | y,
        x & y,
    )[op]


class Hart:
    def __init__(self, memory, pc=RESET):
        self.memory, self.pc, self.x = memory, pc, [0] * 32
        self.mstatus, self.misa, self.mie, self.mtvec, self.zero = 0x1800, 0x40001100, 0, 0, 0
        self.mscratch = self.mepc = self.mcause = self.mtval = self.mip = 0
        self.retired = 0
        self.cycles = lambda shift: 0  # how the test tells it what a counter of cycles said
        self.set_cycles = lambda shift, value: None  # and that a program wrote half of it
        self.stored = lambda addr, value: None  # what else a store of a word does

    # ---- memory

    def load(self, addr, size, cause):
        if addr % size:
            raise Trap(cause - 1, addr)
        if addr + size > len(self.memory):
            raise Trap(cause, addr)
        return int.from_bytes(self.memory[addr : addr + size], "little")

    def store(self, addr, value, size):
        if addr % size:
            raise Trap(6, addr)
        if addr + size > len(self.memory):
            raise Trap(7, addr)
        self.memory[addr : addr + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        self.stored(addr, value)
        lane = addr & 3
        return ("w", addr & ~3, value << (8 * lane) & MASK, ((1 << size) - 1) << lane)

    # ---- control and status

    def csr(self, number, word):
        if number in CYCLES:
            return self.cycles(CYCLES[number])
        if number in RETIRED:
            return self.retired >> RETIRED[number] & MASK
        if number not in STATUS:
            raise Trap(2, word)
        return getattr(self, STATUS[number][0])

    def set_csr(self, number, value):
        """True where the write takes the place of the instruction's own count."""
        if number in RETIRED:
            shift = RETIRED[number]
            self.retired = self.retired & ~(MASK << shift) | value << shift
            return True
        if number in CYCLES:
            self.set_cycles(CYCLES[number], value)
        if number in STATUS and STATUS[number][1]:
            name, bits = STATUS[number]
            setattr(self, name, getattr(self, name) & ~bits | value & bits)
        return False

    def system(self, word, op, rd, rs1):
        if op == 0:
            if word == 0x73:
                raise Trap(11)
            if word == 0x00100073:
                raise Trap(3)
            if word == 0x10500073:
                return ("-",)
            if word != 0x30200073:
                raise Trap(2, word)
            self.mstatus = self.mstatus & ~0x88 | (self.mstatus >> 4 & 8) | 0x80
            self.next = self.mepc
            return ("-",)
        if op == 4:
            raise Trap(2, word)
        number, writes = word >> 20, op & 3 == 1 or rs1 != 0
        old = self.csr(number, word)
        if writes and number >> 10 == 3:
            raise Trap(2, word)
        operand = rs1 if op & 4 else self.x[rs1]
        own = False
        if writes:
            own = self.set_csr(number, (operand, old | operand, old & ~operand & MASK)[(op & 3) - 1])
        self.retired -= own
        return ("x", rd, old)

    # ---- one instruction

    def execute(self, word):
        opcode, rd, op, rs1, rs2, top = word & 127, word >> 7 & 31, word >> 12 & 7, word >> 15 & 31, word >> 20 & 31, word >> 25
        x, y, pc = self.x[rs1], self.x[rs2], self.pc
        imm = signed(word >> 20, 12)
        if opcode == 0x37:
            return ("x", rd, word & 0xFFFFF000)
        if opcode == 0x17:
            return ("x", rd, pc + (word & 0xFFFFF000))
        if opcode == 0x6F:
            offset = (word >> 31) << 20 | (word >> 12 & 255) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 1023) << 1
            return self.go(pc + signed(offset, 21), rd)
        if opcode == 0x67 and op == 0:
            return self.go((x + imm) & ~1, rd)
        if opcode == 0x63 and op not in (2, 3):
            offset = (word >> 31) << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1
            holds = (x == y, None, None, None, signed(x) < signed(y), None, x < y)[op & 6] != bool(op & 1)
            return self.go(pc + signed(offset, 13), 0) if holds else ("-",)
        if opcode == 0x03 and op in (0, 1, 2, 4, 5):
            size = 1 << (op & 3)
            value = self.load((x + imm) & MASK, size, 5)
            return ("x", rd, value if op & 4 else signed(value, 8 * size))
        if opcode == 0x23 and op < 3:
            return self.store((x + signed(top << 5 | rd, 12)) & MASK, y, 1 << op)
        if opcode == 0x13:
            if op == 1 and top != 0 or op == 5 and top not in (0, 32):
                raise Trap(2, word)
            return ("x", rd, compute(op, op == 5 and top == 32, x, imm & MASK))
        if opcode == 0x33 and top == 1:
            return ("x", rd, divide(op, x, y) if op & 4 else multiply(op, x, y))
        if opcode == 0x33 and (top == 0 or top == 32 and op in (0, 5)):
            return ("x", rd, compute(op, top == 32, x, y))
        if opcode == 0x0F and op < 2:
            return ("-",)
        if opcode == 0x73:
            return self.system(word, op, rd, rs1)
        raise Trap(2, word)

    def go(self, target, rd):
        target &= MASK
        if target & 2:
            raise Trap(0, target)
        self.next = target
        return ("x", rd, self.pc + 4)

    def trap(self, cause, value):
        self.mepc, self.mcause, self.mtval = self.pc, cause, value
        self.mstatus = self.mstatus & ~0x88 | (self.mstatus & 8) << 4
        self.pc = self.mtvec
        return ("T", cause, value)

    def step(self):
        pending = self.mie & self.mip
        self.next = (self.pc + 4) & MASK
        try:
            waits = self.memory[self.pc : self.pc + 4] == b"\x73\x00\x50\x10"  # WFI ends by itself, then the interrupt comes
            if pending and self.mstatus & 8 and not waits:
                raise Trap(INTERRUPT | (11 if pending & 0x800 else 7))
            left = self.execute(self.load(self.pc, 4, 1))
        except Trap as trap:
            return self.trap(trap.cause, trap.value)
        self.retired += 1
        self.pc = self.next
        if left[0] == "x":
            left = ("x", left[1], left[2] & MASK)
            if left[1] == 0:
                return ("-",)
            self.x[left[1]] = left[2]
        return left
