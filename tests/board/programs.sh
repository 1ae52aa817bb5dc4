#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # of lib.sh
#
# Programs are copied, checked, and run from the copy: on virtual boards, where the processor's view of a program is not
# the accelerator's, and through an agent. Arguments: VTAC SOURCE AGENT TEST: the program programs_test.c.
# shellcheck source=tests/board/lib.sh
. "$(dirname "$0")/lib.sh"
agent=$3
test=$4

# checked DEVICE
checked() {
    ran="$test $1"
    "$test" "$1" >out 2>err
    holds "on $1 what was checked is what runs" test $? = 0
}
checked "fsim:tiny?check=1"
board b --config tiny
checked "uio:b?check=1"
checked "pipe:'$agent' --stdio?device=uio:b"
end "$board_pid"
board m --config tiny --plain
checked "uio:m?check=1"
checked "pipe:'$agent' --stdio?device=uio:m"
end "$board_pid"
finish
