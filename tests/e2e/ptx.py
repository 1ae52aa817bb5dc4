#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# PTX to C, for the stand-in of NVIDIA's driver (cuda_driver.c): each kernel becomes a function that does the work of one item.
# Each instruction is a statement with the meaning that PTX's manual gives; one that is not known is refused, as by an assembler:
# a line "ptxas input, line N; error   : ..." on stdout and exit status 1.
#
# usage: ptx.py IN.ptx OUT.c
import re
import sys

PRELUDE = r"""
#include <math.h>
#include <stdint.h>
#include <string.h>
struct item {
    uint32_t tid, ntid, ctaid, nctaid;
    char *shared;
    void (*barrier)(void);
    void (*check)(uint64_t address, uint32_t bytes);
};
#define LOAD(T, A) (*(const T __attribute__((aligned(1), may_alias)) *)(uintptr_t)(A))
#define STORE(T, A, V) (*(T __attribute__((aligned(1), may_alias)) *)(uintptr_t)(A) = (V))
#define EVEN(A, N) ((A) % (N) == 0 ? (void)0 : __builtin_trap())
static inline float f_of(uint32_t b) { float f; memcpy(&f, &b, 4); return f; }
static inline double d_of(uint64_t b) { double f; memcpy(&f, &b, 8); return f; }
static inline uint32_t f_bits(float f) { uint32_t b; memcpy(&b, &f, 4); return b; }
static inline uint64_t d_bits(double f) { uint64_t b; memcpy(&b, &f, 8); return b; }
static inline uint16_t h_bits(_Float16 f) { uint16_t b; memcpy(&b, &f, 2); return b; }
static inline _Float16 h_of(uint16_t b) { _Float16 f; memcpy(&f, &b, 2); return f; }
static inline uint32_t byte_of(uint64_t both, uint32_t how) {
    uint32_t b = both >> (8 * (how & 7)) & 255;
    return how & 8 ? (b & 128 ? 255 : 0) : b; }
static inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t c) {
    uint64_t both = (uint64_t)b << 32 | a;
    return byte_of(both, c) | byte_of(both, c >> 4) << 8 | byte_of(both, c >> 8) << 16 | byte_of(both, c >> 12) << 24; }
static inline uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c, int as, int bs) {
    for (int i = 0; i < 4; i++) {
        int32_t x = as ? (int8_t)(a >> 8 * i) : (uint8_t)(a >> 8 * i);
        int32_t y = bs ? (int8_t)(b >> 8 * i) : (uint8_t)(b >> 8 * i);
        c += (uint32_t)(x * y); }
    return c; }
#define TO_INT(N, T, LO, HI) static inline T N(double x) { return x != x ? 0 : x <= (double)(LO) ? (LO) : x >= (double)(HI) ? (HI) : (T)x; }
TO_INT(to_s8, int8_t, INT8_MIN, INT8_MAX) TO_INT(to_u8, uint8_t, 0, UINT8_MAX)
TO_INT(to_s16, int16_t, INT16_MIN, INT16_MAX) TO_INT(to_u16, uint16_t, 0, UINT16_MAX)
TO_INT(to_s32, int32_t, INT32_MIN, INT32_MAX) TO_INT(to_u32, uint32_t, 0, UINT32_MAX)
TO_INT(to_s64, int64_t, INT64_MIN, INT64_MAX) TO_INT(to_u64, uint64_t, 0, UINT64_MAX)
static inline float min_f(float a, float b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b; }
static inline float max_f(float a, float b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b; }
static inline double min_d(double a, double b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b; }
static inline double max_d(double a, double b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b; }
static inline uint64_t field(uint64_t a, uint32_t at, uint32_t n, int bits, int sign) {
    at &= 255; n &= 255;
    uint64_t v = at >= (uint32_t)bits ? 0 : a >> at;
    if (sign && bits == 32) v = (uint64_t)((int64_t)(int32_t)a >> (at > 31 ? 31 : at));
    if (sign && bits == 64) v = (uint64_t)((int64_t)a >> (at > 63 ? 63 : at));
    if (n == 0) return 0;
    if (n >= 64) return v;
    v &= (UINT64_C(1) << n) - 1;
    return sign && v >> (n - 1) & 1 ? v | ~((UINT64_C(1) << n) - 1) : v; }
static inline uint64_t insert(uint64_t a, uint64_t b, uint32_t at, uint32_t n, int bits) {
    at &= 255; n &= 255;
    if (at >= (uint32_t)bits || n == 0) return b;
    uint64_t mask = (n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << at;
    return (b & ~mask) | (a << at & mask); }
"""

