#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of drawn vocabularies on drawn texts against plain implementations, which follow what the tokenizers are said
to do: pairs are merged one at a time, cuts are tried out, letters are looked up in unicodedata.

usage: tokenizer.py FOLDER_OF_LIBRARIES
"""
import functools
import json
import os
import random
import re
import sys
import time
import unicodedata

import native

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../compiler"))
import word_seed  # noqa: E402

SEED = word_seed.told()
MARK = "\u2581"
WORDS = ("the cat sat on a mat 12 345 6789 don't we'll I'M they'Re  x  Straße naïve café été Zürich ΑΒΓ δέλτα привет мир 你好 世界 "
         "日本語 한국어 नमस्ते שלום مرحبا 🙂 👩‍👩‍👧 e\u0301 \u0301 ① ½ ٣٤ _id foo_bar() a+b=c ... ?! \u00a0 \u3000 \t \n \r\n \n\n ſtop K3 "
         "i\u0307 ǅ ﬁ Å \u1100\u1161\u11a8 각").split(" ") + [" ", "  ", "   ", "\n", " \n ", "\u200b"]
failures = []


def check(what, got, expected, about):
    if got != expected:
        failures.append(what)
        print(f"{what}: got {got!r}, expected {expected!r} of {about!r}")


def draw_text(rng):
    return rng.choice(["", " "]).join(rng.choice(WORDS) for _ in range(rng.randrange(1, 14)))


# ---- how models of several families cut a text, by hand

def is_letter(c):
    return unicodedata.category(c)[0] == "L"


def is_number(c):
    return unicodedata.category(c)[0] == "N"


def is_space(c):
    return c in "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" or "\u2000" <= c <= "\u200a"


def run_of(text, at, test):
    while at < len(text) and test(text[at]):
        at += 1
    return at


def contraction(text, at, fold):
    if at < len(text) and text[at] == "'":
        for end in ("s", "t", "re", "ve", "m", "ll", "d"):
            piece = text[at + 1:at + 1 + len(end)]
            if piece == end or (fold and piece.lower().replace("ſ", "s") == end):
                return at + 1 + len(end)
    return at


def spaces_end(text, at):
    """Of spaces all but the last, where something follows that is none."""
    end = run_of(text, at, is_space)
    return end - 1 if end < len(text) and end - at > 1 else end


def gpt2_end(text, at):
    end = contraction(text, at, False)
    if end > at:
        return end
    first = at + (text[at] == " ")
    for test in (is_letter, is_number, lambda c: not (is_space(c) or is_letter(c) or is_number(c))):
        end = run_of(text, first, test)
        if end > first:
            return end
    return spaces_end(text, at)


def llama3_end(text, at, digits):
    end = contraction(text, at, True)
    if end > at:
        return end
    lead = at + (not (text[at] in "\r\n" or is_letter(text[at]) or is_number(text[at])))
    end = run_of(text, lead, is_letter)
    if end > lead:
        return end
    end = min(run_of(text, at, is_number), at + digits)
    if end > at:
        return end
    lead = at + (text[at] == " ")
    end = run_of(text, lead, lambda c: not (is_space(c) or is_letter(c) or is_number(c)))
    if end > lead:
        return run_of(text, end, lambda c: c in "\r\n")
    stretch = text[at:run_of(text, at, is_space)]
    last = max(stretch.rfind("\r"), stretch.rfind("\n"))
    return at + last + 1 if last >= 0 else spaces_end(text, at)


def cut_by(end_of):
    def cut(text):
        pieces, at = [], 0
        while at < len(text):
            end = end_of(text, at)
            pieces.append(text[at:end])
            at = end
        return pieces
    return cut


LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
FAMILIES = {
    "gpt2": (None, cut_by(gpt2_end)),
    "llama3": (LLAMA3.replace("DIGITS", "3"), cut_by(lambda text, at: llama3_end(text, at, 3))),
    "qwen": (LLAMA3.replace("{1,DIGITS}", ""), cut_by(lambda text, at: llama3_end(text, at, 1))),
    "tiktoken": (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]+|\s+(?!\S)|\s", None),
}


# ---- byte pairs

def byte_letters():
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    others = [b for b in range(256) if b not in plain]
    return {b: chr(b) if b in plain else chr(256 + others.index(b)) for b in range(256)}


LETTERS = byte_letters()


def draw_merges(rng, symbols_of, texts, count):
    merges = []
    lists = [symbols_of(text) for text in texts]
    while len(merges) < count:
        symbols = rng.choice(lists)
        if len(symbols) < 2:
            count -= 1
            continue
        at = rng.randrange(len(symbols) - 1)
        pair = symbols[at], symbols[at + 1]
        if pair in merges:
            count -= 1
            continue
        merges.append(pair)
        for symbols in lists:
            i = 0
            while i + 1 < len(symbols):
                if (symbols[i], symbols[i + 1]) == pair:
                    symbols[i:i + 2] = [pair[0] + pair[1]]
                i += 1
    return merges


def merge_pairs(symbols, ranks):
    symbols = list(symbols)
    while True:
        found = [(ranks[pair], i) for i, pair in enumerate(zip(symbols, symbols[1:])) if pair in ranks]
        if not found:
            return symbols
        _, i = min(found)
        symbols[i:i + 2] = [symbols[i] + symbols[i + 1]]


def numbered(words):
    out = {}
    for word in words:
        out.setdefault(word, len(out))
    return out


def byte_level(rng, library, family):
    pattern, cut = FAMILIES[family]
    texts = [draw_text(rng) for _ in range(40)]
    merges = draw_merges(rng, lambda text: [LETTERS[b] for b in text.encode()], texts, 150)
    vocabulary = numbered([LETTERS[b] for b in range(256)] + [a + b for a, b in merges])
    end = len(vocabulary)
    prefix, ignore = rng.random() < 0.5, rng.random() < 0.5
    level = {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": pattern is None}
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    written = [" ".join(pair) for pair in merges] if rng.random() < 0.5 else [list(pair) for pair in merges]
    tokenizer = native.Tokenizer(library, {
        "version": "1.0",
        "added_tokens": [{"id": end, "content": "<|endoftext|>", "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True},
                         {"id": end + 1, "content": "<b>", "special": False, "normalized": True, "lstrip": True,
                          "rstrip": False, "single_word": False}],
        "normalizer": None,
        "pre_tokenizer": level if pattern is None else {"type": "Sequence", "pretokenizers": [split, level]},
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}},
                                                                    {"Sequence": {"id": "A", "type_id": 0}}]},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": written, "ignore_merges": ignore}})
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}

    def plain(text):
        if prefix and pattern is None and text and text[0] != " ":
            text = " " + text
        ids = []
        for piece in cut(text):
            piece = " " + piece if prefix and pattern is not None and piece[0] != " " else piece
            letters = "".join(LETTERS[b] for b in piece.encode())
            ids += [vocabulary[letters]] if ignore and letters in vocabulary else [vocabulary[s] for s in merge_pairs(letters, ranks)]
        return ids

    def reference(text):
        ids = []
        for part in re.split(r"(<\|endoftext\|>)", text):
            if part == "<|endoftext|>":
                ids.append(end)
                continue
            words = re.split("<b>", part)
            for i, word in enumerate(words):
                stop = len(word)
                while i + 1 < len(words) and stop > 0 and is_space(word[stop - 1]):
                    stop -= 1
                ids += plain(word[:stop]) + [end + 1] * (i + 1 < len(words))
        return ids

    for _ in range(60):
        bare = text = draw_text(rng)
        for extra in rng.choices(["<|endoftext|>", "<b>", " <b>", ""], k=2):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + extra + text[at:]
        ids = tokenizer.encode(text)
        if cut is not None:
            check(f"{family}, tokens", ids, reference(text), text)
            check(f"{family}, with its begin", tokenizer.encode(text, True), [end] + reference(text), text)
        back = tokenizer.decode(tokenizer.encode(bare)).decode()
        check(f"{family}, back to text", back.replace(" ", "") if prefix else back, bare.replace(" ", "") if prefix else bare, bare)
        check_stream(family, tokenizer, ids)
    for _ in range(30):  # any tokens, which may be no UTF-8
        ids = [rng.randrange(256) for _ in range(rng.randrange(1, 20))]
        inverse = {letter: b for b, letter in LETTERS.items()}
        names = list(vocabulary)
        expected = bytes(inverse[names[i]] for i in ids).decode("utf-8", "replace").encode()
        check(f"{family}, any bytes", tokenizer.decode(ids), expected, ids)
        check_stream(family, tokenizer, ids)
    check("size", library.generate.vta_tokenizer_size(tokenizer.handle), end + 2, family)
    check("special", [library.generate.vta_tokenizer_is_special(tokenizer.handle, i) for i in (0, end, end + 1, end + 9)],
          [0, 1, 0, 0], family)
    check("end", [library.generate.vta_tokenizer_is_end(tokenizer.handle, i) for i in (0, end, end + 1)], [0, 1, 0], family)
    tokenizer.close()


def check_stream(what, tokenizer, ids):
    pieces = tokenizer.stream(ids)
    check(f"{what}, the stream and the whole", b"".join(pieces), tokenizer.decode(ids), ids)
    for piece in pieces:
        try:
            piece.decode()
        except UnicodeDecodeError:
            check(f"{what}, whole characters only", piece, "UTF-8", ids)


# ---- marks for spaces (LLaMA 2): byte pairs, and bytes for what the vocabulary does not have

def metaspace_bpe(rng, library):
    texts = [MARK + draw_text(rng).replace(" ", MARK) for _ in range(40)]
    merges = draw_merges(rng, list, texts, 120)
    known = sorted(set("".join(texts)))
    known = [c for c in known if rng.random() < 0.8 or c in "".join(a + b for a, b in merges)]
    vocabulary = numbered(["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)] + known + [a + b for a, b in merges])
    tokenizer = native.Tokenizer(library, {
        "added_tokens": [{"id": i, "content": c, "special": True, "normalized": False} for i, c in enumerate(("<unk>", "<s>", "</s>"))],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": MARK},
                                                           {"type": "Replace", "pattern": {"String": " "}, "content": MARK}]},
        "pre_tokenizer": None,
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                                                    {"Sequence": {"id": "A", "type_id": 0}}]},
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": MARK}, "content": " "},
                                                     {"type": "ByteFallback"}, {"type": "Fuse"},
                                                     {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": vocabulary,
                  "merges": [list(pair) for pair in merges]}})
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
    for _ in range(80):
        text = draw_text(rng)
        symbols = []
        for c in (MARK * bool(text) + text).replace(" ", MARK):
            symbols += [c] if c in vocabulary else ["<0x%02X>" % b for b in c.encode()]
        expected = [1] + [vocabulary[s] for s in merge_pairs(symbols, ranks)]
        check("marks, tokens", tokenizer.encode(text, True), expected, text)
        check("marks, back to text", tokenizer.decode(expected).decode(), text, text)
        check_stream("marks", tokenizer, expected)
    tokenizer.close()


# ---- unigrams

def back_to_text(tokens):
    """Bytes that stand side by side are a token of their own; marks are spaces, and nothing in the first token."""
    whole, run = [], b""
    for token in tokens + [""]:
        if re.fullmatch("<0x[0-9A-F]{2}>", token):
            run += bytes([int(token[3:5], 16)])
            continue
        whole += ([run.decode()] if run else []) + [token]
        run = b""
    return "".join([whole[0].replace(MARK, "")] + [token.replace(MARK, " ") for token in whole[1:]])


def unigram(rng, library, fallback):
    texts = [MARK + draw_text(rng).replace(" ", MARK) for _ in range(40)]
    pieces = sorted({text[a:a + rng.randrange(1, 6)] for text in texts for a in range(0, len(text), 2)})
    known = [c for c in sorted(set("".join(texts))) if rng.random() < 0.8]
    names = list(numbered(["<unk>", "<s>", "</s>"] + (["<0x%02X>" % b for b in range(256)] if fallback else []) + known + pieces))
    scores = {name: -rng.uniform(2.0, 12.0) * (2.0 if len(name) == 1 else 1.0) for name in names}
    special = ("<unk>", "<s>", "</s>")
    scheme = rng.choice(["always", "first", "never"])
    parts = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": rng.random() < 0.5}
    tokenizer = native.Tokenizer(library, {
        "added_tokens": [{"id": i, "content": c, "special": True, "normalized": False} for i, c in enumerate(special)],
        "normalizer": {"type": "NFKC"}, "pre_tokenizer": parts, "post_processor": None, "decoder": parts if not fallback else {
            "type": "Sequence", "decoders": [{"type": "ByteFallback"}, parts]},
        "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": fallback, "vocab": [[name, scores[name]] for name in names]}})
    number = {name: i for i, name in enumerate(names)}
    low = min(0.0, min(scores.values())) - 10.0
    longest = max(map(len, names))

    def best(piece):
        @functools.lru_cache(None)
        def tail(at):
            if at == len(piece):
                return 0.0, ()
            ways = []
            for end in range(at + 1, min(len(piece), at + longest) + 1):
                name = piece[at:end]
                if name in scores and name != "<unk>":
                    score, rest = tail(end)
                    ways.append((score + scores[name], (name,) + rest))
            if piece[at] not in scores:
                score, rest = tail(at + 1)
                ways.append((score + low, (None, piece[at]) + rest))
            return max(ways, key=lambda way: way[0])
        return tail(0)[1]

    def reference(text):
        text = unicodedata.normalize("NFKC", text)
        marked = text.replace(" ", MARK)
        if scheme != "never" and not marked.startswith(MARK):
            marked = MARK + marked
        cut = [p for p in re.split("(?=" + MARK + ")", marked) if p] if parts["split"] else [marked]
        ids = []
        for piece in cut:
            names, unknown = list(best(piece)), False
            while names:
                name = names.pop(0)
                if name is not None:
                    ids.append(number[name])
                    unknown = False
                    continue
                character = names.pop(0)
                if fallback:
                    ids += [number["<0x%02X>" % b] for b in character.encode()]
                elif not unknown:
                    ids.append(0)
                    unknown = True
        return ids

    for _ in range(60):
        text = draw_text(rng)
        if unicodedata.normalize("NFKC", text):
            ids, expected = tokenizer.encode(text), reference(text)
            if sorted(ids) != sorted(expected):  # the same tokens in another order have the same sum
                check(f"unigram, tokens, {scheme}", ids, expected, text)
            else:
                check("unigram, letters", *("".join(names[i] for i in some if i) for some in (ids, expected)), text)
            check_stream("unigram", tokenizer, ids)
            if fallback and scheme == "always":
                check("unigram, back to text", tokenizer.decode(ids).decode(), back_to_text([names[i] for i in ids]), text)
    tokenizer.close()


# ---- normal forms, patterns, behaviours: what a text becomes is seen as the tokens of its characters

def letters_tokenizer(library, characters, **parts):
    vocabulary = numbered(characters)
    content = {"added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": {"type": "Fuse"},
               "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}
    content.update(parts)
    return native.Tokenizer(library, content), {i: c for c, i in vocabulary.items()}


def normal_forms(rng, library):
    points = [c for c in map(chr, range(0x20, 0x3200)) if unicodedata.category(c) not in ("Cn", "Cs")]
    marks = [c for c in points if unicodedata.combining(c)]
    forms = ("NFC", "NFD", "NFKC", "NFKD")
    texts = ["".join(rng.choice(points) + "".join(rng.choices(marks, k=rng.randrange(4))) for _ in range(8)) for _ in range(200)]
    texts += ["".join(chr(rng.randrange(0x1100, 0x1200)) for _ in range(6)) for _ in range(40)]
    texts += ["".join(chr(rng.randrange(0xac00, 0xd7a4)) for _ in range(4)) for _ in range(20)]
    texts += WORDS
    for form in forms:
        characters = {c for text in texts for f in forms for c in unicodedata.normalize(f, text)}
        tokenizer, names = letters_tokenizer(library, sorted(characters), normalizer={"type": form})
        for text in texts:
            check(form, "".join(names[i] for i in tokenizer.encode(text)), unicodedata.normalize(form, text), text)
        tokenizer.close()


def draw_pattern(rng, depth=0):
    """A pattern that Python's re understands alike; what repeats is never empty."""
    kind = rng.randrange(9 if depth < 3 else 4)
    if kind == 0:
        return rng.choice("abcxyz")
    if kind == 1:
        return rng.choice([r"\d", r"\s", r"\S", r"[a-m]", r"[^a-c ]", r".", r"[\dxy]", r"[^\s\d]", r"\W", r"\D"])
    if kind in (2, 3):
        return rng.choice("abc 1-") + rng.choice(["+", "*", "?", "{1,2}", "{2}", "{1,}", "+?", "*?", "??", "++", "?+"])
    if kind == 4:
        return "(?:" + "|".join(draw_pattern(rng, depth + 1) for _ in range(rng.randrange(1, 4))) + ")"
    if kind == 5:
        return draw_pattern(rng, depth + 1) + rng.choice(["(?=[a-f])", "(?!b)", r"(?!\S)", "(?= )", "$"])
    if kind == 6:
        return "(?>" + draw_pattern(rng, depth + 1) + "|" + draw_pattern(rng, depth + 1) + ")"
    if kind == 7 and rng.random() < 0.3:
        return draw_pattern(rng, depth + 1) + rng.choice(["(?:|b)", "(?:a|)", "(?:)?", "(?:a?|b){0,2}"])
    if kind == 7:
        return "(?i:" + rng.choice(["ab", "[b-d]", "x|Y"]) + ")"
    return draw_pattern(rng, depth + 1) + draw_pattern(rng, depth + 1)


