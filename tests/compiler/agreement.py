#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# What 8 bits change in the answers of transformers: networks of the zoo with seeded weights, and the demo's language model,
# which is trained. Each runs as floats and in 8 bits on inputs that the quantizer has not seen. For each output vector (a
# picture's classes, a token's words, its embedding): whether its largest number is at the same place, and the cosine of the two
# vectors. Networks for pictures see photographs of the shared models, each cut out in two ways that the quantizer does not see;
# other networks see random numbers. The language model is asked for the next word of tales. Recorded in tests/results/attention.json.
#
# usage: agreement.py BUILD MODELS [--seed N] [--record] NAME...   (exit status 77: numpy or the pictures are not there)
#
# NAME: of the zoo, or tale=FILE.onnx, a model that `tales train` wrote. Exit status 1 where a cosine is below 0.99 in the mean.
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import results

try:
    import numpy
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

SEEN, TESTED = 8, 24
TALES = 6  # that the quantizer sees
LEAST_COSINE = 0.99
CUTS = ("crop=0.7", "crop=0.95")
PROMPTS = ("Tom has a", "Ada has a green lamp. Ada goes to", "Mia gives the")


def run(tools, *words):
    done = subprocess.run([os.path.join(tools, "vtac"), *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("vtac %s: %s" % (" ".join(words), done.stderr.strip()))
    return done.stdout


def answer(tools, library, words):
    """The first output of a run."""
    shutil.rmtree("out", ignore_errors=True)
    run(tools, "run", library, *words, "--output-dir", "out")
    return numpy.load(os.path.join("out", sorted(os.listdir("out"))[0]))


def photographs(models, preprocess):
    folder = os.path.join(models, "images")
    files = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith((".jpg", ".png"))]
    os.mkdir("seen")
    for file in files:
        shutil.copy(file, "seen")
    tested = [["--input", file, "--preprocess", preprocess + "," + cut] for file in files for cut in CUTS]
    return ["--preprocess", preprocess], tested


def numbers(shapes, seed):
    rng = numpy.random.default_rng(seed)
    os.mkdir("seen")
    os.mkdir("unseen")
    for i in range(SEEN + TESTED):
        folder = "seen" if i < SEEN else "unseen"
        numpy.savez(os.path.join(folder, "%02d.npz" % i), **{name: rng.standard_normal(shape).astype(numpy.float32)
                                                             for name, shape in shapes.items()})
    return [], [["--input", os.path.join("unseen", name)] for name in sorted(os.listdir("unseen"))]


def next_word(tools, library, text):
    return json.loads(run(tools, "run", library, "--generate", "1", "--ignore-end", "--prompt", text, "--json"))["ids"]


def look_at_tales(tools, path):
    """The language model: the next word behind every beginning of tales that it tells; the quantizer sees other tales."""
    shutil.copy(os.path.join(os.path.dirname(path), "tokenizer.json"), ".")
    run(tools, "compile", path, "--context", "64", "-o", "float.so")
    tale = ("run", "float.so", "--generate", "30", "--ignore-end", "--temperature", "1", "--prompt")
    os.mkdir("seen")
    for seed in range(TALES):
        run(tools, *tale, "Mia has a" if seed % 2 else "Tom gives the", "--seed", str(100 + seed), "--save-inputs", "steps")
        for name in os.listdir("steps"):
            os.rename(os.path.join("steps", name), os.path.join("seen", "%d_%s" % (seed, name)))
    run(tools, "quantize", path, "--context", "64", "--calib", "seen", "-o", "int8.onnx")
    run(tools, "compile", "int8.onnx", "-o", "int8.so")
    beginnings = []
    for seed, prompt in enumerate(PROMPTS, 2):
        words = (prompt + json.loads(run(tools, *tale, prompt, "--seed", str(seed), "--json"))["text"]).split()
        beginnings += [" ".join(words[:n]) for n in range(3, len(words) + 1)]
    same = sum(next_word(tools, "float.so", text) == next_word(tools, "int8.so", text) for text in beginnings)
    return {"vectors": len(beginnings), "largest the same %": round(100 * same / len(beginnings), 1)}


def shapes_of(tools, path):
    found = re.findall(r"^input +%(\S+): f32\[([0-9,]+)\]", run(tools, "inspect", path), re.M)
    return {name: tuple(int(d) for d in dims.split(",")) for name, dims in found}


def prepare(tools, models, name, seed):
    """The model, the options that quantize it, and how each test runs."""
    run(tools, "zoo", name, "-o", "model.onnx")
    shapes = shapes_of(tools, "model.onnx")
    pictures = len(shapes) == 1 and all(len(s) == 4 and s[1] == 3 for s in shapes.values())
    return "model.onnx", *(photographs(models, "imagenet") if pictures else numbers(shapes, seed))


def look_at_vectors(tools, models, name, seed):
    path, options, tests = prepare(tools, models, name, seed)
    run(tools, "quantize", path, "--calib", "seen", *options, "--force", "-o", "int8.onnx")
    run(tools, "compile", path, "-o", "float.so")
    run(tools, "compile", "int8.onnx", "-o", "int8.so")
    same, cosines = 0, []
    for words in tests:
        real, ours = (answer(tools, library, words).astype(numpy.float64) for library in ("float.so", "int8.so"))
        real, ours = real.reshape(-1, real.shape[-1]), ours.reshape(-1, real.shape[-1])
        same += int((real.argmax(axis=1) == ours.argmax(axis=1)).sum())
        norms = numpy.linalg.norm(real, axis=1) * numpy.linalg.norm(ours, axis=1)
        cosines += list((real * ours).sum(axis=1) / norms)
    return {"vectors": len(cosines), "largest the same %": round(100 * same / len(cosines), 1), "cosine": round(float(numpy.mean(cosines)), 4),
            "least cosine": round(float(numpy.min(cosines)), 4)}


def look(tools, models, name, seed, record):
    tale = name.startswith("tale=")
    row = look_at_tales(tools, name[len("tale="):]) if tale else look_at_vectors(tools, models, name, seed)
    name = "tale" if tale else name
    print("%-18s" % name + "".join("%14s" % value for value in row.values()), flush=True)
    if record:
        results.record("attention", name, row)
    return row.get("cosine", 1.0) >= LEAST_COSINE


def main():
    words = sys.argv[1:]
    record = "--record" in words
    words = [w for w in words if w != "--record"]
    seed = 1
    if "--seed" in words:
        at = words.index("--seed")
        seed = int(words[at + 1])
        del words[at:at + 2]
    tools, models = os.path.join(os.path.abspath(words[0]), "bin"), os.path.abspath(words[1])
    names = ["tale=" + os.path.abspath(w[len("tale="):]) if w.startswith("tale=") else w for w in words[2:]]
    if not os.path.isdir(os.path.join(models, "images")):
        print("%s is not there" % models)
        return 77
    print("%-18s%14s%14s%14s%14s" % ("network", "vectors", "the same %", "cosine", "least"), flush=True)
    good = True
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            good = look(tools, models, name, seed, record) and good
            os.chdir("/")
    return 0 if good else 1


sys.exit(main())
