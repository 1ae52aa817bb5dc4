#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# sta.py: static timing analysis of a flat netlist that Yosys made for a Xilinx part (write_json), before anyone has placed it.
#
# Every register-to-register path takes the delays of its cells, from a part's file (xc7z020-1.txt says how to read one), and of its
# nets, from that file's model of a wire, or as routed, where the netlist tells (../route/routed.py). Ports count as registers on the
# other side. A clock whose port has `2x` in its name runs at twice the rate of the others, edges in line: what starts or ends there has
# half of a cycle, but for the paths of cycles.txt. Clocks do not skew, holds are not looked at.
import argparse
import fnmatch
import json
import math
import os
import re
import sys


class Bad(Exception):
    """The input is at fault; the text says how."""


class Delays:
    """A part's file."""

    KINDS = {"wire": 2, "arc": 4, "launch": 4, "setup": 4, "free": 2, "near": 2, "thru": 2, "dsp": 3}

    def __init__(self, path):
        self.path, self.rows, self.known, self.near_memo, self.thru_memo = path, {k: [] for k in self.KINDS}, {}, {}, {}
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                words = line.split("#")[0].split()
                if not words:
                    continue
                kind, words = words[0], words[1:]
                if len(words) != self.KINDS.get(kind, -1):
                    raise Bad(f"{path}:{number}: expected one of {', '.join(self.KINDS)} with its fields, not '{line.strip()}'")
                try:
                    texts = {"wire": 0, "free": 2, "near": 2}.get(kind, len(words) - 1)
                    words[texts:] = [float(w) for w in words[texts:]]
                except ValueError:
                    raise Bad(f"{path}:{number}: expected a number of ns, not '{words[-1]}'") from None
                self.rows[kind].append(tuple(words))
        if len(self.rows["wire"]) != 1:
            raise Bad(f"{path}: expected one row 'wire', found {len(self.rows['wire'])}")
        self.base, self.slope = self.rows["wire"][0]
        self.dsp = {}
        for cell, word, ns in self.rows["dsp"]:
            self.dsp.setdefault(cell, {})[word] = ns

    @staticmethod
    def fits(pattern, cell, parameters):
        """CELL or CELL[NAME=VALUE] against a cell's type and parameters."""
        name, _, condition = pattern.partition("[")
        if not fnmatch.fnmatchcase(cell, name):
            return False
        if not condition:
            return True
        key, value = condition.rstrip("]").split("=")
        return str(parameters.get(key, "0")) == value

    @staticmethod
    def pin_fits(pattern, port, index):
        name, _, at = pattern.partition("[")
        return fnmatch.fnmatchcase(port, name) and (not at or at == f"{index}]")

    def table(self, cell, parameters):
        """The rows for a kind of cell: kind -> rows without the cell. Kept by the parameters that any row asks for."""
        key = (cell, tuple(sorted((k, v) for k, v in parameters.items() if k in ("DOA_REG", "DOB_REG", "RAM_MODE"))))
        if key not in self.known:
            self.known[key] = {kind: [r[1:] for r in self.rows[kind] if self.fits(r[0], cell, parameters)]
                               for kind in ("arc", "launch", "setup", "free")}
        return self.known[key]

    def near(self, source, target):
        """Whether no net lies between two pins, each (cell, port, index)."""
        key = (source, target)
        if key not in self.near_memo:
            self.near_memo[key] = any(self.end_fits(a, source) and self.end_fits(b, target) for a, b in self.rows["near"])
        return self.near_memo[key]

    def thru(self, target):
        """What lies in front of a pin that is reached from elsewhere."""
        if target not in self.thru_memo:
            self.thru_memo[target] = max([ns for at, ns in self.rows["thru"] if self.end_fits(at, target)], default=0.0)
        return self.thru_memo[target]

    @classmethod
    def end_fits(cls, pattern, pin):
        cell, port = pattern.split(".")
        return fnmatch.fnmatchcase(pin[0], cell) and cls.pin_fits(port, pin[1], pin[2])

    def wire(self, fanout):
        return self.base + self.slope * math.log2(max(fanout, 1))