def matches_of(pattern, text):
    found, at = [], 0
    while at < len(text):
        match = pattern.match(text, at)
        if match is not None and match.end() > at:
            found.append((at, match.end()))
            at = match.end()
        else:
            at += 1
    return found


def patterns(rng, library):
    alphabet = "abcdxyzABCXYZ012 -_\n"
    understood = 0
    for _ in range(400):
        source = draw_pattern(rng)
        content = {"type": "Replace", "pattern": {"Regex": source}, "content": "#"}
        try:
            tokenizer, names = letters_tokenizer(library, alphabet + "#", normalizer=content)
        except native.Refused as refusal:
            check("patterns, refused", str(refusal).split("'")[0], "pattern ", source)
            continue
        understood += 1
        compiled = re.compile(source.replace("$", r"\Z"))  # Python's $ also stands before a last newline
        for _ in range(6):
            text = "".join(rng.choice(alphabet) for _ in range(rng.randrange(1, 16)))
            expected, at = "", 0
            for begin, end in matches_of(compiled, text) + [(len(text), len(text))]:
                expected += text[at:begin] + "#" * (end > begin)
                at = end
            check(f"pattern {source}", "".join(names[i] for i in tokenizer.encode(text)), expected, text)
        tokenizer.close()
    check("patterns, understood", understood > 300, True, understood)


