#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""seen_test.py SOURCE SEED: fpga/README.md says who has seen each number as tests/results, boards.txt and CLOCK_FROM do, and fpga/seen.py
notices where these are changed: on copies, each change twice, for what two seeds draw."""

import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[1])
NEEDED = ("fpga/README.md", "fpga/boards.txt", "fpga/synth/parts.txt", "fpga/ecp5/ulx3s.json", "compiler/src/explore/chip.def")
FOLDERS = ("tests/results", "isa/configs")


def seen(folder, *option):
    done = subprocess.run([sys.executable, "-B", SOURCE / "fpga/seen.py", folder, *option], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def change(folder, name, edit):
    path = folder / name
    whole = json.loads(path.read_text(encoding="utf-8"))
    edit(whole)
    path.write_text(json.dumps(whole), encoding="utf-8")


def line_of(table, start):
    """The cells of the row that begins so."""
    found = [line for line in table.splitlines() if line.startswith(f"| {start}")]
    assert len(found) == 1, (start, table)
    return [cell.strip() for cell in found[0].split("|")[2:6]]


def timed():
    """Configurations whose clock is said to be timed."""
    found = {}
    for path in sorted((SOURCE / "isa/configs").glob("*.json")):
        said = json.loads(path.read_text(encoding="utf-8")).get("CLOCK_FROM", "")
        if said.startswith("timing"):
            found[path.stem] = said
    return found


# Each: changes the copy, and says what exit status, what row of the table and which words on stderr are to come.


def timing_forgotten(folder, draw):
    name = draw.choice(sorted(timed()))
    change(folder, "tests/results/timing.json", lambda whole: whole["rows"].pop(name))
    return 1, None, [name, "CLOCK_FROM"]


def other_path(folder, draw):
    name = draw.choice(sorted(timed()))
    change(folder, "tests/results/timing.json", lambda whole: whole["rows"][name].update(ns=round(1 + 20 * draw.random(), 3)))
    return 1, None, [name, timed()[name]]


def assumed(folder, draw):
    name = draw.choice(sorted(timed()))
    change(folder, f"isa/configs/{name}.json", lambda whole: whole.update(CLOCK_FROM="assumed, that of another"))
    return 0, (f"`{name}` on an ", ["nobody", "Yosys", "Yosys", "Yosys"]), []


def unknown_word(folder, draw):
    name = draw.choice(sorted(timed()))
    change(folder, f"isa/configs/{name}.json", lambda whole: whole.update(CLOCK_FROM="measured: 3 ns"))
    return 1, None, [name, "measured: 3 ns"]


def routed(folder, draw):
    rows = {"TRELLIS_COMB": draw.randrange(50000), "multipliers": 4, "block RAM": 7, "MHz": draw.randrange(30, 90)}
    change(folder, "tests/results/bitstream.json", lambda whole: whole["rows"].update(ulx3s=rows))
    change(folder, "fpga/ecp5/ulx3s.json", lambda whole: whole.update(CLOCK_FROM="routed"))
    return 0, ("the whole machine of `ulx3s`", ["router"] * 4), []


def routed_by_nobody(folder, _):
    change(folder, "fpga/ecp5/ulx3s.json", lambda whole: whole.update(CLOCK_FROM="routed"))
    return 1, None, ["ulx3s", "routed"]


def row_of_nothing(folder, draw):
    verb, name = draw.choice(("timing", "synth", "bitstream")), f"board{draw.randrange(1000)}"
    change(folder, f"tests/results/{verb}.json", lambda whole: whole["rows"].update({name: {"ns": 1}}))
    return 1, None, [f"{verb}.json", name, "no row"]


def board_with_another_part(folder, draw):
    lines = (folder / "fpga/boards.txt").read_text(encoding="utf-8").splitlines()
    at = draw.choice([number for number, line in enumerate(lines) if re.match(r"\S+ +zynq7 ", line)])
    name = lines[at].split()[0]
    (folder / "fpga/boards.txt").write_text("\n".join(lines).replace(lines[at], lines[at].replace("xc7z020", "xc7z010")) + "\n", encoding="utf-8")
    return 0, (f"`{name}`: `pynq` on an xc7z010", ["nobody"] * 4), []


CHANGES = (timing_forgotten, other_path, assumed, unknown_word, routed, routed_by_nobody, row_of_nothing, board_with_another_part)


def copied(folder):
    shutil.rmtree(folder, ignore_errors=True)
    for name in FOLDERS:
        shutil.copytree(SOURCE / name, folder / name)
    for name in NEEDED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, folder / name)


def judged(folder, step, draw):
    copied(folder)
    status, row, words = step(folder, draw)
    got, table, said = seen(folder)
    assert got == status, (step.__name__, got, said)
    assert all(word in said for word in words) and (words or not said), (step.__name__, words, said)
    if row:
        assert line_of(table, row[0]) == row[1], (step.__name__, row, table)
    if got == 0:
        before = (folder / "fpga/README.md").read_text(encoding="utf-8")
        assert table not in before, step.__name__
        seen(folder, "--write")
        after = (folder / "fpga/README.md").read_text(encoding="utf-8")
        assert table in after and after.split("<!--")[0] == before.split("<!--")[0] and after.split("-->")[-1] == before.split("-->")[-1]


def main():
    seed = int(sys.argv[2])
    print(f"seed {seed}")
    status, table, said = seen(SOURCE)
    assert (status, said) == (0, ""), said
    assert f"begin -->\n{table}<!--" in (SOURCE / "fpga/README.md").read_text(encoding="utf-8"), \
        "fpga/README.md: the table is not what the data says: python3 fpga/seen.py . --write"
    with tempfile.TemporaryDirectory() as name:
        for step in CHANGES:
            for offset in range(2):
                judged(pathlib.Path(name) / "tree", step, random.Random(seed + offset))
    print(f"{len(table.splitlines()) - 2} rows; {2 * len(CHANGES)} changes noticed")


if __name__ == "__main__":
    main()
