#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What vtac needs for WebAssembly, as C: the binding, the generator and the pages as text, the runtime's object, if there is one. The
pages have the style sheet of all pages in the place of @FAMILY@; the generator stands behind the binding there and imports nothing.
Arguments: OUT BINDING PAGE FAMILY GENERATOR CHAT [OBJECT]"""
import sys

out, binding, page, family, generator, chat, *object_file = sys.argv[1:]
rows = ["/* SPDX-License-Identifier: Apache-2.0", " * Generated: do not edit. */", "#include <stddef.h>", "#include <stdint.h>"]
for name, path in (("runtime", object_file[0] if object_file else None), ("binding", binding), ("page", page), ("generator", generator),
                   ("chat", chat)):
    content = b""
    if path is not None:
        with open(path, "rb") as file:
            content = file.read()
    if name == "generator":
        content = b"".join(line for line in content.splitlines(True) if not line.startswith(b"import "))
    if name in ("page", "chat"):
        with open(family, "rb") as file:
            content = content.replace(b"@FAMILY@", file.read())
    rows.append("extern const uint8_t vta_wasm_%s[];" % name)
    rows.append("extern const size_t vta_wasm_%s_bytes;" % name)
    rows.append("const uint8_t vta_wasm_%s[] = {" % name)
    rows += [",".join(map(str, content[i : i + 64])) + "," for i in range(0, len(content), 64)]
    rows.append("0};")
    rows.append("const size_t vta_wasm_%s_bytes = %d;" % (name, len(content)))
with open(out, "w", encoding="ascii") as file:
    file.write("\n".join(rows) + "\n")
