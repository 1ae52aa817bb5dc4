#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# draw_mutants.py HW COUNT SEED [FOLDER]: COUNT mutants, that nobody chose, of the modules in HW/rtl and HW/soc, or in one of them, as rows of
# mutations.txt, with files as seen from HW/rtl.
#
# Each is one line changed in one way of a class (CLASSES); classes are drawn first, then a module, then a line, so that neither a class
# with many places nor a long module takes most of them. A line that occurs twice in its file, comments, assertions, parameters, checks
# of these and choices of what is generated are left alone. Whether a mutant can be built is for who runs it.
import os
import random
import re
import sys

# Configurations on which random programs meet what a module does; others are judged on `tiny`.
CONFIGS = {"vta_window": "pynq", "vta_columns": "pynq", "vta_inp": "pynq", "vta_row_unit": "rows", "vta_alu": "rows", "vta_alu_lane": "rows",
           "vta_load": "wgt4", "vta_tload": "wgt4", "vta_fetch": "wgt4", "vta_array_dsp": "pumped", "vta_mul_quad": "pumped",
           "vta_factor": "pumped", "vta_factor_x": "pumped"}
FAULT = re.compile(r"[a-z0-9_]*(?:err|bad|fail|refus|resp|beyond|wrong|illegal|over)[a-z0-9_]*(?:\[\d\])?")


def depths(text, opening="([{", closing=")]}"):
    """Of each character in how many brackets of these it is."""
    found, depth = [], 0
    for c in text:
        depth -= c in closing
        found.append(depth)
        depth += c in opening
    return found


def assigned(text):
    """Where the assignment's sign is, or -1."""
    inside = depths(text)
    return next((m.start(1) for m in re.finditer(r" (<?=) ", text) if inside[m.start()] == 0), -1)


def swapped(text, start, end, new):
    return text[:start] + new + text[end:]


def width(text):
    """A wire or a register inside a module loses its highest bit."""
    m = re.match(r"\s*(?:reg|wire)\s+(?:signed\s+)?\[([^\]:]+):0\]", text)
    if m and m[1].strip() not in ("0", "1"):
        yield swapped(text, m.start(1), m.end(1), m[1] + "-1")


def carry(text):
    """A sum or a difference without its carries."""
    square = depths(text, "[", "]")
    for m in re.finditer(r" [+-] ", text):
        if square[m.start()] == 0:
            yield swapped(text, m.start(), m.end(), " ^ ")


