#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The seal of compiled models, for tests that damage what it guards and seal it anew."""
import struct


def seal_of(content):
    """The hash at the end of a compiled model (vta/artifact.h)."""
    value, prime, mask = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1
    whole = len(content) // 8
    for word in struct.unpack("<%dQ" % whole, content[: 8 * whole]):
        value = (value ^ word) * prime & mask
        value ^= value >> 32
    for byte in content[8 * whole :]:
        value = (value ^ byte) * prime & mask
    return value
