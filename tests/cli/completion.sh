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


vtac completion zsh
exits 0
silent err
cp out _vtac
holds "zsh can read it" zsh -n _vtac
: >config.json
holds "zsh completes a line that is typed" timeout 120 zsh -f "$(dirname "$0")/completion.zsh" "$PWD/_vtac" \
    'vtac ex' explore 'vtac exec --dev' --device 'vtac exec --device fs' fsim 'vtac config sho' show \
    'vtac config check co' config.json 'vtac asm --config ti' tiny 'vtac check so' some.vasm 'vtac zoo --la' --layers

vtac completion fish
exits 0
silent err
cp out vtac.fish
holds "fish can read it" fish -n vtac.fish

# fish_offers LINE WORD...: fish offers these behind the line.
fish_offers() {
    ran="fish's completion of '$1'"
    HOME=$PWD fish --no-config -c "source vtac.fish; complete -C'$1'" | cut -f 1 >out
    shift
    for word in "$@"; do
        says out "$word"
    done
}
fish_offers 'vtac ex' exec explain explore
fish_offers 'vtac --v' --version
fish_offers 'vtac exec --d' --device --dump
fish_offers 'vtac exec --device fs' fsim
fish_offers 'vtac config s' show
fish_offers 'vtac asm --config t' tiny
fish_offers 'vtac help di' diff disasm
fish_offers 'vtac check so' some.vasm

vtac completion tcsh
refused 2 "vtac completion: no completion for 'tcsh'; there are 'bash', 'zsh' and 'fish'"
vtac completion
refused 2 "vtac completion: expected bash|zsh|fish"
finish
