#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every shipped program, and the example of isa/ASM.md, does what it says: as text, as a container, as its own disassembly.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir texts
cp "$source"/isa/programs/*.vasm texts
holds "there are at least five programs" test "$(find texts -name '*.vasm' | wc -l)" -ge 5
# shellcheck disable=SC2016  # the quotes are Markdown's
sed -n '/^```$/,/^```$/p' "$source/isa/ASM.md" | sed '/^```$/d' >texts/example.vasm
for text in texts/*.vasm; do
    vtac exec "$text" --device 'fsim?strict=1'
    exits 0
    says out ": ok, "
    vtac asm "$text" -o program.bin
    exits 0
    vtac exec program.bin
    exits 0
    says out ": ok, "
    vtac disasm program.bin -o listing.vasm
    exits 0
    vtac exec listing.vasm
    exits 0
    says out ": ok, "
done
finish
