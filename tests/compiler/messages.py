# SPDX-License-Identifier: Apache-2.0
#
# Messages of protobuf, which the tests of importers write.
import numbers
import struct


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))


def field(number, value):
    """A whole number, a float, text, bytes, or a list of floats, which is packed."""
    if isinstance(value, numbers.Integral):
        return varint(number << 3) + varint(int(value))
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    value = struct.pack("<%df" % len(value), *value) if isinstance(value, list) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(*fields):
    """Of pairs: the number of a field, its value."""
    return b"".join(field(number, value) for number, value in fields)
