#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

vtac completion bash
exits 0
silent err
cp out vtac.bash
holds "bash can read it" bash -n vtac.bash

# offers WORDS... -- EXPECTED...: completing the last word offers these.
offers() {
    words=
    while [ "$1" != -- ]; do
        words="$words '$1'"
        shift
    done
    shift
    ran="completion of$words"
    bash -c ". ./vtac.bash; COMP_WORDS=($words); COMP_CWORD=\$((\${#COMP_WORDS[@]} - 1)); _vtac; printf '%s\n' \"\${COMPREPLY[@]}\"" >out 2>err
    silent err
    for word in "$@"; do
        says out "$word"
    done
}
offers vtac ex -- exec
offers vtac --v -- --version
offers vtac exec --d -- --device --dump
offers vtac exec --device fs -- fsim
offers vtac asm --config t -- tiny
offers vtac config s -- show
offers vtac help di -- disasm
: >some.vasm
offers vtac exec so -- some.vasm
offers vtac check --mem so -- some.vasm

vtac completion fish
refused 2 "vtac completion: no completion for 'fish'; there is 'bash'"
vtac completion
refused 2 "vtac completion: expected bash"
finish
