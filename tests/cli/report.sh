#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# vtac report: the pages of other verbs in one folder, and one that leads to each; twice, for a model of integers and for one of floats.
# Links are followed where there is a chromium.
. "$(dirname "$0")/lib.sh"

small_net small.onnx 6 5 6
vtac zoo tiny_ad -o floats.onnx
# One that takes long tells each half minute where it is, in lines where standard error is no terminal: this one stands still meanwhile.
"$vtac_program" report small.onnx -o slow --config tiny --device fsim:tiny --trials 4 --limit 30 >slow.out 2>slow.err &
slow=$!
began=$(date +%s)
until_so "a report says at once what it does" grep -q "^vtac report: small.onnx: pages go to 'slow'; " slow.err
kill -STOP $slow

vtac report small.onnx -o first --config tiny --device fsim:tiny --trials 4 --limit 30
exits 0
says out "first/index.html: all of them"
says err "vtac report: small.onnx: pages go to 'first'; "
holds "all that it writes is told" sh -c 'for file in graph.html profile.html tune.html explore/front.html index.html; do
    grep -q "^first/$file: " out || exit 1
done'
vtac report floats.onnx -o second --device fsim:pynq --trials 0 --limit 0
exits 0
says out "second/int8.onnx: the model in 8 bits"
holds "a model of floats was quantized" test -s second/int8.onnx -a ! -e first/int8.onnx
holds "what is not asked for is not made" test ! -e second/tune.html -a ! -e second/explore
for folder in first second; do
    holds "the links of $folder lead to its pages" python3 - $folder <<'X'
import json, os, re, sys
text = open(f"{sys.argv[1]}/index.html", encoding="utf-8").read()
data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
names = [page["name"] for page in data["pages"]]
assert names == ["graph", "profile", "tune", "explore"][:len(names)] and len(names) == (4 if sys.argv[1] == "first" else 2), names
assert all(os.path.getsize(f"{sys.argv[1]}/{page['file']}") > 1000 for page in data["pages"])
assert not re.search(r"https?://(?!www\.w3\.org)", text)
places = json.loads(re.search(r'id="data">(.*?)</script>', open(f"{sys.argv[1]}/graph.html", encoding="utf-8").read(), re.S)[1])
layers = json.loads(re.search(r'id="data">(.*?)</script>', open(f"{sys.argv[1]}/profile.html", encoding="utf-8").read(), re.S)[1])
there = sum(node["there"] for node in places if node.get("runs", "").startswith("accelerator"))
assert there == layers["predicted"] > 100, (there, layers["predicted"]) # one number
X
done
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || chromium=
if [ -n "$chromium" ]; then
    for name in profile explore; do
        HOME=$work timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --virtual-time-budget=3000 --dump-dom \
            "file://$work/first/index.html#$name" >dom 2>/dev/null
        holds "the link to $name shows it" sh -c "grep -q 'data-shown=\"$name\"' dom && grep -q 'src=\"[a-z/]*$name\\|src=\"explore/front' dom"
    done
else
    echo 'no chromium here: the links were not followed'
fi

while [ $(($(date +%s) - began)) -lt 31 ]; do sleep 0.5; done
kill -CONT $slow
wait $slow
holds "the slow one comes to its end" grep -q '^slow/index.html: ' slow.out
holds "it told where it was" grep -qx 'vtac report: [a-z]*, .*: for [0-9]* s' slow.err

vtac report small.onnx -o first --trials many
refused 2 "--trials takes a number to 1000000, not 'many'"
head -c 1000 floats.onnx >half.onnx
vtac report half.onnx -o third
exits 1
says err "vtac: 'vtac quantize' failed: half.onnx: not an ONNX model, or damaged"
vtac report nothing.onnx -o third
refused 1 "nothing.onnx"
vtac report small.onnx -o small.onnx
exits 1
one_line err
finish
