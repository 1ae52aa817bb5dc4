#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# records.sh VTAC SOURCE: the schedules that come with vtac. Each line is a record that was proved, or estimated for a
# processor of a board; they are taken for their target alone and not with --no-records, one that is given counts before them, and the results stay what they were.
. "$(dirname "$0")/../cli/lib.sh"
seed=$(sh "$source/tests/lib/seed.sh" records)
echo "seed $seed"

holds "the records are sound" python3 - "$source" "$("$vtac_program" --version)" <<'END'
import glob, json, os, sys
keys, hosts = set(), set()
for path in glob.glob(sys.argv[1] + "/compiler/records/*.jsonl"):
    for line in open(path):
        r = json.loads(line)
        how = "estimated" if "cortex" in r["target"] else "proved"
        assert set(r) == {"kernel", "shape", "target", "version", "point", "cost", how} and r[how] is True, line
        assert r["cost"] > 0 and sys.argv[2].startswith("vtac " + r["version"]), line
        key = r["kernel"], r["shape"], r["target"]
        assert key not in keys, line
        assert os.path.basename(path)[:-6] in r["target"], line
        keys.add(key)
assert len(keys) >= 10, len(keys)
END

# Winograd's way sums in another order: an output is off by less than 4e-6 of the largest.
cat >near.py <<'END'
import glob, os, sys
import numpy as np

files = glob.glob(sys.argv[1] + "/*.npy")
assert files
for path in files:
    a, b = np.load(path).astype(float), np.load(os.path.join(sys.argv[2], os.path.basename(path))).astype(float)
    assert a.shape == b.shape and np.abs(a - b).max() <= 4e-6 * np.abs(b).max(), (path, np.abs(a - b).max())
END

# taken: of the last compilation, how many schedules are not the standard ones
taken() { sed 's/.*"tuned": \([0-9]*\),.*/\1/' out; }
number=0
for net in ic:tiny_ic squeeze:squeezenet1_1; do
    name=${net%:*}
    vtac zoo "${net#*:}" -o "$name.onnx"
    exits 0
    vtac compile "$name.onnx" --json -o shipped.so
    exits 0
    holds "records are taken for $name" test "$(taken)" -gt 0
    vtac compile "$name.onnx" --no-records --json -o plain.so
    exits 0
    holds "none without them" test "$(taken)" = 0
    holds "another code" sh -c '! cmp -s shipped.so plain.so'
    for draw in 1 2; do
        number=$((number + 1))
        for kind in shipped plain; do
            vtac run $kind.so --seed "$seed$draw" --output-dir $kind$number
            exits 0
        done
        holds "the same numbers but for their last bits, $name, draw $draw" /usr/bin/python3 near.py shipped$number plain$number
    done
    for host in x86-64-v2 ultra96; do # another processor has none, or its own
        vtac compile "$name.onnx" --host "$host" --json -o other.so
        exits 0
        holds "records for $host" test "$(taken)" "$([ "$host" = ultra96 ] && echo -gt || echo "=")" 0
    done
done

# One that is given counts first, even where it says that the standard is best.
vtac compile ic.onnx --no-records --json -o plain.so
sed 's/"point": "[^"]*"/"point": "rows=1 columns=4 vectors=2 outside=1"/' "$source/compiler/records/x86-64-v3.jsonl" >given.jsonl
vtac compile ic.onnx --tuned given.jsonl --json -o given.so
exits 0
given=$(taken)
vtac compile ic.onnx --tuned given.jsonl --no-records --json -o alone.so
exits 0
holds "given ones alone decide" test "$(taken)" = "$given"
holds "and make the same code" cmp given.so alone.so
finish
