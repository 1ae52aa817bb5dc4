# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
#
# Read by shell scripts that set `fpga` to this folder: the table boards.txt.

# boards: the names of all boards, in a line.
boards() { awk '!/^#/ && NF { printf "%s%s", sep, $1; sep = " " } END { print "" }' "$fpga/boards.txt"; }

# board_is NAME COLUMN: what the table says of a board in that column (2: family, 4: configuration); nothing where it has no such board.
board_is() { awk -v name="$1" -v column="$2" '!/^#/ && $1 == name { print $column }' "$fpga/boards.txt"; }
