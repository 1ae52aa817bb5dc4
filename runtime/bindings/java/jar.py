#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Java classes as a jar: the same bytes each time. Arguments: JAVAC JAR SOURCE…"""
import os
import subprocess
import sys
import tempfile
import zipfile

javac, jar, *sources = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([javac, "-Xlint:all", "-Werror", "--release", "17", "-d", folder, *sources], check=True)
    content = {"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\r\nAutomatic-Module-Name: vta\r\n\r\n"}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            with open(path, "rb") as file:
                content[os.path.relpath(path, folder)] = file.read()
with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as out:
    for name in ["META-INF/MANIFEST.MF"] + sorted(set(content) - {"META-INF/MANIFEST.MF"}):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = 0o644 << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        out.writestr(entry, content[name])
