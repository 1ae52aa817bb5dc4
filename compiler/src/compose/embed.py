#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The texts of composed operators as C: a row for each `operator` and `function` (template.h). What a text says is checked by
the test compose_texts. Arguments: OUT TEXT..."""
import os
import re
import sys

HEADER = re.compile(r"(operator|function) +(?:([a-z][\w.]*)\.)?(\w+)(?:@(\d+)(?:-(\d+))?)?\(")
OPEN = re.compile(r"\) *open\b")
LIMITS = re.compile(r'\) *(?:open *)?limits *"([^"\n]*)"')

rows = ["/* SPDX-License-Identifier: Apache-2.0", " * Generated: do not edit. */", '#include "template.h"', "const vtac_template_row vtac_template_rows[] = {"]
for path in sys.argv[2:]:
    with open(path, encoding="ascii") as file:
        lines = file.read().split("\n")
    starts = [i for i, line in enumerate(lines) if line.startswith(("operator", "function"))]
    for begin, end in zip(starts, starts[1:] + [len(lines)]):
        while end > begin + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
            end -= 1
        header = HEADER.match(lines[begin])
        if not header:
            sys.exit(f"{path}:{begin + 1}:1: expected operator DOMAIN.NAME@SINCE-LAST(inputs), or function NAME(values)")
        kind, domain, name, since, last = header.groups()
        limits = LIMITS.search("\n".join(lines[begin:end]))
        domain = "function" if kind == "function" else "" if domain == "ai.onnx" else domain or ""
        text = "\n".join(line.split("#")[0].rstrip() if '"' not in line else line for line in lines[begin:end])
        is_open = "true" if OPEN.search("\n".join(lines[begin:end]).split("{")[0]) else "false"
        rows.append('{"%s", "%s", %s, %s, %s, "%s", "%s", %d,' % (domain, name, since or 1, last or "INT32_MAX", is_open, limits.group(1) if limits else "",
                                                         os.path.basename(path), begin + 1))
        rows += ['"%s\\n"' % line.replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")]
        rows.append("},")
rows += ["{.name = NULL}};"]
with open(sys.argv[1], "w", encoding="ascii") as file:
    file.write("\n".join(rows) + "\n")
