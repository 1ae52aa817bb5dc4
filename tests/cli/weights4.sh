#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# weights4.vasm computes what its first lines say, with its own weights and inputs and with random ones.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

here=$source/tests/cli
seed=$("$source/tests/lib/seed.sh" cli_weights4)
echo "seed $seed"

# runs PROGRAM FOLDER [OPTION...]
runs() {
    file=$1 folder=$2
    shift 2
    mkdir "$folder"
    for symbol in x w factors last y; do
        set -- "$@" --dump "$symbol=$folder/$symbol"
    done
    vtac exec "$file" --device 'fsim?strict=1' "$@"
    exits 0
    holds "weights4 computes what it says" python3 "$here/weights4.py" "$folder"
    cat held
}

cp "$source/isa/programs/weights4.vasm" .
vtac check weights4.vasm
exits 0
runs weights4.vasm own
sed '/^\.expect/,/^}/d' weights4.vasm >other.vasm
python3 -c 'import random, sys
source = random.Random(sys.argv[1])
for name, size in (("x", 1024), ("w", 1024)):
    open(name + ".bin", "wb").write(bytes(source.randrange(256) for _ in range(size)))' "$seed"
runs other.vasm others --mem x.bin@x --mem w.bin@w
finish
