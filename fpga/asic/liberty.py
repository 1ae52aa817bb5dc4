# SPDX-License-Identifier: Apache-2.0
"""What asic.sh needs of liberty files: the cells with their areas, which of them are flip-flops, and RAM macros."""
import re


class Macro:
    """A RAM: words, ports, and what an access of a port costs in pJ."""

    def __init__(self, name, text):
        self.name = name
        self.log_depth = int(re.search(r"\baddress_width\s*:\s*(\d+)", text).group(1))
        self.width = int(re.search(r"\bword_width\s*:\s*(\d+)", text).group(1))
        self.area = area_of(text)
        self.pins = list(dict.fromkeys(re.findall(r"\b(?:pin|bus)\s*\(\s*(\w+)\s*\)", text)))
        self.two_ports = {"A_CLK", "B_CLK"} <= set(self.pins)
        self.masked = "A_BM" in self.pins
        self.write = energy_of(text, "A_MEN&A_WEN&!A_REN")
        self.read = energy_of(text, "A_MEN&!A_WEN&A_REN")

    def takes(self, log_depth, width):
        """How many macros a RAM takes: beside each other, behind each other."""
        return -(-width // self.width), 1 << max(0, log_depth - self.log_depth)


def area_of(text):
    found = re.search(r"\barea\s*:\s*([\d.]+)", text)
    return float(found.group(1)) if found else 0.0


def energy_of(text, when):
    """The largest internal energy at an edge of the clock under that condition, in the unit of the library: pJ."""
    for found in re.finditer(r"when\s*:\s*\"([^\"]*)\"\s*;(.*?)(?=\bwhen\b|\bbus\s*\(|\bpin\s*\(|\Z)", text, re.S):
        if re.sub(r"\s", "", found.group(1)) == when:
            return max(float(v) for v in re.findall(r"values\s*\(\s*\"?([-\d.]+)", found.group(2)))
    return 0.0


def pins_of(text):
    """(name, text) of each pin and bus of a cell."""
    return re.findall(r"\b(?:pin|bus)\s*\(\s*\"?(\w+)\"?\s*\)\s*\{(.*?)(?=\b(?:pin|bus)\s*\(\s*\"?\w+\"?\s*\)\s*\{|\Z)", text, re.S)


def inputs_of(text):
    return [name for name, body in pins_of(text) if re.search(r"direction\s*:\s*\"?input", body)]


def buffer_pins(text):
    """(input, output) of a cell that repeats its one input, or None."""
    pins, ins = pins_of(text), inputs_of(text)
    outs = [(name, re.search(r"function\s*:\s*\"\(?\s*(\w+)\s*\)?\"", body)) for name, body in pins if re.search(r"direction\s*:\s*\"?output", body)]
    if len(ins) == 1 and len(outs) == 1 and outs[0][1] is not None and outs[0][1].group(1) == ins[0]:
        return ins[0], outs[0][0]
    return None


class Library:
    """inputs: each cell's. clocks: the clock pins of flip-flops and macros. buffer: a cell that repeats its input, the second smallest, since
    the smallest drives little and large ones are there to delay; with its two pins."""

    def __init__(self, paths):
        self.area, self.flops, self.macros, self.inputs, self.clocks, self.buffers = {}, set(), {}, {}, {}, []
        for path in paths:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            starts = list(re.finditer(r"\bcell\s*\(\s*\"?(\w+)\"?\s*\)", text))
            for i, start in enumerate(starts):
                self.take(start.group(1), text[start.end():starts[i + 1].start() if i + 1 < len(starts) else len(text)])

        by_area = sorted(self.buffers, key=lambda b: (self.area[b[0]], b[0]))
        self.buffer = by_area[min(1, len(by_area) - 1)] if by_area else None

    def take(self, name, text):
        self.area[name], self.inputs[name] = area_of(text), set(inputs_of(text))
        pins = None if re.search(r"\bdont_use\s*:\s*true", text) else buffer_pins(text)
        if pins is not None:
            self.buffers.append((name, *pins))
        self.clocks[name] = set(re.findall(r"clocked_on\s*:\s*\"\s*\(?!?\s*(\w+)", text)) | {p for p in ("A_CLK", "B_CLK") if re.search(rf"\bpin\s*\(\s*{p}\b", text)}
        if re.search(r"\bff\s*\(", text):
            self.flops.add(name)
        if re.search(r"\bmemory\s*\(", text):
            self.macros[name] = Macro(name, text)
