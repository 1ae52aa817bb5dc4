#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Schedules for processors that this machine is not: estimated.py BIN CROSS [--host NAME] [--trials N] [--records FILE] [NAME...]

Of networks of the zoo, or layers of grid.def (those named; without names all networks of floats), the kernels are taken that
can come to their results by another way (Winograd's, today). They run under qemu-user by the standard way, by the kernels' own
best guesses for the others (--trials, 4 with the standard one), and last by the best of each kernel together; all outputs must
be the same but for the order in which numbers are added. A plugin (estimated_blocks.c) tells, step by step, how often each
block of instructions ran and what two caches of the processor's sizes missed. What a block takes is what llvm-mca says of it
by LLVM's model of the core; what a miss takes stands in HOSTS.

That is an estimate and no time: it knows nothing of blocks that overlap, of others that use the memory, of pages. So a step has
two costs, without its misses, as if all were read ahead, and with all of them. A way is better where both say so, and a record
where both are at most WORTH of the standard's. --clock, with --host x86-64-v3 on such a machine, times each schedule, too, and
prints what the clock says beside both: what the estimate is worth where it can be looked at.

A row for each network: how many kernels have a choice and how many a better way, and the whole by both costs: millions of cycles
with the standard schedules, with the best. --records FILE appends what compiler/records keeps. 77: no emulator, or no llvm-mca.
BIN holds vtac, grid_models and schedule_spaces; in CROSS fpga/cross/package.sh keeps what it builds.
"""
import argparse
import array
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

from boards import BOARDS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Of a host: as in boards.py, the numbers of the calls that read the clock there, the core by LLVM's name for its model, its triple and what it can do; both caches in KiB, ways, bytes of a line; and the cycles of
# a miss: of level 1 where level 2 has it, out of order and in order, and of both, likewise. Sizes and latencies are those of
# the processors' manuals; a line of DRAM in order is what the boards copy at, 0.6, 2 and 4 GB a second.
HOSTS = {
    "pynq": (*BOARDS["pynq"], "263:403", "cortex-a9", "armv7a", "+neon",
             "32:4:32", "512:8:32", (25, 10, 90, 35)),
    "ultra96": (*BOARDS["ultra96"], "113", "cortex-a53", "aarch64", "+neon",
                "32:4:64", "1024:16:64", (15, 5, 160, 38)),
    "rasp4": (*BOARDS["rasp4"], "113", "cortex-a72", "aarch64", "+neon",
              "32:2:64", "1024:16:64", (10, 3, 150, 24)),
    # A machine that has a clock, for --clock: what is behind level 2 is its level 3.
    "x86-64-v3": (None, "", "qemu-x86_64 -cpu max", 110, "228", "haswell", "x86_64", "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe",
                  "48:12:64", "2048:16:64", (5, 2, 30, 12)),
}
WORTH, NEAR = 0.85, 2e-5
FEW = 64  # positions of an output: with fewer, transformed weights are read once for too little, and a file grows by three times them
BESIDE = ("", ".tiles", ".products", ".rest", ".pack")  # what vtac/schedules.h counts to a kernel


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"estimated: {' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def way_of(point):
    """By what a kernel comes to its result: Winograd's way of some size, or none of them."""
    return point.split()[0] if point.startswith("winograd=") else ""


class Task:
    """A kernel with a choice."""

    def __init__(self, line):
        self.kernel, self.shape, standard = line.split("\t")
        self.standard, self.points, self.guesses, self.steps, self.costs, self.times = int(standard), [], [], [], {}, {}

    def candidates(self):
        """Points in the order in which they are tried: the standard one, then of each other way the kernel's best guesses in turn.
        Tiles of one way differ by what a core does with its registers, of which an estimate knows too little."""
        own = way_of(self.points[self.standard])
        ways = {}
        for i in sorted(range(len(self.points)), key=lambda i: self.guesses[i]):
            if way_of(self.points[i]) != own and not self.is_costly(self.points[i]):
                ways.setdefault(way_of(self.points[i]), []).append(i)
        order = [i for guesses in itertools.zip_longest(*(ways[w] for w in sorted(ways, reverse=True))) for i in guesses]
        return [self.standard] + [i for i in order if i is not None]

    def is_costly(self, point):
        out = re.search(r" out\d+x(\d+)x(\d+)", self.shape)
        return point.startswith("winograd=") and out is not None and int(out[1]) * int(out[2]) < FEW

    def owns(self, step):
        """Whether a step of a program belongs to the kernel: vtac_schedule_is_step."""
        return any(step.split("+")[0] == of + more or step == of + more for of in self.steps for more in BESIDE)

    def best(self):
        """The point that is cheapest by the sum of both costs, of those that are no dearer than the standard by either."""
        standard = self.costs[self.standard]
        good = {p: c for p, c in self.costs.items() if all(a <= b for a, b in zip(c, standard))}
        return min(good, key=lambda p: sum(good[p]))


class Core:
    """What a block of instructions takes, by LLVM's model."""

    def __init__(self, host):
        self.cpu, self.triple, self.features = HOSTS[host][5:8]
        self.known = {}
        self.mark = "@" if self.triple.startswith("arm") else "#"
        tools = [next((t for t in (f"{tool}-19", tool) if shutil.which(t)), None) for tool in ("llvm-mc", "llvm-mca")]
        if None in tools:
            print("llvm-mc and llvm-mca are not installed")
            sys.exit(77)
        self.mc, self.mca = tools

    def text_of(self, block):
        """Assembly of a block without the calls and returns, for which llvm-mca has no model; None: not all of it is known."""
        numbers = " ".join(" ".join(f"0x{word[i:i + 2]}" for i in range(0, len(word), 2)) for word in block.split())
        done = subprocess.run([self.mc, "--disassemble", f"--triple={self.triple}", f"--mattr={self.features}"], input=numbers,
                              capture_output=True, text=True, check=False)
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip() and not line.strip().startswith(".")]
        jumps = ("bl", "blr", "blx", "ret", "bx", "br", "svc")
        return [x for x in lines if x.split()[0] not in jumps] if len(lines) == len(block.split()) else None

    def ask(self, blocks):
        """Learns blocks: their steady state, as if each came again and again."""
        text, asked = [], []
        for block in blocks:
            lines = self.text_of(block)
            if not lines:
                self.known[block] = float(len(block.split()))
                continue
            text += [f"{self.mark} LLVM-MCA-BEGIN b{len(asked)}", *lines, f"{self.mark} LLVM-MCA-END b{len(asked)}"]
            asked.append(block)
        if not asked:
            return
        rounds = 64
        words = [self.mca, f"-mtriple={self.triple}", f"-mattr={self.features}", f"-mcpu={self.cpu}", f"-iterations={rounds}",
                 "-instruction-info=false", "-resource-pressure=false", "-skip-unsupported-instructions=any"]
        out = subprocess.run(words, input="\n".join(["", *text, ""]), capture_output=True, text=True, check=False)
        told = dict(re.findall(r"Code Region - b(\d+)\s+Iterations:.*?Total Cycles:\s+(\d+)", out.stdout, re.S))
        if not told:
            sys.exit(f"estimated: llvm-mca tells nothing of {len(asked)} blocks: {out.stderr.strip()[:300]}")
        for i, block in enumerate(asked):  # none of what has no model, as a store of some registers on a condition
            self.known[block] = int(told[str(i)]) / rounds if str(i) in told else float(len(block.split()))

    def cycles(self, blocks, runs):
        """Of blocks that ran so often. What is a thousandth of all is not worth asking for: an instruction a cycle."""
        sizes = {b: len(blocks[b].split()) for b in runs}
        total = sum(sizes[b] * n for b, n in runs.items())
        hot = {blocks[b] for b, n in runs.items() if sizes[b] * n > 0.001 * total} - set(self.known)
        self.ask(sorted(hot))
        return sum(n * self.known.get(blocks[b], sizes[b]) for b, n in runs.items())


