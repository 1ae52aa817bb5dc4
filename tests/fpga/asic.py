#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# asic.py SOURCE WORK: what fpga/asic makes for a chip, against what it stands for: RAMs of macros and the pair of multipliers behave as
# the modules of hw/ for the same drawn inputs; reports add up by hand; broken liberty files are refused. The macros are of this file.
import json
import pathlib
import random
import re
import subprocess
import sys
import unittest

SOURCE, WORK = (pathlib.Path(argument) for argument in (sys.argv.pop(1), sys.argv.pop(1)))
ASIC = SOURCE / "fpga" / "asic"
sys.path.insert(0, str(ASIC))
import chip  # noqa: E402
import fanout  # noqa: E402
import liberty  # noqa: E402
import report  # noqa: E402

SEED = subprocess.run([SOURCE / "tests" / "lib" / "seed.sh", "fpga_asic"], check=True, capture_output=True, text=True).stdout.strip()
print("seed", SEED)


def macro(name, log_depth, width, area, masked):
    """A RAM of the library, as text of a liberty file."""
    buses = ["ADDR", "DIN", "DOUT"] + ["BM"] * masked
    pins = "".join(f"pin({p}_{n}) {{ }} " for p in "AB" for n in ("CLK", "MEN", "WEN", "REN", "DLY"))
    pins += "".join(f"bus({p}_{n}) {{ }} " for p in "AB" for n in buses)
    power = 'internal_power() { when : "A_MEN & A_WEN & !A_REN"; rise_power("scalar") { values (7.5); } fall_power("scalar") { values (0); } } ' \
            'internal_power() { when : "A_MEN & !A_WEN & A_REN"; rise_power("scalar") { values (5.25); } }'
    return f"cell({name}) {{ area : {area}; memory() {{ type : ram; address_width : {log_depth}; word_width : {width}; }} {pins} {power} }}\n"


CELLS = 'cell(INV) { area : 2.0; pin(A) { direction : input; } pin(Y) { direction : output; function : "!A"; } } ' \
        'cell("DFF") { area : 10.0; ff(IQ, IQN) { clocked_on : "CK"; } pin(CK) { direction : input; } pin(D) { direction : input; } pin(Q) { direction : output; function : "IQ"; } }\n' \
        'cell(BUF1) { area : 3.0; pin(A) { direction : input; } pin(Y) { direction : output; function : "A"; } } ' \
        'cell(BUF2) { area : 4.0; pin(A) { direction : "input"; } pin("Y") { direction : "output"; function : "(A)"; } }\n'
MACROS = {"ram_16x8": (4, 8, 300.0, True), "ram_64x32": (6, 32, 2500.0, True), "ram_32x8": (5, 8, 310.0, False)}
LIBRARY = "library(made) {\n" + CELLS + "".join(macro(n, *m) for n, m in MACROS.items()) + "}\n"


def model(name, log_depth, width, masked):
    """The same macro in Verilog: a read that nobody asks for leaves the output."""
    ports = "".join(f"input {p}_CLK, input {p}_MEN, input {p}_WEN, input {p}_REN, input {p}_DLY, input [{log_depth - 1}:0] {p}_ADDR, input [{width - 1}:0] {p}_DIN, "
                    + (f"input [{width - 1}:0] {p}_BM, " if masked else "") + f"output reg [{width - 1}:0] {p}_DOUT, " for p in "AB")
    lines = []
    for p in "AB":
        mask = f"{p}_BM" if masked else f"{{{width}{{1'b1}}}}"
        lines.append(f"always @(posedge {p}_CLK) begin if ({p}_MEN && {p}_REN) {p}_DOUT <= mem[{p}_ADDR]; "
                     f"if ({p}_MEN && {p}_WEN) mem[{p}_ADDR] <= mem[{p}_ADDR] & ~{mask} | {p}_DIN & {mask}; end")
    return f"module {name} ({ports.rstrip(', ')});\nreg [{width - 1}:0] mem [0:{(1 << log_depth) - 1}];\n" + "\n".join(lines) + "\nendmodule\n"


def yosys(script, where):
    (where / "script.ys").write_text(script)
    subprocess.run(["yosys", "-q", "-s", "script.ys"], cwd=where, check=True)


