# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034  # for the scripts that source this
#
# Sourced by scripts of a folder beside this one: the words of tests/cli/lib.sh, virtual boards, and what must not be left
# running.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
here=$source/tests/board
boards=

# board DIR OPTION...: starts one and waits until it serves; it is ended with the test.
board() {
    dir=$1
    shift
    ran="vtac board --dir $dir $*"
    : >"$dir.log"
    "$vtac_program" board --dir "$dir" "$@" >"$dir.log" 2>"$dir.err" &
    board_pid=$!
    boards="$boards $board_pid"
    tries=0
    until grep -q ready "$dir.log"; do
        tries=$((tries + 1))
        if [ $tries -gt 1800 ] || ! kill -0 "$board_pid" 2>/dev/null; then
            cp "$dir.log" out
            cp "$dir.err" err
            wrong "the board does not start"
            return
        fi
        sleep 0.1
    done
}

# register DIR OFFSET: a word of the board's registers, as a number.
register() { od -An -tu4 -j "$2" -N 4 "$1/dev/uio0" | tr -d ' '; }

# runs DIR: the board's accelerator is at work; rests DIR: it is not.
runs() { [ $(($(register "$1" 20) & 1)) = 1 ]; }
rests() { [ "$(register "$1" 20)" = 0 ]; }

# has_open PID FILE: a process has the file open.
has_open() {
    file=$(readlink -f "$2")
    for link in "/proc/$1/fd"/*; do
        [ "$(readlink "$link")" != "$file" ] || return 0
    done
    return 1
}

# end PID: a process of ours ends when it is asked to, with status 0.
end() {
    checks=$((checks + 1))
    kill -TERM "$1"
    wait "$1" || wrong "process $1 ended with status $?"
}

# Whatever of ours still runs goes with the test.
clean_up() {
    for pid in $boards; do
        kill -KILL "$pid" 2>/dev/null
    done
    rm -rf "$work"
}
trap clean_up EXIT

# value FILE KEY: a number of a flat JSON document.
value() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"
}

# nobody WORD: no process has WORD in its command line (ours has, in this script's arguments: it is not counted).
nobody() {
    checks=$((checks + 1))
    tries=0
    while :; do
        # shellcheck disable=SC2009  # pgrep does not leave out what asks
        left=$(ps -e -o pid= -o args= | grep -F -- "$1" | grep -v -e grep -e "^ *$$ " || true)
        [ -n "$left" ] || return 0
        tries=$((tries + 1))
        if [ $tries -gt 100 ]; then
            wrong "still runs: $left"
            return 0
        fi
        sleep 0.1
    done
}
