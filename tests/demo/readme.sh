#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# What the README shows of `./run demo` is what its commands print: each is run as it stands there, and what follows it there is what
# it prints, line by line; "..." stands for lines that are left out, "(abridged)" output may end early.
# Arguments: VTAC SOURCE SHAPES
. "$(dirname "$0")/../cli/lib.sh"
shapes=$3
cp -r "$source/compiler/demo/pictures" "$source/compiler/demo/shapes.onnx" .
"$shapes" names >names.txt
"$shapes" draw --pictures 64 --seed 2 -o calibration || wrong "shapes draw failed"
vtac quantize shapes.onnx --calib calibration --preprocess tf -o int8.onnx
exits 0
vtac compile shapes.onnx -o float.so
exits 0
vtac compile int8.onnx -o host.so
exits 0
vtac compile int8.onnx --target vta -o shapes.so
exits 0
vtac zoo resnet18 --int8 -o resnet18.onnx
exits 0
vtac compile resnet18.onnx --target vta -o resnet18.so
exits 0
cat >shown.py <<'END'
import json, os, re, subprocess, sys
vtac, shapes, readme = sys.argv[1:]
bins = {"vtac": vtac, "shapes": shapes}
blocks = re.findall(r"^```\n(== .*?)^```$", open(readme).read(), re.S | re.M)
shown = [part.splitlines() for block in blocks for part in re.split(r"^== ", block, flags=re.M)[1:]]
assert [lines[0].split()[:2] for lines in shown] == [["shapes", "classify"], ["shapes", "score"], ["vtac", "run"], ["vtac", "run"]], shown
kept = json.load(open("kept.json")) if os.path.exists("kept.json") else {}
stale = []
for lines in shown:
    program, _, words = lines[0].partition(" ")
    if lines[0] not in kept:
        kept[lines[0]] = subprocess.run(f"'{bins[program]}' {words}", shell=True, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    printed = iter(kept[lines[0]].splitlines())
    skips = False
    for line in lines[1:]:
        if not line or line == "...":
            skips = line == "..."
            continue
        found = next((p for p in printed if p == line or not skips), None)
        skips = False
        if found != line:
            stale.append(f"== {lines[0]}\n  the README has  {line!r}\n  it prints       {found!r}")
            break
json.dump(kept, open("kept.json", "w"))
print("\n".join(stale))
sys.exit(1 if stale else 0)
END
ran="the README's figures"
holds "they are what the commands print" python3 shown.py "$vtac_program" "$shapes" "$source/README.md"
sed 's/^\([0-9]*\)[0-9]\( cycles on tsim\)/\1x\2/' "$source/README.md" >changed.md
holds "a stale one is found" sh -c '! python3 shown.py "$1" "$2" changed.md' sh "$vtac_program" "$shapes"
finish
