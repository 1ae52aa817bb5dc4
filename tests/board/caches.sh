#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # of lib.sh
#
# What host and device write into the same buffers, on a virtual board whose cache evicts and fetches lines at any time.
# Arguments: VTAC SOURCE TEST: the program caches_test.c.
# shellcheck source=tests/board/lib.sh
. "$(dirname "$0")/lib.sh"
test=$3

# everyone DEVICE
everyone() {
    ran="$test $1"
    "$test" "$1" >out 2>err
    holds "host and device keep what they wrote on $1" test $? = 0
}
everyone fsim:tiny
board b --config tiny
everyone uio:b
everyone uio:b
end "$board_pid"
board c --config tiny --coherent
everyone uio:c
end "$board_pid"
board m --config tiny --plain
everyone uio:m
end "$board_pid"
finish
