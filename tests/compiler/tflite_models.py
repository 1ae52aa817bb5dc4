#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# TensorFlow Lite models against their references, those of the suite's own networks, and what TensorFlow Lite 2.9 made of
# published ones, which may be missing: the outputs, the logits, and where they are given the results of all operators (then of
# the model as it is, too); integers equal to the last, floats within 1e-5. A model is run on all its cases, one after the other.
#
# usage: tflite_models.py VTAC OWN SHARED   (exit status 77: no numpy)
import glob
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    from tflite_file import File
except ImportError:
    sys.exit(77)

SOFTMAX = 25


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s\n%s%s" % (" ".join(words), done.stdout, done.stderr))


def results(folder):
    found = {}
    for path in glob.glob(folder + "/*.npy"):
        found[os.path.basename(path)[:-4]] = numpy.load(path)
    return found


def file_of(name, i):
    """What --output-dir calls the file of output i."""
    name = name if len(name.encode()) < 200 else "%s~%d" % (name.encode()[:180].decode(), i)
    return name.replace("/", "_").replace(":", "_")


def compare(what, found, wanted):
    if found is None or found.shape != wanted.shape or found.dtype != wanted.dtype:
        return ["%s: %s, expected %s %s" % (what, None if found is None else (found.dtype, found.shape), wanted.dtype, wanted.shape)]
    if wanted.dtype.kind == "f":
        off = float(numpy.max(numpy.abs(found - wanted)))
        return ["%s: off by %g" % (what, off)] if not off <= 1e-5 * max(1.0, float(numpy.max(numpy.abs(wanted)))) else []
    wrong = int(numpy.count_nonzero(found != wanted))
    return ["%s: %d of %d integers differ" % (what, wrong, wanted.size)] if wrong else []


def judge(vtac, path, work):
    model = File(open(path, "rb").read())
    logits = [inputs[0] for code, inputs, _ in model.ops if code == SOFTMAX]
    layers = glob.glob(os.path.dirname(path) + "/*_layers.npz")
    shown = [t for _, _, outputs in model.ops for t in outputs] if layers else logits[-1:] + model.outputs
    copy = os.path.join(work, "shown.tflite")
    with open(copy, "wb") as f:
        f.write(model.showing(shown))
    whole, published = os.path.join(work, "shown.so"), os.path.join(work, "model.so")
    run(vtac, "compile", copy, "--target", "llvm", "-o", whole)
    if layers:
        run(vtac, "compile", path, "--target", "llvm", "-o", published)
    faults, count = [], 0
    for given in sorted(glob.glob(os.path.dirname(path) + "/*_in.npy")):
        case = given[:-len("_in.npy")]
        found = {}
        for so in (whole, published) if layers else (whole,):
            out = tempfile.mkdtemp(dir=work)
            run(vtac, "run", so, "--input", given, "--output-dir", out)
            found[so] = results(out)
        wanted = [("t%d" % model.outputs[0], numpy.load(case + "_out0.npy"))]
        if os.path.exists(case + "_logits.npy"):
            wanted.append(("t%d" % logits[-1], numpy.load(case + "_logits.npy")))
        if os.path.exists(case + "_layers.npz"):
            with numpy.load(case + "_layers.npz") as layers:
                wanted += [(key, layers[key]) for key in layers.files]
        for key, value in wanted:
            tensor = int(key[1:])
            name = file_of(model.tensors[tensor][0], shown.index(tensor))
            faults += compare("%s: %s (%s)" % (os.path.basename(case), key, name), found[whole].get(name), value)
            count += value.size
        if layers:
            only = list(found[published].values())
            faults += compare("%s: alone" % os.path.basename(case), only[0] if len(only) == 1 else None, wanted[0][1])
    print("%-32s %9d values, %d faults" % (os.path.basename(path), count, len(faults)))
    return faults


def main():
    own, shared = (sorted(glob.glob(folder + "/*/*.tflite")) for folder in sys.argv[2:4])
    if not own:
        sys.exit("no models in %s" % sys.argv[2])
    faults = []
    with tempfile.TemporaryDirectory() as work:
        for path in own + shared:
            faults += judge(sys.argv[1], path, work)
    for fault in faults[:40]:
        print(fault)
    return 1 if faults else 0


sys.exit(main())
