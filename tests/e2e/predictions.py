#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What the compiler says a layer takes against what the RTL counts for it, on small networks as well as on a large one: 9 layers
# of 10 within a tenth, none further off than a quarter, each network of the zoo within a fiftieth, and the classifier, which is very
# small, within a twentieth. Where one layer ends and the next begins is known to a latency of the memory: what is off by no more
# than that is not held against a layer. Where the instructions of two neighbours take turns, a cycle in which both wait may be
# predicted for one of them and counted for the other: a layer is not far off if its neighbour lacks those cycles, so that what both
# are off together is less than a quarter of that layer alone. And a network as a whole in memories that reads and writes share, as
# fast as the bus, faster and slower.
#
# usage: predictions.py VTAC CLASSIFIER.onnx NETWORK_OF_THE_ZOO...
import json
import os
import subprocess
import sys
import tempfile

VTAC = os.path.abspath(sys.argv[1])
NEAR, FAR, TINY, WHOLE, SHARE = 0.10, 0.25, 0.05, 0.02, 0.9


def vtac(*words):
    return subprocess.run([VTAC, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


def shipped():
    """The configuration that all of them are compiled for."""
    return json.loads(vtac("config", "show", "pynq"))


def layers_of(model):
    vtac("compile", model, "--target", "vta", "-o", "model.so")
    run = json.loads(vtac("run", "model.so", "--device", "tsim:pynq", "--layers", "--json"))
    return together([layer for layer in run["layers"] if layer["predicted"] > 0])


def together(layers):
    """Layers that are computed on chip, tile by tile, count as one: which of them waits for the other is no matter."""
    by_name = {layer["name"]: layer for layer in layers}
    kept = []
    for layer in layers:
        into = layer["schedule"].partition("on chip into ")[2].partition(",")[0]
        if into in by_name:
            for key in ("predicted", "cycles"):
                by_name[into][key] += layer[key]
        else:
            kept.append(layer)
    return kept


def whole_in_shared_memory(model, megabytes):
    """Predicted and counted cycles where reads and writes together get so many MB/s."""
    config = shipped()
    config.update({"NAME": "shared", "MEM_SHARED": megabytes})
    with open("shared.json", "w", encoding="ascii") as out:
        json.dump(config, out)
    vtac("compile", model, "--target", "vta", "--config", "./shared.json", "-o", "model.so")
    run = json.loads(vtac("run", "model.so", "--device", "tsim:./shared.json", "--layers", "--json"))
    layers = [layer for layer in run["layers"] if layer["predicted"] > 0]
    return sum(layer["predicted"] for layer in layers), sum(layer["cycles"] for layer in layers)


def judge_shared(name, model, free):
    """Less memory takes longer, and the prediction says how much."""
    good, before = True, free
    for megabytes in (1470, 1000, 600, 300):
        predicted, cycles = whole_in_shared_memory(model, megabytes)
        error = error_of(predicted, cycles)
        print("%-14s %d MB/s: %d cycles, predicted %+.1f %%" % (name, megabytes, cycles, 100 * error))
        good = good and abs(error) < WHOLE and cycles >= 0.98 * before
        before = cycles
    return good and before > 1.1 * free


def error_of(predicted, cycles):
    return predicted / cycles - 1


def judge(name, layers, whole):
    """Prints what is too far off; returns (layers, those that are near, whether all is well)."""
    good = len(layers) > 5
    latency = shipped()["MEM_LATENCY"]

    def close(layer):
        return abs(layer["predicted"] - layer["cycles"]) <= latency

    def made_up_by(layer, other):
        off = sum(x["predicted"] - x["cycles"] for x in (layer, other))
        return abs(off) <= FAR * layer["cycles"]

    errors = [error_of(layer["predicted"], layer["cycles"]) for layer in layers]
    for i, (layer, error) in enumerate(zip(layers, errors)):
        woven = any(made_up_by(layer, other) for other in layers[max(i - 1, 0):i] + layers[i + 1:i + 2])
        if abs(error) > FAR and not close(layer) and not woven:
            good = False
            print("%s: %s was to take %d cycles and took %d" % (name, layer["name"], layer["predicted"], layer["cycles"]))
    all_of_it = error_of(sum(layer["predicted"] for layer in layers), sum(layer["cycles"] for layer in layers))
    near = sum(abs(error) < NEAR or close(layer) for layer, error in zip(layers, errors))
    print("%-14s %d of %d layers within %.0f %%, worst %+.1f %%, all %+.1f %%" % (
        name, near, len(layers), 100 * NEAR, 100 * max(errors, key=abs), 100 * all_of_it))
    return len(layers), near, good and abs(all_of_it) < whole


def main():
    seen = []
    classifier = os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        seen.append(judge("classifier", layers_of(classifier), TINY))
        vtac("zoo", "tiny_ic", "--int8", "-o", "model.onnx")
        free = sum(layer["cycles"] for layer in layers_of("model.onnx"))
        shared = judge_shared("tiny_ic", "model.onnx", free)
        for name in sys.argv[3:]:
            vtac("zoo", name, "--int8", "-o", "model.onnx")
            seen.append(judge(name, layers_of("model.onnx"), WHOLE))
        os.chdir("/")
    count, near = sum(s[0] for s in seen), sum(s[1] for s in seen)
    print("%d of %d layers" % (near, count))
    return 0 if shared and all(s[2] for s in seen) and near >= SHARE * count else 1


sys.exit(main())