class Board:
    """Runs networks under an emulator."""

    def __init__(self, tools, cross, folder, host):
        board, prefix, emulator, start, clocks = HOSTS[host][:5]
        level1, level2, self.latencies = HOSTS[host][8:]
        self.tools, self.folder, self.host, self.core = tools, folder, host, Core(host)
        gcc = f"{prefix}-gcc" if prefix else "gcc"
        for tool in (emulator.split()[0], gcc):
            if shutil.which(tool) is None:
                print(f"{tool} is not installed")
                sys.exit(77)
        if board:
            run([f"{ROOT}/fpga/cross/package.sh", board, cross])
        library = f"{cross}/vta-{board}/lib/libvta.a" if board else f"{tools}/../lib/libvta.a"
        folders = [f"{cross}/vta-{board}/include"] if board else [f"{ROOT}/{x}/include" for x in ("runtime", "driver", "isa", "isa/base")]
        run(["gcc", "-std=c17", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", f"{HERE}/estimated_blocks.c", "-o",
             f"{folder}/blocks.so"])
        run([gcc, "-std=c17", "-O2", "-D_GNU_SOURCE", *(f"-I{x}" for x in folders), f"{HERE}/estimated_run.c", "-o", f"{folder}/run",
             library, *([] if board else ["-lcjson"]), "-lpthread", "-ldl", "-lm"])
        self.command = emulator.split() + [
            "-L", f"/usr/{prefix}" if prefix else "/", "-d", "plugin", "-plugin",
            f"{folder}/blocks.so,out={folder}/blocks.txt,start={start},clocks={clocks},level1={level1},level2={level2}",
            f"{folder}/run", f"{folder}/model.so", f"{folder}/outputs"]

    def spaces(self, model):
        """(release, target, tasks)"""
        version, target, *lines = run([f"{self.tools}/schedule_spaces", model, self.host]).splitlines()
        tasks = []
        for line in lines:
            if line.startswith("\t\t"):
                tasks[-1].steps.append(line[2:])
            elif line.startswith("\t"):
                guess, point = line[1:].split("\t")
                tasks[-1].guesses.append(float(guess))
                tasks[-1].points.append(point)
            else:
                tasks.append(Task(line))
        return version, target, tasks

    def parts(self):
        """(runs of blocks, misses) between each two looks at the clock, and the blocks."""
        blocks, parts = {}, []
        for line in open(f"{self.folder}/blocks.txt", encoding="ascii"):
            word, rest = line.rstrip("\n").split(" ", 1)
            if word == "block":
                number, text = rest.split(" ", 1)
                blocks[int(number)] = text
            elif word == "part":
                parts.append(({}, []))
            elif word == "runs":
                number, count = rest.split()
                parts[-1][0][int(number)] = int(count)
            else:
                parts[-1][1].extend(map(int, rest.split()))
        return blocks, parts

    def seconds(self):
        """Of each step of the last network, by this machine's clock."""
        text = run([f"{self.tools}/vtac", "bench", f"{self.folder}/model.so", "--layers", "--json", "--threads", "1", "--repeat", "20"])
        return [(step["name"], step["least_us"]) for step in json.loads(text)["steps"]]

    def outputs(self):
        """Of the last run."""
        numbers = array.array("f")
        with open(f"{self.folder}/outputs", "rb") as data:
            numbers.frombytes(data.read())
        return numbers

    def costs(self, model, log):
        """Of each step: its name, cycles without misses, cycles with all of them."""
        run([f"{self.tools}/vtac", "compile", model, "--host", self.host, "--no-records", "--tuned", log, "-o",
             f"{self.folder}/model.so"])
        names = run(self.command).splitlines()
        blocks, parts = self.parts()
        if len(parts) != 2 * len(names):
            sys.exit(f"estimated: {len(names)} steps looked at the clock {len(parts)} times; expected twice each")
        for name, (runs, misses) in zip(names, parts[1::2]):
            cycles = self.core.cycles(blocks, runs)
            yield name, cycles, cycles + sum(a * b for a, b in zip(misses, self.latencies))


