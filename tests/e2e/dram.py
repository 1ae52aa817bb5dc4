#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# dram.py VTAC: a network in simulated DRAM. tsim and systemc take the same cycles and leave the results of fsim, a second run with
# other data takes as many cycles, slower memory takes longer, and the prediction holds: a network within 2 %, and where rows stay
# open a group of layers within 5 % or a latency of the memory (HyperRAM begins anew for each burst, and the model does not know which
# of two units asks first). A kind that does not exist is refused in one line, by the option and by the key.
import json
import os
import subprocess
import sys
import tempfile

VTAC = os.path.abspath(sys.argv[1])
CLOSED = "hyperram-400"
KINDS = ("lpddr4-1066", "ddr3-1050", CLOSED)  # each takes longer than the one before, or as long
WHOLE, GROUP, SLACK = 0.02, 0.05, 64


def vtac(*words):
    done = subprocess.run([VTAC, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        sys.exit("%s: %s" % (" ".join(words), done.stderr[-1000:]))
    return done.stdout


def refused(words, *said):
    done = subprocess.run([VTAC, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    lines = done.stderr.splitlines()
    if done.returncode != 1 or len(lines) != 1 or not all(word in lines[0] for word in said):
        sys.exit("%s: not refused in one line that has %s: %s" % (" ".join(words), ", ".join(said), done.stderr))


def run(device, seed):
    """Cycles, layers, and the outputs as a file has them."""
    ran = json.loads(vtac("run", "model.so", "--device", device, "--seed", str(seed), "--layers", "--json", "--output-dir", "."))
    files = sorted(name for name in os.listdir(".") if name.endswith(".npy"))
    outputs = [open(name, "rb").read() for name in files]
    return ran, outputs


def groups(layers):
    """Predicted and counted cycles of layers that are computed on chip, tile by tile, together."""
    by_name = {x["name"]: [x["predicted"], x["cycles"]] for x in layers}
    for x in layers:
        into = x["schedule"].partition("on chip into ")[2].partition(",")[0]
        if into in by_name:
            own = by_name.pop(x["name"])
            by_name[into] = [a + b for a, b in zip(by_name[into], own)]
    return by_name


def is_near(rows, at):
    """Whose cycles those are in which two neighbours wait may be predicted otherwise: a group, or one with a neighbour, is near."""
    _, off, far = rows[at]
    beside = [row[1] for row in rows[max(at - 1, 0):at] + rows[at + 1:at + 2]]
    return min(abs(off + other) for other in [0] + beside) <= far


def predicted_well(kind, ran):
    layers = [x for x in ran["layers"] if x["predicted"] > 0]
    said, took = sum(x["predicted"] for x in layers), sum(x["cycles"] for x in layers)
    rows = [(name, p - c, max(GROUP * c, SLACK)) for name, (p, c) in groups(layers).items()]
    off = [row[:2] for i, row in enumerate(rows) if not is_near(rows, i)]
    print("%-13s %d cycles, predicted %+.2f %%, %.0f %% of the peak while it had work" %
          (kind, took, 100 * (said / took - 1), 100 * ran["dram"]["efficiency"]), off or "")
    return abs(said / took - 1) <= WHOLE and (not off or kind == CLOSED)


def configured(kind):
    config = json.loads(vtac("config", "show", "pynq"))
    config.update({"NAME": "dram", "DRAM": kind})
    with open("dram.json", "w", encoding="ascii") as out:
        json.dump(config, out)


def main():
    good, before = True, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        vtac("zoo", "tiny_ic", "--int8", "-o", "model.onnx")
        for kind in KINDS:
            configured(kind)
            vtac("compile", "model.onnx", "--target", "vta", "--config", "./dram.json", "-o", "model.so")
            first, outputs = run("tsim:./dram.json", 1)
            second, others = run("tsim:./dram.json", 2)
            if outputs != run("fsim:./dram.json", 1)[1] or others == outputs:
                sys.exit("%s: tsim's results are not fsim's, or the same for other data" % kind)
            good = predicted_well(kind, first) and first["cycles"] == second["cycles"] >= before and good
            before = first["cycles"]
        other = run("systemc:./dram.json", 2)
        if (other[0]["cycles"], other[0]["dram"], other[1]) != (second["cycles"], second["dram"], others):
            sys.exit("systemc takes %d cycles, tsim %d" % (other[0]["cycles"], second["cycles"]))
        if run("tsim:pynq?dram=hyperram-400", 1)[0]["cycles"] <= run("tsim:./dram.json?dram=flat", 1)[0]["cycles"]:
            sys.exit("the option does not override the key")
        configured("ddr9")
        refused(("run", "model.so", "--device", "tsim:pynq?dram=ddr9"), "ddr9", "ddr3-1050")
        refused(("compile", "model.onnx", "--target", "vta", "--config", "./dram.json", "-o", "model.so"), "ddr9", "hbm2e-3200")
        os.chdir("/")
    return 0 if good else 1


sys.exit(main())
