#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# predicted.py BUILD "CONFIG ..." [--layers] NETWORK...: the timing model against the RTL, on networks of the zoo or models.
#
# For each network and configuration a line: predicted cycles, those of tsim, the error; how many groups of layers on chip
# together there are, and the one that is furthest off; the same of the layers by themselves. A group is a whole: which of its
# members waits for the others is no matter. What is off by no more than two latencies of the memory is not: where one layer
# ends and the next begins is not known better. --layers prints each. A CONFIG "pynq+ddr3-1050" has that DRAM. On `pynq` a network further off than 2 %, or a group than
# 5 %, fails, with a DRAM the network alone; other configurations and single layers are listed.
import json
import os
import subprocess
import sys
import tempfile

JUDGED, WHOLE, GROUP = "pynq", 0.02, 0.05


def call(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def groups_of(layers):
    """Lists of layers: those that are on chip together, and others alone."""
    groups, at = [], {}
    for layer in layers:
        group = at.get(layer["name"])
        if group is None:
            group = []
            groups.append(group)
        group.append(layer)
        into = layer["schedule"].partition("on chip into ")[2].partition(",")[0]
        if into:
            at[into] = group
    return groups


def error_of(layers, latency=0):
    """Of the sum; none within two latencies."""
    predicted, took = sum(x["predicted"] for x in layers), sum(x["cycles"] for x in layers)
    return 0.0 if abs(predicted - took) <= 2 * latency or took == 0 else predicted / took - 1


def name_of(group):
    return "+".join(layer["name"] for layer in group)


def worst_of(groups, latency):
    """As text: how many, and the one that is furthest off; and its error."""
    if not groups:
        return "none", 0.0
    error, number = max((abs(error_of(group, latency)), i) for i, group in enumerate(groups))
    worst = groups[number]
    return f"{len(groups)}, {error_of(worst, latency):+.1%} {name_of(worst) if error > 0 else ''}".rstrip(), error


def configure(vtac, name):
    """The configuration as a file or name that --config takes, and its latency; with a DRAM, it gets a file of its own."""
    base, plus, kind = name.partition("+")
    config = json.loads(call(vtac, "config", "show", base))
    if plus:
        config.update({"NAME": base + "-dram", "DRAM": kind})
        with open("config.json", "w", encoding="ascii") as out:
            json.dump(config, out)
    return "./config.json" if plus else base, config["MEM_LATENCY"]


def look(vtac, network, shown, each):
    """Prints a line; whether all is well."""
    name, latency = configure(vtac, shown)
    call(vtac, "compile", network, "--target", "vta", "--config", name, "-o", "model.so")
    ran = json.loads(call(vtac, "run", "model.so", "--device", f"tsim:{name}", "--layers", "--json"))
    layers = [layer for layer in ran["layers"] if layer["predicted"] > 0]
    if not layers:
        print(f"{shown:<20} nothing runs on the accelerator", flush=True)
        return True
    groups = groups_of(layers)
    together, off = worst_of([group for group in groups if len(group) > 1], latency)
    alone, _ = worst_of([group for group in groups if len(group) == 1], latency)
    whole = error_of(layers)
    base, plus, _ = shown.partition("+")
    good = base != JUDGED or (abs(whole) < WHOLE and (off < GROUP or bool(plus)))
    print(f"{shown:<20} {sum(x['predicted'] for x in layers):>11} {sum(x['cycles'] for x in layers):>11} {whole:>+7.2%}  "
          f"groups: {together}; layers: {alone}{'' if good else '  TOO FAR OFF'}", flush=True)
    if each:
        for group in groups:
            print(f"    {name_of(group):<60} {sum(x['predicted'] for x in group):>9} {sum(x['cycles'] for x in group):>9} "
                  f"{error_of(group):>+7.1%}", flush=True)
    return good


def main():
    words = [word for word in sys.argv[1:] if word != "--layers"]
    vtac, configs = os.path.join(os.path.abspath(words[0]), "bin/vtac"), words[1].split()
    networks = [os.path.abspath(word) if word.endswith(".onnx") else word for word in words[2:]]
    good = True
    print(f"{'network':<20} {'config':<20} {'predicted':>11} {'tsim':>11} {'error':>7}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for network in networks:
            path = network
            if not network.endswith(".onnx"):
                path = "network.onnx"
                call(vtac, "zoo", network, "--int8", "-o", path)
            for name in configs:
                print(f"{os.path.basename(network):<20} ", end="", flush=True)
                good = look(vtac, path, name, "--layers" in sys.argv[1:]) and good
        os.chdir("/")
    return 0 if good else 1


sys.exit(main())
