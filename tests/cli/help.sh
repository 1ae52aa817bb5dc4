#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

vtac help
exits 0
silent err
verbs=$(sed -n 's/^  \([a-z]*\) .*/\1/p' out)
cp out overview
vtac --help
exits 0
holds "help and --help are the same" cmp out overview

holds "there are verbs" test -n "$verbs"
for verb in $verbs; do
    vtac "$verb" --help
    exits 0
    silent err
    says out "vtac $verb"
    cp out by_option
    holds "the help of $verb fits 24 lines" test "$(wc -l <by_option)" -le 24
    holds "the help of $verb fits 80 columns" test "$(awk '{ if (length > most) most = length } END { print most }' by_option)" -le 80
    vtac help "$verb"
    exits 0
    holds "'help $verb' and '$verb --help' are the same" cmp out by_option
done

vtac --version
exits 0
says out "vtac 1.0.0, instruction set 2.3"
cp out by_option
vtac version
exits 0
holds "'version' and '--version' are the same" cmp out by_option

vtac
refused 2 "vtac: expected a verb (try 'vtac help')"
vtac exce
refused 2 "vtac: unknown verb 'exce'; did you mean 'exec'? (try 'vtac help')"
vtac --versoin
refused 2 "vtac: unknown option '--versoin'; did you mean '--version'? (try 'vtac help')"
vtac help nothing
refused 2 "vtac help: unknown verb 'nothing'"
vtac help a b
refused 2 "vtac help: unexpected 'b'"

# A full disk is noticed.
if [ -e /dev/full ]; then
    ran="vtac help >/dev/full"
    "$vtac_program" help >/dev/full 2>err
    status=$?
    : >out
    refused 1 "vtac: cannot write to standard output"
fi

# Without standard input and output no file that is opened gets their numbers: what is printed would go into it, and for
# this verb into the weights of the model.
for closed in '>&-' '<&- >&-'; do
    ran="vtac zoo tiny_ad --int8 $closed"
    eval '"$vtac_program" zoo tiny_ad --int8 -o m.onnx' "$closed" 2>err
    status=$?
    : >out
    refused 1 "vtac: cannot write to standard output: Bad file descriptor"
done
finish
