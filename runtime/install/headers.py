#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headers.py OUT CC FOLDER... -- NAME...: the public headers as they are installed.

In the tree a header takes its rows from tables (`.def`) and shares types with headers that are not public. Installed,
each public header stands alone or on other public ones: rows are written out by the compiler's own preprocessor, and
what is not public is put where it was included. All else stays as it is written, comments too.
"""
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'#\s*include "vta/([a-z_]+)\.(h|def)"')
DIRECTIVE = re.compile(r"#\s*(define|undef)\s+(\w+)")
MARK = re.compile(r"vta_line_(\d+)_")


def find(folders, name):
    for folder in folders:
        path = os.path.join(folder, "vta", name)
        if os.path.exists(path):
            return path
    sys.exit(f"headers.py: no folder has vta/{name}")


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def gather(folders, name, public, inside=False):
    """The lines of a header, with those of the headers that are not public in their place."""
    out = []
    for line in lines_of(find(folders, name + ".h")):
        match = INCLUDE.match(line)
        if match and match[2] == "h" and match[1] not in public:
            out += gather(folders, match[1], public, True)
        elif not (inside and "SPDX-License-Identifier" in line):
            out.append(line)
        else:
            out.append("/*")
    return out


def whole(lines, at):
    """The end of a directive that begins at `at`."""
    while lines[at].endswith("\\"):
        at += 1
    return at + 1


def row_macros(lines):
    """The names of the macros that serve rows alone: taken back somewhere, and used by no other line."""
    defined = {m[2] for m in map(DIRECTIVE.match, lines) if m and m[1] == "define"}
    used = set()
    at = 0
    while at < len(lines):
        if DIRECTIVE.match(lines[at]):
            at = whole(lines, at)
            continue
        used |= set(re.findall(r"\w+", lines[at]))
        at += 1
    return {name for name in defined - used if not name.endswith("_H")}


def expand(lines, cc, folders):
    """The same lines with the rows of tables written out."""
    rows = row_macros(lines) if any(INCLUDE.match(l) and l.rstrip().endswith('.def"') for l in lines) else set()
    source, at = [], 0
    while at < len(lines):
        directive, include = DIRECTIVE.match(lines[at]), INCLUDE.match(lines[at])
        if (directive and directive[2] in rows and (directive[1] == "undef" or taken_back(directive[2], lines, folders))) or (
                include and include[2] == "def"):
            end = whole(lines, at)
            source += lines[at:end]
            at = end
        else:
            source.append(f"vta_line_{at}_")
            at += 1
    flags = [f"-I{folder}" for folder in folders]
    done = subprocess.run([cc, "-E", "-P", "-x", "c", *flags, "-"], input="\n".join(source) + "\n", text=True,
                          stdout=subprocess.PIPE, check=True)
    out = []
    for line in done.stdout.splitlines():
        for part in re.split(r"(vta_line_\d+_)", line):
            mark = MARK.fullmatch(part)
            if mark:
                out.append(lines[int(mark[1])])
            elif part.strip():
                out.append(indent(out) + part.strip())
    return out


def indent(lines):
    """That of a row after these lines."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    return " " * (len(last) - len(last.lstrip()) + (4 if last.endswith("{") else 0))


def taken_back(name, lines, folders):
    """Whether the header, or a table that it includes, has an #undef of the name."""
    texts = list(lines)
    for line in lines:
        match = INCLUDE.match(line)
        if match and match[2] == "def":
            texts += lines_of(find(folders, match[1] + ".def"))
    return any(m and m[1] == "undef" and m[2] == name for m in map(DIRECTIVE.match, texts))


def main():
    out, cc, *rest = sys.argv[1:]
    split = rest.index("--")
    folders, names = rest[:split], rest[split + 1:]
    os.makedirs(os.path.join(out, "vta"), exist_ok=True)
    for name in names:
        text = "\n".join(expand(gather(folders, name, names), cc, folders)) + "\n"
        with open(os.path.join(out, "vta", name + ".h"), "w", encoding="utf-8") as file:
            file.write(text)


main()
