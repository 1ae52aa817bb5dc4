#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# flat.py NETLIST: what the top of a flat netlist (Yosys' JSON) takes, and how many of its LUTs are left where two that share an input
# and have no more than five together go into one LUT with two outputs (LUT6_2), as placers for Xilinx' parts do. The pairs are found
# one after the other, nearest first, so that a few more may exist; how many a placer takes, only the placer knows.
import json
import re
import sys

sys.dont_write_bytecode = True
import table  # noqa: E402

TOGETHER = 5  # inputs of a LUT with two outputs
MANY = 200    # of a net with more sinks only so many are looked at


def pairs(tables):
    """How many disjoint pairs of input sets can share a LUT."""
    sinks = {}
    for i, inputs in enumerate(tables):
        for bit in inputs:
            sinks.setdefault(bit, []).append(i)
    taken, count = set(), 0
    for i in sorted((i for i, inputs in enumerate(tables) if 0 < len(inputs) <= TOGETHER), key=lambda i: (-len(tables[i]), i)):
        if i in taken:
            continue
        near = {j for bit in tables[i] for j in sinks[bit][:MANY] if j not in taken and j != i}
        fits = [(len(tables[i] | tables[j]), j) for j in near if len(tables[i] | tables[j]) <= TOGETHER]
        if fits:
            taken |= {i, min(fits)[1]}
            count += 1
    return count


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: flat.py NETLIST")
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            modules = json.load(file)["modules"]
        cells = next(m for m in modules.values() if int(m.get("attributes", {}).get("top", "0"), 2))["cells"].values()
    except (OSError, ValueError, KeyError, StopIteration) as e:
        sys.exit(f"flat.py: {sys.argv[1]}: expected a netlist with a top, as Yosys' write_json makes it ({e!r})")
    used = [sum(amounts) for amounts in zip((0,) * len(table.COLUMNS), *(table.cost(cell["type"]) for cell in cells))]
    tables = [frozenset(bit for pin, bits in cell["connections"].items() if pin != "O" for bit in bits if not isinstance(bit, str))
              for cell in cells if re.match(r"LUT[1-6]$", cell["type"])]
    amounts = ", ".join(f"{amount:g} {column}" for column, amount in zip(table.COLUMNS, used) if amount)
    print(f"takes {amounts}; {used[0] - pairs(tables):g} LUT if those that share an input share a LUT")


if __name__ == "__main__":
    main()