def behaviours(library):
    """As the documentation of these tokenizers shows them, for "the-final--countdown" cut at "-"."""
    cuts = {"Removed": "the|final|countdown", "Isolated": "the|-|final|-|-|countdown",
            "MergedWithPrevious": "the-|final-|-|countdown", "MergedWithNext": "the|-final|-|-countdown",
            "Contiguous": "the|-|final|--|countdown"}
    pieces = sorted({piece for cut in cuts.values() for piece in cut.split("|")} | set("the-final--countdown"))
    for behaviour, cut in cuts.items():
        split = {"type": "Split", "pattern": {"String": "-"}, "behavior": behaviour, "invert": False}
        vocabulary = numbered(pieces)
        tokenizer = native.Tokenizer(library, {"pre_tokenizer": split, "model": {
            "type": "BPE", "vocab": vocabulary, "merges": [], "ignore_merges": True}})
        check(behaviour, tokenizer.encode("the-final--countdown"), [vocabulary[p] for p in cut.split("|")], cut)
        check("no decoder: joined by spaces", tokenizer.decode([0, 1]), f"{pieces[0]} {pieces[1]}".encode(), pieces[:2])
        tokenizer.close()
    for parts, text, expected in (({"type": "Digits", "individual_digits": True}, "ab12", ["ab", "1", "2"]),
                                  ({"type": "Digits", "individual_digits": False}, "ab12c", ["ab", "12", "c"]),
                                  ({"type": "Punctuation"}, "a,$b", ["a", ",", "$", "b"]),
                                  ({"type": "WhitespaceSplit"}, " a,b  c\n", ["a,b", "c"]),
                                  ({"type": "Whitespace"}, " a,b  c!?", ["a", ",", "b", "c", "!?"])):
        vocabulary = numbered(expected)
        tokenizer = native.Tokenizer(library, {"pre_tokenizer": parts, "model": {
            "type": "BPE", "vocab": vocabulary, "merges": [], "ignore_merges": True}})
        check(parts["type"], tokenizer.encode(text), [vocabulary[p] for p in expected], text)
        tokenizer.close()


