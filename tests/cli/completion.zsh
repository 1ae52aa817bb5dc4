# SPDX-License-Identifier: Apache-2.0
#
# completion.zsh SCRIPT LINE WORD...: types each LINE and a tab into a zsh on a terminal of its own; WORD must be shown.
zmodload zsh/zpty
zpty typed zsh -f -i
zpty -w typed "autoload -Uz compinit; compinit -u -D; source $1; PROMPT=; echo REA''DY"
zpty -r typed shown '*READY*'
shift
while (( $# )); do
    zpty -w -n typed "$1"$'\t'
    zpty -r typed shown "*$2*" || exit 1
    zpty -w -n typed $'\025' # takes the line back
    shift 2
done
zpty -d typed
