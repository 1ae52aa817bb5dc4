#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# seed.sh NAME: the seed of the random test NAME, below 2^24, from the word in VTAC_SEED as in seed.h.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
hash=$(printf '%s %s' "${VTAC_SEED:-}" "$1" | cksum)
echo $((${hash%% *} % 16777216))
