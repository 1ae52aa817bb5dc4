# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the tests of vtac: `sh VERB.sh VTAC SOURCE`. `vtac WORD...` runs it; the others look at what came of it.
# A test that sees something else than it should says what, and the script goes on and fails at its end.
set -u
vtac_program=$1
# shellcheck disable=SC2034  # for the scripts that source this
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset NO_COLOR
VTA_CHECK=0 # programs that a device must refuse by itself reach it in every build
export VTA_CHECK
PYTHONPATH=$source/tests/lib PYTHONDONTWRITEBYTECODE=1 # terminal.py
export PYTHONPATH PYTHONDONTWRITEBYTECODE
failures=0
checks=0
status=
ran=

vtac() {
    ran="vtac $*"
    "$vtac_program" "$@" >out 2>err
    status=$?
}

wrong() {
    failures=$((failures + 1))
    printf '%s: %s\n' "$ran" "$*"
    cite out head
    cite err head
}

# cite FILE head|tail: 20 lines of what a program wrote there.
cite() {
    [ ! -e "$1" ] || sed "s/^/    $1: /" "$1" | "$2" -n 20
}

# exits STATUS: the last run ended with it.
exits() {
    checks=$((checks + 1))
    [ "$status" = "$1" ] || wrong "exit status $status instead of $1"
}

# says out|err TEXT: the stream has a line with the text.
says() {
    checks=$((checks + 1))
    grep -qF -- "$2" "$1" || wrong "std$1 does not say '$2'"
}

# silent out|err: nothing was written there.
silent() {
    checks=$((checks + 1))
    [ ! -s "$1" ] || wrong "std$1 is not empty"
}

# one_line err: a message is one line.
one_line() {
    checks=$((checks + 1))
    [ "$(wc -l <"$1")" = 1 ] || wrong "std$1 is not one line"
}

# good_json out|err: one well-formed document.
good_json() {
    checks=$((checks + 1))
    python3 -m json.tool "$1" >/dev/null 2>&1 || wrong "std$1 is not JSON"
}

# holds WHAT COMMAND...: the command succeeds.
holds() {
    checks=$((checks + 1))
    what=$1
    shift
    "$@" >held 2>&1 && return
    failures=$((failures + 1))
    printf '%s: does not hold: %s\n' "$what" "$*"
    cite held tail # a traceback ends with its cause
}

# refused STATUS TEXT: the last run failed so, in one line on stderr alone.
refused() {
    exits "$1"
    says err "$2"
    one_line err
    silent out
}

finish() {
    printf '%d checks, %d failures\n' "$checks" "$failures"
    [ "$checks" -gt 0 ] && [ "$failures" = 0 ]
    exit
}
