#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The list of a package's contents: every file with the sums that coreutils give, what SPDX asks of a document, the package's
# dependencies, the same bytes each time, others where a byte of a file is another. Argument: the program that writes the list.
set -eu
sbom=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

mkdir -p "$work/tree/usr/bin" "$work/tree/usr/share/doc/a b" "$work/tree/DEBIAN"
echo program >"$work/tree/usr/bin/program"
: >"$work/tree/usr/share/doc/a b/empty"
head -c 70000 /dev/urandom >"$work/tree/usr/share/doc/data-1"
cp "$work/tree/usr/share/doc/data-1" "$work/tree/usr/share/doc/data_1"
ln -s program "$work/tree/usr/bin/link"
echo control >"$work/tree/DEBIAN/control"

list() { /usr/bin/python3 -B "$sbom" "$work/tree" thing 1.2-1 86400 Apache-2.0 "lld-19 | lld, libc6 (>= 2.36), libvta1 (= 1.2-1)" >"$1"; }
list "$work/once"
touch "$work/tree/usr/bin/program"
list "$work/again"
cmp "$work/once" "$work/again"

(cd "$work/tree" && find usr -type f -exec sha1sum {} + >"$work/sha1" && find usr -type f -exec sha256sum {} + >"$work/sha256")
/usr/bin/python3 - "$work" <<'END'
import hashlib, json, re, sys
work = sys.argv[1]
d = json.load(open(work + "/once", encoding="utf-8"))
expected = {}
for name in ("sha1", "sha256"):
    for line in open(work + "/" + name, encoding="utf-8"):
        value, path = line.rstrip("\n").split("  ", 1)
        expected.setdefault("./" + path, set()).add((name.upper(), value))
listed = {file["fileName"]: {(c["algorithm"], c["checksumValue"]) for c in file["checksums"]} for file in d["files"]}
assert listed == expected and len(listed) == 4, (listed, expected)

assert (d["spdxVersion"], d["dataLicense"], d["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
assert d["creationInfo"]["created"] == "1970-01-02T00:00:00Z" and d["creationInfo"]["creators"]
own, *others = d["packages"]
assert (own["name"], own["versionInfo"], own["filesAnalyzed"]) == ("thing", "1.2-1", True)
sums = "".join(sorted(line.split()[0] for line in open(work + "/sha1", encoding="utf-8")))
assert own["packageVerificationCode"]["packageVerificationCodeValue"] == hashlib.sha1(sums.encode()).hexdigest()
assert {p["name"]: p["versionInfo"] for p in others} == {"lld-19": "any", "lld": "any", "libc6": ">= 2.36", "libvta1": "= 1.2-1"}
elements = [d] + d["packages"] + d["files"]
names = [e["SPDXID"] for e in elements]
assert len(set(names)) == len(names) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in names), names
for package in d["packages"]:
    assert {"downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"} <= set(package)
relations = {(r["spdxElementId"], r["relationshipType"], r["relatedSpdxElement"]) for r in d["relationships"]}
assert relations == {("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])} | {(own["SPDXID"], "CONTAINS", f["SPDXID"]) for f in d["files"]} | \
    {(own["SPDXID"], "DEPENDS_ON", p["SPDXID"]) for p in others}
END

printf x >>"$work/tree/usr/bin/program"
list "$work/other"
if cmp -s "$work/once" "$work/other"; then
    echo "sbom: another byte makes no difference"
    exit 1
fi
if /usr/bin/python3 -B "$sbom" "$work/nowhere" >/dev/null 2>&1; then
    echo "sbom: too few words are taken"
    exit 1
fi
echo "sbom: files, sums and dependencies are listed"
