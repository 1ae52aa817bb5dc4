# SPDX-License-Identifier: Apache-2.0
"""weights4.py FOLDER: y in FOLDER is what x, w, factors and last there make of weights4.vasm's first lines, in exact fractions."""
import fractions
import pathlib
import struct
import sys

ROWS, INPUTS, COLUMNS, GROUPS = 8, 128, 16, 4
folder = pathlib.Path(sys.argv[1])


def read(name, code):
    data = (folder / name).read_bytes()
    return struct.unpack("<%d%s" % (len(data) // struct.calcsize(code), code), data)


def weights():
    """Of each column, its weights in the order of the inputs: tiles of 16 x 16, the lower four bits of a byte first."""
    columns = [[] for _ in range(COLUMNS)]
    both = [half for byte in read("w", "B") for half in (byte & 15, byte >> 4)]
    for at, value in enumerate(both):
        columns[at // 16 % 16].append(value - 16 if value > 7 else value)
    return columns


def scaled(value, word):
    return round(fractions.Fraction(value * (word & 0xffffff), 1 << (word >> 24 & 63)))  # halves to even


def result(row, column, weight, factors, last):
    total = 0
    for group in range(GROUPS):
        part = range(INPUTS // GROUPS * group, INPUTS // GROUPS * (group + 1))
        total += scaled(sum(row[i] * weight[i] for i in part), factors[2 * group * COLUMNS + COLUMNS + column])
    return max(-128, min(127, scaled(total + last[column], last[COLUMNS + column]) + 3))


x, factors, last, y = read("x", "b"), read("factors", "i"), read("last", "i"), read("y", "b")
w = weights()
wrong = [(r, c) for r in range(ROWS) for c in range(COLUMNS)
         if result(x[r * INPUTS:(r + 1) * INPUTS], c, w[c], factors, last) != y[r * COLUMNS + c]]
if wrong or len(set(y)) < 20:
    sys.exit("%d of %d results are others, the first at %s; %d distinct ones" % (len(wrong), len(y), wrong[:1], len(set(y))))
print("%d results, %d distinct ones" % (len(y), len(set(y))))
