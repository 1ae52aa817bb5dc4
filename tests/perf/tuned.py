#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `vtac tune` finds: tuned.py BIN [--host NAME] [--trials N] [--records FILE] [NAME...]

Tunes layers of grid.def and networks of the zoo (those named; without names the convolutions of floats of the grid, and
all networks of floats), then times the network with the schedules that were found and the one with the standard ones in
turn, nine times each, by processor time on one thread. A row for each: how many kernels have a choice, how many were
made faster, by how much all of them in geometric mean (as `vtac tune` timed them last, each beside its standard), and
the whole: milliseconds, the median of the nine quotients, the least, and how many were above 1. Last the geometric means
and the least of each kind. Where no kernel was made faster, the two are the same file, and nothing is timed.

--records FILE appends what compiler/records keeps: proved schedules whose kernel takes at most 0.96 of what its standard
one took, of networks that were faster in at least eight of the nine pairs.
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

PAIRS, WON, WORTH = 9, 8, 0.96
ROW = re.compile(r"^(.+?)\s+(\d+)\s+(\d+) of (\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\S.*)$")


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else 1.0


def kept(log):
    """Lines of a log that are worth being records."""
    first, proved = {}, {}
    for line in open(log, encoding="utf-8"):
        r = json.loads(line)
        key = r["kernel"], r["shape"]
        if r.get("proved"):
            proved[key] = (r, line)
        else:
            first.setdefault(key, r)  # a search begins with the standard schedule
    return [line for key, (r, line) in sorted(proved.items())
            if key in first and first[key]["cost"] and r["point"] != first[key]["point"]
            and r["cost"] <= WORTH * first[key]["cost"]]


class Tuner:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.vtac = os.path.join(options.bin, "vtac")

    def run(self, *words, fails=True):
        done = subprocess.run([self.vtac, *words], cwd=self.work, capture_output=True, text=True, check=False)
        if fails and done.returncode != 0:
            sys.exit(f"tuned.py: vtac {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def compile(self, model, out, *words):
        self.run("compile", model, "--host", self.options.host, "--no-records", *words, "-o", out)

    def time(self, library):
        words = [os.path.join(self.options.bin, "model_bench"), library, "1", "0.2"]
        done = subprocess.run(words, cwd=self.work, capture_output=True, text=True, check=True)
        return float(done.stdout.split()[0])

    def tune(self, model):
        """How many times as fast each kernel became, and the log."""
        log = os.path.join(self.work, "tune.jsonl")
        if os.path.exists(log):
            os.unlink(log)
        text = self.run("tune", model, "--host", self.options.host, "--tuner", "model", "--trials",
                        str(self.options.trials), "--log", log, fails=False)
        rows = [ROW.match(line) for line in text.splitlines()]
        return [float(r.group(7)) for r in rows if r and int(r.group(4)) > 1], log

    def row(self, name, model):
        kernels, log = self.tune(model)
        better = sum(k > 1.0 for k in kernels)
        if better == 0:
            print(f"{name:<24} {len(kernels):3d} {better:3d}", flush=True)
            return kernels, None
        self.compile(model, "standard.so")
        self.compile(model, "tuned.so", "--tuned", log)
        pairs = [(self.time("standard.so"), self.time("tuned.so")) for _ in range(PAIRS)]
        quotients = [a / b for a, b in pairs]
        won = sum(q > 1.0 for q in quotients)
        median = statistics.median(quotients)
        print(f"{name:<24} {len(kernels):3d} {better:3d} {geometric_mean(kernels):6.3f} {min(a for a, _ in pairs):9.4f} "
              f"{min(b for _, b in pairs):9.4f} {median:6.3f} {min(quotients):6.3f} {won}", flush=True)
        if self.options.records and won >= WON:
            with open(self.options.records, "a", encoding="utf-8") as out:
                out.writelines(kept(log))
        return kernels, median


def names_of(options, work):
    """(name, kind) of what is to be tuned; layers are written at once."""
    grid, vtac = (os.path.join(options.bin, program) for program in ("grid_models", "vtac"))
    listed = subprocess.run([vtac, "zoo", "list"], capture_output=True, text=True, check=True).stdout
    zoo = [line.split()[0] for line in listed.splitlines() if line.strip()]
    names = options.names
    if not names:
        text = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "grid.def"), encoding="utf-8").read()
        names = re.findall(r"^(?:CONV|RECT|LINE)\((\w+), \"f32\"", text, re.M) + re.findall(r"^CONV_T\((\w+)", text, re.M)
        names += zoo
    for name in names:
        if name in zoo:
            yield name, "networks"
            continue
        done = subprocess.run([grid, work, name], capture_output=True, text=True, check=False)
        if done.returncode != 0 or not os.path.exists(os.path.join(work, name + ".onnx")):
            sys.exit(f"tuned.py: no layer and no network '{name}'; grid.def and vtac zoo list have their names")
        yield name, "layers"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=os.path.abspath)
    parser.add_argument("--host", default="host")
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--records", type=os.path.abspath)
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    kernels = {"layers": [], "networks": []}
    wholes = {"layers": [], "networks": []}
    with tempfile.TemporaryDirectory() as work:
        tuner = Tuner(options, work)
        print(f"{'':<24} kernels  times as   standard     tuned    the whole: median, least of nine quotients\n"
              f"{'--host ' + options.host:<24} all bet. fast       ms        ms        and how many are above 1", flush=True)
        for name, kind in names_of(options, work):
            model = name + ".onnx"
            if kind == "networks":
                tuner.run("zoo", name, "-o", model)
            own, whole = tuner.row(name, model)
            kernels[kind] += own
            wholes[kind] += [whole or 1.0] if own else []
            os.unlink(os.path.join(work, model))
    for kind in ("layers", "networks"):
        if kernels[kind]:
            print(f"{kind}: {len(kernels[kind])} kernels with a choice {geometric_mean(kernels[kind]):.3f} times as fast in "
                  f"geometric mean, least {min(kernels[kind]):.2f}; {len(wholes[kind])} {kind} with any, as a whole, "
                  f"{geometric_mean(wholes[kind]):.3f}, least {min(wholes[kind]):.3f}")
    every = kernels["layers"] + kernels["networks"]
    print(f"all {len(every)} kernels: {geometric_mean(every):.3f}")


if __name__ == "__main__":
    main()
