#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# manuals.sh VTAC FOLDER VERSION SECONDS: the manual pages of `vtac` and of its verbs, compressed, in FOLDER.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
vtac=$1
folder=$2
version=$3
seconds=$4
mkdir -p "$folder"

write_page() { # NAME WHAT WORD…
    name=$1
    what=$2
    shift 2
    "$here/man.sh" "$name" "$what" "$version" "$seconds" "$vtac" "$@" | gzip -9n >"$folder/$name.1.gz"
}

write_page vtac 'compile models for an open accelerator, and run them' --help
for verb in $("$vtac" --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p'); do
    what=$("$vtac" --help | sed -n "s/^  $verb  *//p")
    [ "$verb" = help ] || write_page "vtac-$verb" "$what" "$verb" --help
done