def parameter(text):
    """Yosys writes numbers as bits, words as they are."""
    if isinstance(text, str) and re.fullmatch(r"[01]{32}", text):
        return str(int(text, 2))
    if isinstance(text, str) and re.fullmatch(r"[01xz]+", text):
        return str(int(text.replace("x", "0").replace("z", "0"), 2))
    return str(text).strip()


class Netlist:
    """The flat top of Yosys' JSON: cells as (type, name, parameters, {port: bits}, {port: direction}), names of bits."""

    def __init__(self, path):
        try:
            with open(path, encoding="utf-8") as text:
                modules = json.load(text)["modules"]
        except (OSError, ValueError, KeyError) as e:
            raise Bad(f"{path}: expected a netlist of Yosys' write_json: {e}") from None
        tops = [n for n, m in modules.items() if int(m.get("attributes", {}).get("top", "0"), 2)]
        if len(tops) != 1:
            raise Bad(f"{path}: expected one module with the attribute top, found {len(tops)}")
        top = modules[tops[0]]
        self.path, self.name = path, re.sub(r"^\$paramod.*\\(\w+).*$", r"\1", re.sub(r"^\$paramod\\(\w+)\\.*$", r"\1", tops[0]))
        self.ports = {n: (p["direction"], p["bits"]) for n, p in top["ports"].items()}
        self.cells, self.wires = [], []
        for name, c in top["cells"].items():
            if c["type"] in modules and not int(modules[c["type"]].get("attributes", {}).get("blackbox", "0"), 2):
                raise Bad(f"{path}: cell '{name}' is an instance of '{c['type']}': expected a flat netlist")
            self.cells.append((c["type"], name, {k: parameter(v) for k, v in c["parameters"].items()},
                               c["connections"], c["port_directions"]))
            self.wires.append(c.get("wires"))  # as routed: {port: ns of each bit}
        self.names = {}
        for name, n in top["netnames"].items():
            if n.get("hide_name"):
                continue
            wide = len(n["bits"]) > 1
            # a register's own name rather than that of a port that hands it on
            rank = (name.endswith("_q"), name.count("."), -len(name))
            for i, bit in enumerate(n["bits"]):
                if bit not in self.names or rank > self.names[bit][0]:
                    self.names[bit] = (rank, f"{name}[{i + n.get('offset', 0)}]" if wide else name)

    def name_of(self, bit):
        return self.names[bit][1] if bit in self.names else None


DSP_INPUTS = {"A": "A", "ACIN": "A", "B": "B", "BCIN": "B", "C": "C", "D": "D"}
DSP_MODES = {"OPMODE": "OPMODEREG", "ALUMODE": "ALUMODEREG", "INMODE": "INMODEREG", "CARRYIN": "CARRYINREG",
             "CARRYINSEL": "CARRYINSELREG"}