# ---- what is refused

def refusals(library):
    good = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}

    def with_parts(**parts):
        return dict(good, **parts)

    def with_model(**parts):
        return {"model": dict(good["model"], **parts)}
    cases = [(b"{", "no JSON"), (b"[]", "no tokenizer: it has no 'model'"), (b"{} x", "byte 3: no JSON"),
             (b'{"a": "\xff"}', "byte 7 is no character of a JSON in UTF-8"), (b'{"a": "\0"}', "byte 7 is no character"),
             (b'{"a": "\\u0000"}', "a text with the character 0"), (b"[" * 3000, "no JSON"),
             (with_model(type="WordPiece"), "a model of the type 'WordPiece' is not supported"),
             (with_model(vocab={}), "the vocabulary is empty"), (with_model(vocab=[]), "no vocabulary of its kind"),
             (with_model(vocab={"a": -1}), "the number of token 'a' is none below"),
             (with_model(vocab={"a": 1.5}), "the number of token 'a' is none below"),
             (with_model(vocab={"a": 4e9}), "the number of token 'a' is none below"),
             (with_model(vocab={"a": 0, "b": 0}), "two tokens have the number 0"),
             (with_model(vocab={"a" * 5000: 0}), "token 0 has 5000 bytes (limit: 4096)"),
             (with_model(merges=["a c"]), "merge 0 of 'a c' and 'c' is of tokens"), (with_model(merges=["ab"]), "merge 0 is no pair"),
             (with_model(merges=None), "needs a list of merges"), (with_model(end_of_word_suffix="</w>"), "'end_of_word_suffix'"),
             (with_parts(pre_tokenizer={"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"}), "bracket is missing"),
             (with_parts(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(?<=a)b"}, "behavior": "Isolated"}), "kind of group"),
             (with_parts(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a*)*"}, "behavior": "Isolated"}), "may be empty"),
             (with_parts(pre_tokenizer={"type": "Split", "pattern": {"Regex": "((a{999}){999}){999}"}, "behavior": "Isolated"}),
              "too large a repetition"),
             (with_parts(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(" * 99}, "behavior": "Isolated"}), "within each other"),
             (with_parts(pre_tokenizer={"type": "Split", "pattern": {"Regex": r"\p{Greek}"}, "behavior": "Isolated"}),
              "none of Unicode's general categories"),
             (with_parts(normalizer={"type": "Precompiled"}), "a normalizer of the type 'Precompiled' is not supported"),
             (with_parts(pre_tokenizer={"type": "UnicodeScripts"}), "a pre-tokenizer of the type 'UnicodeScripts'"),
             (with_parts(decoder={"type": "WordPiece"}), "a decoder of the type 'WordPiece'"),
             (with_parts(post_processor={"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}]}), "'<s>'"),
             (with_parts(added_tokens=[{"id": 7}]), "an added token needs a content")]
    nested = {"type": "NFC"}
    for _ in range(20):
        nested = {"type": "Sequence", "normalizers": [nested]}
    cases.append((with_parts(normalizer=nested), "a normalizer of the type 'Sequence'"))
    for content, expected in cases:
        try:
            native.Tokenizer(library, content).close()
            check("refusals", "taken", expected, content)
        except native.Refused as refusal:
            check("refusals", expected in str(refusal) and "\n" not in str(refusal), True, (str(refusal), expected))
    tokenizer = native.Tokenizer(library, good)
    for text, expected in ((b"a\xffb", "byte 1 of the text is no UTF-8"), (b"ab\xe2\x82", "byte 2 of the text is no UTF-8")):
        try:
            check("refusals", tokenizer.encode(text), expected, text)
        except native.Refused as refusal:
            check("refusals", expected in str(refusal), True, str(refusal))
    check("no text", tokenizer.encode(b""), [], "")
    check("afterwards", tokenizer.encode(b"ab"), [2], "ab")
    try:
        check("refusals", tokenizer.decode([0, 9]), "", "token 9")
    except native.Refused as refusal:
        check("refusals", "token 9 is none of the tokenizer's 3" in str(refusal), True, str(refusal))
    tokenizer.close()
    many = [{"id": 3 + i, "content": ("q%d" if i < 60000 else "longer%d") % i} for i in range(120000)]  # the long ones last
    began = time.process_time()
    tokenizer = native.Tokenizer(library, dict(good, added_tokens=many))
    check("many added tokens", tokenizer.encode(b"longer60000q7ab"), [60003, 10, 2], "")
    check("many added tokens take no square of their number", time.process_time() - began < 20, True, time.process_time() - began)
    tokenizer.close()
    began = time.process_time()
    tokenizer = native.Tokenizer(library, dict(good, added_tokens=many))
    check("a text without an added token", tokenizer.encode(b"ab" * 50000), [2] * 50000, "")
    check("a text is not compared with each added token", time.process_time() - began < 20, True, time.process_time() - began)
    tokenizer.close()
    slow = dict(good, pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a|a)+(a|a)+(a|a)+(a|a)+c"}, "behavior": "Isolated"})
    tokenizer = native.Tokenizer(library, slow)
    try:
        check("a slow pattern", tokenizer.encode(b"a" * 2000), "", "")
    except native.Refused as refusal:
        check("a slow pattern", "takes too long" in str(refusal), True, str(refusal))
    tokenizer.close()


def added_tokens(rng, library):
    """Added tokens that begin alike, some of them words of their own, against a look at each of them."""
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, " ": 2}, "merges": []}
    words = sorted({"".join(rng.choice("ab") for _ in range(rng.randrange(2, 9))) for _ in range(40)}, key=lambda _: rng.random())
    added = [{"id": 3 + i, "content": word, "single_word": rng.random() < 0.3, "special": True, "normalized": False}
             for i, word in enumerate(words)]
    tokenizer = native.Tokenizer(library, {"added_tokens": added, "model": model})
    for _ in range(50):
        text = "".join(rng.choice("aaabbb ") for _ in range(rng.randrange(1, 60)))
        expected, at = [], 0
        while at < len(text):
            fit = [t for t in added if text.startswith(t["content"], at)]
            fit = [t for t in fit if not t["single_word"] or (text[at - 1:at] if at else "") in ("", " ") and
                   text[at + len(t["content"]):][:1] in ("", " ")]
            best = max(fit, key=lambda t: len(t["content"]), default={"id": model["vocab"][text[at]], "content": text[at]})
            expected.append(best["id"])
            at += len(best["content"])
        check("added tokens that begin alike", tokenizer.encode(text.encode()), expected, (text, words))
    tokenizer.close()


def main(folder):
    library = native.Library(folder)
    rng = random.Random(SEED)
    for family in FAMILIES:
        byte_level(rng, library, family)
        byte_level(rng, library, family)
    for _ in range(2):
        added_tokens(rng, library)
        metaspace_bpe(rng, library)
        unigram(rng, library, True)
        unigram(rng, library, False)
    normal_forms(rng, library)
    patterns(rng, library)
    behaviours(library)
    refusals(library)
    print(json.dumps({"failures": len(failures)}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
