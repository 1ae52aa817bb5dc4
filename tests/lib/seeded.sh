#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# seeded.sh NAME PROGRAM ARG...: a Python test with the seed that follows from VTAC_SEED and its name as the last argument.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
name=$1
shift
exec /usr/bin/python3 -B "$@" "$("$(dirname "$0")/seed.sh" "$name")"
