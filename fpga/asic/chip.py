#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chip.py NET.json MHZ CONFIG.json WINDOW ACTIVITY POWER LOW POWER HIGH CHIP.def LIBERTY...: what a unit's work and a cycle of
waiting take, as rows of compiler/src/explore/chip.def, which are written over those of CHIP.def; a table of them on standard output.

ACTIVITY is activity.py's of a window of waves, POWER OpenSTA's of each cell with LOW and with HIGH changes a cycle at inputs and
registers. Between the two a unit's power is a line: what is left at no changes is its clock. WINDOW names the window, in words."""
import json
import re
import sys

from liberty import Library
from report import Design, Unit, read_power

KINDS = (("MAC", r"compute/gemm/", "a multiplier of the array, with its share of sums, loops and window"),
         ("LANE", r"compute/(alu|acc)$", "a lane of the ALU, with its share of ACC's ports"),
         ("MOVE", r"(load/|store$|read$|write$|compute/loads$)", "loads, stores and the bus"),
         ("REST", r"", "fetch, queues, decoders, registers, counters"))


def kind_of(unit):
    return next(kind for kind, pattern, _ in KINDS if re.match(pattern, unit))


def read_activity(path):
    """Of units (changes, bits); of the window's events, how many."""
    units, events = {}, {}
    with open(path, encoding="utf-8") as file:
        for words in map(str.split, file):
            if words[0] == "=":
                events[words[1]] = int(words[2])
            else:
                units[words[0]] = float(words[1]), int(words[2])
    return units, events


def size_of(path):
    """(multipliers, lanes, bytes of the bus) of a configuration."""
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    rows, lanes = 1 << config.get("LOG_BATCH", 0), 1 << config["LOG_BLOCK_OUT"]
    return rows * lanes << config["LOG_BLOCK_IN"], rows * lanes, (1 << config.get("LOG_BUS_WIDTH", 6)) // 8


def powers_of(path, library):
    rows = {}
    read_power(path, library, rows)
    return {unit: row.power for unit, row in rows.items()}


class Sum:
    def __init__(self):
        self.dynamic = self.idle = self.area = self.changes = self.bits = 0.0


def sum_up(areas, low, high, activity):
    """By kind: power of changes and power at rest in W, area in um2 without RAM, activity over all its registers."""
    (low_at, low_power), (high_at, high_power) = low, high
    sums = {kind: Sum() for kind, _, _ in KINDS}
    for unit, area in areas.items():
        s = sums[kind_of(unit)]
        slope = (high_power.get(unit, 0.0) - low_power.get(unit, 0.0)) / (high_at - low_at)
        rest = low_power.get(unit, 0.0) - slope * low_at
        rate, bits = activity.get(unit, (0.0, 0))
        s.dynamic += slope * rate
        s.idle += rest
        s.area += area.area - area.ram
        s.changes += rate * bits
        s.bits += bits
    return sums


def rows_of(sums, size, events, mhz):
    """(id, pJ of an event, pJ of a cycle, mm2, words) each."""
    macs, lanes, beat = size
    happened = {"MAC": events["array"] * macs, "LANE": events["alu"] * lanes, "MOVE": (events["reads"] + events["writes"]) * beat, "REST": 0}
    count = {"MAC": macs, "LANE": lanes, "MOVE": 1, "REST": 1}
    for kind, _, words in KINDS:
        s = sums[kind]
        cycle = 1e6 / mhz  # pJ of a watt
        dynamic = s.dynamic * cycle * events["cycles"] / happened[kind] if happened[kind] else 0.0
        idle = s.idle * cycle / count[kind] + (s.dynamic * cycle if kind == "REST" else 0.0)
        yield kind, dynamic, idle, s.area / 1e6 / count[kind], words


def ram_rows(library):
    for macro in sorted(library.macros.values(), key=lambda m: (m.log_depth, m.width)):
        if macro.two_ports:
            wide = macro.width / 8
            yield macro.name, 1 << macro.log_depth, macro.read / wide, macro.write / wide, macro.area / wide


def write_table(path, units, rams, library, config, mhz, window):
    made = [f'VTAC_CHIP_UNIT({kind + ",":6} {dynamic:.4g}, {idle:.4g}, {area:.4g}, "{words}")' for kind, dynamic, idle, area, words in units]
    made += [f'VTAC_CHIP_RAM("{name}", {entries}, {read:.4g}, {write:.4g}, {area:.5g})' for name, entries, read, write, area in rams]
    made.append(f'VTAC_CHIP_FROM("{library}", "{config}", {mhz}, "{window}")')
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    kept = [line for line in lines if not re.match(r"VTAC_CHIP_(UNIT|RAM|FROM)\(", line)]
    at = next(i for i, line in enumerate(kept) if line.startswith("#undef"))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(kept[:at] + made + kept[at:]))


def library_name(paths):
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if re.search(r"\bff\s*\(", text):
            return re.search(r"\blibrary\s*\(\s*\"?(\w+)", text).group(1)
    return "?"


def main():
    net, mhz, config, window, activity, low, low_at, high, high_at, path, *paths = sys.argv[1:]
    library, areas = Library(paths), {}
    with open(net, encoding="utf-8") as file:
        design = Design(json.load(file)["modules"], library)
    design.units(design.top, [], areas)
    seen, events = read_activity(activity)
    sums = sum_up(areas, (float(low_at), powers_of(low, library)), (float(high_at), powers_of(high, library)), seen)
    units, rams = list(rows_of(sums, size_of(config), events, float(mhz))), list(ram_rows(library))
    print(f"{'of':8}{'changes':>10}{'pJ':>10}{'idle pJ':>10}{'mm2':>10}")
    for kind, dynamic, idle, area, words in units:
        s = sums[kind]
        print(f"{kind:8}{s.changes / max(s.bits, 1):>10.3f}{dynamic:>10.3f}{idle:>10.3f}{area:>10.4f}  {words}")
    for name, entries, read, write, area in rams:
        print(f"{name}: {entries} entries, {read:.2f} pJ a byte read, {write:.2f} written, {area:.0f} um2 a byte of a word")
    print(f"window of {events['cycles']} cycles: {events['array']} steps of the array, {events['alu']} of the ALU, {events['reads']} beats read, {events['writes']} written")
    write_table(path, units, rams, library_name(paths), re.sub(r".*/|[.]json$", "", config), mhz, window)


if __name__ == "__main__":
    main()
