#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The page of `vtac inspect --html`: it needs nothing but itself, holds every node of the text form, and is safe
# whatever a model calls its parts. Where there is a chromium, the page draws them all in it, and a screenshot shows
# more than a blank.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country

vtac=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() { echo "FAIL: $*" >&2; exit 1; }

# check NAME: page NAME.html against the text of the graph in NAME.ir
check() {
    python3 - "$1.html" "$1.ir" <<'PY' || fail "$1"
import json, re, sys
page, text = (open(path, encoding='utf-8').read() for path in sys.argv[1:])
assert not re.search(r'https?:|<link|<img|src=|@import|url\((?!#)', page), 'the page refers to something outside'
assert page.count('<script') == page.count('</script>') == 2, 'a name became a script'
data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
lines = text.splitlines()
count = lambda start: sum(line.startswith(start) for line in lines)
assert len(data) == count('%') + count('input') + count('output'), 'the page lacks nodes'
assert page.count('class="n ') == len(data), 'the drawing lacks nodes'
ops = [re.search(r' = ([\w.]+)\(', line).group(1) for line in lines if line.startswith('%')]
assert [d['op'] for d in data[:len(ops)]] == ops, 'other operators'
for d in data:
    for v in d['inputs'] + d['outputs']:
        assert v['type'] == 'absent' or re.fullmatch(r'\w+\[[\d,]*\]', v['type']), v
        assert 'low' not in v or isinstance(v['low'], str) or v['low'] <= v['mean'] <= v['high'], v
print(len(data), page.count('<path data-a='))
PY
}

"$vtac" zoo tiny_ic -o model.onnx
"$vtac" inspect model.onnx -O 3 -o model.ir
"$vtac" inspect model.onnx -O 3 --html model.html --config tiny
grep -q '"runs": "host", "why": "[^"]' model.html || fail "the page does not say why a node stays on the host"
read -r nodes edges <<END
$(check model)
END

# Quantization is folded into the edges: the drawing has what stands between.
"$vtac" zoo tiny_ic --int8 -o quantized.onnx
"$vtac" inspect quantized.onnx --html quantized.html
"$vtac" inspect quantized.onnx -o quantized.ir
python3 - <<'PY' || fail "quantized.html"
import json, re
page, text = open('quantized.html', encoding='utf-8').read(), open('quantized.ir', encoding='utf-8').read()
ops = [node['op'] for node in json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))]
names = [re.search(r' = ([\w.]+)\(', line).group(1) for line in text.splitlines() if line.startswith('%')]
gone = [name for name in names if name in ('QuantizeLinear', 'DequantizeLinear')]
assert gone and not set(gone) & set(ops), ops
assert [name for name in names if name not in gone] == ops[:len(names) - len(gone)], ops
assert f'{len(gone)} nodes of quantization folded into edges' in page
PY

cat >nasty.ir <<'END'
graph "</title><script>alert(1)</script>"
input %"</script><script>alert(2)</script>": f32[2]
const %"<b>&\"'\\": f32[2] = [nan, -inf]
%"-->": f32[2] = Add(%"</script><script>alert(2)</script>", %"<b>&\"'\\") {"<i>"="</script>", "__proto__"=[1, 2]}  # "<!-- <script>" @0
output %"-->"
END
"$vtac" inspect nasty.ir --html nasty.html
check nasty >drawn

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "no chromium here: the pages were not drawn"
    exit 0
}
browse() { HOME=$dir timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --window-size=1400,1000 "$@" 2>browser.log; }
browse --virtual-time-budget=3000 --dump-dom "file://$dir/model.html" >dom
grep -q "data-drawn=\"$nodes nodes, $edges edges\"" dom || fail "the page did not draw $nodes nodes and $edges edges"
browse --virtual-time-budget=3000 --dump-dom "file://$dir/nasty.html" >dom
grep -q "data-drawn=\"$(sed 's/ / nodes, /' drawn) edges\"" dom || fail "the page of strange names did not draw"
browse --screenshot="$dir/shot.png" "file://$dir/model.html" >/dev/null
[ "$(wc -c <shot.png)" -gt 20000 ] || fail "the screenshot is blank"
echo "drawn: $nodes nodes, $edges edges"
