#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Published models of TensorFlow.js, which packages of npm hold (published_tfjs.txt), against TensorFlow.js itself: each is
# compiled at -O 3 and run on inputs that its reference drew (published_tfjs.js). Packages are fetched once, into a folder.
#
#   right    every output is within 1e-3 of the range of the reference by one of the two engines of TensorFlow.js
#            (WebAssembly, JavaScript), or nearer to one than they are to each other, which is at most 1e-2
#   refused  vtac took it not, with one line
#   unasked  TensorFlow.js itself does not run it
#   wrong    anything else: the exit status is 1
#
# usage: published_tfjs.py VTAC FOLDER [--record] [NAME...]   (--record: in tests/results/published.json; a name: a part of a
# model's path; exit status 77: no node, no NumPy, or no network and nothing fetched before)
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import results  # noqa: E402

try:
    import numpy
except ImportError:
    sys.exit(77)

LIMIT, NOISE = 1e-3, 1e-2
ENGINE = ["@tensorflow/tfjs@4.22.0", "@tensorflow/tfjs-backend-wasm@4.22.0"]
SEED = 7


def npm(*words, cwd):
    done = subprocess.run(["npm", *words, "--silent"], cwd=cwd, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        print("skipped: npm %s: %s" % (" ".join(words), (done.stderr.strip() or "no network").splitlines()[0]))
        sys.exit(77)
    return done.stdout.strip()


def packages():
    with open(os.path.join(HERE, "published_tfjs.txt"), encoding="utf-8") as f:
        rows = [line.split("|") for line in f if line.strip() and not line.startswith("#")]
    return [[word.strip() for word in row] for row in rows]


def fetch_engine(folder):
    modules = os.path.join(folder, "engine", "node_modules")
    if not os.path.isdir(os.path.join(modules, "@tensorflow", "tfjs-backend-wasm")):
        os.makedirs(os.path.join(folder, "engine"), exist_ok=True)
        npm("install", "--ignore-scripts", "--no-save", *ENGINE, cwd=os.path.join(folder, "engine"))
    return modules


def fetch(folder, package, version):
    """The folder of a package, without what it depends on."""
    at = os.path.join(folder, package.replace("/", "-").strip("@") + "-" + version)
    if not os.path.isdir(at):
        archive = os.path.join(folder, npm("pack", "%s@%s" % (package, version), cwd=folder).splitlines()[-1])
        with tempfile.TemporaryDirectory(dir=folder) as new:
            subprocess.run(["tar", "xzf", archive, "-C", new], check=True)
            os.rename(new, at)
            os.makedirs(new)  # the context removes it
        os.remove(archive)
    return os.path.join(at, "package")


def models(folder, wanted):
    for package, version, pattern, size in packages():
        root = fetch(folder, package, version)
        for path in sorted(glob.glob(os.path.join(root, pattern), recursive=True)):
            with open(path, "rb") as f:
                is_model = b'"modelTopology"' in f.read()
            name = package + "/" + os.path.relpath(path, root).replace("models/", "").replace("/model.json", "").replace(".json", "")
            if is_model and (not wanted or any(word in name for word in wanted)):
                yield name, path, size


def reference(modules, path, work, size, backends=("wasm", "cpu")):
    """What TensorFlow.js says of its inputs and outputs, or its line of refusal."""
    words = ["node", os.path.join(HERE, "published_tfjs.js"), modules, path, work, str(SEED), size]
    for backend in backends:  # not each operator is in both
        done = subprocess.run(words, capture_output=True, text=True, timeout=1800, env=dict(os.environ, TFJS_BACKEND=backend))
        if done.returncode == 0:
            return json.loads(done.stdout.strip().splitlines()[-1]), ""
    return None, (done.stderr.strip().splitlines() or ["no word"])[-1]


def error_of(found, wanted):
    wanted = wanted.astype("f8")
    span = float(numpy.max(wanted) - numpy.min(wanted)) if wanted.size else 0.0
    return float(numpy.max(numpy.abs(found.astype("f8") - wanted))) / (span or 1.0) if wanted.size else 0.0


def compare(found, work, count):
    """The largest error: of each reference the nearest output of its shape. Infinite where none has it."""
    left, worst = dict(found), 0.0
    for i in range(count):
        wanted = numpy.load(os.path.join(work, "out%d.npy" % i))
        fitting = {n: error_of(v, wanted) for n, v in left.items() if v.shape == wanted.shape}
        if not fitting:
            return float("inf")
        best = min(fitting, key=lambda n: fitting[n] if fitting[n] == fitting[n] else 1e30)
        del left[best]
        worst = max(worst, fitting[best]) if fitting[best] == fitting[best] else float("inf")
    return worst


def named(vtac, path, name):
    """An input's name as vtac has it, which may be that of a signature."""
    said = subprocess.run([vtac, "inspect", path], capture_output=True, text=True).stderr
    return next((n for n in re.findall(r"input '([^']+)'|--shape ([^= ]+)=", said) for n in n if n in (name, name + ":0")), name)


def ours(vtac, path, said, work, more=()):
    """The outputs by name, or the line of a refusal; `more` are words for the compiler."""
    so, out = os.path.join(work, "model.so"), os.path.join(work, "out")
    shapes = [w for i in said["inputs"] if i["open"] for w in ("--shape", "%s=%s" % (named(vtac, path, i["name"]), "x".join(map(str, i["shape"]))))]
    files = [os.path.join(work, "in%d.npy" % k) for k in range(len(said["inputs"]))]
    if len(files) > 1:  # one needs no name
        files = ["%s=%s" % (i["name"], file) for i, file in zip(said["inputs"], files)]
    inputs = [w for file in files for w in ("--input", file)]
    for words in (["compile", path, "-O", "3", "-o", so, *shapes, *more], ["run", so, *inputs, "--output-dir", out]):
        done = subprocess.run([vtac, *words], capture_output=True, text=True)
        bytes_wanted = re.search(r"(\S+): it is i32\[.*needs u8\[", done.stderr)
        if bytes_wanted:  # TensorFlow.js has no bytes
            numpy.save(bytes_wanted.group(1), numpy.load(bytes_wanted.group(1)).astype("u1"))
            done = subprocess.run([vtac, *words], capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip().splitlines()[-1].replace(path + ": ", "")
    return {n[:-4]: numpy.load(os.path.join(out, n)) for n in os.listdir(out)}, ""


def judge_again(modules, path, work, size, found, count):
    """A second answer where the first engine's is missed: that of the other, and how far both are apart."""
    with tempfile.TemporaryDirectory() as other:
        if reference(modules, path, other, size, ("cpu",))[0] is None:
            return float("inf"), 0.0
        second = {str(i): numpy.load(os.path.join(other, "out%d.npy" % i)) for i in range(count)}
        return compare(found, other, count), compare(second, work, count)


def verdict(modules, path, work, size, found, count):
    """The outputs in `work` against the engine's `found`, and where they differ against its other engine."""
    error = compare(found, work, count)
    if error <= LIMIT:
        return "right", "%.1e" % error
    second, apart = judge_again(modules, path, work, size, found, count)
    good = second <= LIMIT or min(error, second) <= apart <= NOISE
    return ("right" if good else "wrong"), "%.1e and %.1e, the engines are %.1e apart" % (error, second, apart)


def judge(vtac, modules, path, size):
    with tempfile.TemporaryDirectory() as work:
        said, why = reference(modules, path, work, size)
        if said is None:
            return "unasked", why
        found, why = ours(vtac, path, said, work)
        if found is None:
            return ("refused", why) if why.startswith("vtac") else ("wrong", why)
        return verdict(modules, path, work, size, found, len(said["outputs"]))


def main():
    vtac, folder, words = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
    wanted = [w for w in words if w != "--record"]
    os.makedirs(folder, exist_ok=True)
    if shutil.which("npm") is None:
        print("skipped: npm is not there")
        sys.exit(77)
    modules = fetch_engine(folder)
    counts = {}
    for name, path, size in models(folder, wanted):
        kind, why = judge(vtac, modules, path, size)
        counts[kind] = counts.get(kind, 0) + 1
        print("%-60s %-8s %s" % (name, kind, why[:300]), flush=True)
        if "--record" in words:
            results.record("published", name, {"format": "TensorFlow.js", "answer": kind, "error or reason": why[:200]})
    print(", ".join("%d %s" % (n, kind) for kind, n in sorted(counts.items())))
    sys.exit(1 if counts.get("wrong") else 0)


if __name__ == "__main__":
    main()
