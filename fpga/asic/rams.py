#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rams.py SHAPES.json LIBERTY...: RAMs made of macros, as Verilog on standard output.

SHAPES.json is Yosys' design in which the RAM modules of hw/ are black boxes. Each takes the macro with two ports that needs the least
area: as many beside each other as its words are wide, as many behind each other as it is deep. Standard error says which. Macros have the pins of IHP's: A_CLK, A_MEN (on), A_WEN, A_REN, A_ADDR, A_DIN, A_DOUT, A_BM (mask), A_DLY, A_BIST_*, and
the same with B."""
import json
import re
import sys

from liberty import Library


def widths(module):
    return {name: len(port["bits"]) for name, port in module["ports"].items()}


def bits(name, low, count, width):
    """`count` bits of a vector of `width` from `low` on, zeros where it ends."""
    have = min(count, width - low)
    part = f"{name}[{low + have - 1}:{low}]"
    return part if have == count else f"{{{count - have}'d0, {part}}}"


class Grid:
    """Macros behind the two ports of a RAM. A port is a dictionary: wr, rd, addr, data, mask (of bits), out."""

    def __init__(self, macro, log_depth, width):
        self.macro, self.log_depth, self.width = macro, log_depth, width
        self.columns, self.rows = macro.takes(log_depth, width)
        self.lines = []

    def say(self, line):
        self.lines.append("    " + line)

    def address(self, port):
        """The low bits, which each macro takes, and what chooses a row."""
        low = min(self.log_depth, self.macro.log_depth)
        return bits(port["addr"], 0, self.macro.log_depth, low), low

    def port(self, letter, port):
        low = self.address(port)[1]
        choice = f"{port['addr']}[{self.log_depth - 1}:{low}]"
        if self.rows > 1 and port["out"]:
            self.say(f"reg [{self.log_depth - low - 1}:0] {letter}_row_q;")
            self.say(f"always @(posedge clk) if ({port['rd']}) {letter}_row_q <= {choice};")
        for row in range(self.rows):
            here = f"{choice} == {row}" if self.rows > 1 else "1'b1"
            self.say(f"wire {letter}_here_{row} = ({port['wr']} || {port['rd']}) && {here};")
            if port["out"]:
                self.say(f"wire [{self.columns * self.macro.width - 1}:0] {letter}_out_{row};")
        if port["out"]:
            chosen = f"{letter}_out_0[{self.width - 1}:0]"
            for row in range(1, self.rows):
                chosen = f"{letter}_row_q == {row} ? {letter}_out_{row}[{self.width - 1}:0] : {chosen}"
            self.say(f"assign {port['out']} = {chosen};")

    def pins(self, letter, port, row, column):
        wide, pins = self.macro.width, {}
        pins["CLK"], pins["MEN"], pins["DLY"] = "clk", f"{letter}_here_{row}", "1'b1"
        pins["WEN"], pins["REN"], pins["ADDR"] = port["wr"], port["rd"], self.address(port)[0]
        pins["DIN"] = bits(port["data"], column * wide, wide, self.width) if port["data"] else f"{wide}'d0"
        pins["BM"] = bits(port["mask"], column * wide, wide, self.width) if port["mask"] else f"{{{wide}{{1'b1}}}}"
        if port["out"]:
            pins["DOUT"] = f"{letter}_out_{row}[{(column + 1) * wide - 1}:{column * wide}]"
        return {f"{letter}_{name}": value for name, value in pins.items()}

    def verilog(self, a, b):
        self.port("A", a)
        self.port("B", b)
        for row in range(self.rows):
            for column in range(self.columns):
                joined = {**self.pins("A", a, row, column), **self.pins("B", b, row, column)}
                for pin in self.macro.pins:
                    if "_BIST_" in pin:
                        joined[pin] = "'0" if pin.endswith(("ADDR", "BM", "DIN")) else "1'b0"
                text = ", ".join(f".{pin}({joined[pin]})" for pin in self.macro.pins if pin in joined and joined[pin] != "'0")
                self.say(f"{self.macro.name} macro_{row}_{column} ({text});")
        return self.lines


def ram(ports):
    """vta_ram: one port writes, one reads."""
    log_depth, width, strobes, wr_width = ports["wr_addr"], ports["rd_data"], ports["wr_strobe"], ports["wr_data"]
    lines = [f"    wire [{width - 1}:0] data = {{{width // wr_width}{{wr_data}}}};", f"    wire [{width - 1}:0] mask;"]
    for s in range(strobes):
        size = width // strobes
        lines.append(f"    assign mask[{(s + 1) * size - 1}:{s * size}] = {{{size}{{wr_strobe[{s}]}}}};")
    a = {"wr": "wr_en", "rd": "1'b0", "addr": "wr_addr", "data": "data", "mask": "mask", "out": None}
    b = {"wr": "1'b0", "rd": "rd_en", "addr": "rd_addr", "data": None, "mask": None, "out": "rd_data"}
    return log_depth, width, lines, a, b


def uop_ram(ports):
    """vta_uop_ram: one port writes or reads, one reads."""
    a = {"wr": "a_wr", "rd": "(a_rd && !a_wr)", "addr": "a_addr", "data": "a_wr_data", "mask": None, "out": "a_rd_data"}
    b = {"wr": "1'b0", "rd": "b_rd", "addr": "b_addr", "data": None, "mask": None, "out": "b_rd_data"}
    return ports["a_addr"], ports["a_wr_data"], [], a, b


def table(ports):
    """vta_table: both ports write a half of a word, or both read."""
    number = ports["rd_index"] // 2     # bits of an entry's number; a word of the RAM has two entries
    lines = [f"    wire [{number - 2}:0] a_addr = wr_en ? {{wr_addr, 1'b0}} : rd_index[{number - 1}:1];",
             f"    wire [{number - 2}:0] b_addr = wr_en ? {{wr_addr, 1'b1}} : rd_index[{2 * number - 1}:{number + 1}];",
             "    wire [15:0] a_half;", "    wire [15:0] b_half;", "    reg a_upper_q;", "    reg b_upper_q;",
             f"    always @(posedge clk) if (rd_en) begin a_upper_q <= rd_index[0]; b_upper_q <= rd_index[{number}]; end",
             "    assign rd_data = {b_upper_q ? b_half[15:8] : b_half[7:0], a_upper_q ? a_half[15:8] : a_half[7:0]};",
             "    wire [15:0] low = wr_data[15:0];", "    wire [15:0] high = wr_data[31:16];"]
    rd = "(rd_en && !wr_en)"
    a = {"wr": "wr_en", "rd": rd, "addr": "a_addr", "data": "low", "mask": None, "out": "a_half"}
    b = {"wr": "wr_en", "rd": rd, "addr": "b_addr", "data": "high", "mask": None, "out": "b_half"}
    return number - 1, 16, lines, a, b


KINDS = {"vta_ram": ram, "vta_uop_ram": uop_ram, "vta_table": table}


def kind_of(name):
    return next((k for k in KINDS if re.search(rf"(^|\\){k}($|\\)", name)), None)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        modules = json.load(file)["modules"]
    macros = [m for m in Library(sys.argv[2:]).macros.values() if m.two_ports]
    if not macros:
        sys.exit("rams.py: no RAM macro with two ports in the liberty files")
    for name, module in modules.items():
        kind = kind_of(name)
        if kind is None:
            continue
        ports = widths(module)
        log_depth, width, lines, a, b = KINDS[kind](ports)
        fitting = [m for m in macros if m.masked or a["mask"] is None or len(module["ports"]["wr_strobe"]["bits"]) == 1]
        if not fitting:
            sys.exit(f"rams.py: no RAM macro with two ports and a mask of bits (A_BM), which {kind} wants")
        best = min(fitting, key=lambda m: m.area * m.takes(log_depth, width)[0] * m.takes(log_depth, width)[1])
        grid = Grid(best, log_depth, width)
        print(f"{kind} {1 << log_depth} {width} {grid.columns * grid.rows} {best.name} {grid.columns * grid.rows * best.area:.0f}", file=sys.stderr)
        print(f"module \\{name} (")
        print(",\n".join(f"    {port['direction']} wire [{len(port['bits']) - 1}:0] {p}" for p, port in module["ports"].items()))
        print(");")
        print("\n".join(lines + grid.verilog(a, b)))
        print("endmodule\n")


if __name__ == "__main__":
    main()
