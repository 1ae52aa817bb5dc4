#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# timing.py SOURCE: sta.py, and what routed.py makes of a router's work, on netlists small enough to add their delays by hand, flat.py on such to count by hand, and both on what
# they must refuse. The parts' own delays are read, too; that they are enough for a whole accelerator is the affair of timing_tiny.
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(SOURCE / "fpga" / "timing"))
sys.path.insert(0, str(SOURCE / "fpga" / "route"))
import routed  # noqa: E402
import sta  # noqa: E402

# Round numbers: a table 1, a flip-flop 2 out and 0.5 in, a net 10 + log2 of its sinks.
DELAYS = """
wire 10 1
arc LUT? * O 1
arc CARRY4 S CO 3
arc CARRY4 CI CO 0.25
arc CARRY4 CI[9] CO 99   # a pin that no cell has
launch FD?E C Q 2
setup FD?E C D 0.5
setup FD?E C CE 0.75
free FD?E R
near LUT?.O FD?E.D
near LUT?.O CARRY4.S
near CARRY4.CO[3] CARRY4.CI
thru CARRY4.S 1
launch RAM CLK Q 20
launch RAM[DOA_REG=1] CLK Q 4
setup RAM CLK A 1
arc BUFG I O 0
"""
DSP = "\n".join(f"dsp DSP48E1 {word} {ns}" for word, ns in {
    "in_A": 0, "in_B": 0, "in_C": 0, "in_D": 0, "setup_A": 1, "setup_B": 2, "setup_C": 3, "setup_D": 4, "setup_AD": 5, "setup_M": 6,
    "setup_P": 7, "clk_A": 10, "clk_B": 11, "clk_C": 12, "clk_D": 13, "clk_AD": 14, "clk_M": 15, "clk_P": 16, "clk_PCOUT": 17,
    "preadd_A": 100, "preadd_D": 200, "mult_A": 1000, "mult_B": 2000, "alu_M": 10000, "alu_A": 20000, "alu_B": 30000, "alu_C": 40000,
    "alu_PCIN": 50000, "out_P": 100000, "out_PCOUT": 200000, "setup_CE": 0, "setup_RST": 0, "setup_MODE": 0, "alu_MODE": 0}.items())


class Made:
    """A netlist as Yosys writes it, grown cell by cell; nets are names."""

    def __init__(self, **ports):
        self.bits, self.cells, self.ports = {}, {}, {}
        for name, direction in ports.items():
            self.ports[name] = {"direction": direction, "bits": [self.bit(name)]}

    def bit(self, name):
        return name if name in ("0", "1", "x") else self.bits.setdefault(name, len(self.bits) + 2)

    def cell(self, kind, name, outputs, parameters=None, **pins):
        connections = {p: [self.bit(n) for n in (v if isinstance(v, list) else [v])] for p, v in pins.items()}
        self.cells[name] = {"type": kind, "parameters": parameters or {}, "connections": connections,
                            "port_directions": {p: "output" if p in outputs.split() else "input" for p in pins}}
        return self

    def register(self, q, d, clock="clk", enable="1"):
        return self.cell("FDRE", f"$ff${q}", "Q", C=clock, CE=enable, D=d, R="0", Q=q)

    def table(self, o, *inputs):
        return self.cell(f"LUT{len(inputs)}", f"$lut${o}", "O", O=o, **{f"I{i}": n for i, n in enumerate(inputs)})

    def write(self, folder):
        path = pathlib.Path(folder) / "net.json"
        names = {n: {"hide_name": int(n.startswith("$")), "bits": [b], "attributes": {}} for n, b in self.bits.items()}
        path.write_text(json.dumps({"modules": {"top": {"attributes": {"top": "1"}, "ports": self.ports, "cells": self.cells,
                                                       "netnames": names}}}))
        return path


