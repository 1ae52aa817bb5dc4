#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sampler: token by token what Python draws from the same numbers, and as often as the logits say.

usage: sampler.py FOLDER_OF_LIBRARIES
"""
import ctypes
import math
import os
import random
import sys

import native

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../compiler"))
import word_seed  # noqa: E402

failures = []


def check(what, holds, about):
    if not holds:
        failures.append(what)
        print(f"{what}: {about}")


def draw(library, sampler, logits):
    array, token = (ctypes.c_float * len(logits))(*logits), ctypes.c_uint32()
    library.call("vta_sample", ctypes.byref(sampler), array, ctypes.c_uint32(len(logits)), ctypes.byref(token))
    return token.value


def shares(logits, temperature, top_k, top_p):
    """The share of each token, by sorting."""
    order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))
    if temperature == 0:
        return {order[0]: 1.0}
    order = order[:top_k] if top_k else order
    weights = {i: math.exp((logits[i] - logits[order[0]]) / temperature) for i in order}
    whole, kept = sum(weights.values()), []
    for i in order:
        if kept and top_p and top_p < 1 and sum(weights[k] for k in kept) >= top_p * whole:
            break
        kept.append(i)
    whole = sum(weights[i] for i in kept)
    return {i: weights[i] / whole for i in kept}


def uniforms(state):
    """splitmix64."""
    mask = (1 << 64) - 1
    while True:
        state = state + 0x9E3779B97F4A7C15 & mask
        x = state
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
        yield ((x ^ x >> 31) >> 11) / 2.0**53


def one_setting(library, rng, count):
    logits = [ctypes.c_float(rng.gauss(0.0, 2.0)).value for _ in range(rng.randrange(2, 40))]
    if rng.random() < 0.3:
        logits[rng.randrange(len(logits))] = -math.inf
    if rng.random() < 0.3:
        logits[rng.randrange(len(logits))] = max(logits)
    temperature = rng.choice([0.0, 0.3, 1.0, 1.7])
    top_k, top_p = rng.choice([0, 0, 1, 3, 10, 100]), rng.choice([0.0, 1.0, 0.2, 0.7, 0.95])
    setting = f"T {temperature}, k {top_k}, p {top_p}, {logits}"
    seed = rng.getrandbits(64)
    sampler = native.Sampler(temperature=temperature, top_k=top_k, top_p=top_p, state=seed)
    tokens = [draw(library, sampler, logits) for _ in range(count)]
    again = native.Sampler(temperature=temperature, top_k=top_k, top_p=top_p, state=seed)
    check("the same seed", tokens[:50] == [draw(library, again, logits) for _ in range(50)], setting)
    expected = shares(logits, temperature, top_k, top_p)
    check("candidates", set(tokens) <= set(expected), (setting, set(tokens) - set(expected)))
    chi = sum((tokens.count(i) - count * p)**2 / (count * p) for i, p in expected.items() if count * p > 5)
    check("shares", chi < len(expected) + 6 * math.sqrt(2 * len(expected)) + 10, (setting, chi))
    if temperature > 0 and top_k != 1:
        sorted_only = top_k or 0 < top_p < 1
        order = sorted(expected, key=lambda i: (-logits[i], i)) if sorted_only else sorted(expected)
        numbers = uniforms(seed)
        for token in tokens[:200]:
            at, share = next(numbers), 0.0
            near, found = False, None
            for i in order:
                share += expected[i]
                near = near or abs(share - at) < 1e-9
                if found is None and at < share:
                    found = i
            check("token by token", near or token == found, (setting, token, found))
    for one in (sampler, again):
        library.generate.vta_sampler_free(ctypes.byref(one))


def refusals(library):
    for logits, setting, text in (([math.nan, 1.0], {}, "the logit of token 0 is"), ([1.0, math.inf], {}, "the logit of token 1 is inf"),
                                  ([-math.inf] * 3, {}, "all logits are -infinity"), ([], {}, "no token"),
                                  ([1.0], {"temperature": -1.0}, "a temperature of -1"),
                                  ([1.0], {"temperature": math.nan}, "a temperature of"), ([1.0], {"top_p": 1.5}, "top-p of 1.5")):
        try:
            draw(library, native.Sampler(**setting), logits)
            check("refused", False, text)
        except native.Refused as refusal:
            check("refused", text in str(refusal), (text, str(refusal)))


def main(folder):
    library, seed = native.Library(folder), word_seed.told()
    rng = random.Random(seed)
    for _ in range(60):
        one_setting(library, rng, 3000)
    refusals(library)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
