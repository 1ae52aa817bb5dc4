#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""activity.py TOP STEPS: how often the registers of each unit change in a cycle, out of a window of waves (VCD) on standard input.

A register is a signal whose name ends with _q, as hw/ names them. TOP is the instance of the accelerator, STEPS the steps
of time in a cycle; units are those of report.py. Prints UNIT CHANGES BITS: changes of a bit in a cycle, and bits; and lines with '=' of
what happened: cycles, steps of the array and of the ALU, beats that were read and written."""
import re
import sys

from report import OPENED


def unit_of(scopes):
    """The row that a signal counts for, by the instances above it: a generated one is `queue[0].insns`."""
    words = []
    for scope in scopes:
        if words and words[-1].endswith("]"):
            words[-1] += "." + scope
        else:
            words.append(scope)
    row = []
    for word in words:
        row.append(word)
        if word not in OPENED:
            return "/".join(row)
    return "rest"


# Events: an instance below the top, signals of it of which one is high, and signals that are high, too.
EVENTS = {"array": ("compute", ("stat_gemm", "stat_depthwise"), ()), "alu": ("compute", ("stat_alu", "stat_requant"), ()),
          "reads": ("", ("m_axi_rvalid",), ("m_axi_rready",)), "writes": ("", ("m_axi_wvalid",), ("m_axi_wready",))}


class Window:
    def __init__(self, top):
        self.top, self.scopes, self.units, self.signals = top, [], {}, {}
        self.watched = {(scope, name): None for scope, some, every in EVENTS.values() for name in some + every}

    def declare(self, words):
        """$var wire WIDTH CODE NAME [RANGE] $end"""
        if self.top not in self.scopes:
            return
        inside = self.scopes[self.scopes.index(self.top) + 1:]
        width, code, name = int(words[2]), words[3], words[4]
        if ("/".join(inside), name) in self.watched:
            self.watched["/".join(inside), name] = code
        if name.endswith("_q") or "_q[" in name:
            self.signals.setdefault(code, (unit_of(inside), width))

    def header(self, lines):
        for line in lines:
            words = line.split()
            if words[:1] == ["$scope"]:
                self.scopes.append(words[2])
            elif words[:1] == ["$upscope"]:
                self.scopes.pop()
            elif words[:1] == ["$var"]:
                self.declare(words)
            elif words[:1] == ["$enddefinitions"]:
                break
        for unit, width in self.signals.values():
            self.units.setdefault(unit, [0, 0])[1] += width

    def count_events(self, values, events):
        """What happens in the cycle whose signals have these values."""
        high = lambda scope, name: values.get(self.watched[scope, name]) == 1
        for event, (scope, some, every) in EVENTS.items():
            events[event] += any(high(scope, n) for n in some) and all(high(scope, n) for n in every)

    def changes(self, lines, steps, events):
        """Counts; returns the steps of time. A cycle's first step has its signals at rest."""
        values, seen, wanted, first, last = {}, {}, set(self.watched.values()), None, 0
        for line in lines:
            if line[0] == "b":
                value, code = line[1:].split()
            elif line[0] in "01xz":
                value, code = line[0], line[1:].strip()
            else:
                if line[0] == "#":
                    if first is not None and last % steps == 0:
                        self.count_events(values, events)
                    last = int(line[1:])
                    first = last if first is None else first
                continue
            if code in wanted and not re.search("[xz]", value):
                values[code] = int(value, 2)
            if code in self.signals:
                if not re.search("[xz]", value):
                    number, before = int(value, 2), seen.get(code)
                    if before is not None:
                        self.units[self.signals[code][0]][0] += bin(number ^ before).count("1")
                    seen[code] = number
        return last - first if first is not None else 0


def main():
    window, lines = Window(sys.argv[1]), iter(sys.stdin)
    window.header(lines)
    if not window.signals:
        sys.exit(f"activity.py: no registers in '{sys.argv[1]}'; expected the waves of tsim")
    missing = [name for (_, name), code in window.watched.items() if code is None]
    if missing:
        sys.exit(f"activity.py: the waves have no '{missing[0]}'")
    events = dict.fromkeys(EVENTS, 0)
    cycles = window.changes(lines, int(sys.argv[2]), events) / int(sys.argv[2])
    if cycles < 1:
        sys.exit("activity.py: the window has no cycles")
    if not any(count for count, _ in window.units.values()):
        sys.exit("activity.py: no register changes in the window")
    for event, count in {"cycles": round(cycles), **events}.items():
        print("=", event, count)
    for unit, (count, bits) in sorted(window.units.items()):
        print(unit, f"{count / bits / cycles:.5f}", bits)


if __name__ == "__main__":
    main()
