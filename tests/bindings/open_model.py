# SPDX-License-Identifier: Apache-2.0
"""Writes an ONNX model with open sizes, with nothing but Python: y = Relu(x) for x of f32[n,4], and where y is not 0, one column
for each place; or with `reshaped`, the same numbers in the shape that a second input holds, which may not fit.
Arguments: FILE [reshaped]"""
import sys


def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def field(number, value):
    """A field of a message: a number, or text, or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, kind, dims):
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def node(operator, sources, result):
    return b"".join(field(1, source) for source in sources) + field(2, result) + field(3, result) + field(4, operator)


FLOAT, INT64 = 1, 7
x = field(11, tensor("x", FLOAT, ["n", 4]))
y = field(1, node("Relu", ["x"], "y"))
if sys.argv[2:] == ["reshaped"]:
    graph = (y + field(1, node("Reshape", ["y", "s"], "z")) + field(2, "reshaped") + x + field(11, tensor("s", INT64, [2]))
             + field(12, tensor("z", FLOAT, ["a", "b"])))
else:
    graph = (y + field(1, node("NonZero", ["y"], "z")) + field(2, "open") + x + field(12, tensor("y", FLOAT, ["n", 4]))
             + field(12, tensor("z", INT64, [2, "m"])))
with open(sys.argv[1], "wb") as file:
    file.write(field(1, 8) + field(7, graph) + field(8, field(2, 17)))
