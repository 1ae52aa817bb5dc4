#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# routed.py NETLIST SDF OUT: what nextpnr's Xilinx router made, as a netlist that sta.py reads: cells and pins by the names that Yosys
# gave them, and with each input pin the ns of its routed net. So the cells have the delays of the part's file, which know of DSPs and
# of flip-flops more than the router's database, and the nets have the router's.
import json
import re
import sys

BUSES = {"A", "B", "C", "D", "P", "PCIN", "PCOUT", "ACIN", "ACOUT", "BCIN", "BCOUT", "OPMODE", "INMODE", "ALUMODE", "CARRYINSEL", "CARRYOUT",
         "DI", "S", "O", "CO"}
# A block RAM of 36 kbit has pins for both its halves.
BLOCK = re.compile(r"^(ADDRARDADDR|ADDRBWRADDR|CLKARDCLK|CLKBWRCLK|ENARDEN|ENBWREN|REGCEAREGCE|REGCEB|RSTRAMARSTRAM|RSTRAMB|RSTREGARSTREG|RSTREGB|"
                   r"WEA|WEBWE|DIADI|DIBDI|DIPADIP|DIPBDIP|DOADO|DOBDO|DOPADOP|DOPBDOP)([LU]?)(\d*)$")
PINS = {
    "SLICE_FFX": {"CK": "C", "D": "D", "CE": "CE", "Q": "Q"},
    "SELMUX2_1": {"0": "I0", "1": "I1", "S0": "S", "OUT": "O"},
    "BUFGCTRL": {"I0": "I", "O": "O"},
    "BUFG_BUFG": {"I": "I", "O": "O"},
}


def unescaped(name):
    return re.sub(r"\\(.)", r"\1", name)


def wires_of(path):
    """The ns of the net at each input pin, (cell, pin) of the router's: the slower edge."""
    found = {}
    line = re.compile(r"\(INTERCONNECT (\S+) (\S+) \((\d+):\d+:\d+\) \((\d+):")
    with open(path, encoding="utf-8") as text:
        for match in map(line.search, text):
            if match:
                cell, _, pin = match.group(2).rpartition("/")
                found[unescaped(cell), unescaped(pin)] = max(int(match.group(3)), int(match.group(4))) / 1000
    return found


def table(kind, pins):
    """A place for a table: a table, a word of RAM or a shift register."""
    if kind.startswith("RAM"):
        def name(pin):
            return {"CLK": "WCLK", "WE": "WE", "O5": "DPO", "O6": "DPO"}.get(
                pin, "D" if pin.startswith("DI") else "A" if pin.startswith("WA") else "DPRA" if pin.startswith("A") else None)
        return "RAM64X1D", {p: name(p) for p in pins}
    if kind.startswith("SRL"):
        def name(pin):
            return {"CLK": "CLK", "WE": "CE", "CE": "CE", "O5": "Q", "O6": "Q", "MC31": "Q31"}.get(
                pin, "D" if pin.startswith("DI") else "A" if pin.startswith("A") else None)
        return "SRLC32E", {p: name(p) for p in pins}
    return "LUT6", {p: "O" if p.startswith("O") else "I" if p.startswith("A") else None for p in pins}


def names_of(cell):
    """A cell of the router's as (type, {its pin: the pin that Yosys knew}), or none for what has no delay to speak of."""
    kind, original = cell["type"], cell["attributes"].get("X_ORIG_TYPE", "")
    pins = cell["connections"]
    if kind == "SLICE_LUTX":  # two that share a place have the pins of both; its own have a name from before
        return table(original, [p for p in pins if "X_ORIG_PORT_" + p in cell["attributes"]])
    if kind == "SLICE_FFX":
        reset = "S" if original.startswith(("FDS", "FDP")) else "R"
        return original, {p: PINS[kind].get(p, reset if p == "SR" else None) for p in pins}
    if kind in PINS:
        return {"SELMUX2_1": original, "BUFGCTRL": "BUFG", "BUFG_BUFG": "BUFG"}[kind], {p: PINS[kind].get(p) for p in pins}
    if kind == "CARRY4":
        return kind, {p: {"CIN": "CI", "CYINIT": "CYINIT"}.get(p, p) for p in pins}
    if kind.startswith(("RAMB36E1", "RAMB18E1", "DSP48E1")):
        return kind.split("_")[0], {p: p for p in pins}
    return None


def place_of(kind, pin):
    """A pin of a bus as (bus, bit)."""
    match = BLOCK.match(pin) if kind.startswith("RAMB") else None
    if match:
        return match.group(1), (match.group(2) == "U") * 64 + int(match.group(3) or 0)
    match = re.match(r"^([A-Z]+)(\d+)$", pin)
    if match and kind in ("DSP48E1", "CARRY4") and match.group(1) in BUSES:
        return match.group(1), int(match.group(2))
    return pin, 0


def output(kind, pin, direction):
    return direction == "output" and not (kind == "BUFG" and pin == "I")


def converted(cell, name, constants, wires):
    kind, names = names_of(cell)
    buses = {}
    for pin, bits in cell["connections"].items():
        known = names.get(pin)
        if known is None or not bits:
            continue
        bus, at = place_of(kind, known)
        entry = buses.setdefault(bus, [cell["port_directions"][pin], {}])
        # pins that Yosys' name does not tell apart stand beside each other
        while at in entry[1]:
            at += 100
        entry[1][at] = (constants.get(bits[0], bits[0]), wires.get((name, pin), 0.0))
    made = {"type": kind, "parameters": cell["parameters"], "attributes": {}, "connections": {}, "port_directions": {}, "wires": {}}
    for bus, (direction, bits) in buses.items():
        width = 4 if kind == "CARRY4" and bus in ("DI", "S", "O", "CO") else max(bits) + 1 if kind == "DSP48E1" else 0
        at = range(width) if width else sorted(bits)
        made["connections"][bus] = [bits[i][0] if i in bits else "x" for i in at]
        made["wires"][bus] = [bits[i][1] if i in bits else 0.0 for i in at]
        made["port_directions"][bus] = "output" if output(kind, bus, direction) else "input"
    return made


def convert(routed, wires):
    """The router's module, with pads taken off: what they drive is a port."""
    constants, ports, cells = {}, {}, {}
    for name, cell in routed["cells"].items():
        at = cell["connections"]
        if cell["type"] in ("PSEUDO_VCC", "PSEUDO_GND"):
            constants[at["Y"][0]] = "1" if cell["type"] == "PSEUDO_VCC" else "0"
    pads = {bits[0]: port for port, bits in ((p, d["bits"]) for p, d in routed["ports"].items())}
    for name, cell in routed["cells"].items():
        at = cell["connections"]
        if "INBUF" in cell["type"]:
            ports[pads[at["PAD"][0]]] = {"direction": "input", "bits": at["OUT"]}
        elif "OUTBUF" in cell["type"]:
            ports[pads[at["OUT"][0]]] = {"direction": "output", "bits": at["IN"]}
        elif names_of(cell):
            made = converted(cell, name, constants, wires)
            if "output" in made["port_directions"].values():  # the router splits carry chains, and leaves ends that lead nowhere
                cells[name] = made
    return {"attributes": {"top": "1"}, "ports": ports, "cells": cells, "netnames": routed["netnames"]}


def main():
    netlist, sdf, out = sys.argv[1:4]
    with open(netlist, encoding="utf-8") as text:
        module = json.load(text)["modules"]["top"]
    with open(out, "w", encoding="utf-8") as text:
        json.dump({"modules": {"routed": convert(module, wires_of(sdf))}}, text)


if __name__ == "__main__":
    main()
