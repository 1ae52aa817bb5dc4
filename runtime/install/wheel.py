#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A wheel for every CPython from 3.8 on, of an installed tree; the same tree gives the same bytes. Two kinds:

    vta    the module with the runtime's library and what that needs beside it; for a board, its programs, too
    vtac   the same with the compiler: libvtac, LLVM, lld, and the program vtac

usage: wheel.py KIND PREFIX VERSION OUT [MACHINE TOOLS]     MACHINE as Python names it, TOOLS the prefix of its binutils"""
import base64
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EVERY_LINUX = ("libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux", "ld64")
SUMMARY = {"vta": "Compiled models on the vtac accelerator", "vtac": "Compiler, simulator and runtime of the vtac accelerator"}
LINKER = """#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH=$here/..${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "$here/lld" -flavor %s "$@"
"""


def said(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Wheel:
    def __init__(self, kind, prefix, version, machine, tools):
        self.kind, self.prefix, self.version, self.machine, self.tools = kind, prefix, version, machine, tools
        self.content, self.systems = {}, {}
        self.info = "%s-%s.dist-info/" % (kind, version)

    def installed(self, name):
        found = glob.glob("%s/**/%s" % (self.prefix, name), recursive=True)
        return found[0] if found else sys.exit("wheel: '%s' is not in %s" % (name, self.prefix))

    def add(self, path, to=""):
        with open(path, "rb") as f:
            self.content["vta/" + to + os.path.basename(path)] = f.read()

    def needed(self, path):
        """Libraries that a file names, but for those of every Linux."""
        lines = [line.split() for line in said(self.tools + "objdump", "-p", path).splitlines()]
        return [w[1] for w in lines if w[:1] == ["NEEDED"] and not w[1].startswith(EVERY_LINUX)]

    def system(self, name):
        """A library of this system, as the dynamic linker finds it."""
        if name not in self.systems:
            lines = [line.split() for line in said("/sbin/ldconfig", "-p").splitlines()]
            here = [w[-1] for w in lines if w[:1] == [name] and "x86-64" in " ".join(w)]
            self.systems[name] = os.path.realpath(here[0]) if here else sys.exit("wheel: no '%s' here" % name)
        return self.systems[name]

    def closure(self, names, order=None):
        """The libraries of the system that these are, and what they need, each behind what it needs itself."""
        order = [] if order is None else order
        for name in names:
            if name in order or name == "libvta.so.1":
                continue
            path = self.system(name)
            self.closure(self.needed(path), order)
            if name not in order:
                order.append(name)
                with open(path, "rb") as f:
                    self.content["vta/" + name] = f.read()
        return order

    def runtime(self):
        package = os.path.dirname(self.installed("vta/_vta.abi3.so"))
        for path in sorted(glob.glob(package + "/*")):
            if os.path.isfile(path):
                self.add(path)
        library = self.installed("libvta.so.1")
        with open(library, "rb") as f:
            self.content["vta/libvta.so.1"] = f.read()
        order = self.closure(self.needed(library) + self.needed(package + "/_vta.abi3.so")) + ["libvta.so.1"]
        self.content["vta/libraries.txt"] = "".join(name + "\n" for name in order).encode()
        scripts = "vtac = vta._compiler:main\n" if self.kind == "vtac" else ""
        for name in ("vta-run", "vtac-agent", "vta-mem") if self.kind == "vta" and self.tools else ():
            self.add(self.installed("bin/" + name), "bin/")
            scripts += "%s = vta._compiler:%s\n" % (name, name.replace("-", "_"))
        if scripts:
            self.content[self.info + "entry_points.txt"] = ("[console_scripts]\n" + scripts).encode()

    def compiler(self):
        self.add(self.installed("bin/vtac"), "bin/")
        lld = shutil.which("lld", path="/usr/lib/llvm-19/bin:%s" % os.environ["PATH"]) or sys.exit("wheel: no lld; install lld-19")
        lld = os.path.realpath(lld)
        self.add(lld, "bin/")
        for name, flavor in (("ld.lld", "gnu"), ("wasm-ld", "wasm")):
            self.content["vta/bin/" + name] = (LINKER % flavor).encode()
        needs = self.needed(lld)
        for name in ("libvtac.so.1", "libvtac_llvm.so", "libvta_gpu.so"):
            path = self.installed(name)
            with open(path, "rb") as f:
                self.content["vta/" + name] = f.read()
            needs += self.needed(path)
        self.content["vta/compiler.txt"] = "".join(name + "\n" for name in self.closure(needs)).encode()

    def licences(self):
        with open(os.path.join(ROOT, "LICENSE"), "rb") as f:
            self.content[self.info + "LICENSE"] = f.read()
        for path in set(self.systems.values()):
            owner = said("dpkg-query", "-S", "*" + os.path.basename(path)).split(":")[0]
            with open("/usr/share/doc/%s/copyright" % owner, "rb") as f:
                self.content[self.info + "licenses/" + owner] = f.read()

    def tag(self):
        """The oldest C library that has all that the files ask for."""
        newest = (2, 17)
        for name in sorted(self.content):
            if self.content[name][:4] == b"\x7fELF":
                versions = re.findall(rb"\0GLIBC_(\d+)\.(\d+)", self.content[name])
                newest = max([newest, *[(int(a), int(b)) for a, b in versions]])
        return "cp38-abi3-manylinux_%d_%d_%s" % (*newest, self.machine)

    def write(self, out):
        tag = self.tag()
        lines = ["Metadata-Version: 2.1", "Name: " + self.kind, "Version: " + self.version, "Summary: " + SUMMARY[self.kind],
                 "License: Apache-2.0", "Requires-Python: >=3.8", ""]
        self.content[self.info + "METADATA"] = "\n".join(lines).encode()
        self.content[self.info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: vtac\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode()
        rows = ["%s,sha256=%s,%d" % (path, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
                for path, data in sorted(self.content.items())]
        self.content[self.info + "RECORD"] = "\n".join(rows + [self.info + "RECORD,,", ""]).encode()
        date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
        path = os.path.join(out, "%s-%s-%s.whl" % (self.kind, self.version, tag))
        with zipfile.ZipFile(path, "w") as archive:
            for name in sorted(self.content):
                entry = zipfile.ZipInfo(name, date)
                entry.external_attr = (0o100755 if ".so" in name or "/bin/" in name else 0o100644) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, self.content[name])
        print("%s: %d bytes, %d unpacked" % (path, os.path.getsize(path), sum(map(len, self.content.values()))))


def main():
    kind, prefix, version, out, *rest = sys.argv[1:]
    machine, tools = rest if rest else (os.uname().machine, "")
    wheel = Wheel(kind, prefix, version, machine, tools)
    wheel.runtime()
    if kind == "vtac":
        wheel.compiler()
    wheel.licences()
    wheel.write(out)


main()
