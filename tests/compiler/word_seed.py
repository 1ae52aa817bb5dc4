# SPDX-License-Identifier: Apache-2.0
#
# The seed of a random test in Python, of the word in VTAC_SEED.
import os


def number(count=4):
    """What the last characters of the word say."""
    return int.from_bytes(os.environ.get("VTAC_SEED", "7").encode()[-count:], "little")


def told():
    """The number, which is printed first."""
    seed = number()
    print("seed %d" % seed)
    return seed
