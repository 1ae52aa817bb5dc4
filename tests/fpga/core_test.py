#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""core_test.py SOURCE HEADERS: the FuseSoC core names each file of its folder once and each source of hw/, and its targets do with
Verilator and Icarus what FuseSoC's would with the files in that order."""

import pathlib
import subprocess
import sys
import tempfile

import yaml


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command[:4]))} ...: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


def named(core, *filesets):
    """Files in their order, and which folders are searched for headers."""
    files, include = [], []
    for name in filesets:
        for entry in core["filesets"][name]["files"]:
            if isinstance(entry, dict):
                [(entry, how)] = entry.items()
                assert how["is_include_file"]
                include.append((entry, how["include_path"]))
            else:
                files.append(entry)
    return files, include


def main():
    source, headers = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(folder, "/usr/bin/python3", source / "fpga/fusesoc/core.py", source / "hw", headers, "1.2.3", folder / "core")
        folder /= "core"
        text = (folder / "vtac.core").read_text()
        core = yaml.safe_load(text)
        assert text.startswith("CAPI=2:\n") and core["name"].split(":")[3] == "1.2.3", text[:200]
        files, include = named(core, *core["filesets"])
        everything = files + [file for file, _ in include]
        there = sorted(str(file.relative_to(folder)) for file in folder.rglob("*.v*"))
        assert sorted(everything) == there, set(everything) ^ set(there)
        kept = {pathlib.Path(file).name for file in everything}
        missing = [str(file) for part in ("rtl", "soc", "include") for file in (source / "hw" / part).rglob("*.v*") if file.name not in kept]
        assert not missing, missing
        for target in ("lint", "soc_lint"):
            what = core["targets"][target]
            files, include = named(core, *what["filesets"])
            options = ["-Wall", *{f"-I{path}" for _, path in include}, "--top-module", what["toplevel"]]
            run(folder, "verilator", "--lint-only", *options, *files)
        what = core["targets"]["sdram"]
        files, include = named(core, *what["filesets"])
        run(folder, "iverilog", "-g2005", *{f"-I{path}" for _, path in include}, "-s", what["toplevel"], "-o", "bench", *files)
        said = run(folder, "vvp", "-N", "bench")
        assert said.startswith("passed"), said
        print(f"{len(everything)} files; {said.strip()}")


if __name__ == "__main__":
    main()
