#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What 8 and 4 bits do to the demo's language model: perplexity and next tokens on tales that nobody trained or calibrated with,
against floats; and whether host and accelerator say the same over many tokens, twice in a row.

usage: language.py FOLDER_OF_PROGRAMS [--record] [TOKENS]   (--record: in tests/results/language.json)

A text is drawn at random, and where it goes on with one of several words that are equally likely the smallest of differences
decides which of them a model prefers. So next tokens are compared twice: everywhere, and where the model of floats prefers its
token clearly. Bounds are about the second, and fail the script.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
import results  # noqa: E402

ROWS = os.path.abspath(os.path.join(HERE, "../lib/configs/rows_pynq.json"))
SEED_CALIBRATION, SEED_UNSEEN, TALES, PROMPTS, WORDS = 777, 999, 40, 8, 18
BOUNDS = {"int8": (1.0, 98.0), "int4": (4.0, 95.0)}  # perplexity in percent at most, next tokens in percent at least


def run(folder, program, *words):
    done = subprocess.run((os.path.join(folder, program),) + words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(words)}: {done.stderr}")
    return done.stdout


def calibrate(folder):
    """Runs of the model of floats behind beginnings of tales, in one folder; the samples of a text stay together."""
    tales = run(folder, "tales", "tell", "--tales", str(PROMPTS), "--seed", str(SEED_CALIBRATION)).splitlines()
    os.mkdir("calibration")
    for i, tale in enumerate(tales):
        run(folder, "vtac", "run", "float.so", "--generate", "40", "--prompt", " ".join(tale.split()[:WORDS]), "--ignore-end", "--temperature",
            "1", "--seed", str(i + 1), "--save-inputs", "inputs")
        for name in os.listdir("inputs"):
            os.replace(os.path.join("inputs", name), os.path.join("calibration", f"{i}_{name}"))


def speak(folder, model, tokens, *device):
    told = json.loads(run(folder, "vtac", "run", model, "--generate", str(tokens), "--prompt", "Tom has a red ball.", "--ignore-end",
                          "--temperature", "1", "--seed", "9", "--json", *device))
    return told["ids"], told["text"]


def judge(folder, weights, tokens):
    """A row of the table."""
    said = json.loads(run(folder, "vtac", "quantize", "tale.onnx", "--context", str(tokens + 32), "--calib", "calibration", "--weights", weights,
                          "--json", "-o", f"{weights}.onnx"))
    run(folder, "vtac", "compile", f"{weights}.onnx", "-o", "host.so")
    run(folder, "vtac", "compile", f"{weights}.onnx", "--target", "vta", "--config", ROWS, "--offload", "all", "-O", "0", "-o", "held.so")
    names = ("float.so", "host.so", "held.so@fsim")
    score = json.loads(run(folder, "vtac", "perplexity", *names, "--text", "unseen.txt", "--json"))
    base, host, held = score["models"]
    spoken = [speak(folder, model, tokens, *device) for model, *device in (("host.so",), ("held.so", "--device", "fsim")) * 2]
    assert len(spoken[0][0]) == tokens, (len(spoken[0][0]), tokens)
    cells = {"calibration: perplexity %": round(100 * (said["perplexity"] / said["perplexity_float"] - 1), 2),
             "tokens": score["tokens"], "perplexity, float": round(base["perplexity"], 4), "perplexity": round(host["perplexity"], 4),
             "change %": round(host["change"], 2), "same token %": round(host["same"], 2), "where clear %": round(host["same_clear"], 2),
             "spoken": tokens, "host and fsim, twice": "equal" if all(s == spoken[0] for s in spoken) else "differ"}
    most, least = BOUNDS[weights]
    wrong = [name for name, bad in (("perplexity", host["change"] > most), ("next tokens", host["same_clear"] < least),
                                    ("host and fsim differ", cells["host and fsim, twice"] != "equal"),
                                    ("host and fsim score otherwise", {**held, "model": ""} != {**host, "model": ""})) if bad]
    print(f"{weights}: " + ", ".join(f"{name} {value}" for name, value in cells.items()))
    return cells, wrong


def main(words):
    record = "--record" in words
    folder, *rest = [os.path.abspath(w) if i == 0 else w for i, w in enumerate(w for w in words if w != "--record")]
    tokens = int(rest[0]) if rest else 1000
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        print(run(folder, "tales", "train", "-o", "tale.onnx").splitlines()[-2])
        run(folder, "vtac", "compile", "tale.onnx", "--context", str(tokens + 32), "-o", "float.so")
        with open("unseen.txt", "w", encoding="utf-8") as file:
            file.write(run(folder, "tales", "tell", "--tales", str(TALES), "--seed", str(SEED_UNSEEN)))
        calibrate(folder)
        rows = {f"tales, {weights}": judge(folder, weights, tokens) for weights in BOUNDS}
        os.chdir("/")
    for name, (cells, wrong) in rows.items():
        if wrong:
            sys.exit(f"{name}: {', '.join(wrong)}")
        if record:
            results.record("language", name, cells)


if __name__ == "__main__":
    main(sys.argv[1:])
