#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who has seen each clock and each area: the router of a part, OpenSTA, our analysis of a netlist, Yosys' count of one, or nobody.

usage: seen.py SOURCE [--values | --write]   prints the table; --values: with the numbers; --write: into SOURCE/fpga/README.md

Nothing is said here that the data does not say: tests/results has what was measured, boards.txt and synth/parts.txt have boards and
parts, CLOCK_FROM of a configuration says what its clock rests on, compiler/src/explore/chip.def what a chip's area comes from. A
clock that CLOCK_FROM does not call timed or routed, or whose row in tests/results is gone or says otherwise, nobody has seen.
"""
import json
import pathlib
import re
import sys

COLUMNS = ("clock", "LUT", "DSP", "block RAM")
BEGIN, END = "<!-- seen.py --write: begin -->", "<!-- seen.py --write: end -->"
NOBODY = ("nobody", None)
NAMES = {"timing": ("LUT", "DSP", "BRAM36"), "synth": ("LUT", "DSP", "BRAM36"), "bitstream": ("TRELLIS_COMB", "multipliers", "block RAM")}


class Data:
    """All that the table is made of. `faults` are rows that contradict each other, or that no row of the table shows."""

    def __init__(self, source):
        self.source, self.faults, self.shown = pathlib.Path(source), [], set()
        self.results = {verb: self.read_results(verb) for verb in ("timing", "synth", "bitstream", "route", "ice40", "soc")}
        self.boards = self.table("fpga/boards.txt", ("board", "family", "part", "config"))
        self.parts = self.table("fpga/synth/parts.txt", ("config", "part"))
        paths = [*sorted((self.source / "isa/configs").glob("*.json")), self.source / "fpga/ecp5/ulx3s.json"]
        self.configs = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
        chip = (self.source / "compiler/src/explore/chip.def").read_text(encoding="utf-8")
        self.chip = re.search(r'VTAC_CHIP_FROM\("([^"]*)", "([^"]*)", (\d+)', chip)

    def read_results(self, verb):
        path = self.source / f"tests/results/{verb}.json"
        return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else {}

    def table(self, name, columns):
        lines = (self.source / name).read_text(encoding="utf-8").splitlines()
        return [dict(zip(columns, line.split())) for line in lines if line.strip() and not line.startswith("#")]

    def part_of(self, config):
        """The part that a configuration is counted for: its own row, or that of the board that its TARGET names."""
        rows = {row["config"]: row["part"] for row in self.parts}
        return rows.get(config) or rows.get(self.configs[config].get("TARGET"))

    def row(self, verb, name):
        self.shown.add((verb, name))
        return self.results[verb].get(name)


def clock_of(data, config):
    """Who has seen the clock of a configuration."""
    said = data.configs[config].get("CLOCK_FROM", "")
    timed = re.match(r"timing: ([\d.]+) ns", said)
    row = data.row("timing", config)
    if timed:
        if not row or row["ns"] != float(timed[1]):
            data.faults.append(f"{config}: CLOCK_FROM says '{said}', tests/results/timing.json {row['ns'] if row else 'nothing'}")
            return NOBODY
        return "our analysis", f"{data.configs[config]['CLOCK_MHZ']} MHz of {row['MHz']}"
    if said.startswith("routed"):
        row = data.row("bitstream", config)
        if row:
            return "router", f"{row['MHz']} MHz"
        data.faults.append(f"{config}: CLOCK_FROM says '{said}', tests/results/bitstream.json nothing")
    elif said and not said.startswith("assumed"):
        data.faults.append(f"{config}: CLOCK_FROM says '{said}': expected timing, routed or assumed")
    return NOBODY


def area_of(data, config):
    """Who has counted what a configuration takes of its part: LUTs, DSPs, block RAMs."""
    for verb, name, who in (("bitstream", config, "router"), ("timing", config, "Yosys"), ("synth", f"{config} total", "Yosys")):
        row = data.row(verb, name)
        if row:
            return [(who, str(row[column])) for column in NAMES[verb]]
    return [NOBODY] * 3


def configurations(data):
    """Rows of the accelerators, those without a part or anything that was measured last and together."""
    bare = []
    for config in data.configs:
        cells, part = [clock_of(data, config), *area_of(data, config)], data.part_of(config)
        if config == "ulx3s":
            yield "the whole machine of `ulx3s` on an LFE5U-85F", cells, "bitstream" if data.results["bitstream"].get(config) else None
        elif all(cell == NOBODY for cell in cells):
            bare.append(f"`{config}`")
        else:
            yield f"`{config}` on an {part}", cells, "timing"
    if bare:
        yield ", ".join(bare), [NOBODY] * 4, None


def on_boards(data):
    """Rows of boards: a clock and an area of a configuration hold for the part that they were seen for, and no board has run."""
    groups = {}
    for board in data.boards:
        own = data.part_of(board["config"])
        fits = own and board["part"].startswith(own)
        part = f"`{board['config']}` on an {board['part'].split('-')[0]}" if not fits else ""
        groups.setdefault((board["config"], part), []).append(f"`{board['board']}`")
    for (config, part), boards in groups.items():
        if part:
            yield f"{', '.join(boards)}: {part}", [NOBODY] * 4, None
        else:
            cells = [clock_of(data, config), *area_of(data, config)]
            yield f"{', '.join(boards)}: as `{config}`", cells, None if all(cell == NOBODY for cell in cells) else "timing"


def parts_of_machines(data):
    """Rows of what was routed without being whole."""
    for name, row in data.results["bitstream"].items():
        if name.endswith(" alone"):
            data.row("bitstream", name)
            cells = [("router", f"{row['MHz']} MHz"), *(("router", str(row[column])) for column in NAMES["bitstream"])]
            yield f"core, caches and devices of `{name[:-6]}`, without the accelerator", cells, "bitstream"
    units = (("route", "MHz of its nets", "xc7z020", ("a router's nets, our analysis", *["not kept"] * 3)),
             ("ice40", "MHz", "iCE40 HX8K", ("router", "router", "none there", "router")))
    for verb, column, part, seers in units:
        rows = data.results[verb]
        for name in rows:
            data.row(verb, name)
        if rows:
            clock = f"{min(row[column] for row in rows.values())} MHz and more"
            yield f"units of the accelerator on an {part}, each alone", [(seers[0], clock), *((who, None) for who in seers[1:])], verb


def chips(data):
    """The row of standard cells; a clock of theirs is printed and not kept."""
    if data.chip:
        library, config, _ = data.chip.groups()
        cells = [("OpenSTA, in `./run asic`; none is kept", None), ("Yosys, in cells", None), ("Yosys, in cells", None), ("the library, in macros", None)]
        yield f"`{config}` as a chip in `{library}`: energy by OpenSTA, layout by nobody", cells, "chip"


def rows_of(data):
    rows = [*configurations(data), *on_boards(data), *parts_of_machines(data), *chips(data)]
    for verb in ("timing", "synth", "bitstream", "route", "ice40"):
        for name in data.results[verb]:
            if (verb, name) not in data.shown and not (verb == "synth" and ("timing", name.split()[0]) in data.shown):
                data.faults.append(f"tests/results/{verb}.json: '{name}' is in no row of the table")
    return rows


def table(rows, values):
    places = {None: "none", "chip": "`compiler/src/explore/chip.def`"}
    lines = ["| of | " + " | ".join(COLUMNS) + " | the numbers |", "|" + "---|" * (len(COLUMNS) + 2)]
    for name, cells, verb in rows:
        shown = [who if not values or value is None else f"{who}: {value}" for who, value in cells]
        lines.append(f"| {name} | " + " | ".join(shown) + f" | {places.get(verb, f'`./run results {verb}`')} |")
    return "\n".join(lines) + "\n"


def main(source, option=""):
    data = Data(source)
    text = table(rows_of(data), option == "--values")
    for fault in data.faults:
        print(f"seen.py: {fault}", file=sys.stderr)
    if option == "--write":
        readme = pathlib.Path(source) / "fpga/README.md"
        before, rest = readme.read_text(encoding="utf-8").split(BEGIN + "\n")
        readme.write_text(before + BEGIN + "\n" + text + END + rest.split(END)[1], encoding="utf-8")
    else:
        print(text, end="")
    return 1 if data.faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--values"], ["--write"]):
        sys.exit("usage: seen.py SOURCE [--values | --write]")
    sys.exit(main(*sys.argv[1:]))
