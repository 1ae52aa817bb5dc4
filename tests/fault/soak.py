#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Networks on every device for a time, while processes are killed, suspended, interrupted and run out of disk. A run that ends by
itself has the numbers of the first one; a file is whole or not there; nothing is left behind but by SIGKILL. Beside that one
process loads, runs and closes the same models again and again: its memory and its descriptors stay what they are.

usage: soak.py BUILD MINUTES [DEVICE...]       VTAC_SEED draws what happens when; devices: fsim, tsim and an agent unless told
"""
import glob
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

NETWORKS = ("tiny_ad", "tiny_kws", "tiny_ic")
SEEDS = ("1", "2")
ENDINGS = ("none", "none", "kill", "term", "interrupt", "hang up", "suspend", "disk")
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "interrupt": signal.SIGINT, "hang up": signal.SIGHUP}

RESIDENT = """
import hashlib, json, os, sys
import vta
for line in sys.stdin:
    path, device, seed = json.loads(line)
    with vta.Model(path, device=device) as model:
        for tensor in model.inputs:
            view = memoryview(tensor.data).cast("B")
            view[:] = bytes((i * 37 + int(seed) * 11 + i // 251) % 256 for i in range(len(view)))
        outputs = hashlib.sha256(b"".join(t.tobytes() for t in model.run_views())).hexdigest()
    pages = int(open("/proc/self/statm").read().split()[1])
    print(json.dumps([outputs, pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd"))]), flush=True)
"""


FOLDER = "a folder"  # in which a model is linked, beside it; only SIGKILL may leave it


def digest(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        if os.path.isdir(os.path.join(folder, name)):
            found[name] = FOLDER
            continue
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


class Soak:
    def __init__(self, build, top, devices, draw):
        self.vtac = os.path.join(build, "bin", "vtac")
        self.top, self.devices, self.draw = top, devices, draw
        self.temporary, self.out = os.path.join(top, "tmp"), os.path.join(top, "out")
        for folder in (self.temporary, self.out):
            os.mkdir(folder)
        self.env = {**os.environ, "TMPDIR": self.temporary, "VTAC_THREADS": "1"}
        self.expected, self.seconds, self.count, self.wrong = {}, {}, {}, 0
        for name in NETWORKS:
            self.make("zoo", name, "--int8", "-o", "%s.onnx" % name)
            self.make("compile", "%s.onnx" % name, "--target", "vta", "-o", "%s.so" % name)

    def make(self, *words):
        subprocess.run([self.vtac, *words], cwd=self.top, env=self.env, check=True, stdout=subprocess.DEVNULL)

    def complain(self, text):
        self.wrong += 1
        print("wrong: " + text, flush=True)

    def words(self, kind, name, device, seed):
        if kind == "compile":
            return ["compile", "%s.onnx" % name, "--target", "vta", "-o", "out/made.so"]
        return ["run", "%s.so" % name, "--device", device, "--seed", seed, "--output-dir", "out"]

    def end(self, child, ending, usual):
        """Lets it run, or does what is to happen to it; returns its status, and what it said."""
        if ending in SIGNALS or ending == "suspend":
            try:
                child.wait(self.draw.uniform(0, 1.2 * usual))
            except subprocess.TimeoutExpired:
                pass
        if ending in SIGNALS and child.poll() is None:
            child.send_signal(SIGNALS[ending])
        if ending == "suspend" and child.poll() is None:
            child.send_signal(signal.SIGSTOP)
            time.sleep(self.draw.uniform(0, 0.3))
            child.send_signal(signal.SIGCONT)
        said = child.communicate(timeout=600)[1].decode("utf-8", "replace")
        return child.returncode, said

    def trial(self, ending):
        """One process; its outputs and what it leaves are looked at."""
        kind = self.draw.choice(("run", "run", "run", "compile"))
        key = (kind, self.draw.choice(NETWORKS), self.draw.choice(self.devices), self.draw.choice(SEEDS))
        place = key[:2] if kind == "compile" else (key[0], key[1], key[3])  # all devices give the same numbers
        limit = self.draw.choice((0, 100, 512, 3000, 20000)) if ending == "disk" else resource.RLIM_INFINITY
        if place not in self.expected:
            ending, limit = "none", resource.RLIM_INFINITY

        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        began = time.monotonic()
        child = subprocess.Popen([self.vtac, *self.words(*key)], cwd=self.top, env=self.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limited, start_new_session=True)
        status, said = self.end(child, ending, self.seconds.get(key, 1.0))
        self.count[ending] = self.count.get(ending, 0) + 1
        self.look(key, place, ending, status, said)
        if ending == "none":
            self.seconds[key] = time.monotonic() - began

    def look(self, key, place, ending, status, said):
        what = "%s, %s" % (" ".join(key), ending)
        made = digest(self.out)
        rest = os.listdir(self.temporary)
        expected = self.expected.setdefault(place, made) if status == 0 else self.expected.get(place, {})
        parts = {name: value for name, value in made.items() if ending != "kill" or (".new-" not in name and value != FOLDER)}
        if status == 0 and made != expected:
            self.complain("%s: other numbers, or not all: %s" % (what, sorted(set(made) ^ set(expected)) or "as many files"))
        elif any(expected.get(name) != value for name, value in parts.items()):
            self.complain("%s: status %s, and a file that is not whole: %s" % (what, status, sorted(made)))
        if ending in ("none", "suspend") and status != 0:
            self.complain("%s: status %s: %s" % (what, status, said.strip()[-300:]))
        if ending == "disk" and (status not in (0, 1) or len(said.strip().splitlines()) != (status != 0)):
            self.complain("%s: status %s: %s" % (what, status, said.strip()[-300:]))
        if ending != "kill" and rest:
            self.complain("%s: left behind: %s" % (what, rest))
        subprocess.run(["rm", "-rf", self.out, self.temporary], check=True)
        os.mkdir(self.out)
        os.mkdir(self.temporary)


class Resident:
    """The process that stays."""

    def __init__(self, build, soak):
        module = next(iter(glob.glob(os.path.join(build, "**", "_vta.abi3.so"), recursive=True)))
        self.folder = os.path.join(soak.top, "python")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime", "bindings", "python", "vta")
        os.makedirs(os.path.join(self.folder, "vta"))
        for path in glob.glob(os.path.join(source, "*.py")) + [module]:
            os.symlink(os.path.abspath(path), os.path.join(self.folder, "vta", os.path.basename(path)))
        env = {**soak.env, "PYTHONPATH": self.folder, "PYTHONDONTWRITEBYTECODE": "1", "LD_LIBRARY_PATH": os.path.dirname(module)}
        self.child = subprocess.Popen(["/usr/bin/python3", "-c", RESIDENT], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.soak, self.seen, self.expected, self.rounds = soak, [], {}, 0

    def round(self):
        """Every model once; the memory after the third round is what it may need."""
        for name in NETWORKS:
            device, seed = self.soak.draw.choice(self.soak.devices), self.soak.draw.choice(SEEDS)
            self.child.stdin.write(json.dumps([os.path.join(self.soak.top, "%s.so" % name), device, seed]) + "\n")
            self.child.stdin.flush()
            line = self.child.stdout.readline()
            if not line:
                self.soak.complain("the process that stays has ended: %s" % self.child.wait())
                return False
            outputs, memory, files = json.loads(line)
            if self.expected.setdefault((name, seed), outputs) != outputs:
                self.soak.complain("the process that stays has other numbers of %s on %s" % (name, device))
        self.rounds += 1
        self.seen.append((memory, files))
        return True

    def judge(self):
        self.child.stdin.close()
        self.child.wait()
        settled = self.seen[3:] or self.seen
        memory = [m for m, _ in settled]
        files = {f for _, f in settled}
        print("the process that stays: %d rounds, %.1f MB after three, %.1f at most, %s descriptors" % (
            self.rounds, memory[0] / 1e6, max(memory) / 1e6, sorted(files)))
        if max(files) > min(files):
            self.soak.complain("descriptors: %s" % sorted(files))
        quarter = max(1, len(memory) // 4)
        if min(memory[-quarter:]) > 1.2 * max(memory[:quarter]) + 4e6:
            self.soak.complain("memory grows from %d to %d bytes" % (memory[0], memory[-1]))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.rsplit("\n\n", 1)[1].strip())
    build, minutes = os.path.abspath(sys.argv[1]), float(sys.argv[2])
    devices = sys.argv[3:] or ["fsim", "tsim", "pipe:%s --stdio?device=fsim" % os.path.join(build, "bin", "vtac-agent")]
    seed = os.environ.get("VTAC_SEED", "0") + " soak"
    print("seed '%s'; devices: %s" % (seed, ", ".join(devices)), flush=True)
    end = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as top:
        soak = Soak(build, top, devices, random.Random(seed))
        resident = Resident(build, soak)
        alive = True
        while time.monotonic() < end or resident.rounds < 8:
            soak.trial(soak.draw.choice(ENDINGS))
            alive = alive and resident.round()
        resident.judge()
    print("%d processes: %s; %d wrong" % (sum(soak.count.values()), ", ".join("%s %d" % pair for pair in sorted(soak.count.items())), soak.wrong))
    return 1 if soak.wrong else 0


sys.exit(main())
