#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a package contains, as an SPDX 2.3 document in JSON on standard output: the package, each of its files with SHA-1 and
SHA-256, and the packages that it depends on. The same tree, version and time give the same bytes.

usage: sbom.py TREE PACKAGE VERSION EPOCH LICENSE [DEPENDS]     DEPENDS as Debian writes it: "libc6 (>= 2.36), lld-19 | lld"
"""
import datetime
import hashlib
import json
import os
import re
import sys


def identifier(text):
    """Letters, digits, dots and hyphens; any other byte by its number, so that two names stay two."""
    return "".join(c if re.match("[A-Za-z0-9.]", c) else "-%02x" % ord(c) for c in text)


def files_of(tree):
    """Paths of the regular files, sorted, without Debian's own folder of data about the package."""
    found = []
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if os.path.relpath(os.path.join(folder, name), tree) != "DEBIAN"]
        found += [os.path.relpath(os.path.join(folder, name), tree) for name in names]
    return sorted(path for path in found if not os.path.islink(os.path.join(tree, path)))


def describe_file(tree, path, license_name):
    with open(os.path.join(tree, path), "rb") as file:
        data = file.read()
    return {"SPDXID": "SPDXRef-File-" + identifier(path), "fileName": "./" + path,
            "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                          {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
            "licenseConcluded": license_name, "copyrightText": "NOASSERTION"}


def describe_package(name, version, license_name):
    return {"SPDXID": "SPDXRef-Package-" + identifier(name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": license_name, "licenseDeclared": license_name, "copyrightText": "NOASSERTION"}


def dependencies(text):
    """Pairs of a name and what is asked of its version; of alternatives each one."""
    pairs = []
    for part in re.split("[,|]", text):
        match = re.fullmatch(r"\s*([a-z0-9][a-z0-9.+-]*)\s*(?:\((.*)\))?\s*", part)
        if match:
            pairs.append((match.group(1), match.group(2) or "any"))
    return sorted(set(pairs))


def document(tree, package, version, epoch, license_name, depends):
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    files = [describe_file(tree, path, license_name) for path in files_of(tree)]
    own = describe_package(package, version, license_name)
    own["filesAnalyzed"] = True
    # The verification code of SPDX: SHA-1 over the sorted SHA-1 of all files.
    sums = sorted(file["checksums"][0]["checksumValue"] for file in files)
    code = hashlib.sha1("".join(sums).encode()).hexdigest()
    own["packageVerificationCode"] = {"packageVerificationCodeValue": code}
    others = [describe_package(name, asked, "NOASSERTION") for name, asked in dependencies(depends)]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], "CONTAINS", file["SPDXID"]) for file in files]
    relations += [(own["SPDXID"], "DEPENDS_ON", other["SPDXID"]) for other in others]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "%s-%s" % (package, version),
            "documentNamespace": "https://vtac.invalid/spdx/%s-%s-%s" % (package, version, code),
            "creationInfo": {"created": created, "creators": ["Tool: vtac-sbom"]},
            "packages": [own] + others, "files": files,
            "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations]}


def main():
    if len(sys.argv) not in (6, 7):
        sys.exit(__doc__.rsplit("\n\n", 1)[1].strip())
    tree, package, version, epoch, license_name = sys.argv[1:6]
    made = document(tree, package, version, int(epoch), license_name, sys.argv[6] if len(sys.argv) > 6 else "")
    json.dump(made, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


main()
