#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every C file of ours compiles without a warning under clang, too (syntax and warnings only, with the flags of the build).
# Files of the same flags go to the compiler proper together: it takes longer to start than to read one.
set -eu
source=$1
build=$2
python3 - "$source" "$build" <<'PYTHON'
import json, os, re, shlex, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
source, build = sys.argv[1:]
gcc_only = {"-fno-fat-lto-objects"}
together = 12 # files; fewer in a group of few, so that all processors have some

def flags_of(entry):
    """The words of an entry, but for the file, what is written, and what only gcc knows."""
    words, kept, skip = shlex.split(entry["command"]), [], False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ"):
            skip = True
        elif word not in gcc_only and not word.startswith(("-fsanitize", "-fno-sanitize", "-MD", "-MMD")) and word not in ("-c", entry["file"]):
            kept.append(word)
    return entry["directory"], tuple(kept)

def proper(directory, flags, names):
    """What clang would start for the first of the files, for all of them."""
    told = subprocess.run(["clang", "-fsyntax-only", *flags, "-###", names[0]], cwd=directory, capture_output=True, text=True, check=True).stderr
    line = next(line for line in told.splitlines() if '"-cc1"' in line)
    words = [re.sub(r"\\(.)", r"\1", word) for word in re.findall(r'"((?:[^"\\]|\\.)*)"', line)]
    assert words[-1] == names[0], words
    return words[:-1]

def check(group):
    directory, command, names = group
    done = subprocess.run([*command, *names], cwd=directory, capture_output=True, text=True)
    return done.returncode, names, done.stderr

entries = json.load(open(os.path.join(build, "compile_commands.json")))
entries = {e["file"]: e for e in entries if e["file"].endswith(".c")}
kinds = {}
for name, entry in sorted(entries.items()):
    kinds.setdefault(flags_of(entry), []).append(name)
with ThreadPoolExecutor(os.cpu_count()) as pool:
    commands = list(pool.map(lambda kind: proper(*kind[0], kind[1]), kinds.items()))
    groups = [(directory, command, names[at:at + together])
              for command, ((directory, _), names) in zip(commands, kinds.items()) for at in range(0, len(names), together)]
    results = list(pool.map(check, groups))
for code, names, text in results:
    if code or text:
        print(text or f"one of {', '.join(os.path.relpath(name, source) for name in names)} ended the compiler")
print(f"clang: {len(entries)} files in {len(groups)} groups, {sum(1 for code, _, text in results if code or text)} of them with warnings")
sys.exit(any(code or text for code, _, text in results))
PYTHON
