#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# man.sh NAME WHAT VERSION SECONDS COMMAND…: a manual page that says what the command says when asked for help.
set -eu
name=$1
what=$2
version=$3
day=$(date -u -d "@$4" +%Y-%m-%d)
shift 4
escape() { sed 's/\\/\\e/g; s/-/\\-/g; s/^\([.'"'"']\)/\\\&\1/'; }
printf '.TH "%s" 1 "%s" "vtac %s" "User Commands"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n' \
    "$(echo "$name" | tr '[:lower:]' '[:upper:]' | escape)" "$day" "$version" "$(echo "$name" | escape)" "$(echo "$what" | escape)"
"$@" | escape
printf '.fi\n.SH "SEE ALSO"\n.BR vtac (1)\n'