class Dsp:
    """A DSP48's times, from its registers that are switched on: pin -> setup, output -> launch, (input, output) -> through it,
    and the longest path between its own registers."""

    def __init__(self, t, parameters, used):
        on = {r: parameters.get(r + "REG", "0") not in ("0", "") for r in ("A", "B", "C", "D", "AD", "M", "P")}
        multiplies = parameters.get("USE_MULT", "MULTIPLY") != "NONE"
        preadds = parameters.get("USE_DPORT") == "TRUE" or "AD" in (parameters.get("AMULTSEL"), parameters.get("BMULTSEL"))
        self.setup, self.launch, self.through, self.inside = {}, {}, {}, (0.0, "")
        after_p = {"P": t["clk_P"], "PCOUT": t["clk_PCOUT"], "CARRYOUT": t["clk_P"], "PATTERNDETECT": t["clk_P"]}
        out = {"P": t["out_P"], "PCOUT": t["out_PCOUT"], "CARRYOUT": t["out_P"], "PATTERNDETECT": t["out_P"]}

        def arrive(pin, start, from_register, delay, last):
            """A signal of `delay` at the ALU's output, from a pin (or register `start`)."""
            if on["P"]:
                self.end(pin, start, from_register, delay + t["setup_P"], "P")
            else:
                for port, more in out.items():
                    if from_register:
                        self.launch[port] = max(self.launch.get(port, 0.0), delay + more)
                    else:
                        self.through[pin, port] = max(self.through.get((pin, port), 0.0), delay + more)

        def multiply(pin, start, from_register, delay, operand):
            delay += t["mult_" + operand]
            if on["M"]:
                self.end(pin, start, from_register, delay + t["setup_M"], "M")
            else:
                arrive(pin, start, from_register, delay + t["alu_M"], "M")

        def go_on(pin, start, from_register, delay, operand):
            """An operand past its own register: pre-adder, multiplier, ALU."""
            if multiplies:
                added = preadds and (operand == parameters.get("PREADDINSEL", "A") or operand == "D")
                if added:
                    delay += t["preadd_" + ("D" if operand == "D" else "A")]
                    if on["AD"]:
                        self.end(pin, start, from_register, delay + t["setup_AD"], "AD")
                        return
                if operand in ("A", "B") or added:
                    multiply(pin, start, from_register, delay, "B" if operand == "B" else "A")
            elif operand in ("A", "B"):
                arrive(pin, start, from_register, delay + t["alu_" + operand], operand)

        for pin in used:
            operand = DSP_INPUTS.get(pin)
            if operand == "C":
                if on["C"]:
                    self.setup[pin] = t["setup_C"]
                else:
                    arrive(pin, "C", False, t["in_C"] + t["alu_C"], "C")
            elif operand:
                if on[operand]:
                    self.setup[pin] = t["setup_" + operand]
                else:
                    go_on(pin, operand, False, t["in_" + operand], operand)
            elif pin == "PCIN":
                arrive(pin, "PCIN", False, t["alu_PCIN"], "PCIN")
            elif pin in DSP_MODES:
                if parameters.get(DSP_MODES[pin], "0") != "0":
                    self.setup[pin] = t["setup_MODE"]
                else:
                    arrive(pin, pin, False, t["alu_MODE"], pin)
            elif pin.startswith("CE"):
                self.setup[pin] = t["setup_CE"]
            elif pin.startswith("RST"):
                self.setup[pin] = t["setup_RST"]
        for operand in ("A", "B", "D"):
            if on[operand] and (operand in used or operand + "CIN" in used):
                go_on(None, operand, True, t["clk_" + operand], operand)
        if on["C"] and "C" in used:
            arrive(None, "C", True, t["clk_C"] + t["alu_C"], "C")
        if on["AD"] and preadds and multiplies:
            multiply(None, "AD", True, t["clk_AD"], "A")
        if on["M"] and multiplies:
            arrive(None, "M", True, t["clk_M"] + t["alu_M"], "M")
        if on["P"]:
            self.launch.update(after_p)
        for cascade in ("ACOUT", "BCOUT"):
            if on[cascade[0]]:
                self.launch[cascade] = t["clk_" + cascade[0]]
            else:
                for pin in used:
                    if DSP_INPUTS.get(pin) == cascade[0]:
                        self.through[pin, cascade] = t["in_" + cascade[0]]

    def end(self, pin, start, from_register, delay, where):
        if from_register:
            self.inside = max(self.inside, (delay, f"{start} to {where}"))
        else:
            self.setup[pin] = max(self.setup.get(pin, -9.0), delay)


