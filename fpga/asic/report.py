#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.py NET.json POWER MHZ ACTIVITY LIBERTY...: a table by unit, of area, cells and RAM, the power of its logic and the energy of an
access to its RAMs.

NET.json is the mapped design as names.py leaves it. POWER has a line of OpenSTA's for each cell: its power in watts, its name. A unit
is an instance below the top, or below one in OPENED; what these hold themselves is `rest`."""
import json
import re
import sys

from liberty import Library

OPENED = {"compute", "gemm", "load"}
COLUMNS = ("mm2", "of it RAM", "cells", "flip-flops", "logic mW", "pJ a read", "pJ a write")


class Unit:
    def __init__(self):
        self.area = self.ram = self.power = self.read = self.write = 0.0
        self.cells = self.flops = 0

    def add(self, other):
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self

    def row(self):
        return (f"{self.area / 1e6:.3f}", f"{self.ram / 1e6:.3f}", self.cells, self.flops, f"{self.power * 1e3:.2f}", f"{self.read:.0f}", f"{self.write:.0f}")


class Design:
    def __init__(self, modules, library):
        self.modules, self.library, self.totals = modules, library, {}
        self.top = next(n for n, m in modules.items() if int(m["attributes"].get("top", "0"), 2))

    def cell(self, kind):
        """One cell: a macro's energy counts once, as if all of a RAM's macros that lie beside each other were at work."""
        one, macro = Unit(), self.library.macros.get(kind)
        if kind not in self.library.area:
            sys.exit(f"report.py: no library has the cell '{kind}'")
        one.area, one.cells, one.flops = self.library.area[kind], 1, int(kind in self.library.flops)
        if macro is not None:
            one.ram, one.read, one.write = macro.area, macro.read, macro.write
        return one

    def module(self, name):
        """All that a module holds. The rows of macros of a RAM share an access: only the first of them works."""
        if name not in self.totals:
            whole = Unit()
            for instance, cell in self.modules[name]["cells"].items():
                part = self.part(cell["type"])
                if re.match(r"macro_[1-9]", instance):
                    whole.read, whole.write = whole.read - part.read, whole.write - part.write
                whole.add(part)
            self.totals[name] = whole
        return self.totals[name]

    def part(self, kind):
        return self.module(kind) if kind in self.modules else self.cell(kind)

    def units(self, module, path, rows):
        for instance, cell in self.modules[module]["cells"].items():
            kind = cell["type"]
            if kind in self.modules and instance in OPENED:
                self.units(kind, path + [instance], rows)
            else:
                rows.setdefault(unit_of("/".join(path + [instance] + (["x"] if kind in self.modules else []))), Unit()).add(self.part(kind))


def unit_of(name):
    """The row that a cell counts for, by its path."""
    row = []
    for word in name.split("/")[:-1]:
        row.append(word)
        if word not in OPENED:
            return "/".join(row)
    return "rest"


def read_power(path, library, rows):
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 5 and re.match(r"-?\d", words[3]) and not re.search(r"(^|/)macro_\d+_\d+$", words[4]):
                rows.setdefault(unit_of(words[4]), Unit()).power += float(words[3])


def main():
    net, power, mhz, activity = sys.argv[1:5]
    library, rows = Library(sys.argv[5:]), {}
    with open(net, encoding="utf-8") as file:
        design = Design(json.load(file)["modules"], library)
    design.units(design.top, [], rows)
    read_power(power, library, rows)
    whole = Unit()
    for unit in rows.values():
        whole.add(unit)
    whole.read = whole.write = 0.0
    print(f"{'unit':24}" + "".join(f"{c:>12}" for c in COLUMNS))
    for name, unit in sorted(rows.items(), key=lambda r: -r[1].area) + [("all", whole)]:
        print(f"{name:24}" + "".join(f"{c:>12}" for c in unit.row()))
    print(f"logic: at {mhz} MHz, with {activity} changes a cycle at inputs and registers, all units at work; without wires and clock tree")


if __name__ == "__main__":
    main()