def record_of(task, point, target, version, **more):
    return json.dumps({"kernel": task.kernel, "shape": task.shape, "target": target, "version": version,
                       "point": task.points[point], **more}) + "\n"


def try_network(board, model, log, tasks, points, target, version):
    """Both costs of each task and of the whole."""
    with open(log, "w", encoding="utf-8") as out:
        out.writelines(record_of(t, p, target, version, cost=1.0) for t, p in zip(tasks, points))
    costs = [[0.0, 0.0] for _ in tasks]
    whole = [0.0, 0.0]
    for name, *both in board.costs(model, log):
        for i in range(2):
            whole[i] += both[i]
            for task, cost in zip(tasks, costs):
                cost[i] += both[i] if task.owns(name) else 0.0
    return costs, whole


def compare(right, numbers, model):
    """Another way adds up in another order: the largest difference is a small part of the largest number."""
    largest = max(map(abs, right))
    worst = max(abs(a - b) for a, b in zip(right, numbers)) if len(right) == len(numbers) else math.inf
    if not worst <= NEAR * largest:
        sys.exit(f"estimated: {model}: {worst} apart, where the largest output is {largest}")


def search(board, model, options, folder):
    """The row of a network, and its records."""
    log = f"{folder}/log.jsonl"
    version, target, tasks = board.spaces(model)
    tasks = [t for t in tasks if len(t.candidates()) > 1]
    if not tasks:
        return None, []
    order = [t.candidates() for t in tasks]
    first = right = None
    for trial in range(options.trials):
        points = [o[trial] if trial < len(o) else t.standard for t, o in zip(tasks, order)]
        if trial > 0 and all(p in t.costs for t, p in zip(tasks, points)):
            break
        costs, whole = try_network(board, model, log, tasks, points, target, version)
        first = first or whole
        right = right or board.outputs()
        compare(right, board.outputs(), model)
        for t, p, c in zip(tasks, points, costs):
            t.costs.setdefault(p, c)
        if options.clock:
            times = board.seconds()
            for t, p in zip(tasks, points):
                t.times.setdefault(p, sum(us for name, us in times if t.owns(name)))
    if options.clock:
        tell_clock(tasks)
    kept = []
    chosen = []
    for t in tasks:
        p = t.best()
        worth = all(a <= WORTH * b for a, b in zip(t.costs[p], t.costs[t.standard]))
        chosen.append(p if worth else t.standard)
        if worth:
            kept.append(record_of(t, p, target, version, cost=max(t.costs[p]), estimated=True))
    last = first
    if kept:
        last = try_network(board, model, log, tasks, chosen, target, version)[1]
        compare(right, board.outputs(), model)
    return (len(tasks), len(kept), first, last), kept