class Cycles:
    """Fast registers that take what slow ones give at the end of a slow cycle alone: cycles.txt."""

    def __init__(self, path=None):
        self.path, self.rows = path, []
        with open(path or os.devnull, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                words = line.split("#")[0].split()
                if words and (len(words) < 4 or words[0] != "whole" or words[2] != "but"):
                    raise Bad(f"{path}:{number}: expected 'whole CELLS but REGISTERS...', not '{line.strip()}'")
                if words:
                    self.rows.append((words[1], words[3:]))

    def held(self, name):
        return any(fnmatch.fnmatchcase(register(name), r) for _, names in self.rows for r in names)

    def whole(self, name):
        return any(fnmatch.fnmatchcase(name, cells) for cells, _ in self.rows)


SLOW, FAST, HELD = range(3)  # where a path starts; HELD: at a slow register that cycles.txt excepts


class Analysis:
    """Arrival times at every net, and the endpoints: (ns in cycles of the slow clock, ns, bit, where its path starts, whether it ends
    in a fast register, cell, pin, more)."""

    def __init__(self, net, delays, cycles=None):
        self.net, self.delays, self.cycles = net, delays, cycles or Cycles()
        self.driver, self.sinks = {}, {}
        for i, (kind, _, _, connections, directions) in enumerate(net.cells):
            for port, bits in connections.items():
                for index, bit in enumerate(bits):
                    if isinstance(bit, str):
                        continue
                    if directions[port] == "input":
                        self.sinks[bit] = self.sinks.get(bit, 0) + 1
                    else:
                        self.driver[bit] = (kind, port, index if len(bits) > 1 else None, i)
        for _, (direction, bits) in net.ports.items():
            for bit in bits:
                if direction == "output" and not isinstance(bit, str):
                    self.sinks[bit] = self.sinks.get(bit, 0) + 1
        self.clock_memo = {}
        self.clock_of_port = {bit: n for n, (d, bits) in net.ports.items() if d == "input" for bit in bits}
        self.edges, self.start, self.ends = {}, {}, []
        self.fresh = -1  # numbers of points inside of a cell
        for i, cell in enumerate(net.cells):
            self.add(i, *cell)
        self.add_ports()
        self.propagate()

    # -- building ---------------------------------------------------------------------------------------------------------------

    def fast(self, bit, name):
        """Whether a clock net is the fast one."""
        if bit not in self.clock_memo:
            at = bit
            while at not in self.clock_of_port:
                source = self.driver.get(at)
                if not source or not source[0].startswith("BUFG"):
                    raise Bad(f"{self.net.path}: clock of '{name}': expected a port, through a BUFG at most, not "
                              f"'{self.net.name_of(at) or at}'")
                at = self.net.cells[source[3]][3]["I"][0]
            self.clock_memo[bit] = "2x" in self.clock_of_port[at]
        return self.clock_memo[bit]

    def reach(self, bit, i, port, index):
        """From the driver's pin of a net to one of its sinks, a pin of cell i."""
        if self.net.wires[i]:
            return self.net.wires[i][port][index or 0]
        kind = self.net.cells[i][0]
        source = self.driver.get(bit)
        target = (kind, port, index)
        if source and self.delays.near(source[:3], target):
            return 0.0
        return self.delays.wire(self.sinks[bit]) + self.delays.thru(target)

    def add(self, i, kind, name, parameters, connections, directions):
        if kind in ("GND", "VCC"):
            return
        if kind.startswith("LD"):
            raise Bad(f"{self.net.path}: '{name}' is a latch ({kind})")
        if kind in self.delays.dsp:
            self.add_dsp(i, kind, name, parameters, connections, directions)
            return
        table = self.delays.table(kind, parameters)
        if not table["arc"] and not table["launch"] and not table["setup"]:
            raise Bad(f"{self.delays.path}: no row for cell '{kind}' ('{name}' of {self.net.path}): add its delays")
        for inverted in ("IS_C_INVERTED", "IS_WCLK_INVERTED", "IS_CLK_INVERTED"):
            if parameters.get(inverted, "0") != "0":
                raise Bad(f"{self.net.path}: '{name}' works on the falling edge: expected rising edges alone")
        clocks = {row[0] for row in table["setup"] + table["launch"]}
        outputs, inputs = [], []
        for port, bits in connections.items():
            for index, bit in enumerate(bits):
                if not isinstance(bit, str) and port not in clocks:
                    (outputs if directions[port] == "output" else inputs).append((port, index if len(bits) > 1 else None, bit))
        for port, index, bit in inputs:
            timed = False
            row = self.last(table["setup"], 1, port, index)
            if row:
                clock = connections[row[0]][0]
                if isinstance(clock, str):
                    raise Bad(f"{self.net.path}: '{name}' has no clock at {row[0]}")
                self.ends.append((bit, self.reach(bit, i, port, index) + row[2], self.fast(clock, name), i, port, row[2]))
                timed = True
            for out_port, out_index, out_bit in outputs:
                arc = self.last_arc(table["arc"], port, index, out_port, out_index)
                if arc is not None:
                    self.edges.setdefault(out_bit, []).append((bit, self.reach(bit, i, port, index), arc, i, port))
                    timed = True
            if not timed and not any(Delays.pin_fits(r[0], port, index) for r in table["free"]) and self.worthwhile(table, port, outputs):
                raise Bad(f"{self.delays.path}: no row for pin {port} of '{kind}' ('{name}' of {self.net.path}): add its delay")
        for port, index, bit in outputs:
            row = self.last(table["launch"], 1, port, index)
            if row:
                self.start[bit] = (row[2], self.fast(connections[row[0]][0], name), i)

    @staticmethod
    def worthwhile(table, port, outputs):
        """An input without a row matters, unless all outputs that it could reach are open."""
        return bool(outputs) or not any(Delays.pin_fits(r[0], port, None) for r in table["arc"])

    @staticmethod
    def last(rows, column, port, index):
        found = None
        for row in rows:
            if Delays.pin_fits(row[column], port, index):
                found = row
        return found

    @staticmethod
    def last_arc(rows, port, index, out_port, out_index):
        found = None
        for from_pin, to_pin, ns in rows:
            if Delays.pin_fits(from_pin, port, index) and Delays.pin_fits(to_pin, out_port, out_index):
                found = ns
        return found

    def add_dsp(self, i, kind, name, parameters, connections, directions):
        used = [p for p, bits in connections.items()
                if directions[p] == "input" and p != "CLK" and any(not isinstance(b, str) for b in bits)]
        try:
            dsp = Dsp(self.delays.dsp[kind], parameters, used)
        except KeyError as missing:
            raise Bad(f"{self.delays.path}: no row 'dsp {kind} {missing.args[0]}'") from None
        clock = connections.get("CLK", ["0"])[0]
        fast = not isinstance(clock, str) and self.fast(clock, name)
        if dsp.inside[0]:
            self.ends.append((None, dsp.inside[0], fast, i, dsp.inside[1], dsp.inside[0]))
        outputs = [(p, b) for p, bits in connections.items() if directions[p] == "output" for b in bits if not isinstance(b, str)]
        points = {}
        for port, bit in outputs:
            if port in dsp.launch:
                self.start[bit] = (dsp.launch[port], fast, i)
            if any(out == port for _, out in dsp.through):
                if port not in points:
                    points[port], self.fresh = self.fresh, self.fresh - 1
                self.edges.setdefault(bit, []).append((points[port], 0.0, 0.0, i, ""))
        for port in used:
            for index, bit in enumerate(connections[port]):
                if isinstance(bit, str):
                    continue
                if port in dsp.setup:
                    self.ends.append((bit, self.reach(bit, i, port, index) + dsp.setup[port], fast, i, port, dsp.setup[port]))
                for out, point in points.items():
                    if (port, out) in dsp.through:
                        self.edges.setdefault(point, []).append(
                            (bit, self.reach(bit, i, port, index), dsp.through[port, out], i, port))

    def add_ports(self):
        register = self.delays.table("FDRE", {})
        launch = self.last(register["launch"], 1, "Q", None)
        for name, (direction, bits) in self.net.ports.items():
            for bit in bits:
                if isinstance(bit, str):
                    continue
                if direction == "input":
                    self.start[bit] = (launch[2], "2x" in name, None)
                elif bit in self.driver:
                    self.ends.append((bit, self.delays.wire(self.sinks[bit]), "2x" in name, None, name, 0.0))

    # -- times ------------------------------------------------------------------------------------------------------------------

    def propagate(self):
        """Arrival times in the order of the nets, by where a path starts: arrival[SLOW, FAST or HELD][bit] = (ns, edge)."""
        waiting, after = {}, {}
        for out, edges in self.edges.items():
            waiting[out] = 0
            for edge in edges:
                if edge[0] in self.edges:
                    waiting[out] += 1
                    after.setdefault(edge[0], []).append(out)
        ready = [bit for bit, count in waiting.items() if count == 0]
        self.arrival = ({}, {}, {})
        for bit, (ns, fast, _) in self.start.items():
            held = not fast and self.cycles.rows and self.cycles.held(self.net.name_of(bit) or "")
            self.arrival[FAST if fast else HELD if held else SLOW][bit] = (ns, None)
        done = 0
        while ready:
            out = ready.pop()
            done += 1
            for arrival in self.arrival:
                best = arrival.get(out)
                for edge in self.edges[out]:
                    before = arrival.get(edge[0])
                    if before is not None:
                        ns = before[0] + edge[1] + edge[2]
                        if best is None or ns > best[0]:
                            best = (ns, edge)
                if best is not None:
                    arrival[out] = best
            for following in after.get(out, ()):
                waiting[following] -= 1
                if waiting[following] == 0:
                    ready.append(following)
        if done < len(waiting):
            stuck = next(bit for bit, count in waiting.items() if count and self.net.name_of(bit))
            raise Bad(f"{self.net.path}: a combinational loop, at or behind '{self.net.name_of(stuck)}'")
        self.endpoints = []
        for bit, more, fast, i, pin, setup in self.ends:
            for launch in (SLOW, FAST, HELD):
                if bit is None:
                    ns = more if launch == (FAST if fast else SLOW) else None
                else:
                    at = self.arrival[launch].get(bit)
                    ns = at[0] + more if at else None
                if ns is None:
                    continue
                half = launch == FAST or fast
                if launch == SLOW and fast and i is not None and self.cycles.whole(self.cell_name(i)):
                    half = False
                self.endpoints.append((ns * (2 if half else 1), ns, bit, launch, fast, i, pin, setup))
        self.endpoints.sort(key=lambda e: (-e[0], str(e[2]), str(e[5])))

    # -- names ------------------------------------------------------------------------------------------------------------------

    def cell_name(self, i):
        """A cell by the name of what it drives, when its own was made up."""
        kind, name, _, connections, directions = self.net.cells[i]
        if not name.startswith("$"):
            return name
        for port in sorted(connections, key=lambda p: (p not in ("Q", "P", "O"), p)):
            if directions[port] == "output":
                for bit in connections[port]:
                    if not isinstance(bit, str) and self.net.name_of(bit):
                        return self.net.name_of(bit)
        return self.nearest(i)

    def nearest(self, i):
        """A cell without a name of its own, by the nearest net with one that leads to it."""
        kind, cells, seen = self.net.cells[i][0], [i], {i}
        for at in cells:
            _, _, _, connections, directions = self.net.cells[at]
            for port, bits in connections.items():
                for bit in bits if directions[port] == "input" and not port.startswith(("C", "RST", "R", "S")) else ():
                    if isinstance(bit, str):
                        continue
                    if self.net.name_of(bit):
                        return f"{kind} of {re.sub(INDEX, '', self.net.name_of(bit))}"
                    source = self.driver.get(bit)
                    if source and source[3] not in seen:
                        seen.add(source[3])
                        cells.append(source[3])
        return kind

    def end_name(self, endpoint):
        """Where an endpoint's path ends: the name of a cell or port, and what of it."""
        _, _, bit, _, _, i, pin, _ = endpoint
        if i is None:
            return f"port {pin}", ""
        if bit is None:
            return self.cell_name(i), f", {pin} inside"
        return self.cell_name(i), "" if self.net.cells[i][0].startswith("FD") and pin == "D" else f".{pin}"

    def path(self, endpoint):
        """From the start of an endpoint's path: (cell kind, net reached, fan-out, wire ns, cell ns, arrival)."""
        _, _, bit, launch, _, i, pin, setup = endpoint
        if bit is None:
            return []
        arrival, steps, at = self.arrival[launch], [], bit
        while True:
            ns, edge = arrival[at]
            if edge is None:
                source = self.start[at][2]
                steps.append(("port" if source is None else self.net.cells[source][0], at, 0.0, self.start[at][0], ns))
                break
            if at >= 0:
                steps.append((self.net.cells[edge[3]][0], at, edge[1], edge[2], ns))
            at = edge[0]
        steps.reverse()
        return steps

    def start_name(self, endpoint):
        steps = self.path(endpoint)
        if not steps:
            return self.cell_name(endpoint[5])
        name = self.net.name_of(steps[0][1])
        source = self.start[steps[0][1]][2]
        if source is not None and not self.net.cells[source][0].startswith("FD"):
            own = self.cell_name(source)
            return own
        return name or (self.cell_name(source) if source is not None else "?")


INDEX = r"\[\d+\]$"  # of a bit


def register(name):
    """A register without its bit, a memory without the numbers of its pieces."""
    return re.sub(r"(\.\d+)+$", "", re.sub(INDEX, "", name))


def module(name, depth=2):
    """The module that holds a register, down to a depth of the hierarchy."""
    if name.startswith("port "):
        return "ports"
    words = name.split(" of ")[-1].split(".")
    return ".".join(words[:-1][:depth]) or "the top itself"


def groups(analysis, limit):
    """Endpoints by the registers that their worst paths leave and enter, and the worst of each: [(endpoint, start, end, count)]."""
    found, order = {}, []
    for e in analysis.endpoints[:limit]:
        end, pin = analysis.end_name(e)
        key = (register(analysis.start_name(e)), register(end) + pin)
        if key not in found:
            found[key] = [e, key[0], key[1], 0]
            order.append(key)
        found[key][3] += 1
    return [found[k] for k in order]


DETAILED = 3  # paths whose cells are shown


def report(analysis, target, paths, out):
    net, ends = analysis.net, analysis.endpoints
    worst = ends[0]
    over = [e for e in ends if e[0] > target + 1e-9]
    listed = groups(analysis, max(len(over), 400))
    print(f"worst paths by module, of {net.name}", file=out)
    seen, counts = {}, {}
    for e, start, end, _ in listed:
        seen.setdefault(module(analysis.end_name(e)[0]), (e, start, end))
    for e in over:
        name = module(analysis.end_name(e)[0])
        counts[name] = counts.get(name, 0) + 1
    for name, (e, start, end) in list(seen.items())[:paths]:
        count = counts.get(name, 0)
        print(f"  {e[0]:6.2f} ns  {name}: {start} -> {end}" + (f" ({count} over)" if count else ""), file=out)
    print("worst paths by register", file=out)
    for i, (e, start, end, count) in enumerate(listed[:paths]):
        cycle = " (half a cycle)" if e[0] > e[1] else ""
        print(f"  {e[1]:6.2f} ns{cycle}  {start} -> {end}" + (f", {count} bits" if count > 1 else ""), file=out)
        if i >= DETAILED:
            continue
        line = []
        for kind, bit, wire, ns, at in analysis.path(e):
            name = net.name_of(bit)
            line.append(f"+{wire:.2f} {kind} +{ns:.2f}" + (f" {name}" if name else "") + f" ({analysis.sinks.get(bit, 0)})")
        if line:
            last = e[1] - analysis.path(e)[-1][4]
            print("            " + "\n            ".join(line) + f"\n            +{last:.2f} to {''.join(analysis.end_name(e))}", file=out)
    print(f"{len(over)} of {len(ends)} endpoints over {target:.2f} ns", file=out)
    print(f"{net.name}: worst {worst[0]:.2f} ns of {target:.2f}: {math.floor(0.95e3 / worst[0])} MHz with 5 % to spare"
          f" ({1e3 / worst[0]:.1f} without)", file=out)
    return worst[0] <= target + 1e-9


def main():
    parser = argparse.ArgumentParser(prog="sta.py", description="static timing analysis of Yosys' netlist for a Xilinx part")
    parser.add_argument("netlist")
    parser.add_argument("delays")
    parser.add_argument("--target", type=float, required=True, help="ns that a path may take")
    parser.add_argument("--paths", type=int, default=10, help="lines of each list")
    parser.add_argument("--cycles", help="which paths between the clocks have a whole cycle: cycles.txt")
    options = parser.parse_args()
    try:
        analysis = Analysis(Netlist(options.netlist), Delays(options.delays), Cycles(options.cycles))
        if not analysis.endpoints:
            raise Bad(f"{options.netlist}: no path ends in a register or port")
    except (Bad, OSError) as e:
        sys.exit(f"sta.py: {e}")
    sys.exit(0 if report(analysis, options.target, options.paths, sys.stdout) else 1)


if __name__ == "__main__":
    main()
