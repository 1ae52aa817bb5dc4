#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fanout.py NET.json OUT.json LIBERTY...: puts trees of buffers into a mapped netlist of Yosys' where more than MOST pins read a net, which
its mapper leaves as it is behind registers and ports. Clocks are left alone: their tree is a matter of layout."""
import json
import sys

from liberty import Library

MOST = 12


class Module:
    def __init__(self, module, modules, library):
        self.cells, self.modules, self.library = module["cells"], modules, library
        self.next = 1 + max([b for p in module["ports"].values() for b in p["bits"] if isinstance(b, int)]
                            + [b for c in self.cells.values() for bits in c["connections"].values() for b in bits if isinstance(b, int)], default=1)
        self.made = 0

    def reads(self, kind, pin):
        """True where that pin of a cell or module is an input."""
        if kind in self.library.inputs:
            return pin in self.library.inputs[kind]
        return self.modules[kind]["ports"][pin]["direction"] == "input"

    def readers(self):
        """By net: the pins of cells that read it, as (connections, pin, place); nets that are a clock are missing."""
        found, clocks = {}, set()
        for cell in self.cells.values():
            for pin, bits in cell["connections"].items():
                for place, bit in enumerate(bits):
                    if not isinstance(bit, int) or not self.reads(cell["type"], pin):
                        continue
                    if pin in self.library.clocks.get(cell["type"], ()) or pin.startswith("clk"):
                        clocks.add(bit)
                    found.setdefault(bit, []).append((cell["connections"], pin, place))
        return {bit: pins for bit, pins in found.items() if bit not in clocks}

    def buffer(self, net):
        """A new net, which repeats that one."""
        kind, pin_in, pin_out = self.library.buffer
        name, new = f"fan{self.made}", self.next
        self.made, self.next = self.made + 1, self.next + 1
        self.cells[name] = {"hide_name": 0, "type": kind, "parameters": {}, "attributes": {}, "connections": {pin_in: [net], pin_out: [new]}}
        return self.cells[name]["connections"], pin_in, new

    def spread(self, net, pins):
        """Until a net has few readers, each dozen of them gets a buffer, which reads the net for them."""
        while len(pins) > MOST:
            level = []
            for at in range(0, len(pins), MOST):
                connections, pin, new = self.buffer(net)
                for theirs, their_pin, place in pins[at:at + MOST]:
                    theirs[their_pin][place] = new
                level.append((connections, pin, 0))
            pins = level


def main():
    source, out = sys.argv[1:3]
    library = Library(sys.argv[3:])
    if library.buffer is None:
        sys.exit("fanout.py: no library has a buffer, a cell whose output is its one input")
    with open(source, encoding="utf-8") as file:
        design = json.load(file)
    for module in design["modules"].values():
        if "blackbox" not in module.get("attributes", {}) and module["cells"]:
            spread = Module(module, design["modules"], library)
            for net, pins in spread.readers().items():
                spread.spread(net, pins)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(design, file)


if __name__ == "__main__":
    main()