def tell_clock(tasks):
    """What the clock says beside both costs: how many times as fast each other way is than the standard one."""
    for t in tasks:
        for p in t.times:
            if p != t.standard:
                quotients = [t.costs[t.standard][i] / t.costs[p][i] for i in range(2)] + [t.times[t.standard] / t.times[p]]
                print(f"{quotients[0]:6.2f} {quotients[1]:6.2f}  by the clock {quotients[2]:6.2f}  {t.shape}  {t.points[p]}", flush=True)


def models_of(options, folder):
    """(name, path) of what is looked at: networks of the zoo, or layers of grid.def."""
    zoo = [line.split()[0] for line in run([f"{options.bin}/vtac", "zoo", "list"]).splitlines() if line.strip()]
    for name in options.names or zoo:
        model = f"{folder}/{name}.onnx"
        if name in zoo:
            run([f"{options.bin}/vtac", "zoo", name, "-o", model])
        else:
            subprocess.run([f"{options.bin}/grid_models", folder, name], capture_output=True, check=False)
        if not os.path.exists(model):
            sys.exit(f"estimated: no network and no layer '{name}'; 'vtac zoo list' and grid.def have their names")
        yield name, model
        os.unlink(model)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=os.path.abspath)
    parser.add_argument("cross", type=os.path.abspath)
    parser.add_argument("--host", choices=list(HOSTS), default="ultra96")
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--records", type=os.path.abspath)
    parser.add_argument("--clock", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    quotients = ([], [])
    print(f"{'':<20} kernels     M cycles, no misses        M cycles, all misses\n"
          f"{'--host ' + options.host:<20} all bet.  standard     best  times  standard     best  times", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        board = Board(options.bin, options.cross, folder, options.host)
        for name, model in models_of(options, folder):
            row, kept = search(board, model, options, folder)
            if row is None:
                print(f"{name:<20}   0    0", flush=True)
                continue
            text = "".join(f" {a / 1e6:9.2f} {b / 1e6:9.2f} {a / b:5.2f} " for a, b in zip(row[2], row[3]))
            print(f"{name:<20} {row[0]:3d}  {row[1]:3d} {text}", flush=True)
            for i in range(2):
                quotients[i].append(row[2][i] / row[3][i])
            if options.records:
                with open(options.records, "a", encoding="utf-8") as out:
                    out.writelines(kept)
    means = [math.exp(sum(map(math.log, q)) / len(q)) if q else 1.0 for q in quotients]
    print(f"{len(quotients[0])} networks with a choice: {means[0]:.3f} times as fast in geometric mean without misses, {means[1]:.3f} "
          "with all of them")


if __name__ == "__main__":
    main()