class Timing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def delays(self, text=DELAYS):
        path = pathlib.Path(self.folder.name) / "part.txt"
        path.write_text(text)
        return sta.Delays(str(path))

    def cycles(self, text):
        path = pathlib.Path(self.folder.name) / "cycles.txt"
        path.write_text(text)
        return sta.Cycles(str(path))

    def analyse(self, made, text=DELAYS, cycles=None):
        return sta.Analysis(sta.Netlist(str(made.write(self.folder.name))), self.delays(text), cycles)

    def ends(self, analysis):
        """{end: (ns, ns in slow cycles)}, the worst of each."""
        found = {}
        for e in analysis.endpoints:
            found.setdefault("".join(analysis.end_name(e)), (round(e[1], 6), round(e[0], 6)))
        return found

    def refused(self, words, call):
        with self.assertRaises(sta.Bad) as caught:
            call()
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_registers(self):
        # a_q -> table -> b_q, the table in b_q's slice; a_q -> c_q alone; a_q has 3 sinks
        made = Made(clk="input").register("a_q", "c_q").table("t", "a_q", "b_q").register("b_q", "t").register("c_q", "a_q", enable="a_q")
        net = 10 + math.log2(3)
        self.assertEqual(self.ends(self.analyse(made)), {
            "b_q": (round(2 + net + 1 + 0.5, 6),) * 2, "c_q": (round(2 + net + 0.5, 6),) * 2,
            "c_q.CE": (round(2 + net + 0.75, 6),) * 2, "a_q": (2 + 10 + 0.5,) * 2})

    def test_longest_of_two(self):
        made = Made(clk="input").register("a_q", "0").register("b_q", "0")
        made.table("s", "a_q").table("t", "s").table("u", "t", "b_q").register("c_q", "u")
        analysis = self.analyse(made)
        self.assertEqual(self.ends(analysis)["c_q"][0], 2 + 10 + 1 + 10 + 1 + 10 + 1 + 0.5)
        self.assertEqual(analysis.start_name(analysis.endpoints[0]), "a_q")
        self.assertEqual([step[0] for step in analysis.path(analysis.endpoints[0])], ["FDRE", "LUT1", "LUT1", "LUT2"])

    def test_ports(self):
        made = Made(clk="input", given="input", y="output")
        made.table("y", "given", "q").register("q", "given")
        self.assertEqual(self.ends(self.analyse(made)), {"port y": (2 + 11 + 1 + 10,) * 2, "q": (2 + 11 + 0.5,) * 2})

    def test_carry(self):
        # four tables, a chain of two, the second's top to a register by a net
        made = Made(clk="input").register("a_q", "0").table("t", "a_q")
        made.cell("CARRY4", "$low", "CO", CI="0", S=["t", "0", "0", "0"], CO=["c0", "c1", "c2", "c3"])
        made.cell("CARRY4", "$high", "CO", CI="c3", S=["0", "0", "0", "0"], CO=["d0", "d1", "d2", "d3"])
        made.register("b_q", "d3")
        self.assertEqual(self.ends(self.analyse(made))["b_q"][0], 2 + 10 + 1 + 0 + 3 + 0 + 0.25 + 10 + 0.5)

    def test_carry_from_a_register(self):
        # S comes out of a table of its slice: what does not takes a net and passes one
        made = Made(clk="input").register("a_q", "0")
        made.cell("CARRY4", "$low", "CO", CI="0", S=["a_q", "0", "0", "0"], CO=["c0", "c1", "c2", "c3"]).register("b_q", "c3")
        self.assertEqual(self.ends(self.analyse(made))["b_q"][0], 2 + (10 + 1) + 3 + 10 + 0.5)

    def test_parameters(self):
        for value, out in (("0" * 32, 20), ("0" * 31 + "1", 4)):
            made = Made(clk="input").cell("RAM", "ram", "Q", {"DOA_REG": value}, CLK="clk", A="b_q", Q="q").register("b_q", "q")
            self.assertEqual(self.ends(self.analyse(made)), {"b_q": (out + 10 + 0.5,) * 2, "ram.A": (2 + 10 + 1,) * 2})

    def test_two_clocks(self):
        # a_q and b_q run at clk, c_q and d_q at clk2x behind a buffer: a path that touches the fast one has half of a cycle
        made = Made(clk="input", clk2x="input").cell("BUFG", "$buffer", "O", I="clk2x", O="fast")
        made.register("a_q", "d_q").register("b_q", "a_q").register("c_q", "b_q", "fast").register("d_q", "c_q", "fast")
        ends = self.ends(self.analyse(made))
        plain = 2 + 10 + 0.5
        self.assertEqual(ends, {"b_q": (plain, plain), "c_q": (plain, 2 * plain), "d_q": (plain, 2 * plain), "a_q": (plain, 2 * plain)})

    def test_two_starts(self):
        # the slow start's path is longer, the fast start's has less time
        made = Made(clk="input", clk2x="input").register("s_q", "0").register("f_q", "0", "clk2x")
        made.table("t", "s_q").table("u", "t", "f_q").register("e_q", "u")
        analysis = self.analyse(made)
        both = sorted((e[1], e[0]) for e in analysis.endpoints if "".join(analysis.end_name(e)) == "e_q")
        self.assertEqual(both, [(13.5, 27.0), (24.5, 24.5)])

    def test_whole_cycles(self):
        # m.f_q takes s_q's value where the clocks have an edge in common, and h_q's between; m.g_q is slow, n.f_q is not named
        made = Made(clk="input", clk2x="input").register("s_q", "0").register("h_q", "0").register("c_q", "0", "clk2x")
        made.table("t", "s_q", "h_q", "c_q")
        made.register("m.f_q", "t", "clk2x").register("n.f_q", "t", "clk2x").register("m.g_q", "t")
        path = 2 + 10 + 1 + 0.5
        for text, expected in (("", {"m.f_q": [1, 1], "n.f_q": [1, 1], "m.g_q": [2, 1]}),
                               ("whole m.* but h_q x_q # words", {"m.f_q": [2, 1, 1], "n.f_q": [1, 1, 1], "m.g_q": [2, 2, 1]})):
            analysis = self.analyse(made, cycles=self.cycles("# of a comment\n" + text))
            for name, halves in expected.items():
                times = sorted(e[0] for e in analysis.endpoints if e[2] is not None and analysis.end_name(e)[0] == name)
                self.assertEqual([round(2 * path / ns, 6) for ns in times], halves, name)
        self.refused(["cycles.txt:1", "whole"], lambda: self.cycles("half m.f_q but h_q\n"))
        self.refused(["cycles.txt:2", "whole"], lambda: self.cycles("\nwhole m.f_q\n"))

    def test_whole_cycles_of_the_rtl(self):
        """What cycles.txt names is there: registers and modules of the RTL."""
        rules = sta.Cycles(str(SOURCE / "fpga" / "timing" / "cycles.txt"))
        self.assertGreater(len(rules.rows), 0)
        rtl = "".join(path.read_text() for path in (SOURCE / "hw" / "rtl").rglob("*.v"))
        for cells, registers in rules.rows:
            for word in cells.strip("*.").split("."):
                self.assertRegex(rtl, rf"(begin : |\) |vta_\w+ ){word}\b")
            for name in registers:
                self.assertRegex(rtl, rf"\breg\b[^;]*\b{name.strip('*.')}\b")

    def dsp(self, registers, pins="A B", **more):
        parameters = {r + "REG": ("0" * 31 + "1" if r in registers else "0" * 32) for r in ("A", "B", "C", "D", "AD", "M", "P")}
        made = Made(clk="input").register("a_q", "p")
        made.cell("DSP48E1", "dsp", "P", {**parameters, **more}, CLK="clk", P="p", **{p: "a_q" for p in pins.split()})
        return self.ends(self.analyse(made, DELAYS + DSP))

    def test_dsp(self):
        near = 2 + 11  # a_q to two pins
        into, out = lambda ns: (near + ns,) * 2, lambda ns: (ns + 10 + 0.5,) * 2
        ends = self.dsp(["A", "B", "M", "P"])
        self.assertEqual((ends["dsp.A"], ends["dsp.B"], ends["a_q"]), (into(1), into(2), out(16)))
        self.assertEqual(ends["dsp, M to P inside"], (15 + 10000 + 7,) * 2)
        self.assertEqual(self.dsp(["A", "B", "P"])["dsp, B to P inside"], (11 + 2000 + 10000 + 7,) * 2)
        self.assertEqual(self.dsp(["A", "B", "M"])["a_q"], out(15 + 10000 + 100000))
        self.assertEqual(self.dsp(["M"])["dsp.B"], into(2000 + 6))
        self.assertEqual(self.dsp([])["a_q"], (near + 2000 + 10000 + 100000 + 10 + 0.5,) * 2)
        self.assertEqual(self.dsp(["P"], USE_MULT="NONE")["dsp.B"], into(30000 + 7))
        self.assertEqual(self.dsp(["P"], "A C")["dsp.C"], into(40000 + 7))
        self.assertEqual(self.dsp(["M"], "A D", USE_DPORT="TRUE")["dsp.D"], into(200 + 1000 + 6))
        self.assertEqual(self.dsp(["AD", "M"], "A D", USE_DPORT="TRUE")["dsp.A"], into(100 + 5))
        self.assertEqual(self.dsp(["AD", "M", "P"], "A D", USE_DPORT="TRUE")["dsp, M to P inside"], (10022,) * 2)
        self.assertEqual(self.dsp(["C", "P"], "C PCIN")["dsp.PCIN"], into(50000 + 7))

    def test_routed(self):
        """A router's netlist: its nets' delays, the part's cells; two tables in one place, a carry chain's end that leads nowhere."""
        def cell(kind, original, outputs, **pins):
            return {"type": kind, "parameters": {}, "attributes": {"X_ORIG_TYPE": original, **{f"X_ORIG_PORT_{p}": p for p in pins if p != "A9"}},
                    "connections": {p: [b] if b else [] for p, b in pins.items()},
                    "port_directions": {p: "output" if p in outputs.split() else "input" for p in pins}}
        cells = {
            "pad_clk": cell("IOB33_INBUF_EN", "IBUF", "OUT", PAD=1, OUT=2),
            "pad_in": cell("IOB33_INBUF_EN", "IBUF", "OUT", PAD=3, OUT=4),
            "pad_out": cell("IOB33_OUTBUF", "OBUF", "OUT", IN=5, OUT=6),
            "global": cell("BUFGCTRL", "BUFG", "O", I0=2, CE0=7, O=8),
            "$PACKER_VCC_DRV": cell("PSEUDO_VCC", "", "Y", Y=7),
            "$PACKER_GND_DRV": cell("PSEUDO_GND", "", "Y", Y=9),
            "first[0]": cell("SLICE_FFX", "FDRE", "Q", CK=8, D=4, CE=7, SR=9, Q=10),
            # A9 is of the other table in its place, and would close a loop
            "table": cell("SLICE_LUTX", "LUT1", "O6", A1=10, A9=5, O6=11),
            "chain": cell("CARRY4", "CARRY4", "CO3 O0", CIN=0, S0=11, S3=11, DI0=9, CO3=12, O0=0, CYINIT=0),
            "end": cell("CARRY4", "CARRY4", "CO3", CIN=12, S0=11, CO3=0),
            "last": cell("SLICE_FFX", "FDRE", "Q", CK=8, D=12, CE=7, SR=9, Q=5),
        }
        netlist, sdf, out = (pathlib.Path(self.folder.name) / n for n in ("routed.json", "routed.sdf", "out.json"))
        ports = {n: {"direction": d, "bits": [b]} for n, d, b in (("clk", "input", 1), ("in", "input", 3), ("out", "output", 6))}
        netlist.write_text(json.dumps({"modules": {"top": {"ports": ports, "cells": cells, "netnames": {}}}}))
        wires = {"table/A1": 1000, "chain/S0": 100, "chain/S3": 50, "last/D": 30, r"first\[0\]/D": 7000}
        sdf.write_text("".join(f"(INTERCONNECT from/O {to} ({ps}:{ps}:{ps}) ({ps - 1}:{ps}:{ps}))\n" for to, ps in wires.items()))
        for _ in range(2):
            subprocess.run([sys.executable, str(SOURCE / "fpga" / "route" / "routed.py"), str(netlist), str(sdf), str(out)], check=True)
            analysis = sta.Analysis(sta.Netlist(str(out)), self.delays(), sta.Cycles())
            # a flip-flop 2, nets 1, 0.1 and 0.03, a table 1, a carry 3, into a flip-flop 0.5
            self.assertAlmostEqual(max(e[1] for e in analysis.endpoints if analysis.end_name(e)[0] == "last"), 7.63)
            self.assertAlmostEqual(max(e[1] for e in analysis.endpoints if analysis.end_name(e)[0] == "first[0]"), 9.5)
        self.assertEqual(routed.place_of("RAMB36E1", "ADDRARDADDRU3"), ("ADDRARDADDR", 67))
        self.assertEqual(routed.place_of("DSP48E1", "PCOUT47"), ("PCOUT", 47))

    def test_report(self):
        made = Made(clk="input").register("unit.a_q", "0").table("unit.t", "unit.a_q").register("other.b_q", "unit.t")
        path = made.write(self.folder.name)
        part = pathlib.Path(self.folder.name) / "part.txt"
        part.write_text(DELAYS)
        command = [sys.executable, "-B", str(SOURCE / "fpga/timing/sta.py"), str(path), str(part), "--target"]
        for target, status, count in (("13.5", 0, 0), ("13.4", 1, 1)):
            got = subprocess.run(command + [target], capture_output=True, text=True, check=False)
            self.assertEqual(got.returncode, status, got.stderr)
            self.assertIn(f"{count} of 1 endpoints over {float(target):.2f} ns", got.stdout)
            self.assertIn("worst 13.50 ns", got.stdout)
            self.assertIn("70 MHz with 5 % to spare", got.stdout)
            self.assertIn("unit.a_q -> other.b_q", got.stdout)
            self.assertIn("+10.00 LUT1 +1.00 unit.t (1)", got.stdout)

    def test_flat(self):
        """LUTs that share an input and have five together count once; each is in one pair."""
        flat = [sys.executable, str(SOURCE / "fpga/synth/flat.py")]
        made = Made(clk="input").register("q", "a").table("t", "a", "b", "c").table("u", "c", "d", "e")         # a pair
        made.table("v", "f", "g", "h").table("w", "i", "j", "k")                                                # nothing in common
        made.table("x", "l", "m", "n", "o").table("y", "o", "p", "r", "s").table("z", "l", "a", "b", "c", "d")   # too many together
        made.table("q1", "aa").table("q2", "aa").table("q3", "aa").cell("RAM32M", "ram", "DOA", DOA="ab")         # three: one pair
        got = subprocess.run(flat + [str(made.write(self.folder.name))], capture_output=True, text=True, check=True)
        self.assertEqual(got.stdout, "takes 14 LUT, 1 FF; 12 LUT if those that share an input share a LUT\n")
        made.cell("MUXF7", "m", "O", O="ac").table("ad", "f", "g", "h", "i", "j").cell("DSP48E1", "dsp", "P", P="ae").cell("RAMB18E1", "r", "Q", Q="af")
        got = subprocess.run(flat + [str(made.write(self.folder.name))], capture_output=True, text=True, check=True)
        self.assertEqual(got.stdout, "takes 15 LUT, 1 FF, 1 DSP, 0.5 BRAM36; 12 LUT if those that share an input share a LUT\n")
        for text in ("{", "{}", '{"modules": {"top": {}}}'):
            path = pathlib.Path(self.folder.name) / "bad.json"
            path.write_text(text)
            got = subprocess.run(flat + [str(path)], capture_output=True, text=True, check=False)
            self.assertEqual((got.returncode, got.stdout), (1, ""))
            self.assertIn("bad.json", got.stderr)

    def test_refusals(self):
        made = Made(clk="input")
        self.refused(["b.c", "loop"], lambda: self.analyse(made.table("b.c", "d").table("d", "b.c").register("q", "d")))
        self.refused(["latch", "LDCE"], lambda: self.analyse(Made(g="input").cell("LDCE", "keep", "Q", G="g", D="q", Q="q")))
        self.refused(["part.txt", "MAGIC", "wand"], lambda: self.analyse(Made(a="input").cell("MAGIC", "wand", "O", I="a", O="b")))
        self.refused(["pin", "X", "RAM"], lambda: self.analyse(
            Made(clk="input", a="input", y="output").cell("RAM", "ram", "Q", CLK="clk", A="a", X="a", Q="y")))
        self.refused(["clock", "port"], lambda: self.analyse(Made(clk="input").register("a_q", "0").register("b_q", "0", "a_q")))
        self.refused(["falling"], lambda: self.analyse(
            Made(clk="input").cell("FDRE", "$ff", "Q", {"IS_C_INVERTED": "1"}, C="clk", CE="1", D="q", R="0", Q="q")))
        self.refused(["part.txt:2", "wire"], lambda: self.delays("\nwires 1 2\n"))
        self.refused(["part.txt:1", "number"], lambda: self.delays("wire 1 fast\n"))
        self.refused(["one row 'wire'"], lambda: self.delays("arc LUT? * O 1\n"))
        self.refused(["dsp DSP48E1 clk_P"], lambda: self.analyse(
            Made(clk="input").cell("DSP48E1", "dsp", "P", CLK="clk", A="p", P="p"), DELAYS + DSP.replace("clk_P ", "clk_Q ")))
        path = pathlib.Path(self.folder.name) / "bad.json"
        path.write_text("{")
        self.refused(["bad.json"], lambda: sta.Netlist(str(path)))

    def test_clocks(self):
        """A clock that names its longest path leaves 5 % of its cycle."""
        named = 0
        for path in (SOURCE / "isa" / "configs").glob("*.json"):
            config = json.loads(path.read_text())
            path_ns = re.search(r"([0-9.]+) ns", config.get("CLOCK_FROM", ""))
            if path_ns:
                named += 1
                self.assertLessEqual(config["CLOCK_MHZ"], 950 / float(path_ns.group(1)), path.name)
        self.assertGreaterEqual(named, 2)

    def test_parts(self):
        parts = list((SOURCE / "fpga" / "timing").glob("*-*.txt"))
        self.assertGreaterEqual(len(parts), 2)
        for part in parts:
            delays = sta.Delays(str(part))
            for kind in ("LUT6", "FDRE", "RAM32M"):
                rows = delays.table(kind, {})
                self.assertTrue(rows["arc"] or rows["launch"], f"{part}: {kind}")


if __name__ == "__main__":
    unittest.main()
