#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent that goes away: passes on what client and agent say, and ends once a file is there.

usage: relay.py FILE COMMAND...
"""
import os
import select
import subprocess
import sys


def main():
    agent = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pairs = {0: agent.stdin.fileno(), agent.stdout.fileno(): 1}
    while True:
        for source in select.select(list(pairs), [], [])[0]:
            data = os.read(source, 1 << 16)
            if not data or os.path.exists(sys.argv[1]):
                agent.kill()
                return
            while data:
                data = data[os.write(pairs[source], data):]


main()
