#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""names.py OUT CELLS RAMS: joins two netlists of Yosys' (CELLS.v and .json, RAMS.v and .json) as OUT.v and OUT.json, with names of modules
that OpenSTA reads: vta_ram_2 for $paramod$0c4a…\\vta_ram."""
import json
import re
import sys


class Names:
    def __init__(self):
        self.given, self.count = {}, {}

    def of(self, name):
        name = name.removeprefix("\\") # Yosys' word for a name that was written with $ in Verilog
        if not name.startswith("$paramod"):
            return name
        if name not in self.given:
            plain = name.split("\\")[1]
            self.count[plain] = self.count.get(plain, 0) + 1
            self.given[name] = f"{plain}_{self.count[plain]}"
        return self.given[name]


def main():
    out, *nets = sys.argv[1:]
    names, modules = Names(), {}
    with open(out + ".v", "w", encoding="utf-8") as verilog:
        for net in nets:
            with open(net + ".v", encoding="utf-8") as file:
                verilog.write(re.sub(r"\\(\$paramod\S+)", lambda m: names.of(m.group(1)), file.read()))
    for net in nets:
        with open(net + ".json", encoding="utf-8") as file:
            found = json.load(file)["modules"]
        for name, module in found.items():
            if "blackbox" in module.get("attributes", {}):
                continue
            cells = {c: {"type": names.of(cell["type"])} for c, cell in module["cells"].items()}
            modules[names.of(name)] = {"attributes": {k: v for k, v in module["attributes"].items() if k == "top"}, "cells": cells}
    with open(out + ".json", "w", encoding="utf-8") as file:
        json.dump({"modules": modules}, file)


if __name__ == "__main__":
    main()
