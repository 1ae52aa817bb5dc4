#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# gain.py BUILD [--predicted] NETWORK...: what the larger arrays of `pynq512` and `ultra96` gain over `pynq` on tsim, of what they
# promise. A network that takes more cycles on a larger array than on a smaller one makes the exit status 1, unless slower.txt has it with
# the reason; so does a row there that is no longer so.
# --predicted: cycles as the compiler predicts them, in seconds instead of minutes.
#
# A configuration's bound is the sum over its layers of the largest of: steps of the array, bytes that must be read or must be
# written by what the bus moves in a cycle, and both by what the board's memory moves in a cycle (MEM_SHARED). Layers on chip
# together are one. The promise is pynq's bound by that of the configuration; the gain, the same of the cycles on tsim.
import json
import os
import subprocess
import sys
import tempfile

FIRST, OTHERS = "pynq", ("pynq512", "ultra96")


def reasons():
    """What slower.txt has: {(network, configuration): reason}."""
    known = {}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "slower.txt"), encoding="utf-8") as rows:
        for row in rows:
            if row.strip() and not row.startswith("#"):
                network, name, reason = row.split(None, 2)
                known[network, name] = reason.strip()
    return known


def call(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def bound_of(layers, config):
    """In cycles."""
    beat = (1 << config["LOG_BUS_WIDTH"]) / 8
    shared = config["MEM_SHARED"] / config["CLOCK_MHZ"] or 2 * beat
    bound = array = read = 0
    for x in layers:
        if x["joined"]:
            continue
        array += x["array"]
        read += x["least_read"]
        if x["on_chip"]:
            read -= x["least_written"]  # what the next one need not read
            continue
        written = x["least_written"]
        bound += max(array, read / beat, written / beat, (read + written) / shared)
        array = read = 0
    return bound


def look(vtac, network, name, predicted):
    """The cycles of a network on a configuration, and its bound."""
    config = json.loads(call(vtac, "config", "show", name))
    report = json.loads(call(vtac, "compile", network, "--target", "vta", "--config", name, "--report", "--json", "-o", "model.so"))
    ran = report if predicted else json.loads(call(vtac, "run", "model.so", "--device", f"tsim:{name}", "--json"))
    return ran["cycles"], bound_of(report["layers"], config)


def main():
    vtac = os.path.join(os.path.abspath(sys.argv[1]), "bin/vtac")
    predicted = sys.argv[2] == "--predicted"
    slower, known = [], reasons()
    print(f"{'network':<20} {'configuration':<14} {'cycles':>10} {'promise':>8} {'gain':>6} {'kept':>6}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for network in sys.argv[3 if predicted else 2 :]:
            call(vtac, "zoo", network, "--int8", "-o", "network.onnx")
            cycles, bound = look(vtac, "network.onnx", FIRST, predicted)
            print(f"{network:<20} {FIRST:<14} {cycles:>10}", flush=True)
            least, smallest = cycles, FIRST
            for name in OTHERS:
                its_cycles, its_bound = look(vtac, "network.onnx", name, predicted)
                reason = known.get((network, name))
                if its_cycles > least and reason is None:
                    slower.append(f"{network} takes {its_cycles} cycles on {name}, {least} on {smallest}")
                if its_cycles <= least and reason is not None:
                    slower.append(f"{network} is not slower on {name} any more: strike its row in slower.txt")
                least, smallest = min((least, smallest), (its_cycles, name))
                promise, gain = bound / its_bound, cycles / its_cycles
                print(f"{network:<20} {name:<14} {its_cycles:>10} {promise:>8.2f} {gain:>6.2f} {gain / promise:>6.0%}{'  ' + reason if reason else ''}", flush=True)
    if slower:
        sys.exit("slower for being larger: " + "; ".join(slower))


main()
