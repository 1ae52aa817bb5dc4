#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks at the sizes that are deployed: LSTM and GRU of 128 and 256 units over 100 steps, in one direction and both, one
layer and two, quantized by their own inputs. Regions, the share of the multiplications there, cycles predicted and on the RTL, the cycles
against a bound, and how far the outputs are from floats that are written out in NumPy. Host and fsim must be equal.

usage: recurrent_table.py VTAC [--record] [NAME...]   (--record: in tests/results/recurrent.json; exit status 77: python3-onnx is not there)

The bound of a layer in one direction is the larger of two: its multiplications by those that the array makes in a cycle; and the bytes of its
weights by those of the bus, then the multiplications over the state of all steps but the first, as no step ends before all weights are there.
It does not have that a step waits for the step before it. Cycles are those of a first launch, against that bound, and of one behind it
("in a row"), which finds on chip what fits there, against the multiplications alone.
"""
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../compiler"), os.path.join(HERE, "../lib")]
import recurrent  # noqa: E402
import results  # noqa: E402
from onnx_cases import helper, numpy, random_for  # noqa: E402

CONFIG, ARRAY, BUS, STEPS, INPUTS, LIMIT = "pynq", 256, 8, 100, 64, 1.7
NAMES = {f"{form.lower()}{way} {layers}x{n}": (form, way or "forward", layers, n)
         for form in ("LSTM", "GRU") for way in ("", " bidirectional") for layers in (1, 2) for n in (128, 256)}


def network(name):
    """Writes net.onnx; returns its samples, the function that it is, its multiplications, its bound, and the array's part of it."""
    form, way, layers, n = NAMES[name]
    way = way.strip()
    random, ways = random_for(f"recurrent table, {name}", 0), 2 if way == "bidirectional" else 1
    constants, nodes, given, sizes, inputs, macs, bound, array = {}, [], "x", [], INPUTS, 0, 0, 0
    for k in range(layers):
        sizes.append(recurrent.parameters(random, form, ways, inputs, n, 0.8))
        names = [f"{kind}{k}" for kind in "WRB"]
        constants.update(zip(names, sizes[-1]))
        nodes.append(recurrent.node_of(form, way, n, [given] + names, [f"y{k}"], f"layer{k}"))
        nodes.append(helper.make_node("Transpose", [f"y{k}"], [f"t{k}"], perm=[0, 2, 1, 3]))
        constants[f"shape{k}"] = numpy.array([STEPS, 1, ways * n])
        given = f"z{k}"
        nodes.append(helper.make_node("Reshape", [f"t{k}", f"shape{k}"], [given]))
        weights = recurrent.GATES[form] * n * (inputs + n)
        macs += ways * STEPS * weights
        array += ways * STEPS * weights // ARRAY
        bound += ways * max(STEPS * weights // ARRAY, weights // BUS + (STEPS - 1) * recurrent.GATES[form] * n * n // ARRAY)
        inputs = ways * n
    recurrent.save(nodes, [("x", recurrent.F32, (STEPS, 1, INPUTS))], [(given, recurrent.F32, (STEPS, 1, ways * n))], constants, "net.onnx")

    def function(x):
        for w, r, b in sizes:
            x = recurrent.floats(form, way, w.astype(float), r.astype(float), b.astype(float), x).transpose(0, 2, 1, 3).reshape(STEPS, 1, -1)
        return x
    samples = numpy.cumsum(random.normal(0, 0.3, (6, STEPS, 1, INPUTS)), axis=1) * 0.4 + random.normal(0, 0.5, (6, STEPS, 1, INPUTS))
    return samples.astype(recurrent.F32), function, macs, bound, array


def measure(vtac, name):
    samples, function, macs, bound, array = network(name)
    numpy.savez("calib.npz", x=samples[:4])
    recurrent.call(vtac, "quantize", "net.onnx", "--calib", "calib.npz", "--force", "-o", "net8.onnx")
    recurrent.call(vtac, "compile", "net8.onnx", "--target", "vta", "--config", CONFIG, "--force", "-o", "net.so")
    recurrent.call(vtac, "compile", "net8.onnx", "--force", "-o", "host.so")
    told = json.loads(recurrent.call(vtac, "explain", "net8.onnx", "--config", CONFIG, "--json"))
    moved = sum(node.get("macs", 0) for node in told["nodes"] if node["where"].startswith("region"))
    worst, equal = 0.0, True
    for x in samples[4:]:
        want = function(x.astype(float))
        host, fsim = recurrent.run(vtac, "host.so", x), recurrent.run(vtac, "net.so", x, "--device", "fsim")
        equal = equal and numpy.array_equal(host, fsim)
        worst = max(worst, float(numpy.sqrt(((host - want) ** 2).mean()) / (want.max() - want.min())))
    said = json.loads(recurrent.call(vtac, "run", "net.so", "--input", "x.npy", "--device", "tsim", "--layers", "--json"))
    cycles = sum(step["cycles"] for step in said["layers"])
    again = json.loads(recurrent.call(vtac, "bench", "net.so", "--device", "tsim", "--repeat", "2", "--json"))["cycles"]
    return {"regions": told["regions"], "multiplications %": round(100 * moved / macs, 1), "predicted": told["cycles"], "cycles": cycles,
            "predicted off %": round(100 * (told["cycles"] / cycles - 1), 1), "of the bound": round(cycles / bound, 2),
            "in a row": again, "in a row, of the array": round(again / array, 2), "off % of the range": round(100 * worst, 2), "host and fsim": "equal" if equal else "differ"}


def main(words):
    vtac, record, names = os.path.abspath(words[0]), "--record" in words, [w for w in words[1:] if w != "--record"]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"recurrent_table: no network '{unknown[0]}'; there are {', '.join(NAMES)}")
    wrong = []
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as work:
            os.chdir(work)
            os.mkdir("out")
            cells = measure(vtac, name)
            os.chdir("/")
        print(f"{name}: " + ", ".join(f"{column} {value}" for column, value in cells.items()), flush=True)
        wrong += [name] if cells["regions"] != 1 or cells["multiplications %"] < 99 or cells["off % of the range"] > 1 or cells["of the bound"] > LIMIT or \
            cells["host and fsim"] != "equal" else []
        if record:
            results.record("recurrent", name, cells)
    sys.exit(f"recurrent_table: {', '.join(wrong)}: not one region with 99 % of the work, within 1 % of the range and {LIMIT} of the bound, equal" if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
