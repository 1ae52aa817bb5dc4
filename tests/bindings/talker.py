#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent that only talks: it greets, says a line of progress, and is gone."""
import os
import struct
import zlib


def text(words):
    return struct.pack("<I", len(words) + 1) + words.encode() + b"\0"


def send(kind, ident, content):
    head = b"VTAF" + struct.pack("<III", kind, ident, len(content))
    os.write(1, head + struct.pack("<I", zlib.crc32(head + content)) + content)


def take(size):
    while size > 0:
        got = os.read(0, size)
        size = size - len(got) if got else 0


def request():
    head = os.read(0, 20)  # written at once
    take(struct.unpack("<I", head[12:16])[0])


request()
send(2, 1, struct.pack("<I", 0) + text("") + struct.pack("<I", 1) + text("9.9.9") + text("arm"))
request()
send(3, 2, text("there is something to wait for"))
