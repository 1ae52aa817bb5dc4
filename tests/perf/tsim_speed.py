#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# tsim_speed.py BUILD [--rounds N] [--least RATIO] [NETWORK]: how fast tsim is beside a bare array of 256 multipliers (bare_array.v)
# that Verilator translates with the same flags: cycles in a second of the processor's time, in turn, the best of each.
#
# tsim runs a network of the zoo (SqueezeNet) on `pynq`; what the same run takes on fsim is taken off: loading, the host's
# layers. Fails where the ratio is below RATIO.
import argparse
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
CONFIG = "pynq"
BARE_CYCLES = 3000000


def flags_of(name):
    """The flags that tsim is built with, from where they are written."""
    with open(os.path.join(ROOT, "sim/tsim/build.c"), encoding="utf-8") as file:
        text = file.read()
    found = re.search(r"static const char %s\[\] =(.*?);\n" % name, text, re.S)
    if found is None:
        sys.exit(f"tsim_speed: sim/tsim/build.c has no {name} any more")
    if os.uname().machine != "x86_64":
        text = re.sub(r"#ifdef __x86_64__.*?#endif", "", found[1], flags=re.S)
    else:
        text = found[1]
    return " ".join(re.findall(r'"([^"]*)"', text)).split()


def cache_folder():
    """Where simulators are kept (sim/tsim/build_cache.c)."""
    home = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vtac")
    return os.path.join(os.environ.get("VTAC_CACHE") or home, "bare")


def key_of(words):
    """What the program is made of: its sources, the commands, the compilers and this processor."""
    key = hashlib.sha256(" ".join(words).encode())
    for name in ("bare_array.v", "bare_array_main.cc"):
        with open(os.path.join(HERE, name), "rb") as file:
            key.update(file.read())
    for command in (["verilator", "--version"], ["g++", "-march=native", "-Q", "--help=target"], ["g++", "--version"]):
        key.update(subprocess.run(command, check=True, capture_output=True).stdout)
    return key.hexdigest()[:24]


def build_bare(work):
    """The program bare_array_main, which takes the compiler 20 s: kept as simulators are."""
    root = subprocess.run(["verilator", "--getenv", "VERILATOR_ROOT"], check=True, capture_output=True, text=True).stdout.strip()
    objects = os.path.join(work, "obj")
    translate = [flag for flag in flags_of("verilator_flags") if not flag.startswith("+define")]
    compile_it = [*flags_of("model_flags"), "-O2", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0", "-DVM_TRACE=0"]
    kept = os.path.join(cache_folder(), key_of(translate + compile_it))
    if os.path.exists(kept):
        return kept
    subprocess.run(["verilator", "--cc", "--top-module", "bare_array", *translate, "--Mdir", objects,
                    os.path.join(HERE, "bare_array.v")], check=True)
    made = [os.path.join(objects, name) for name in sorted(os.listdir(objects)) if name.endswith(".cpp")]
    os.makedirs(cache_folder(), exist_ok=True)
    fresh = f"{kept}.{os.getpid()}"
    subprocess.run(["g++", *compile_it, f"-I{objects}", "-isystem", f"{root}/include", "-isystem", f"{root}/include/vltstd",
                    os.path.join(HERE, "bare_array_main.cc"), *made, f"{root}/include/verilated.cpp",
                    f"{root}/include/verilated_threads.cpp", "-pthread", "-o", fresh], check=True)
    os.rename(fresh, kept)
    return kept


def seconds_of(command):
    """Its seconds of the processor, and what it says."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("network", nargs="?", default="squeezenet1_1")
    asked = parser.parse_args()
    vtac = os.path.join(os.path.abspath(asked.build), "bin/vtac")
    with tempfile.TemporaryDirectory() as work:
        bare = build_bare(work)
        model, network = os.path.join(work, "model.so"), os.path.join(work, "network.onnx")
        seconds_of([vtac, "zoo", asked.network, "--int8", "-o", network])
        seconds_of([vtac, "compile", network, "--target", "vta", "--config", CONFIG, "-o", model])
        array = tsim = 0
        for _ in range(asked.rounds):
            array = max(array, float(seconds_of([bare, str(BARE_CYCLES)])[1]))
            other, _ = seconds_of([vtac, "run", model, "--device", f"fsim:{CONFIG}", "--json"])
            took, said = seconds_of([vtac, "run", model, "--device", f"tsim:{CONFIG}", "--json"])
            cycles = json.loads(said)["cycles"]
            tsim = max(tsim, cycles / max(took - other, 1e-3))
    ratio = tsim / array
    print(f"{asked.network} on tsim:{CONFIG}: {cycles} cycles at {tsim / 1e6:.2f} million a second; "
          f"the bare array: {array / 1e6:.2f} million; ratio {ratio:.2f}")
    if ratio < asked.least:
        sys.exit(f"tsim_speed: less than {asked.least}")


main()