def simulate(files, top, where):
    subprocess.run(["iverilog", "-g2005", "-s", top, "-o", top + ".vvp", "-I", SOURCE / "hw" / "include", *files], cwd=where, check=True)
    done = subprocess.run(["vvp", "-n", top + ".vvp"], cwd=where, check=True, capture_output=True, text=True)
    return done.stdout


# The shapes of RAMs: depth, bits, slices, bits that are offered.
SHAPES = [(3, 8, 8, 8), (5, 40, 8, 8), (7, 64, 16, 32), (4, 24, 24, 24), (6, 128, 64, 64), (9, 16, 8, 16)]


def bench(instances, seed):
    """Every instance twice: as in hw/ (h), and of macros (m), with the same drawn inputs; read data are compared."""
    out = [f"module tb; reg clk = 0; integer i, wrong = 0, seed = {seed};"]
    drive, check = [], []
    for k, (plain, other, inputs, output, width) in enumerate(instances):
        ports = []
        for name, size in inputs.items():
            out.append(f"reg [{size - 1}:0] i{k}_{name} = 0;")
            drive.append(f"i{k}_{name} <= " + "{" + ", ".join("$random(seed)" for _ in range(-(-size // 32))) + "};")
            ports.append(f".{name}(i{k}_{name})")
        for form, module in (("h", plain), ("m", other)):
            wires = [f".{o}({form}{k}_{o})" for o in output]
            out += [f"wire [{width - 1}:0] {form}{k}_{o};" for o in output]
            out.append(f"{module} {form}{k} (.clk(clk), {', '.join(ports + wires)});")
        check += [f"if (h{k}_{o} !== m{k}_{o} && h{k}_{o} !== {{{width}{{1'bx}}}} && ^h{k}_{o} !== 1'bx) wrong = wrong + 1; if (^h{k}_{o} !== 1'bx) seen{k} = seen{k} + 1;" for o in output]
        out.append(f"integer seen{k} = 0;")
    out.append("initial begin for (i = 0; i < 2500; i = i + 1) begin " + " ".join(drive) + " #1 clk = 1; #1 " + " ".join(check) + " clk = 0; #1; end")
    out.append('$display("wrong %0d", wrong); ' + " ".join(f'$display("seen %0d", seen{k});' for k in range(len(instances))) + " end endmodule")
    return "\n".join(out)


class Rams(unittest.TestCase):
    def made(self, where, library=LIBRARY):
        """Black boxes of all shapes, and what rams.py makes of them."""
        where.mkdir(parents=True, exist_ok=True)
        (where / "made.lib").write_text(library)
        lines = []
        for k, (depth, width, piece, offered) in enumerate(SHAPES):
            lines.append(f"vta_ram #(.LOG_DEPTH({depth}), .WIDTH({width}), .SLICE({piece}), .WR_WIDTH({offered})) r{k} ();")
        lines += ["vta_uop_ram #(.LOG_DEPTH(7)) u ();", "vta_table #(.LOG_WORDS(6)) t ();"]
        (where / "top.v").write_text("module top; " + "\n".join(lines) + " endmodule\n")
        rtl = [SOURCE / "hw" / "rtl" / f for f in ("lib/vta_ram.v", "compute/vta_uop_ram.v", "compute/vta_table.v")]
        names = " ".join(str(f) for f in rtl)
        yosys(f"read_verilog -DSYNTHESIS -I{SOURCE}/hw/include {names} top.v\nhierarchy -top top\nproc\nwrite_json tree.json\nblackbox *vta_ram* *vta_uop_ram* *vta_table*\nwrite_json shapes.json\n", where)
        done = subprocess.run([sys.executable, "-B", ASIC / "rams.py", "shapes.json", "made.lib"], cwd=where, capture_output=True, text=True, check=False)
        return done, rtl, json.loads((where / "shapes.json").read_text())["modules"]

    def test_same_as_in_hw(self):
        where = WORK / "rams"
        done, rtl, modules = self.made(where)
        self.assertEqual(done.returncode, 0, done.stderr)
        (where / "macros.v").write_text(done.stdout)
        (where / "models.v").write_text("".join(model(n, m[0], m[1], m[3]) for n, m in MACROS.items()))
        kinds = {c["type"]: name for name, c in modules["top"]["cells"].items()}
        instances = []
        for kind, instance in kinds.items():
            ports = {p: len(v["bits"]) for p, v in modules[kind]["ports"].items()}
            inputs = {p: n for p, n in ports.items() if modules[kind]["ports"][p]["direction"] == "input" and p != "clk"}
            outputs = [p for p, v in modules[kind]["ports"].items() if v["direction"] == "output"]
            if instance == "u":
                plain = "vta_uop_ram #(.LOG_DEPTH(7))"
            elif instance == "t":
                plain = "vta_table #(.LOG_WORDS(6))"
            else:
                depth, width, piece, offered = SHAPES[int(instance[1:])]
                plain = f"vta_ram #(.LOG_DEPTH({depth}), .WIDTH({width}), .SLICE({piece}), .WR_WIDTH({offered}))"
            instances.append((plain, f"\\{kind} ", inputs, outputs, ports[outputs[0]]))
        self.assertEqual(len(instances), len(SHAPES) + 2)
        for run in range(2):
            (where / "tb.v").write_text(bench(instances, random.Random(f"{SEED} {run}").getrandbits(31)))
            said = simulate([*rtl, "macros.v", "models.v", "tb.v"], "tb", where).split("\n")
            self.assertEqual(said[0], "wrong 0")
            self.assertTrue(all(int(line.split()[1]) > 150 for line in said[1:] if line), said)
        self.assertIn("vta_ram 8 8 1 ram_16x8 300", done.stderr.split("\n"))     # one macro, half empty
        self.assertIn("vta_ram 128 64 4 ram_64x32 10000", done.stderr.split("\n"))    # two beside each other, two behind
        self.assertIn("vta_table 128 16 8 ram_32x8 2480", done.stderr.split("\n"))    # the smallest of those that need no mask

    def test_refused(self):
        for what, library in (("no RAM macro with two ports", "library(l) {" + CELLS + "}"), ("a mask of bits", "library(l) {" + macro("ram_32x8", 5, 8, 1.0, False) + "}")):
            done = self.made(WORK / "refused", library)[0]
            self.assertEqual(done.returncode, 1)
            self.assertIn(what, done.stderr)


class Multipliers(unittest.TestCase):
    def test_same_as_in_hw(self):
        """All pairs of one weight and x, with the other weight drawn."""
        where = WORK / "mul"
        where.mkdir(parents=True, exist_ok=True)
        (where / "hw.v").write_text((SOURCE / "hw/rtl/compute/vta_mul_pair.v").read_text().replace("module vta_mul_pair", "module plain"))
        (where / "tb.v").write_text(f"""module tb; reg clk = 0, en = 0; reg [7:0] w0 = 0, w1 = 0, x = 0; integer i, wrong = 0, seed = {random.Random(SEED).getrandbits(31)};
            wire [15:0] l0, l1, h0, h1; plain a (clk, en, w0, w1, x, l0, h0); vta_mul_pair b (clk, en, w0, w1, x, l1, h1);
            initial begin for (i = 0; i < 131072; i = i + 1) begin en = i < 2 || $random(seed) % 8 != 0;
                w0 = i[16] ? $random(seed) : i[7:0]; w1 = i[16] ? i[7:0] : $random(seed); x = i[15:8];
                #1 clk = 1; #1 clk = 0; if (i > 2 && {{l0, h0}} !== {{l1, h1}}) wrong = wrong + 1; end $display("wrong %0d", wrong); end endmodule""")
        self.assertEqual(simulate(["hw.v", ASIC / "vta_mul_pair.v", "tb.v"], "tb", where).strip(), "wrong 0")


class Fanout(unittest.TestCase):
    def test_trees(self):
        """Every reader still sees its net, through buffers alone; no net has more readers than are allowed; a clock stays as it is."""
        where = WORK / "fanout"
        where.mkdir(parents=True, exist_ok=True)
        (where / "made.lib").write_text(LIBRARY)
        draw = random.Random(SEED)
        for readers in (1, fanout.MOST, fanout.MOST + 1, draw.randrange(150, 400)):
            # Net 2 is the clock, 3 the input port, 4 what the flip-flop gives; the child module reads as well.
            source = {f"inv{i}": (draw.choice((3, 4)), 10 + i) for i in range(readers)}
            cells = {name: {"type": "INV", "connections": {"A": [a], "Y": [y]}} for name, (a, y) in source.items()}
            cells.update({f"dff{i}": {"type": "DFF", "connections": {"CK": [2], "D": [3], "Q": [4] if i == 0 else [1000 + i]}} for i in range(40)})
            cells["child"] = {"type": "below", "connections": {"in": [4, 4, "0"], "out": [2000]}}
            child = {"attributes": {}, "cells": {}, "ports": {"in": {"direction": "input", "bits": [2, 3, 4]}, "out": {"direction": "output", "bits": [5]}}}
            top = {"attributes": {}, "cells": cells, "ports": {"ck": {"direction": "input", "bits": [2]}, "d": {"direction": "input", "bits": [3]}}}
            (where / "net.json").write_text(json.dumps({"modules": {"top": top, "below": child}}))
            subprocess.run([sys.executable, "-B", ASIC / "fanout.py", "net.json", "out.json", "made.lib"], cwd=where, check=True)
            made = json.loads((where / "out.json").read_text())["modules"]["top"]["cells"]
            above = {c["connections"]["Y"][0]: c["connections"]["A"][0] for c in made.values() if c["type"] == "BUF2"}

            def origin(net, above=above):
                while net in above:
                    net = above[net]
                return net

            for name, (a, y) in source.items():
                self.assertEqual((origin(made[name]["connections"]["A"][0]), made[name]["connections"]["Y"]), (a, [y]))
            self.assertEqual([origin(n) for n in made["child"]["connections"]["in"]], [4, 4, "0"])
            self.assertTrue(all(made[f"dff{i}"]["connections"]["CK"] == [2] and origin(made[f"dff{i}"]["connections"]["D"][0]) == 3 for i in range(40)))
            count = {}
            for cell in made.values():
                for pin in {"INV": "A", "BUF2": "A", "DFF": "D"}.get(cell["type"], ""):
                    count[cell["connections"][pin][0]] = count.get(cell["connections"][pin][0], 0) + 1
            self.assertLessEqual(max(count.values()), fanout.MOST)
            self.assertEqual(len(above), len({c for c in made if c.startswith("fan")}))


class Report(unittest.TestCase):
    def test_adds_up(self):
        where = WORK / "report"
        where.mkdir(parents=True, exist_ok=True)
        (where / "made.lib").write_text(LIBRARY)
        ram = {"attributes": {}, "cells": {"macro_0_0": {"type": "ram_64x32"}, "macro_0_1": {"type": "ram_64x32"}, "macro_1_0": {"type": "ram_64x32"}, "macro_1_1": {"type": "ram_64x32"}, "_1_": {"type": "INV"}}}
        modules = {"top": {"attributes": {"top": "00000001"}, "cells": {"compute": {"type": "c"}, "fetch": {"type": "f"}, "_9_": {"type": "INV"}}},
                   "c": {"attributes": {}, "cells": {"alu": {"type": "f"}, "uop_ram": {"type": "ram"}, "_1_": {"type": "DFF"}}},
                   "f": {"attributes": {}, "cells": {"_1_": {"type": "DFF"}, "_2_": {"type": "INV"}}}, "ram": ram}
        (where / "net.json").write_text(json.dumps({"modules": modules}))
        power = {"compute/alu/_1_": 1e-3, "compute/alu/_2_": 2e-3, "compute/_1_": 4e-3, "fetch/_1_": 8e-3, "_9_": 16e-3, "compute/uop_ram/macro_0_0": 6e9, "compute/uop_ram/_1_": 32e-3}
        (where / "power.txt").write_text("   Internal Switching Leakage Total\n" + "".join(f"  1.0e-03 0.0e+00 0.0e+00 {v:.2e} {n}\n" for n, v in power.items()))
        done = subprocess.run([sys.executable, "-B", ASIC / "report.py", "net.json", "power.txt", "100", "0.2", "made.lib"], cwd=where, capture_output=True, text=True, check=True)
        rows = {line.split()[0]: line.split()[1:] for line in done.stdout.split("\n")[1:] if line}
        self.assertEqual(rows["compute/uop_ram"], ["0.010", "0.010", "5", "0", "32.00", "10", "15"])   # a row of two macros works
        self.assertEqual(rows["compute/alu"][2:5], ["2", "1", "3.00"])
        self.assertEqual(rows["rest"][2:5], ["2", "1", "20.00"])
        self.assertEqual(rows["all"][:5], ["0.010", "0.010", "11", "3", "63.00"])

    def test_unit_of(self):
        self.assertEqual([report.unit_of(n) for n in ("a/b", "compute/alu/x/y", "compute/gemm/array/z", "compute/x", "y")], ["a", "compute/alu", "compute/gemm/array", "rest", "rest"])

    def test_liberty(self):
        path = WORK / "own.lib"
        path.write_text(LIBRARY)
        library = liberty.Library([path])
        self.assertEqual((library.area["INV"], library.flops, sorted(library.macros)), (2.0, {"DFF"}, sorted(MACROS)))
        self.assertEqual((library.buffer, library.clocks["DFF"], library.inputs["DFF"]), (("BUF2", "A", "Y"), {"CK"}, {"CK", "D"}))
        wide = library.macros["ram_64x32"]
        self.assertEqual((wide.log_depth, wide.width, wide.area, wide.two_ports, wide.masked, wide.read, wide.write), (6, 32, 2500.0, True, True, 5.25, 7.5))


class Chip(unittest.TestCase):
    """What a unit's work takes: drawn waves and powers, counted again."""

    def waves(self, chance, registers):
        """VCD of registers {instance path: bits} below vta_top, and the text of activity.py that it must give."""
        codes, lines, changes = {}, ["$scope module TOP $end", "$scope module vta_top $end"], {}
        names = {"stat_gemm": "c0", "stat_depthwise": "c1", "stat_alu": "c2", "stat_requant": "c3"}
        ports = {"m_axi_rvalid": "a0", "m_axi_rready": "a1", "m_axi_wvalid": "a2", "m_axi_wready": "a3"}
        lines += [f"$var wire 1 {code} {name} $end" for name, code in ports.items()] + ["$scope module compute $end"]
        lines += [f"$var wire 1 {code} {name} $end" for name, code in names.items()] + ["$upscope $end"]
        for number, (path, width) in enumerate(registers.items()):
            codes[path] = f"r{number}"
            lines += [f"$scope module {word} $end" for word in path] + [f"$var logic {width} r{number} value_q [{width - 1}:0] $end"] + ["$upscope $end"] * len(path)
        lines += ["$upscope $end", "$upscope $end", "$enddefinitions $end"]
        values, events = dict.fromkeys(registers, 0), dict.fromkeys(("array", "alu", "reads", "writes"), 0)
        for cycle in range(400):
            lines.append(f"#{2 * cycle}")
            bits = {code: chance.random() < 0.5 for code in [*names.values(), *ports.values()]}
            lines += [f"{int(on)}{code}" for code, on in bits.items()]
            if cycle < 399:
                events["array"] += bits["c0"] or bits["c1"]
                events["alu"] += bits["c2"] or bits["c3"]
                events["reads"] += bits["a0"] and bits["a1"]
                events["writes"] += bits["a2"] and bits["a3"]
            for path, width in registers.items():
                value = chance.getrandbits(width) if chance.random() < 0.3 else values[path]
                changes[path] = changes.get(path, 0) + (bin(value ^ values[path]).count("1") if cycle > 0 else 0)
                values[path] = value
                lines.append(f"b{value:b} {codes[path]}")
        return "\n".join(lines) + "\n", events, changes

    def test_activity(self):
        chance = random.Random(SEED)
        for _ in range(2):
            registers = {("compute", "alu", "lane[0]"): 33, ("compute", "gemm", "array"): 7, ("queue[0]", "insns"): 12, ("fetch",): 1, ("compute",): 5}
            text, events, changes = self.waves(chance, registers)
            done = subprocess.run([sys.executable, "-B", ASIC / "activity.py", "vta_top", "2"], input=text, capture_output=True, text=True, check=True)
            found = {" ".join(w[:-1]) if w[0] == "=" else w[0]: w[-1] if w[0] == "=" else w[1:] for w in map(str.split, done.stdout.split("\n")[:-1])}
            self.assertEqual({e: int(found["= " + e]) for e in events}, events)
            cycles = int(found["= cycles"])
            self.assertEqual(cycles, 399)
            for path, unit in zip(registers, ("compute/alu", "compute/gemm/array", "queue[0].insns", "fetch", "rest")):
                self.assertEqual(int(found[unit][1]), registers[path])
                self.assertAlmostEqual(float(found[unit][0]), changes[path] / registers[path] / cycles, 2)
        for text, says in (("$enddefinitions $end\n", "no registers"), ("$scope module vta_top $end\n$var logic 1 a x_q $end\n$enddefinitions $end\n", "the waves have no")):
            done = subprocess.run([sys.executable, "-B", ASIC / "activity.py", "vta_top", "2"], input=text, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, says in done.stderr), (1, True))

    def test_sums(self):
        """Powers that are lines over the activity come back as they were drawn."""
        chance = random.Random(SEED)
        for _ in range(2):
            units = ("compute/gemm/array", "compute/gemm/nest", "compute/alu", "load/engine", "store", "fetch", "rest")
            rest, slope, rate = ({u: chance.uniform(1, 9) * scale for u in units} for scale in (1e-3, 1e-2, 1e-1))
            power = lambda at: {u: rest[u] + slope[u] * at for u in units}
            areas = {u: report.Unit() for u in units}
            for unit in areas.values():
                unit.area, unit.ram = 5e6, 1e6
            sums = chip.sum_up(areas, (0.2, power(0.2)), (0.5, power(0.5)), {u: (rate[u], 100) for u in units})
            events = {"cycles": 1000, "array": 800, "alu": 300, "reads": 200, "writes": 50}
            rows = {row[0]: row[1:4] for row in chip.rows_of(sums, (256, 16, 8), events, 100.0)}
            for kind, of, happened, count in (("MAC", units[:2], 800 * 256, 256), ("LANE", units[2:3], 300 * 16, 16), ("MOVE", units[3:5], 250 * 8, 1)):
                self.assertAlmostEqual(rows[kind][0] / (sum(slope[u] * rate[u] for u in of) * 1e4 * 1000 / happened), 1, 9)
                self.assertAlmostEqual(rows[kind][1] / (sum(rest[u] for u in of) * 1e4 / count), 1, 9)
                self.assertAlmostEqual(rows[kind][2], 4.0 * len(of) / count, 9)
            self.assertAlmostEqual(rows["REST"][1] / (sum(rest[u] + slope[u] * rate[u] for u in units[5:]) * 1e4), 1, 9)

    def test_table(self):
        """Rows are written over the old ones; the words around them stay, and the compiler's file is one."""
        text = (SOURCE / "compiler" / "src" / "explore" / "chip.def").read_text()
        path = WORK / "chip.def"
        WORK.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        chip.write_table(path, [("MAC", 1.5, 2.5, 0.25, "words")], [("ram", 64, 1.0, 2.0, 3.0)], "lib", "made", "100", "a window")
        made = path.read_text()
        self.assertIn('VTAC_CHIP_UNIT(MAC,', made)
        self.assertEqual([made.count(w) for w in ("\nVTAC_CHIP_UNIT(", "\nVTAC_CHIP_RAM(", "\nVTAC_CHIP_FROM(")], [1, 1, 1])
        kept = lambda t: [line for line in t.split("\n") if not line.startswith("VTAC_CHIP_")]
        self.assertEqual(kept(made), kept(text))


class Script(unittest.TestCase):
    def test_refused(self):
        WORK.mkdir(parents=True, exist_ok=True)
        (WORK / "words.lib").write_text("nothing of the kind\n")
        (WORK / "bare.lib").write_text("library(l) { cell(INV) { area : 1; } }\n")
        for files, says in (([WORK / "absent.lib"], "there is no file"), ([WORK / "words.lib"], "is no liberty file"), ([WORK / "bare.lib"], "has a flip-flop")):
            done = subprocess.run([ASIC / "asic.sh", "tiny", "/bin/false", WORK, WORK / "out", *files], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


unittest.main()
