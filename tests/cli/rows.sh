#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# softmax.vasm and layernorm.vasm compute what their first lines say: against doubles, with their own rows and with random ones.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

here=$source/tests/cli
seed=$("$source/tests/lib/seed.sh" cli_rows)
echo "seed $seed"

# runs PROGRAM INPUT LISTING [OPTION...]
runs() {
    file=$1 symbol=$2 listing=$3
    shift 3
    vtac exec "$file" --device 'fsim?strict=1' --show "$symbol" --show y "$@"
    exits 0
    cp out "$listing"
}

for pair in softmax:scores layernorm:x; do
    program=${pair%:*} input=${pair#*:}
    cp "$source/isa/programs/$program.vasm" .
    vtac check "$program.vasm"
    exits 0
    runs "$program.vasm" "$input" "$program.0"
    # The same with other rows, of which nothing is expected.
    sed '/^\.expect/,/^}/d' "$program.vasm" >other.vasm
    for width in 3 20 100 255; do
        python3 -c 'import random, sys
name, seed, width, path = sys.argv[1:]
source = random.Random("%s %s %s" % (name, seed, width))
rows = []
for row in range(8):
    low = source.randint(-128, 127 - int(width) // 2)
    rows += [max(-128, min(127, source.randint(low, low + int(width)))) & 255 for _ in range(64)]
open(path, "wb").write(bytes(rows))' "$program" "$seed" "$width" rows.bin
        runs other.vasm "$input" "$program.$width" --mem "rows.bin@$input"
    done
    holds "$program computes what it says" python3 "$here/rows.py" "$program" "$program".[0-9]*
    cat held
done
finish
