# SPDX-License-Identifier: Apache-2.0
"""rows.py softmax|layernorm LISTING...: what a program of isa/programs makes of its rows, against the same in doubles.

A LISTING is what `vtac exec --show` prints of its input and its output. At most one unit off, equal in 99.5 % of the values."""
import math
import re
import sys

ROWS = 8
COLUMNS = 64


def contents(text, name):
    """Of a symbol: a list in braces with runs in it, or one run that fills it."""
    items = re.search(r"\.expect %s = (\{[^}]*\}|fill\(-?\d+\))" % name, text).group(1)
    runs = re.findall(r"fill\((-?\d+)(?:, (\d+))?\)|(-?\d+)", items)
    whole = ROWS * COLUMNS
    return [int(value or filled) for filled, count, value in runs for _ in range(int(count or (1 if value else whole)))]


def softmax(row):
    """Scores in units of 1/16 to int8: probabilities in units of 1/256, less 128."""
    powers = [math.exp((x - max(row)) / 16) for x in row]
    return [min(255, round(256 * p / sum(powers))) - 128 for p in powers]


def layernorm(row):
    """To int8 in units of 1/32, each column with its gain and shift."""
    mean = sum(row) / COLUMNS
    deviation = math.sqrt(sum((x - mean) ** 2 for x in row) / COLUMNS + 1 / 4096)
    values = [(x - mean) / deviation * (64 + c) / 96 + (c % 11 - 5) / 8 for c, x in enumerate(row)]
    return [max(-128, min(127, round(32 * value))) for value in values]


def values(function, name, path):
    """What the program has made, and what it should have."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    given = contents(text, name)
    got = contents(text, "y")
    if not len(got) == len(given) == ROWS * COLUMNS:
        sys.exit("%s: %d values of %d" % (path, len(got), len(given)))
    return got, [y for at in range(0, len(given), COLUMNS) for y in function(given[at:at + COLUMNS])]


def main():
    kind, paths = sys.argv[1], sys.argv[2:]
    function, name = {"softmax": (softmax, "scores"), "layernorm": (layernorm, "x")}[kind]
    off = []
    for path in paths:
        got, want = values(function, name, path)
        off += [abs(a - b) for a, b in zip(got, want)]
    equal = off.count(0) / len(off)
    print("%s: %d values, at most %d off, %.2f %% equal" % (kind, len(off), max(off), 100 * equal))
    if max(off) > 1 or equal < 0.995:
        sys.exit(1)


main()
