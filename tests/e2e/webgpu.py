#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Models' pages in Chromium, whose GPU is its software renderer: outputs against those of the same model on this processor, twice
# with different data; integers equal, floats within a thousandth of the range. Then what a person sees where there is no GPU, where
# it refuses a kernel, has no memory, or is lost: one line, and the answer of WebAssembly.
#
# usage: webgpu.py VTAC SOURCE [--record] [--numbers NETWORK] [--failures NETWORK] NETWORK[:int8]...   (exit status 77: no Chromium or no Node)
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from results import record  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("vtac")
parser.add_argument("source")
parser.add_argument("--record", action="store_true", help="keeps what was measured (./run results webgpu)")
parser.add_argument("--numbers", metavar="NETWORK", help="compares the prelude's functions, too")
parser.add_argument("--failures", metavar="NETWORK", help="of a picture: what a person sees where there is no GPU, or it fails")
parser.add_argument("networks", nargs="*")
args = parser.parse_intermixed_args()
wrong = []


def must(*words):
    done = subprocess.run([args.vtac, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("vtac %s: exit status %d: %s" % (" ".join(words), done.returncode, done.stderr))
    return done.stdout


def browse(jobs, limit=300):
    """What the page of each job says."""
    with open("jobs.json", "w", encoding="ascii") as file:
        json.dump(jobs, file)
    driver = os.path.join(args.source, "tests/bindings/webgpu.mjs")
    done = subprocess.run(["timeout", str(limit), "node", driver, os.path.abspath("profile"), "jobs.json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(said) != len(jobs):
        wrong.append("the page of job %d does not answer: %s" % (len(said), done.stderr.strip()[-2000:]))
    return said


TYPES = {"f": "f", "i": "i", "u": "u", "b": "?"}


def inputs_of(model):
    """Names, types and sizes, from the model's text."""
    for line in must("inspect", model).splitlines():
        found = re.match(r"input +%([^ ]+): ([fiub])([a-z0-9]*)\[([0-9,]*)\]", line)
        if found:
            name, kind, bits, sizes = found.groups()
            dtype = numpy.dtype(bool) if kind == "b" else numpy.dtype(TYPES[kind] + str(int(bits) // 8))
            yield name, dtype, [int(size) for size in sizes.split(",") if size]


def make_inputs(seed, folder):
    """Name and path of each: numbers as .npy, and as bytes beside it."""
    os.makedirs(folder, exist_ok=True)
    draw = numpy.random.default_rng(seed)
    given = []
    for i, (name, dtype, shape) in enumerate(inputs_of("m.onnx")):
        values = draw.uniform(-1, 1, shape) if dtype.kind == "f" else draw.integers(0, 2 if dtype.kind == "b" else 100, shape)
        path = os.path.join(folder, "in%d" % i)
        numpy.save(path + ".npy", values.astype(dtype))
        with open(path, "wb") as file:
            file.write(values.astype(dtype).tobytes())
        given.append((name, path))
    return given


def compare(what, host, folder):
    """The largest error of a float, in parts of the range."""
    worst = 0.0
    for i, tensor in enumerate(host):
        with open(os.path.join(folder, "out%d" % i), "rb") as file:
            got = numpy.frombuffer(file.read(), dtype=tensor.dtype)
        want = tensor.reshape(-1)
        reach = float(numpy.abs(want.astype(numpy.float64)).max()) or 1.0
        far = float(numpy.abs(want.astype(numpy.float64) - got.astype(numpy.float64)).max()) if got.size == want.size else 1e9
        worst = max(worst, far / reach if want.dtype.kind == "f" else far)
        if not far <= (1e-3 * reach if want.dtype.kind == "f" else 0):
            wrong.append("%s: output %d is %g off, its range is %g" % (what, i, far, reach))
    return worst


def check_network(name):
    base, _, kind = name.partition(":")
    must("zoo", base, "-o", "m.onnx", *(["--int8"] if kind else []))
    must("compile", "m.onnx", "-o", "m.so")
    told = must("compile", "m.onnx", "--target", "webgpu", "--offload", "all", "--host", "wasm32", "-o", "m.html").splitlines()
    runs = []
    hosts = []
    for seed in (1, 2):
        given = make_inputs(seed, "run%d" % seed)
        folder = "host%d" % seed
        must("run", "m.so", "--output-dir", folder, *(word for n, path in given for word in ("--input", "%s=%s.npy" % (n, path))))
        outputs = json.loads(must("run", "m.so", "--json"))["outputs"]
        hosts.append([numpy.load(os.path.join(folder, o["name"] + ".npy")) for o in outputs])
        runs.append({"inputs": [path for _, path in given], "outputs": ["run%d/out%d" % (seed, i) for i in range(len(outputs))]})
    if all(numpy.array_equal(a, b) for a, b in zip(*hosts)):
        wrong.append("%s: other data give the same outputs" % name)
    said = browse([{"page": os.path.abspath("m.html"), "runs": runs}])
    row = {"network": name, "kernels": next(line for line in told if " are kernels " in line).split(" are ")[0],
           "on the host": [line for line in told if " stays on the host" in line]}
    if said:
        if not said[0]["on"]:
            wrong.append("%s is not on the GPU: %s" % (name, said[0]["where"]))
        row["error"] = max(compare("%s, seed %d" % (name, i + 1), hosts[i], "run%d" % (i + 1)) for i in range(2))
    print("%s: %s, error %s" % (name, row["kernels"], row.get("error")), flush=True)
    for folder in ("host1", "host2", "run1", "run2"):
        shutil.rmtree(folder, ignore_errors=True)
    return row


# The line that a page shows, and the script that makes it do so before its own.
FAILURES = {
    "WebGPU is not there": """Object.defineProperty(Navigator.prototype, "gpu", { get: () => undefined });""",
    "no GPU: the browser gives none": """GPU.prototype.requestAdapter = async () => null;""",
    "no GPU: the browser gives no device: it is busy":
        """GPUAdapter.prototype.requestDevice = async () => { throw new Error("it is busy"); };""",
    "refuses the kernel of '": """{ const make = GPUDevice.prototype.createShaderModule;
        GPUDevice.prototype.createShaderModule = function (what) {
            return make.call(this, { ...what, code: what.code.replace("let item", "let 7item") }); }; }""",
    "MiB in one piece": """{ const pop = GPUDevice.prototype.popErrorScope; let first = true;
        GPUDevice.prototype.popErrorScope = async function () {
            const error = await pop.call(this); const now = first; first = false;
            return now ? new GPUOutOfMemoryError("none left") : error; }; }""",
}
# A device that goes away between two pictures: the page answers the same, as WebAssembly.
CATCH = """{ const ask = GPUAdapter.prototype.requestDevice;
    GPUAdapter.prototype.requestDevice = async function (how) { globalThis.device = await ask.call(this, how); return device; }; }"""
LOSE = """(async () => {
    const picture = document.createElement("canvas");
    [picture.width, picture.height] = [64, 64];
    const context = picture.getContext("2d");
    context.fillStyle = "#48c";
    context.fillRect(8, 8, 40, 24);
    const answers = [await vta.classify(picture), vta.model.onGpu];
    device.destroy();
    return [...answers, await vta.classify(picture), vta.model.onGpu, await vta.classify(picture)];
})()"""


def check_failures(name):
    """One line in the page, and the answers of WebAssembly, which are those of this processor."""
    base, _, kind = name.partition(":")
    must("zoo", base, "-o", "m.onnx", *(["--int8"] if kind else []))
    must("compile", "m.onnx", "-o", "m.so")
    must("compile", "m.onnx", "--target", "webgpu", "--host", "wasm32", "-o", "m.html")
    page = os.path.abspath("m.html")
    given = make_inputs(3, "run")
    must("run", "m.so", "--output-dir", "host", *(word for n, path in given for word in ("--input", "%s=%s.npy" % (n, path))))
    outputs = json.loads(must("run", "m.so", "--json"))["outputs"]
    host = [numpy.load(os.path.join("host", o["name"] + ".npy")) for o in outputs]
    runs = [{"inputs": [path for _, path in given], "outputs": ["run/out%d" % i for i in range(len(outputs))]}]
    for text, before in FAILURES.items():
        for said in browse([{"page": page, "before": before, "runs": runs}]):
            if said["on"] or text not in said["where"] or "WebAssembly" not in said["where"] or "\n" in said["where"]:
                wrong.append("the page does not say '%s' but '%s'" % (text, said["where"]))
            compare("without a GPU (%s)" % text, host, "run")
    for said in browse([{"page": page, "before": CATCH, "script": LOSE}]):
        first, there, second, still, third = said["said"]
        near = all(a[1] == b[1] and abs(a[0] - b[0]) < 1e-3 for a, b in zip(first, second))
        if not there or still or "is lost" not in said["where"] or not near or second != third:
            wrong.append("a lost device: %s" % said)


def check_numbers(name):
    """The functions that kernels bring along, on random numbers."""
    word = os.environ.get("VTAC_SEED", "0") + " webgpu"
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
    must("zoo", name, "-o", "m.onnx")
    must("compile", "m.onnx", "--target", "webgpu", "--host", "wasm32", "-o", "m.html", "--emit", "kernels:texts")
    driver = os.path.join(args.source, "tests/bindings/numbers.mjs")
    done = subprocess.run(["timeout", "300", "node", driver, os.path.abspath("profile"), os.path.abspath("m.html"), "texts/model.kernels",
                           str(seed)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print("VTAC_SEED=%s: %s" % (word, done.stdout.strip()))
    if done.returncode != 0:
        wrong.append("the prelude's numbers, VTAC_SEED=%s" % word)


def main():
    for program in ("chromium", "node"):
        if shutil.which(program) is None:
            print("no %s" % program)
            return 77
    rows = []
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in args.networks:
            before = len(wrong)
            rows.append(dict(check_network(name), right=len(wrong) == before))
        if args.numbers:
            check_numbers(args.numbers)
        if args.failures:
            check_failures(args.failures)
        os.chdir(home)
    for row in rows if args.record else []:
        record("webgpu", row["network"], {"kernels": row["kernels"], "error": float("%.2g" % row["error"]), "right": row["right"]})
    print("\n".join(wrong) or "%d networks are the same" % len(rows))
    return 1 if wrong else 0


sys.exit(main())
