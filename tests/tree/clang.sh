#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every C file of ours compiles without a warning under clang, too (syntax and warnings only, with the flags of the build).
set -eu
source=$1
build=$2
python3 - "$source" "$build" <<'PYTHON'
import json, os, shlex, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
source, build = sys.argv[1:]
gcc_only = {"-fno-fat-lto-objects"}

def check(entry):
    words, command = shlex.split(entry["command"]), ["clang", "-fsyntax-only"]
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ"):
            skip = True
        elif word not in gcc_only and not word.startswith(("-fsanitize", "-fno-sanitize")):
            command.append(word)
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    return done.returncode, entry["file"], done.stderr

entries = json.load(open(os.path.join(build, "compile_commands.json")))
entries = {e["file"]: e for e in entries if e["file"].endswith(".c")}.values()
with ThreadPoolExecutor(os.cpu_count()) as pool:
    results = list(pool.map(check, entries))
for code, name, text in results:
    if code:
        print(os.path.relpath(name, source), text, sep="\n")
print(f"clang: {len(results)} files, {sum(1 for r in results if r[0])} with warnings")
sys.exit(any(r[0] for r in results))
PYTHON
