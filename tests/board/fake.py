#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fake.py MODE: what is not our agent, on the other end of the line."""
import os
import struct
import sys
import time
import zlib


def frame(kind, ident, content, size=None, crc=None):
    head = b"VTAF" + struct.pack("<III", kind, ident, len(content) if size is None else size)
    return head + struct.pack("<I", zlib.crc32(head + content) if crc is None else crc) + content


def text(words):
    return struct.pack("<I", len(words.encode()) + 1) + words.encode() + b"\0"


def request():
    head = b""
    while len(head) < 20:
        more = os.read(0, 20 - len(head))
        if not more:
            sys.exit(0)
        head += more
    size = struct.unpack("<I", head[12:16])[0]
    while size > 0:
        size -= len(os.read(0, size))
    return struct.unpack("<I", head[8:12])[0]


def hello(protocol):
    return struct.pack("<I", 0) + text("") + struct.pack("<I", protocol) + text("9.9.9") + text("arm")


def reply(content):
    os.write(1, frame(2, request(), struct.pack("<I", 0) + text("") + content))


def tensor(name, rows):
    return text(name) + struct.pack("<IIQIQQ", 0, 8, 3 * rows, 2, rows, 3)


def greedy(workspace, rows):
    """An agent that has the model already; it says what the model needs."""
    reply(hello(1)[9:])
    reply(struct.pack("<I", 1))
    reply(text("net") + text("uio") + struct.pack("<QI", workspace, 1) + tensor("x", rows)
          + struct.pack("<I", 1) + tensor("y", 2) + struct.pack("<II", 0, 0))
    request()


def parcel(words, seconds=0.5):
    """An agent whose model gives one parcel of these words, 64 bits each; its one step has a name that is none."""
    reply(hello(1)[9:])
    reply(struct.pack("<I", 1))
    reply(text("net") + text("uio") + struct.pack("<QII", 0, 0, 1) + text("y")
          + struct.pack("<IIQIQI", 3, 64, 8 * len(words), 1, len(words), 1)
          + text("\x1b]0;title\x07step\x85") + text("op\x1b[31m\u202e") + struct.pack("<IIQQI", 0, 0, 0, 0, 0))
    reply(b"")
    reply(struct.pack("<I", 8 * len(words)) + b"".join(struct.pack("<Q", word) for word in words))
    reply(struct.pack("<IIdQ", 1, 1, seconds, 0))
    request()


mode = sys.argv[1]
if mode == "seconds":
    parcel([111], float(sys.argv[2]))
    sys.exit(0)
if mode == "parcel":
    parcel([int(word, 0) for word in sys.argv[2:]])
    sys.exit(0)
if mode == "greedy":
    greedy(int(sys.argv[2]), int(sys.argv[3]))
    sys.exit(0)
if mode == "chatty":
    os.write(1, b"Welcome to \x1b[31mmy board\n")
ident = request()
answers = {
    "version": frame(2, ident, hello(2) + b"more than this release knows of"),
    "huge": frame(2, ident, hello(1), size=0xFFFFFFFF),
    "damaged": frame(2, ident, hello(1), crc=1),
    "other": frame(2, ident + 1, hello(1)),
    "short": frame(2, ident, hello(1)[:9]),
    "status": frame(2, ident, struct.pack("<I", 4711) + text("")),
    "mute": b"",
    "half": frame(2, ident, hello(1))[:25],
    "flood": b"".join(frame(3, ident, text("\x1b[2J progress\n %d" % i)) for i in range(1000)) + frame(9, ident, b""),
}
sys.stdout.flush()
os.write(1, answers.get(mode, b""))
if mode != "half":
    time.sleep(100)
