#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# The given models of one format of models/importers/manifest.json: each is compiled at -O 3, run on all of its cases and
# compared with the outputs that another engine gave. The largest error of each is printed, relative to the range of the
# reference; 1e-3 is the most that passes. A case is NAME_in.npy, or NAME_in_INPUT.npy for each input, and NAME_out0.npy,
# NAME_out1.npy ...
#
# usage: importer_models.py FORMAT VTAC MODELS   (exit status 77: no models, no numpy)
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    sys.exit(77)

LIMIT = 1e-3
MODEL_FILES = {"tensorflow-graphdef": (".pb",), "tensorflow-savedmodel": ("saved_model.pb",), "tfjs": (".json",),
               "caffe": (".prototxt", ".caffemodel"), "mxnet": ("-symbol.json", ".params"), "caffe2": (".pb",), "coreml": (".mlmodel", "Manifest.json"),
               "pytorch-torchscript": (".pt", ".pth"), "pytorch-export": (".pt2",)}


class Runner:
    def __init__(self, vtac, work):
        self.vtac, self.work = vtac, work

    def run(self, *words):
        done = subprocess.run([self.vtac, *words], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit("vtac %s\n%s%s" % (" ".join(words), done.stdout, done.stderr))

    def outputs(self, so, inputs):
        """The outputs of a run by their names."""
        folder = tempfile.mkdtemp(dir=self.work)
        self.run("run", so, *[w for path in inputs for w in ("--input", path)], "--output-dir", folder)
        return {name[:-4]: numpy.load(os.path.join(folder, name)) for name in os.listdir(folder)}


def inputs_of(folder, case):
    """Names ("" where there is one input) and files."""
    whole = os.path.join(folder, case + "_in.npy")
    if os.path.exists(whole):
        return {"": whole}
    begin = os.path.join(folder, case + "_in_")
    return {path[len(begin):-4]: path for path in sorted(glob.glob(glob.escape(begin) + "*.npy"))}


def error_of(found, wanted):
    span = float(numpy.max(wanted) - numpy.min(wanted)) or 1.0
    return float(numpy.max(numpy.abs(found.astype(float) - wanted.astype(float)))) / span


def errors(found, folder, case):
    """The error of each reference: that of the nearest output of its shape, since formats differ in their order."""
    paths = sorted(glob.glob(os.path.join(glob.escape(folder), case + "_out*.npy")))
    if not paths:
        sys.exit("%s: no reference of the case %s" % (folder, case))
    left = dict(found)
    for path in paths:
        wanted = numpy.load(path)
        fitting = {n: error_of(v, wanted) for n, v in left.items() if v.shape == wanted.shape}
        if not fitting:
            sys.exit("%s: no output of shape %s among %s" % (path, wanted.shape, {n: v.shape for n, v in left.items()}))
        best = min(fitting, key=fitting.get)
        del left[best]
        yield fitting[best]


def open_input(runner, path):
    """The input whose sizes a file leaves open; "": there is none."""
    said = subprocess.run([runner.vtac, "inspect", path], capture_output=True, text=True).stderr
    found = re.search(r"--shape ([^= ]+)=", said)
    return found.group(1) if found else ""


def shapes_of(runner, model, folder, case):
    """--shape for inputs of one axis and more, which files may leave open."""
    for name, path in inputs_of(folder, case).items():
        name = name or open_input(runner, model)
        dims = numpy.load(path, mmap_mode="r").shape
        if name and dims:
            yield from ("--shape", "%s=%s" % (name, "x".join(str(d) for d in dims)))


def check(runner, folder, path, cases):
    so = os.path.join(runner.work, "model.so")
    runner.run("compile", path, "-O", "3", "-o", so, *shapes_of(runner, path, folder, cases[0]))
    worst = 0.0
    for case in cases:
        given = inputs_of(folder, case)
        words = [("%s=%s" % (name, file) if name else file) for name, file in given.items()]
        for error in errors(runner.outputs(so, words), folder, case):
            worst = max(worst, error)
    return worst


def main():
    kind, vtac, models = sys.argv[1:]
    if not os.path.exists(os.path.join(models, "manifest.json")):
        print("no models")
        sys.exit(77)
    with open(os.path.join(models, "manifest.json")) as f:
        entries = [e for e in json.load(f) if e["format"] == kind and e["file"].endswith(MODEL_FILES[kind])]
    bad = []
    with tempfile.TemporaryDirectory() as work:
        for entry in entries:
            path = os.path.join(models, entry["file"])
            error = check(Runner(vtac, work), os.path.join(models, *entry["file"].split("/")[:2]), path, entry["cases"])
            print("%-24s %d cases, largest error %.2e of the range" % (entry["model"], len(entry["cases"]), error), flush=True)
            bad += [entry["model"]] if not error <= LIMIT else []
    if bad or not entries:
        sys.exit("beyond %g: %s" % (LIMIT, ", ".join(bad)))


main()