C_TYPES = {"pred": "uint8_t", "b8": "uint8_t", "u8": "uint8_t", "s8": "int8_t", "b16": "uint16_t", "u16": "uint16_t",
           "s16": "int16_t", "b32": "uint32_t", "u32": "uint32_t", "s32": "int32_t", "b64": "uint64_t", "u64": "uint64_t",
           "s64": "int64_t", "f32": "float", "f64": "double", "f16": "_Float16"}
INFIX = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
REGISTERS = {"%tid.x": "I->tid", "%ntid.x": "I->ntid", "%ctaid.x": "I->ctaid", "%nctaid.x": "I->nctaid"}


class Refused(Exception):
    pass


def name(word):
    return "r_" + re.sub(r"[^A-Za-z0-9_]", "_", word)


def bits_of(kind):
    return 1 if kind == "pred" else int(re.sub(r"\D", "", kind))


def is_float(kind):
    return kind[0] == "f"


class Kernel:
    def __init__(self, number):
        self.number = number
        self.body = []
        self.symbols = {}  # arrays of the item or of the group
        self.kinds = {}  # of registers: f32 and the like
        self.shared_bytes = 0
        self.barriers = False

    def plain(self, word, kind):
        """An operand as a number of a type."""
        c = C_TYPES[kind]
        if word.startswith("0f"):
            return "f_of(0x%sU)" % word[2:]
        if word.startswith("0d"):
            return "d_of(UINT64_C(0x%s))" % word[2:]
        if word in REGISTERS:
            return REGISTERS[word]
        if re.fullmatch(r"-?(0x)?[0-9A-Fa-f]+U?", word):
            value = int(word.rstrip("U"), 0)
            return "((%s)%dLL)" % (c, value) if value < 1 << 63 else "((%s)%dULL)" % (c, value)
        if word in self.symbols:
            return "((uint64_t)(uintptr_t)%s)" % name(word)
        if word not in self.kinds:
            raise Refused("Unknown symbol '%s'" % word)
        own = self.kinds[word]
        if is_float(kind) != is_float(own):
            return {"f32": "f_of(%s)", "f64": "d_of(%s)", "f16": "h_of(%s)", "b32": "f_bits(%s)", "b64": "d_bits(%s)"}[
                kind if is_float(kind) else kind.replace("u", "b").replace("s", "b")] % name(word)
        return "((%s)%s)" % (c, name(word))

    def put(self, word, kind, value):
        """Statement that gives a register a value of a type; wider registers get it extended."""
        own = self.kinds.get(word)
        if own is None:
            raise Refused("Unknown symbol '%s'" % word)
        if is_float(kind) and not is_float(own):
            value = {"f32": "f_bits(%s)", "f64": "d_bits(%s)", "f16": "h_bits(%s)"}[kind] % value
        elif is_float(own) and not is_float(kind):
            value = {"f32": "f_of((uint32_t)(%s))", "f64": "d_of((uint64_t)(%s))"}[own] % value
        elif not is_float(kind):
            if bits_of(kind) > bits_of(own):
                raise Refused("Arguments mismatch for instruction")
            value = "(%s)(%s)(%s)" % (C_TYPES[own], C_TYPES[kind], value)
        elif kind != own:
            raise Refused("Arguments mismatch for instruction")
        return "%s = %s;" % (name(word), value)

    # ---- memory

    def address(self, word):
        inside = word.strip()[1:-1]
        base, _, offset = inside.partition("+")
        number = offset
        if base in self.symbols:
            base = "(uint64_t)(uintptr_t)%s" % name(base)
        else:
            base = self.plain(base, "u64")
        return "(%s + %s)" % (base, "(uint64_t)INT64_C(%s)" % number if number else "0")

    def move(self, parts, operands):
        load = parts[0] == "ld"
        kind = parts[-1]
        space = parts[1]
        count = 4 if "v4" in parts else 2 if "v2" in parts else 1
        data, place = (operands[0], operands[1]) if load else (operands[1], operands[0])
        words = [w.strip() for w in data.strip("{} ").split(",")]
        if space == "param":
            index = re.search(r"_param_(\d+)", place).group(1)
            return self.put(words[0], kind, "P[%s]" % index)
        if space not in ("global", "shared", "local"):
            raise Refused("a memory of another kind: %s" % space)
        if len(words) != count:
            raise Refused("Arguments mismatch for instruction '%s'" % parts[0])
        size = bits_of(kind) // 8
        lines = ["{ uint64_t a = %s; EVEN(a, %d);" % (self.address(place), size * count)]
        if space == "global":
            lines.append("I->check(a, %d);" % (size * count))
        for i, word in enumerate(words):
            at = "a + %d" % (i * size)
            if load and is_float(kind) and is_float(self.kinds.get(word, "b")) and self.kinds[word] != kind:
                raise Refused("Arguments mismatch for instruction 'ld'")
            lines.append(self.put(word, kind, "LOAD(%s, %s)" % (C_TYPES[kind], at)) if load else
                         "STORE(%s, %s, %s);" % (C_TYPES[kind], at, self.plain(word, kind)))
        return " ".join(lines) + " }"

    # ---- operations

    def compare(self, parts, o):
        how, kind = parts[1], parts[-1]
        a, b = self.plain(o[1], kind), self.plain(o[2], kind)
        both = "(%s == %s && %s == %s)" % (a, a, b, b)
        if how == "num" or how == "nan":
            value = both if how == "num" else "!" + both
        elif is_float(kind) and how == "ne":
            value = "(%s && %s != %s)" % (both, a, b)
        elif is_float(kind) and how.endswith("u"):
            value = "(!%s || %s %s %s)" % (both, a, COMPARE[how[:-1]], b)
        else:
            value = "(%s %s %s)" % (a, COMPARE[how], b)
        return self.put(o[0], "pred", value)

    def convert(self, parts, o):
        to, kind = parts[-2], parts[-1]
        x = self.plain(o[1], kind)
        if is_float(kind) and is_float(to):
            whole = [p for p in parts if p in ("rni", "rzi", "rmi", "rpi")]
            if whole:
                call = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}[whole[0]]
                x = "%s%s(%s)" % (call, "f" if kind == "f32" else "", x)
            return self.put(o[0], to, "(%s)%s" % (C_TYPES[to], x))
        if is_float(kind):
            whole = [p for p in parts if p in ("rni", "rzi", "rmi", "rpi")][0]
            call = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}[whole]
            return self.put(o[0], to, "to_%s(%s(%s))" % (to, call, x))
        if is_float(to) or "sat" not in parts:
            return self.put(o[0], to, "(%s)%s" % (C_TYPES[to], x))
        raise Refused("a conversion of another kind")

    def pack(self, parts, o):
        kind = parts[-1]
        if o[1].startswith("{"):
            words = [w.strip() for w in o[1].strip("{}").split(",")]
            each = bits_of(kind) // len(words)
            part = "b%d" % each
            value = " | ".join("(%s)%s << %d" % (C_TYPES["u64"], self.plain(w, part), i * each) for i, w in enumerate(words))
            return self.put(o[0], kind, value)
        if o[0].startswith("{"):
            words = [w.strip() for w in o[0].strip("{}").split(",")]
            each = bits_of(kind) // len(words)
            lines = ["{ uint64_t a = %s;" % self.plain(o[1], kind)]
            for i, word in enumerate(words):
                if word != "_":
                    lines.append(self.put(word, "b%d" % each, "a >> %d" % (i * each)))
            return " ".join(lines) + " }"
        if "%" == o[1][0] and o[1] in REGISTERS:
            return self.put(o[0], "u32", REGISTERS[o[1]])
        return self.put(o[0], kind, self.plain(o[1], kind))

    def arithmetic(self, parts, o):
        op, kind = parts[0], parts[-1]
        n = bits_of(kind)
        unsigned = kind.replace("s", "u") if not is_float(kind) else kind
        v = [self.plain(w, unsigned if op in ("add", "sub", "mul", "mad", "neg") and not is_float(kind) else kind) for w in o[1:]]
        if is_float(kind) and op in ("add", "sub", "mul", "div", "fma", "sqrt", "rcp") and "rn" not in parts:
            raise Refused("'%s' may round otherwise, or be fused" % ".".join(parts))
        f = "f" if kind == "f32" else ""
        if op == "mov":
            return self.pack(parts, o)
        if op in INFIX:
            return self.put(o[0], kind, "%s %s %s" % (v[0], INFIX[op], v[1]))
        if op == "not":
            return self.put(o[0], kind, "!%s" % v[0] if kind == "pred" else "~%s" % v[0])
        if op == "mul" and is_float(kind):
            return self.put(o[0], kind, "%s * %s" % (v[0], v[1]))
        if op in ("mul", "mad") and not is_float(kind):
            return self.product(parts, o)
        if op == "div":
            return self.put(o[0], kind, "%s / %s" % (v[0], v[1]))
        if op == "rem":
            return self.put(o[0], kind, "%s %% %s" % (v[0], v[1]))
        if op == "fma":
            return self.put(o[0], kind, "fma%s(%s, %s, %s)" % (f, *v))
        if op == "sqrt":
            return self.put(o[0], kind, "sqrt%s(%s)" % (f, v[0]))
        if op == "rcp":
            return self.put(o[0], kind, "(%s)1 / %s" % (C_TYPES[kind], v[0]))
        if op == "neg":
            return self.put(o[0], kind, "-%s" % v[0])
        if op == "abs":
            return self.put(o[0], kind, "fabs%s(%s)" % (f, v[0]) if is_float(kind) else "%s < 0 ? -%s : %s" % (v[0], v[0], v[0]))
        if op in ("min", "max") and is_float(kind):
            return self.put(o[0], kind, "%s_%s(%s, %s)" % (op, "f" if kind == "f32" else "d", v[0], v[1]))
        if op in ("min", "max"):
            return self.put(o[0], kind, "%s %s %s ? %s : %s" % (v[0], "<" if op == "min" else ">", v[1], v[0], v[1]))
        if op in ("shl", "shr"):
            by = self.plain(o[2], "u32")
            if op == "shl":
                return self.put(o[0], kind, "%s > %d ? 0 : (uint64_t)%s << %s" % (by, n - 1, v[0], by))
            return self.put(o[0], kind, "%s > %d ? %s : %s >> %s" % (by, n - 1, "%s < 0 ? -1 : 0" % v[0] if kind[0] == "s" else "0", v[0], by))
        if op == "selp":
            return self.put(o[0], kind, "%s ? %s : %s" % (self.plain(o[3], "pred"), v[0], v[1]))
        if op == "bfe":
            return self.put(o[0], kind, "field(%s, %s, %s, %d, %d)" % (self.plain(o[1], "u%d" % n), self.plain(o[2], "u32"), self.plain(o[3], "u32"), n, kind[0] == "s"))
        if op == "bfi":
            return self.put(o[0], kind, "insert(%s, %s, %s, %s, %d)" % (v[0], v[1], self.plain(o[3], "u32"), self.plain(o[4], "u32"), n))
        if op == "prmt":
            return self.put(o[0], kind, "prmt(%s, %s, %s)" % tuple(v))
        if op == "dp4a":
            return self.put(o[0], "s32", "dp4a(%s, %s, %s, %d, %d)" % (*(self.plain(w, "u32") for w in o[1:]), parts[-2] == "s32", kind == "s32"))
        if op in ("cvta",):
            return self.put(o[0], "u64", self.plain(o[1], "u64"))
        raise Refused("Not a name of any known instruction: '%s'" % ".".join(parts))

    def product(self, parts, o):
        op, kind = parts[0], parts[-1]
        n = bits_of(kind)
        half = parts[1]
        wide = "__int128" if n == 64 else "int64_t"
        uwide = "unsigned __int128" if n == 64 else "uint64_t"
        signed = kind[0] == "s"
        a, b = (self.plain(w, kind) for w in o[1:3])
        value = "(%s)%s * %s" % (wide if signed else uwide, a, b)
        out = kind
        if half == "lo":
            value = "(%s)(%s)" % (uwide, value)
        elif half == "hi":
            value = "(%s) >> %d" % (value, n)
        elif half == "wide":
            out = kind[0] + str(2 * n)
        if op == "mad":
            value = "(%s)((%s)%s + (%s)%s)" % (uwide, uwide, "(" + value + ")", uwide, self.plain(o[3], out.replace("s", "u")))
        return self.put(o[0], out, value)

    # ---- statements

    def declare(self, line):
        found = re.fullmatch(r"\.reg \.(\w+)\s+(%\w+)(?:<(\d+)>)?", line)
        if found:
            kind, base, count = found.groups()
            names = [base] if count is None else ["%s%d" % (base, i) for i in range(1, int(count))]
            for n in names:
                self.kinds[n] = kind
            return "%s %s;" % (C_TYPES[kind], ", ".join(name(n) + " = 0" for n in names)) if names else ""
        found = re.fullmatch(r"\.(local|shared) \.align (\d+) \.b8\s+(\w+)\[(\d+)\]", line)
        if not found:
            raise Refused("Parsing error near '%s'" % line)
        space, align, symbol, size = found.groups()
        self.symbols[symbol] = space
        if space == "local":
            return "_Alignas(%s) char %s[%s]; memset(%s, 0x5a, %s);" % (align, name(symbol), size, name(symbol), size)
        self.shared_bytes = (self.shared_bytes + int(align) - 1) // int(align) * int(align)
        at = self.shared_bytes
        self.shared_bytes += int(size)
        return "char *%s = I->shared + %d;" % (name(symbol), at)

    def statement(self, line):
        guard = re.match(r"@(!?)(%\w+)\s+", line)
        before = ""
        if guard:
            line = line[guard.end():]
            before = "if (%s%s) " % (guard.group(1), self.plain(guard.group(2), "pred"))
        word, _, rest = line.partition(" ")
        word = word.strip()
        parts = word.split(".")
        operands = [w.strip() for w in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", rest)]
        if parts[0] == "bra":
            return before + "goto %s;" % re.sub(r"\W", "_", operands[0])
        if parts[0] == "ret":
            return before + "return;"
        if parts[0] in ("bar", "barrier"):
            if guard:
                raise Refused("a barrier under a condition")
            self.barriers = True
            return "I->barrier();"
        if parts[0] in ("ld", "st"):
            return before + self.move(parts, operands)
        if parts[0] == "setp":
            return before + self.compare(parts, operands)
        if parts[0] == "cvt":
            return before + self.convert(parts, operands)
        return before + self.arithmetic(parts, operands)


def check_head(lines):
    """The directives before the kernels; returns where these begin."""
    seen = {}
    for at, line in enumerate(lines):
        word = line.split()
        if not word:
            continue
        if word[0] in (".version", ".target", ".address_size"):
            seen[word[0]] = word[1]
        elif seen.keys() == {".version", ".target", ".address_size"}:
            return at
        else:
            raise Refused("Missing directive before '%s'" % line)
    return len(lines)


def translate(text):
    lines = [re.sub(r"//.*", "", line).strip() for line in text.split("\n")]
    out = []
    kernel = None
    at = 0
    try:
        at = check_head(lines)
        while at < len(lines):
            line = lines[at]
            entry = re.match(r"\.visible \.entry (\w+)\(", line)
            if kernel is None and entry:
                kernel = Kernel(entry.group(1))
                group = parameters = 0
                while lines[at] != "{":
                    found = re.match(r"\.reqntid (\d+)", lines[at])
                    group = int(found.group(1)) if found else group
                    parameters += lines[at].startswith(".param")
                    at += 1
            elif kernel is None and line:
                raise Refused("Parsing error near '%s'" % line)
            elif line == "}":
                out.append("void %s(const uint64_t *P, const struct item *I) {\n%s\n}" % (kernel.number, "\n".join(kernel.body)))
                out.append("const uint32_t %s_facts[] = {%d, %d, %d, %d};" % (kernel.number, kernel.barriers, kernel.shared_bytes, group, parameters))
                kernel = None
            elif line.startswith((".reg", ".local", ".shared")):
                kernel.body.append(kernel.declare(line.rstrip(";")))
            elif line.startswith(".pragma") or not line:
                pass
            elif line.endswith(":"):
                kernel.body.append(re.sub(r"\W", "_", line[:-1]) + ":;")
            elif line:
                if not line.endswith(";"):
                    raise Refused("Parsing error near '%s'" % line)
                kernel.body.append(kernel.statement(line[:-1].replace("\t", " ")))
            at += 1
    except Refused as refused:
        print("ptxas input, line %d; error   : %s" % (at + 1, refused))
        sys.exit(1)
    return PRELUDE + "\n".join(out) + "\n"


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        text = file.read()
    with open(sys.argv[2], "w", encoding="ascii") as file:
        file.write(translate(text))


main()
