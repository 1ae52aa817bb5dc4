# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# Read by scripts that have Yosys work on hw/. Yosys parts words at blanks, and its ABC finds no files in a folder whose name has one.
case ${TMPDIR:-} in *[[:space:]]*) unset TMPDIR ;; esac

# Goes to hw/ of $root, names $headers and $work as seen from there, without what stands above the sources, and sets $dirs.
# shellcheck disable=SC2034,SC2154,SC2164  # from and for whoever reads it, with set -e
in_hw() {
    cd "$root/hw"
    headers=$(realpath --relative-to=. "$headers")
    work=$(realpath --relative-to=. "$work")
    dirs="-I$headers -Iinclude $(find rtl -type d | sort | sed 's/^/-I/' | tr '\n' ' ')"
}
