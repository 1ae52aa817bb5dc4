#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One wheel for every CPython from 3.8 on: the module of an installed tree with the library that it needs beside it. The same
bytes each time. Arguments: PREFIX VERSION OUT LICENCE…"""
import base64
import glob
import hashlib
import os
import subprocess
import sys
import time
import zipfile

prefix, version, out, *licences = sys.argv[1:]
package = os.path.dirname(glob.glob(prefix + "/**/vta/_vta.abi3.so", recursive=True)[0])
library = glob.glob(prefix + "/**/libvta.so.1", recursive=True)[0]
machine = os.uname().machine
name = "vta-%s" % version
tag = "cp38-abi3-linux_%s" % machine


def needed(path):
    """The libraries that it names, but for those of every Linux."""
    said = subprocess.run(["objdump", "-p", path], check=True, capture_output=True, text=True).stdout
    names = [line.split()[1] for line in said.splitlines() if line.split()[:1] == ["NEEDED"]]
    return [name for name in names if not name.startswith(("libc.so", "libm.so", "libpthread.so", "libdl.so", "ld-linux"))]


def find(name):
    for line in subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout.splitlines():
        if line.split()[:1] == [name] and ("x86-64" in line) == (machine == "x86_64"):
            return line.split(" => ")[1]
    sys.exit("wheel: no '%s' here" % name)


content = {}
for path in sorted(glob.glob(package + "/*")):
    if os.path.isfile(path):
        content["vta/" + os.path.basename(path)] = open(path, "rb").read()
content["vta/libvta.so.1"] = open(library, "rb").read()
for other in needed(library):
    content["vta/" + other] = open(find(other), "rb").read()
info = name + ".dist-info/"
content[info + "METADATA"] = (
    "Metadata-Version: 2.1\nName: vta\nVersion: %s\nSummary: Compiled models on the vtac accelerator\nLicense: Apache-2.0\n"
    "Requires-Python: >=3.8\n" % version).encode()
content[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: vtac\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode()
for path in licences:
    content[info + os.path.basename(os.path.dirname(path)) + "-" + os.path.basename(path)] = open(path, "rb").read()
rows = ["%s,sha256=%s,%d" % (path, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
        for path, data in sorted(content.items())]
content[info + "RECORD"] = "\n".join(rows + [info + "RECORD,,", ""]).encode()
date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
path = os.path.join(out, "%s-%s.whl" % (name, tag))
with zipfile.ZipFile(path, "w") as wheel:
    for entry_name in sorted(content):
        entry = zipfile.ZipInfo(entry_name, date)
        entry.external_attr = (0o755 if ".so" in entry_name else 0o644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        wheel.writestr(entry, content[entry_name])
print(path)
