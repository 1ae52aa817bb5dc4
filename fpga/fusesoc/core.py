#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""core.py HW HEADERS VERSION FOLDER: a FuseSoC core (CAPI2) in FOLDER: the accelerator, the machine around it, the generated
headers, and vtac.core, which names them. FuseSoC takes FOLDER with --cores-root, or as a library."""

import pathlib
import shutil
import sys


def copied(files, folder, to):
    """Copies files into a folder of the core; their names from there."""
    (to / folder).mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copyfile(file, to / folder / file.name)
    return [f"{folder}/{file.name}" for file in sorted(files, key=lambda file: file.name)]


def fileset(name, files, suffix=""):
    return [f"  {name}:", "    files:", *(f"      - {file}{suffix}" for file in files), "    file_type: verilogSource-2005"]


def target(name, filesets, top, *more):
    return [f"  {name}:", f"    filesets: [{', '.join(filesets)}]", f"    toplevel: {top}", *more]


def main():
    hw, headers, version, to = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4])
    if to.exists() and any(to.iterdir()):
        sys.exit(f"core.py: '{to}' is not empty")
    include = copied([*(hw / "include").glob("*.vh"), *headers.glob("*.vh")], "include", to)
    rtl = copied([*(hw / "rtl").rglob("*.v")], "rtl", to)
    soc = copied([*(hw / "soc").glob("*.v")], "soc", to)
    bench = copied([*(hw / "soc/tb").glob("*.v")], "tb", to)
    shared = copied([*(hw / "soc/tb").glob("*.vh")], "tb", to)
    lint = ["    default_tool: verilator", "    tools:", "      verilator: {mode: lint-only}"]
    text = [
        "CAPI=2:",
        "# SPDX-License-Identifier: Apache-2.0",
        f'name: "vtac:accelerator:vta:{version}"',
        "description: an accelerator of neural networks (vta_top), and a machine around it (soc_top); vta-params prints parameters",
        "filesets:",
        *fileset("include", include, ": {is_include_file: true, include_path: include}"),
        *fileset("rtl", rtl),
        *fileset("soc", soc),
        *fileset("bench", bench),
        *fileset("bench_include", shared, ": {is_include_file: true, include_path: tb}"),
        "targets:",
        *target("default", ["include", "rtl"], "vta_top"),
        *target("lint", ["include", "rtl"], "vta_top", *lint),
        *target("soc", ["include", "rtl", "soc"], "soc_top"),
        *target("soc_lint", ["include", "rtl", "soc"], "soc_top", *lint),
        *target("sdram", ["soc", "bench_include", "bench"], "soc_sdram_tb", "    default_tool: icarus"),
    ]
    (to / "vtac.core").write_text("\n".join(text) + "\n", encoding="utf-8")
    print(f"{to / 'vtac.core'}: {len(include) + len(rtl) + len(soc) + len(bench) + len(shared)} files")


if __name__ == "__main__":
    main()
