#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# site.sh SOURCE BUILD: the site is made twice with the same bytes, its links lead somewhere, its search finds, and a link that
# leads nowhere ends it with one line.
set -eu
source=$1
build=$2
here=$source/tests/site
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make_site() { python3 -B "$source/compiler/site/site.py" "$@"; }

make_site "$source" "$work/one" "$build/bin/vtac"
make_site "$source" "$work/two" "$build/bin/vtac"
diff -r "$work/one" "$work/two"
python3 -B "$here/pages.py" "$work/one"

# A file that a tutorial tells to write is offered to be saved, to the byte.
PYTHONPATH=$here python3 -B - "$source/compiler/site/tutorials" "$work/one/tutorials" <<'END'
import pathlib, re, sys, urllib.parse
import tutorials
count = 0
for path in pathlib.Path(sys.argv[1]).glob("*.md"):
    page = pathlib.Path(sys.argv[2], path.stem + ".html")
    blocks = [m for m in tutorials.BLOCK.finditer(path.read_text()) if m["kind"] and not m["kind"].startswith("sh")]
    told = [(tutorials.FILE.search(m["before"] or ""), m["text"]) for m in blocks]
    told = [(name[1], text) for name, text in told if name]
    found = re.findall(r'<a download="([^"]*)" href="data:text/plain;charset=utf-8,([^"]*)">', page.read_text()) if told else []
    assert [(name, urllib.parse.unquote(data)) for name, data in found] == told, (path, [name for name, _ in found])
    count += len(told)
assert count > 5, count
END

# The drawing of the first page is whole on 1400 pixels, and no page is wider than a narrow window.
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || chromium=
if [ -n "$chromium" ]; then
    for name in index tutorials/pytorch; do
        sed 's|</body>|<script>const first = document.querySelector("pre"), all = document.documentElement;\
document.body.dataset.hidden = `${first.scrollWidth - first.clientWidth} ${all.scrollWidth - innerWidth}`</script></body>|' \
            "$work/one/$name.html" >"$work/one/$name.probe.html"
        for width in 1400 500; do
            HOME=$work timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --window-size=$width,900 --dump-dom \
                "file://$work/one/$name.probe.html" 2>/dev/null | sed -n 's/.*data-hidden="\([^"]*\)".*/\1/p' >"$work/hidden"
            read -r drawing page <"$work/hidden" || { echo "site.sh: $name: no answer from the browser"; exit 1; }
            [ "$page" -le 0 ] || { echo "site.sh: $name: $page pixels too wide for $width"; exit 1; }
            [ $width = 500 ] || [ "$drawing" -le 0 ] || { echo "site.sh: $name: $drawing pixels of its drawing are hidden"; exit 1; }
        done
        rm "$work/one/$name.probe.html"
    done
else
    echo 'no chromium here: the pages were not measured'
fi

cat "$work/one/index.js" - >"$work/search.js" <<'EOF'
const document = new Proxy({}, { get: () => () => ({ addEventListener() {}, form: { addEventListener() {} } }) });
EOF
sed '/^"use strict"/d' "$source/compiler/site/search.js" >>"$work/search.js"
cat >>"$work/search.js" <<'EOF'
for (const [words, page] of [["vta_model_load", "api/vta_model.h.html"], ["vtac quantize", "verbs.html"],
    ["REQUANT rounding", "isa/ISA.html"], ["BatchNormalization", "compiler/OPERATORS.html"], ["cycles ci", "tutorials/ci.html"]]) {
    const terms = words.toLowerCase().split(" ");
    const hits = pages.map((row) => [scoreOf(row, terms), row[0]]).filter(([score]) => score > 0).sort((a, b) => b[0] - a[0]);
    if (!hits.slice(0, 5).some(([, name]) => name === page)) {
        throw new Error(`'${words}' finds ${hits.slice(0, 5).map(([, name]) => name)}, not ${page}`);
    }
}
EOF
node "$work/search.js"

# A tree with a link to nothing, and one with a link to a section that is not there.
for link in 'nothing.md' 'README.md#nowhere'; do
    rm -rf "$work/tree"
    mkdir "$work/tree"
    for folder in README.md isa runtime driver compiler sim hw fpga tests SECURITY.md CHANGELOG.md CONTRIBUTING.md LICENSE; do
        ln -s "$source/$folder" "$work/tree/$folder"
    done
    rm "$work/tree/README.md"
    { cat "$source/README.md"; echo "[a link]($link)"; } >"$work/tree/README.md"
    if make_site "$work/tree" "$work/three" 2>"$work/said"; then
        echo "site.sh: a link to '$link' was taken"
        exit 1
    fi
    if [ "$(wc -l <"$work/said")" != 1 ] || ! grep -q "README.md: .*'$link'" "$work/said"; then
        cat "$work/said"
        exit 1
    fi
    [ ! -e "$work/three" ] || { echo "site.sh: something was written"; exit 1; }
done
