#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The Debian packages: the same bytes each time, lists of their contents that are true, without an error of lintian, manual pages without a warning; unpacked in one
# place, and nothing else, the compiler, the library, Python's module and the programs for boards work together.
# Checks the packages as `./run package` does; too slow for each commit. Arguments: BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
fail() { echo "packages: $*"; exit 1; }

package=$here/../../runtime/install/debian/package.sh
"$package" "$1" "$work/once" >"$work/log" || { cat "$work/log"; exit 1; }
"$package" "$1" "$work/again" >"$work/log"
for file in "$work"/once/*.deb; do
    cmp "$file" "$work/again/${file##*/}" || fail "${file##*/} is another one each time"
    dpkg-deb -x "$file" "$work/root"
done
wheel=$(find "$work/once" -name '*.whl')
cmp "$wheel" "$work/again/${wheel##*/}" || fail "the wheel is another one each time"
count=$(find "$work/once" -name '*.deb' | wc -l)
[ "$count" = 11 ] || fail "$count packages"
lintian --fail-on error "$work"/once/*.deb >"$work/log" 2>&1 || { grep '^E:' "$work/log"; fail 'lintian finds errors'; }

root=$work/root/usr
/usr/bin/python3 - "$work/root" "$count" <<'END'
import hashlib, json, pathlib, sys
root = pathlib.Path(sys.argv[1])
lists = sorted(root.glob("usr/share/doc/*/sbom.spdx.json"))
listed = {}
for path in lists:
    document = json.loads(path.read_text())
    assert document["packages"][0]["name"] == path.parent.name, path
    for file in document["files"]:
        listed[file["fileName"][2:]] = {sum["algorithm"]: sum["checksumValue"] for sum in file["checksums"]}["SHA256"]
found = {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
         for path in root.rglob("*") if path.is_file() and not path.is_symlink() and path not in lists}
assert len(lists) == int(sys.argv[2]) and listed == found, (len(lists), set(listed) ^ set(found))
END
for page in "$root"/share/man/man1/*.gz; do
    said=$(zcat "$page" | groff -K utf8 -man -Tutf8 -ww -z 2>&1) || fail "${page##*/}: groff fails"
    [ -z "$said" ] || fail "${page##*/}: $said"
done
pages=$(find "$root/share/man" -name '*.gz' | wc -l)
[ "$pages" -gt 20 ] || fail "$pages manual pages"

export LD_LIBRARY_PATH="$root/lib" PYTHONPATH="$root/lib/python3/dist-packages" PYTHONDONTWRITEBYTECODE=1
cd "$work"
"$root/bin/vtac" zoo tiny_ad --int8 -o ad.onnx >/dev/null
"$root/bin/vtac" compile ad.onnx --target vta -o ad.so >/dev/null
"$root/bin/vta-run" --help >/dev/null || fail 'vta-run does not start'
"$root/bin/vtac-agent" --version >/dev/null || fail 'vtac-agent does not start'
/usr/bin/python3 - "pipe:$root/bin/vtac-agent --stdio?device=fsim" <<'END'
import sys, vta
here, there = vta.Model("ad.so"), vta.Model("ad.so", device=sys.argv[1])
for seed in (3, 5):
    values = [[(i * seed % 17) / 17 for i in range(here.inputs[0].shape[1])]]
    assert here.run(values)[0].tolist() == there.run(values)[0].tolist()
assert here.outputs[0].tolist() != vta.Model("ad.so").run()[0].tolist()
END

# The wheel alone, in an empty environment: what pip would unpack, and its own record of it.
/usr/bin/python3 -m zipfile -e "$wheel" "$work/site"
env -i PYTHONPATH="$work/site" /usr/bin/python3 -B - "$work/ad.so" <<'END'
import base64, hashlib, pathlib, sys
import vta
site = pathlib.Path(vta.__file__).parent.parent
record = next(site.glob("*.dist-info")) / "RECORD"
for row in record.read_text().splitlines():
    name, digest, size = row.split(",")
    data = (site / name).read_bytes()
    assert not digest or digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), name
model = vta.Model(sys.argv[1])
one, two = ([[(i * seed % 17) / 17 for i in range(model.inputs[0].shape[1])]] for seed in (3, 5))
assert model.run(one)[0].tolist() != model.run(two)[0].tolist()
maps = open("/proc/self/maps").read()
assert str(site / "vta/libvta.so.1") in maps, maps
END
echo "packages: the wheel, $count, $pages manual pages, no error of lintian"
