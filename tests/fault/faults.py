#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Faults of the operating system, one at a time: strace makes the n-th system call of a kind fail in a run of a verb. Whatever
fails, the run ends by itself with status 0 or 1, says one line where it is 1, and leaves each output whole or not there: with an
older file in its place, that one or the new one. Nothing is left beside the outputs, and a run without a fault makes the same bytes as
before. A call that is interrupted (EINTR) is made again, so that such a run succeeds.

It fails where a status of a call is dropped, where a file is written in place, where a temporary file stays, or where a signal
ends a run.

usage: faults.py VTAC [--runs N | --all] [CASE...]      VTAC_SEED draws which calls fail, unless all of them do
"""
import argparse
import collections
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

STRACE = shutil.which("strace")
# A system call, and what it may fail with. Not in the list: calls whose failure no program can answer (exit, futex).
FAULTS = [("openat", "EACCES"), ("openat", "EMFILE"), ("openat", "EINTR"), ("read", "EIO"), ("read", "EINTR"), ("pread64", "EIO"),
          ("write", "ENOSPC"), ("write", "EIO"), ("write", "EINTR"), ("fsync", "EIO"), ("ftruncate", "ENOSPC"), ("rename", "EACCES"),
          ("renameat", "EACCES"), ("renameat2", "EACCES"), ("linkat", "EACCES"), ("mkdir", "ENOSPC"), ("close", "EIO"),
          ("newfstatat", "EIO"), ("clone3", "EAGAIN"), ("vfork", "EAGAIN"), ("mmap", "ENOMEM"), ("brk", "ENOMEM"), ("getrandom", "EINTR")]
CALLS = sorted({call for call, _ in FAULTS})
OLD = b"what was there before\n"

Case = collections.namedtuple("Case", "name words without")


def cases():
    """Verbs on files that `prepare` makes: arguments, and calls that are left out."""
    linked = {"mmap", "brk"}  # LLVM ends a process that has no memory (compiler/README.md)
    return [
        Case("zoo", ["zoo", "tiny_kws", "--int8", "-o", "out.onnx"], {"brk"}),  # LLVM, as below
        Case("asm", ["asm", "program.vasm", "-o", "out.bin"], set()),
        Case("exec", ["exec", "program.vasm", "--device", "fsim"], set()),
        Case("inspect", ["inspect", "float.onnx", "--html", "out.html"], set()),
        Case("convert", ["convert", "int8.onnx", "-o", "out.onnx"], set()),
        Case("run", ["run", "model.so", "--device", "fsim", "--fill", "ones", "--threads", "1", "--output-dir", "."], set()),
        Case("profile", ["run", "model.so", "--fill", "ones", "--threads", "1", "--profile", "out.json"], set()),
        Case("compile", ["compile", "int8.onnx", "--target", "vta", "-O", "0", "-o", "out.so"], linked),
        Case("quantize", ["quantize", "float.onnx", "-o", "out.onnx"], linked),
    ]


def prepare(vtac, folder):
    def make(*words):
        subprocess.run([vtac, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    programs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "isa", "programs")
    shutil.copy(os.path.join(programs, "tiny.vasm"), os.path.join(folder, "program.vasm"))
    make("zoo", "tiny_ad", "-o", "float.onnx")
    make("zoo", "tiny_ad", "--int8", "-o", "int8.onnx")
    make("compile", "int8.onnx", "--target", "vta", "-O", "0", "-o", "model.so")


def run(vtac, case, folder, *strace):
    """Status, standard error, trace."""
    log = os.path.join(folder, "..", "trace")
    words = [STRACE, "-f", "-y", "-qq", "-o", log, *strace, vtac, *case.words]
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    with open(log, encoding="utf-8", errors="replace") as file:
        return done.returncode, done.stderr.decode("utf-8", "replace"), file.read()


def counts(trace):
    """How often each call is made, by the thread that makes it most often: strace counts threads apart."""
    found = collections.Counter()
    for (_, call), count in collections.Counter(re.findall(r"^(\d+) +(\w+)\(", trace, re.M)).items():
        found[call] = max(found[call], count)
    return found


def maps_before(trace):
    """For each `brk` of a run, how many `mmap` it has made before. Memory that has run out at a `brk` does not come back by
    either call. (The kernel's answer to a `brk` that fails is an address that is too low.)"""
    found, maps = [], 0
    for call in re.findall(r"^\d+ +(brk|mmap)\(", trace, re.M):
        maps += call == "mmap"
        if call == "brk":
            found.append(maps)
    return found


def digest(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        data = file.read()
    if name.endswith(".json") and data != OLD:  # times differ from run to run
        try:
            data = b"whole" if json.loads(data) else b""
        except ValueError:
            data = b"cut"
    return hashlib.sha256(data).hexdigest()


class Trial:
    def __init__(self, vtac, case, top):
        self.vtac, self.case = vtac, case
        self.folder = os.path.join(top, case.name)
        os.mkdir(self.folder)
        prepare(vtac, self.folder)
        self.inputs = set(os.listdir(self.folder))
        self.outputs = []  # what a run without a fault makes
        self.expected = None
        self.maps = []

    def clear(self, old):
        for name in os.listdir(self.folder):
            if name not in self.inputs:
                path = os.path.join(self.folder, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        for name in self.outputs if old else []:
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(OLD)

    def plain(self):
        """A run without a fault: the same bytes each time. Returns how often it makes each call."""
        self.clear(False)
        status, err, trace = run(self.vtac, self.case, self.folder, "-e", "trace=" + ",".join("?" + call for call in CALLS))
        assert status == 0, (status, err)
        self.outputs = sorted(set(os.listdir(self.folder)) - self.inputs)
        made = {name: digest(self.folder, name) for name in self.outputs}
        assert self.expected in (None, made), "another result than before"
        self.expected = made
        self.maps = maps_before(trace)
        return counts(trace)

    def fault(self, call, error, when, old):
        """What is wrong after the n-th call of a kind has failed; None: nothing."""
        self.clear(old)
        before = hashlib.sha256(OLD).hexdigest() if old else None
        try:
            faults = ["inject=?%s:error=%s:when=%d" % (call, error, when)]
            if call == "brk":
                faults = ["inject=brk:retval=0:when=%d+" % when, "inject=mmap:error=ENOMEM:when=%d+" % (self.maps[when - 1] + 1)]
            status, err, trace = run(self.vtac, self.case, self.folder, "-e", "trace=?%s,mmap" % call,
                                     *(word for fault in faults for word in ("-e", fault)))
        except subprocess.TimeoutExpired:
            return "it does not end"
        lines = err.splitlines()
        muted = re.search(r"write\(2<.*INJECTED", trace)
        if re.search(r"(?:write|close)\(\d+</memfd:.*INJECTED", trace):  # memory, which LLVM cannot be without (compiler/README.md)
            return None
        if error == "ENOMEM" and "cannot allocate memory for thread-local data" in err:
            return None  # the C library's loader ends the process
        if error == "EINTR" and re.search("cannot (open shared object file|read file data)", err):
            return None  # the C library's loader does not try again
        if status not in (0, 1):
            return "status %d: %s" % (status, err.strip()[-300:])
        if error == "EINTR" and status != 0:
            return "an interrupted call is no failure: %s" % err.strip()[-300:]
        if status == 1 and not muted and [line.startswith("vtac: ") for line in lines if line.strip()].count(True) != 1:
            return "not one line: %s" % err.strip()[-500:]
        known = "memory|cannot be loaded|map segment|zero-fill|cannot start a thread"  # ours, the loader's, a thread's stack
        if status == 1 and error == "ENOMEM" and not re.search(known, err):
            return "it does not say that memory has run out: %s" % err.strip()[-300:]
        if status == 1 and not muted and len(lines) > 8:  # a tool's log may stand behind the line
            return "too many lines: %s" % err.strip()[-500:]
        for name in self.outputs:
            now = digest(self.folder, name)
            if now not in (self.expected[name], before):
                return "'%s' is not whole" % name
            if status == 0 and now != self.expected[name]:
                return "status 0, and '%s' is not there" % name
        rest = set(os.listdir(self.folder)) - self.inputs - set(self.outputs)
        return "left behind: %s" % ", ".join(sorted(rest)) if rest else None


def chosen(trial, made, begun, runs, draw):
    """Calls that are to fail: (call, error, which), all of them or a sample that has every kind. The first ones are the
    loader's, before there is a program (`begun`)."""
    all_of = [(call, error, n) for call, error in FAULTS if call not in trial.case.without for n in range(begun[call] + 1, made[call] + 1)]
    if runs is None or len(all_of) <= runs:
        return all_of
    kinds = collections.defaultdict(list)
    for fault in all_of:
        kinds[fault[:2]].append(fault)
    sample = [draw.choice(faults) for faults in kinds.values()]
    rest = [fault for fault in all_of if fault not in set(sample)]
    return sorted((sample + draw.sample(rest, min(len(rest), max(0, runs - len(sample)))))[:max(runs, len(sample))])


def main():
    parser = argparse.ArgumentParser(usage=__doc__.rsplit("usage: ", 1)[1])
    parser.add_argument("vtac")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("case", nargs="*")
    args = parser.parse_args()
    if STRACE is None or subprocess.run([STRACE, "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("strace cannot trace here")
        return 77
    seed = os.environ.get("VTAC_SEED", "0") + " faults"
    print("seed '%s'" % seed)
    wrong = tried = 0
    with tempfile.TemporaryDirectory() as top:
        os.environ["VTAC_CACHE"] = os.path.join(top, "cache")
        os.mkdir(os.path.join(top, "none"))
        begun = counts(run(os.path.abspath(args.vtac), Case("", ["--version"], set()), os.path.join(top, "none"))[2])
        begun["write"] = 0
        for case in cases():
            if args.case and case.name not in args.case:
                continue
            trial = Trial(os.path.abspath(args.vtac), case, top)
            made = trial.plain()
            draw = random.Random(seed + case.name)
            for at, (call, error, when) in enumerate(chosen(trial, made, begun, None if args.all else args.runs, draw)):
                problem = trial.fault(call, error, when, at % 2 == 1)
                tried += 1
                if problem is not None:
                    wrong += 1
                    print("%s: %s call %d fails with %s%s: %s" % (case.name, call, when, error, ", an old file there" if at % 2 else "", problem))
            trial.plain()
    print("%d faults, %d wrong" % (tried, wrong))
    return 1 if wrong or not tried else 0


sys.exit(main())
