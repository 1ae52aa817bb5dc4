# SPDX-License-Identifier: Apache-2.0
"""The pixels of a PNG of 8-bit red, green and blue, as bytes. Arguments: PNG OUT"""
import struct
import sys
import zlib

with open(sys.argv[1], "rb") as file:
    content = file.read()
at, packed, width, height = 8, b"", 0, 0
while at < len(content):
    size, kind = struct.unpack(">I4s", content[at : at + 8])
    body = content[at + 8 : at + 8 + size]
    if kind == b"IHDR":
        width, height, *rest = struct.unpack(">IIBBBBB", body)
        assert rest == [8, 2, 0, 0, 0], rest
    elif kind == b"IDAT":
        packed += body
    at += size + 12
raw = zlib.decompress(packed)
row, rows = bytearray(3 * width), []
for y in range(height):
    start = y * (3 * width + 1)
    kind, line = raw[start], bytearray(raw[start + 1 : start + 1 + 3 * width])
    for i in range(3 * width):
        left = line[i - 3] if i >= 3 else 0
        up, corner = row[i], row[i - 3] if i >= 3 else 0
        by = {a: abs(left + up - corner - a) for a in (left, up, corner)}
        paeth = left if by[left] <= by[up] and by[left] <= by[corner] else up if by[up] <= by[corner] else corner
        line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
    row = line
    rows.append(bytes(line))
with open(sys.argv[2], "wb") as file:
    file.write(b"".join(rows))
