# SPDX-License-Identifier: Apache-2.0
"""rows.py softmax|layernorm LISTING...: what a program of isa/programs makes of its rows, against the same in doubles.

A LISTING is what `vtac exec --show` prints of its input and its output. A value may differ from the double by its own rounding, half
a unit, and by what ISA.md's functions on rows may be off. How many are equal to the rounded double says nothing: a row of few
distinct numbers has one that lies near the middle of two units many times."""
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
    """Scores in units of 1/16 to int8: probabilities in units of 1/256, less 128; and how far off each may be.

    An exponent is rounded to 1/4096, the two factors of exp2 to 2^-15, their product to 2^-16; recip has 17 bits of its operand and
    leaves 15."""
    powers = [math.exp((x - max(row)) / 16) for x in row]
    whole = sum(powers)
    power = math.log(2) / 8192 + 2 ** -15       # relative; and 2^-17 of the largest power
    relative = 2 * power + COLUMNS * 2 ** -17 / whole + 2 ** -17 + 2 ** -15
    return [(min(255, 256 * p / whole) - 128, 256 * (p * relative + 2 ** -17) / whole) for p in powers]


def layernorm(row):
    """To int8 in units of 1/32, each column with its gain and shift; and how far off each may be.

    All sums are exact; root and recip_root leave 15 bits, the quotient is rounded to 2^-14, a column's shift cut off there."""
    mean = sum(row) / COLUMNS
    deviation = math.sqrt(sum((x - mean) ** 2 for x in row) / COLUMNS + 1 / 4096)
    made = []
    for c, x in enumerate(row):
        gain, quotient = 32 * (64 + c) / 96, (x - mean) / deviation
        off = gain * (abs(quotient) * 2 ** -14 + 2 ** -15 + 2 ** -14)
        made.append((max(-128, min(127, quotient * gain + 4 * (c % 11 - 5))), off))
    return made


def values(function, name, path):
    """What the program has made, and what it should have, with bounds."""
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
    count, wrong, largest = 0, 0, 0.0
    for path in paths:
        got, want = values(function, name, path)
        for at, (y, (value, bound)) in enumerate(zip(got, want)):
            beyond = abs(y - value) - 0.5
            count, largest = count + 1, max(largest, beyond)
            if beyond > bound:
                wrong += 1
                print("%s: %s, value %d: %d for %.5f, which may be off by %.5f" % (kind, path, at, y, value, bound))
    print("%s: %d values, at most %.5f of a unit beyond rounding, %d wrong" % (kind, count, largest, wrong))
    if wrong:
        sys.exit(1)


main()
