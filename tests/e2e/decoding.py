#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Decoders of LLaMA's shapes on the configurations for language models: cycles of a token, and what share of the memory port's
bandwidth is weights and cache; with it tokens a second, of the accelerator alone and with the host's share, as the partition prices it.

usage: decoding.py BUILD [--json] [--tsim SHAPE:WEIGHTS:CONFIG]... [SHAPE...]

SHAPE: 15M, 42M, 110M (all without one); WEIGHTS: int8, int4. Weights are drawn from a seed, which changes no cycle. Cycles are what the
compiler's model of time predicts for one new token and a full cache of CONTEXT tokens; with --tsim, those of the RTL stand beside them.
A port moves what the configuration's bus does in a cycle, or what MEM_SHARED leaves of that. What a token must read (each weight once, in
its bits, and both caches) is counted here, from the shape alone. Of the smallest shape, a prompt of PROMPT tokens in one launch is
priced, too: its tokens a second, and what share of the array's multiplications it makes use of. Rows go to tests/results/decode.json.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import results  # noqa: E402

CONTEXT, WORDS, PROMPT = 256, 32000, 128
SHAPES = {"15M": (6, 288, 6), "42M": (8, 512, 8), "110M": (12, 768, 12)}  # layers, width, heads
BITS = {"int8": 8, "int4": 4}
CONFIGS = {"pynq_lm": "pynq", "ultra96_lm": "ultra96"}  # and the processor beside each
MULTIPLE = 32  # to which the zoo rounds the inner width


def call(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        sys.exit("%s: %s%s" % (" ".join(words), done.stdout[-2000:], done.stderr[-2000:]))
    return done.stdout


def must_read(shape, bits):
    """Bytes of weights and of caches that a token cannot do without."""
    layers, width, _ = SHAPES[shape]
    wide = (8 * width + 3 * MULTIPLE - 1) // (3 * MULTIPLE) * MULTIPLE
    weights = layers * (4 * width * width + 3 * width * wide) + WORDS * width
    return weights * bits // 8, 2 * layers * CONTEXT * width


def port_of(config):
    """Bytes that a cycle can read."""
    bus = 2 ** config["LOG_BUS_WIDTH"] / 8
    shared = config["MEM_SHARED"] / config["CLOCK_MHZ"]
    return min(bus, config["MEM_BANDWIDTH"], shared if shared > 0 else bus)


def price(vtac, model, name):
    """Predicted cycles of the accelerator for a token, and the host's; the program."""
    words = ["--config", name, "--offload", "all", "--host", CONFIGS[name], "--json"]
    there = json.loads(call(vtac, "compile", model, "--target", "vta", "--report", "-o", name + ".so", *words))
    host = json.loads(call(vtac, "explain", model, "-O", "0", *words))
    return there, host["host_stays_cycles"]


def simulate(vtac, model, name):
    """Cycles of a token on the RTL, by a program for this machine's processor; twice, of other tokens: they are the same."""
    call(vtac, "compile", model, "--target", "vta", "--config", name, "--offload", "all", "-o", "here.so")
    told = [json.loads(call(vtac, "run", "here.so", "--device", "tsim", "--generate", "1", "--ids", ids, "--ignore-end", "--json"))
            for ids in ("1", "1,2")]
    assert told[0]["cycles"] == told[1]["cycles"], [t["cycles"] for t in told]
    return told[0]["cycles"]


def row_of(vtac, shape, weights, name, rtl):
    model = weights + ".onnx"
    config = json.loads(call(vtac, "config", "show", name))
    there, host = price(vtac, model, name)
    cycles = simulate(vtac, model, name) if rtl else None
    took = cycles or there["cycles"]
    least, cache = must_read(shape, BITS[weights])
    clock = 1e6 * config["CLOCK_MHZ"]
    return {"regions": there["regions"], "predicted cycles": there["cycles"], "RTL cycles": cycles or "-",
            "weights": least, "cache": cache, "of the port %": round(100 * (least + cache) / took / port_of(config), 1),
            "tokens/s": round(clock / took, 1), "with the host": round(clock / (took + host), 1),
            "host %": round(100 * host / (took + host), 1)}


def prompt_row(there, config):
    """A prompt in one launch: it is bound by the array."""
    array = 2 ** (config["LOG_BLOCK_IN"] + config["LOG_BLOCK_OUT"])
    rate = PROMPT * 1e6 * config["CLOCK_MHZ"] / there["cycles"]
    return {"regions": there["regions"], "predicted cycles": there["cycles"], "tokens/s": round(rate, 1),
            "array busy %": round(100 * there["macs"] / there["cycles"] / array, 1)}


def prompts_of(vtac, shape):
    call(vtac, "quantize", "open.onnx", "--context", f"{CONTEXT}:{PROMPT}", "-o", "prompt.onnx")
    for name in CONFIGS:
        there, _ = price(vtac, "prompt.onnx", name)
        yield f"{shape} int8 {name} prompt of {PROMPT}", prompt_row(there, json.loads(call(vtac, "config", "show", name)))


def rows_of(vtac, shape, simulated):
    layers, width, heads = (str(n) for n in SHAPES[shape])
    call(vtac, "zoo", "llama", "--cache", "--layers", layers, "--width", width, "--heads", heads, "--words", str(WORDS), "-o", "open.onnx")
    for weights in BITS:
        call(vtac, "quantize", "open.onnx", "--context", str(CONTEXT), "--weights", weights, "-o", weights + ".onnx")
        for name in CONFIGS:
            yield f"{shape} {weights} {name}", row_of(vtac, shape, weights, name, f"{shape}:{weights}:{name}" in simulated)
    if shape == min(SHAPES, key=lambda s: SHAPES[s]):
        yield from prompts_of(vtac, shape)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tsim", action="append", default=[])
    parser.add_argument("shapes", nargs="*")
    given = parser.parse_args()
    known = [f"{s}:{w}:{c}" for s in SHAPES for w in BITS for c in CONFIGS]
    for word, words in [(s, SHAPES) for s in given.shapes] + [(t, known) for t in given.tsim]:
        if word not in words:
            sys.exit(f"decode: expected one of {' '.join(words)}, not '{word}'")
    vtac = os.path.abspath(os.path.join(given.build, "bin", "vtac"))
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        found = {}
        for shape in given.shapes or SHAPES:
            for name, row in rows_of(vtac, shape, given.tsim):
                found[name] = row
                results.record("decode", name, row)
                if not given.json:
                    print(name + ": " + ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if given.json:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