def bound(text):
    """A comparison that takes the border to the other side."""
    for m in re.finditer(r" (<=|>=|<|>) ", text):
        if m.start(1) != assigned(text):
            yield swapped(text, m.start(1), m.end(1), {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[m[1]])


def operand(text, at, step, stops):
    """Where the operand ends that begins at `at` and goes on in direction `step`."""
    inside, sign = depths(text), assigned(text)
    level = inside[at]
    while 0 <= at < len(text) and inside[at] >= level:
        near = text[at:at + 2] if step > 0 else text[max(at - 1, 0):at + 1]
        if inside[at] == level and (near in stops or text[at] in "?:,;" or at in (sign, sign + 1)):
            break
        at += step
    return at


def condition(text):
    """One side of an `and` or an `or` is left out."""
    square = depths(text, "[", "]")
    for m in re.finditer(r" (&&|\|\|) ", text):
        if square[m.start()]:
            continue
        stops = ("&&", "||") if m[1] == "&&" else ("||",)
        left = operand(text, m.start(), -1, stops) + 1
        right = operand(text, m.end(), 1, stops)
        left += len(text[left:]) - len(text[left:].lstrip())
        rest = text[right:]
        yield text[:left] + text[m.end():]
        yield text[:m.start()] + ("" if rest[:1] in ("", ")", ";", ",") else " ") + rest


def response(text):
    """A refusal or an error that nobody looks at."""
    if re.search(r"\.\w+\(", text):
        return
    for m in FAULT.finditer(text):
        before, after = text[:m.start()], text[m.end():]
        if re.search(r"(\(|!|&& |\|\| |[^<]= |\? |: )$", before) and re.match(r"( &&| \|\||\)|;| \?| :)", after):
            yield swapped(text, m.start(), m.end(), "1'b0")


def lane(text):
    """What belongs to the lane, the slice or the unit beside."""
    for m in re.finditer(r"\[([^\[\]]*?)( \+: [^\]]*)?\]", text):
        for v in re.finditer(r"\b([a-z])\b", m[1]):
            at = m.start(1) + v.start()
            yield swapped(text, at, at + 1, "(%s ^ 1)" % v[1])


def border(text):
    """A number in a comparison, or one that is added, off by one."""
    square = depths(text, "[", "]")
    for m in re.finditer(r"( (?:==|!=|<|>|<=|>=) )((?:\d+'d)?)(\d+)\b(?!')", text):
        yield swapped(text, m.start(3), m.end(3), str(int(m[3]) + 1))
        if int(m[3]) > 0:
            yield swapped(text, m.start(3), m.end(3), str(int(m[3]) - 1))
    for m in re.finditer(r" [+-] (?:\d+'[bd])?1\b(?!')", text):
        if square[m.start()] == 0:
            yield swapped(text, m.start(), m.end(), "")


def reset(text):
    """A register that a reset leaves as it is."""
    m = re.match(r"\s*([\w\[\]]+)\s*<= [^;]*;$", text)
    if m:
        yield re.sub(r"<= [^;]*;", "<= %s;" % m[1], text)
    if re.match(r"\s*if \(\w*rst\b[^)]*\) [\w\[\]]+ <= [^;]*;$", text):
        yield re.sub(r"if \(\w*rst\b[^)]*\)", "if (1'b0)", text)


CLASSES = {"operand width": width, "carry": carry, "guard bound": bound, "condition dropped": condition, "response ignored": response,
           "another lane": lane, "off by one": border, "reset dropped": reset}
LEFT_ALONE = re.compile(r"^\s*(//|`|\(\*|localparam|parameter|input|output|genvar|integer|for |function|endfunction|initial|.*begin : |.*\bunused_|.*\bapart\b)")


def lines_of(path):
    """Lines of code that can be changed: text without a comment, whether it stands in what a reset does."""
    whole = open(path, encoding="utf-8").read()
    resets = False
    for line in whole.splitlines():
        if re.search(r"if \(\w*rst\b[^)]*\) begin", line):
            resets = True
            continue
        if re.match(r"\s*end\b", line):
            resets = False
        code = line.split("//")[0].strip()
        if code and not LEFT_ALONE.match(line) and " :: " not in code and whole.count(code) == 1:
            yield code, resets


def mutants_of(path):
    """All mutants of a file, by class: pairs of old and new text."""
    found = {name: [] for name in CLASSES}
    for code, resets in lines_of(path):
        for name, change in CLASSES.items():
            if name == "reset dropped" and not resets and not code.startswith("if ("):
                continue
            found[name] += [(code, new) for new in change(code) if new != code]
    return found


def main():
    folder, count, seed = os.path.join(sys.argv[1], "rtl"), int(sys.argv[2]), sys.argv[3]
    source = random.Random("mutants " + seed)
    walks = [walk for name in sys.argv[4:] or ("rtl", "soc") for walk in os.walk(os.path.join(sys.argv[1], name))]
    files = sorted(os.path.relpath(os.path.join(f, n), folder) for f, _, names in walks for n in names
                   if n.endswith(".v") and os.path.basename(f) != "tb")
    of = {file: mutants_of(os.path.join(folder, file)) for file in files if not file.endswith("/vta_array.v")}
    taken = set()
    for _ in range(100 * count):
        if len(taken) == count:
            break
        kind = source.choice(sorted(CLASSES))
        having = [file for file in sorted(of) if of[file][kind]]
        if not having:
            continue
        file = source.choice(having)
        change = (file,) + source.choice(of[file][kind])
        if change in taken:
            continue
        taken.add(change)
        module = os.path.basename(file)[:-2]
        print(" :: ".join((f"drawn_{len(taken)}", CONFIGS.get(module, "tiny"), file, change[1], change[2], kind)))
    if len(taken) < count:
        sys.exit(f"draw_mutants.py: {len(taken)} mutants, {count} were asked for")


if __name__ == "__main__":
    main()
