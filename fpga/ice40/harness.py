#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# harness.py UNIT NETLIST [xilinx]: a top of three pins around a unit whose ports do not fit a package: its inputs are a shift
# register behind one pin, its outputs are registered and folded, in steps of four, into another. Every path of the unit
# itself starts and ends at a register, as in the machine. NETLIST is Yosys' JSON with the unit's ports.
import json
import sys


def main():
    unit, path = sys.argv[1:3]
    buffer = ("BUFG", "I", "O") if sys.argv[3:] == ["xilinx"] else ("SB_GB", "USER_SIGNAL_TO_GLOBAL_BUFFER", "GLOBAL_BUFFER_OUTPUT")
    with open(path, encoding="utf-8") as netlist:
        modules = json.load(netlist)["modules"]
    ports = next(m for m in modules.values() if int(m["attributes"].get("top", "0"), 2))["ports"]
    clocks = [n for n in ports if n == "clk" or n.startswith("clk_")]  # a simulator's may stop; here they are one
    given = [(n, len(p["bits"])) for n, p in ports.items() if p["direction"] == "input" and n not in clocks]
    taken = [(n, len(p["bits"])) for n, p in ports.items() if p["direction"] == "output"]
    inputs, outputs = sum(w for _, w in given), sum(w for _, w in taken)

    def connections(list_of_ports, bus):
        at = 0
        for name, width in list_of_ports:
            yield f".{name}({bus}[{at} +: {width}])"
            at += width

    print("`default_nettype none\nmodule harness (input wire pin_clk, input wire pin_in, output wire pin_out);")
    print(f"    wire clk;\n    {buffer[0]} clock (.{buffer[1]}(pin_clk), .{buffer[2]}(clk));")
    print(f"    reg [{inputs - 1}:0] in_q;\n    wire [{outputs - 1}:0] out;\n    reg [{outputs - 1}:0] fold0_q;")
    print(f"    always @(posedge clk) in_q <= {{in_q[{inputs - 2}:0], pin_in}};")
    print("    always @(posedge clk) fold0_q <= out;")
    level, width = 0, outputs
    while width > 1:
        following = (width + 3) // 4
        print(f"    reg [{following - 1}:0] fold{level + 1}_q;")
        for i in range(following):
            bits = f"fold{level}_q[{min(4 * i + 3, width - 1)}:{4 * i}]"
            print(f"    always @(posedge clk) fold{level + 1}_q[{i}] <= ^{bits};")
        level, width = level + 1, following
    print(f"    assign pin_out = fold{level}_q[0];")
    wires = [f".{name}(clk)" for name in clocks] + list(connections(given, "in_q")) + list(connections(taken, "out"))
    print(f"    {unit} unit ({', '.join(wires)});\nendmodule\n`default_nettype wire")


if __name__ == "__main__":
    main()
