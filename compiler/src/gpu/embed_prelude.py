#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The functions that go before kernels, as C: without comments, and the readers of WGSL's memories once for each of the two.
Arguments: OUT LANGUAGE PRELUDE"""
import sys

out, language, prelude = sys.argv[1:]
lines = []
with open(prelude, encoding="ascii") as file:
    for line in file:
        if "MEMORY_" in line and not line.startswith("//"):
            lines += [line.replace("MEMORY", memory) for memory in ("work", "held")]
        elif line.strip() and not line.startswith("//"):
            lines.append(line.lstrip(" "))
content = "".join(lines).encode("ascii")
rows = ["/* SPDX-License-Identifier: Apache-2.0", " * Generated: do not edit. */", f"extern const char vtac_{language}_prelude[];"]
rows.append(f"const char vtac_{language}_prelude[] = {{")
rows += [",".join(map(str, content[i : i + 64])) + "," for i in range(0, len(content), 64)]
rows.append("0};")
with open(out, "w", encoding="ascii") as file:
    file.write("\n".join(rows) + "\n")
