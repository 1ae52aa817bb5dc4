#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""image.py PROGRAM IMAGE: a program's bytes, as objcopy -O binary makes them, as soc_boot (hw/soc) wants them in the flash: "VTA1",
their number, the sum of their words of 32 bits, the bytes, filled up to a multiple of 8."""

import pathlib
import sys


def image(data):
    data += bytes(-len(data) % 8)
    total = sum(int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4))
    return b"VTA1" + len(data).to_bytes(4, "little") + (total & 0xFFFFFFFF).to_bytes(4, "little") + data


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_bytes(image(pathlib.Path(sys.argv[1]).read_bytes()))
