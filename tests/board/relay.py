#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""relay.py MODE NUMBER COMMAND...: a bad line between a client and an agent.

slow N       N bytes a second, in small pieces
cut-to N     the line ends after N bytes to the agent; cut-from N: after N bytes from it
flip-to N    bit 0 of byte N to the agent is wrong; flip-from N: of byte N from it
"""
import os
import subprocess
import sys
import threading
import time

mode, number, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def carry(source, sink, way):
    done = 0
    while True:
        data = os.read(source, 4096)
        if not data:
            break
        if mode == "cut" + way and done + len(data) >= number:
            os.write(sink, data[: number - done])
            return
        if mode == "flip" + way and done <= number < done + len(data):
            data = bytearray(data)
            data[number - done] ^= 1
        done += len(data)
        for at in range(0, len(data), 512):
            piece = memoryview(data)[at : at + 512]
            while piece:
                piece = piece[os.write(sink, piece) :]
            if mode == "slow":
                time.sleep(512 / number)


def run(source, sink, way):
    try:
        carry(source, sink, way)
    except OSError:
        pass
    os.close(sink)


there = threading.Thread(target=run, args=(0, agent.stdin.fileno(), "-to"), daemon=True)
back = threading.Thread(target=run, args=(agent.stdout.fileno(), 1, "-from"), daemon=True)
there.start()
back.start()
if mode == "cut-from":
    back.join()  # the line is dead: both directions, at once
else:
    agent.wait()
    back.join()
os._exit(0)
