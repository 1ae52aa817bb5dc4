// SPDX-License-Identifier: Apache-2.0
//
// Text from a compiled language model, in Node and in browsers:
//
//     import { load } from "./vta.mjs";
//     import { Generator, Tokenizer } from "./generate.mjs";
//     const tokenizer = new Tokenizer(await readFile("tokenizer.json", "utf8"));
//     const generator = new Generator(await load("model.wasm"), tokenizer);
//     for (const { token, text } of generator.generate("Once upon a time", { maxTokens: 100, temperature: 0.8, seed: 7 })) {
//         process.stdout.write(text);
//     }
//
// Tokens and texts are those of libvta-generate (runtime/generate), of the same parts of a tokenizer.json; the same numbers are
// drawn for a seed. What fails throws VtaError, and the generator can be used again.
import { VtaError } from "./vta.mjs";

const fail = (text, status = "invalid argument") => { throw new VtaError(text, status); };

/* ---- patterns */

/** A pattern of a tokenizer as JavaScript has it: possessive repetitions and atomic groups become plain ones, and letters of either
 * size sets of two. */
function pattern(expression) {
    const letters = (part) => part.replace(/\\.|[a-z]/gi, (c) => (/^[a-z]$/i.test(c) ? `[${c.toLowerCase()}${c.toUpperCase()}]` : c));
    const plain = expression.replace(/\(\?i:([^()]*)\)/g, (_, inner) => `(?:${letters(inner)})`).replace(/\(\?>/g, "(?:")
        .replace(/(\\.|[^\\])([+*?]|\{[\d,]+\})\+/g, "$1$2");
    try {
        return new RegExp(plain, "gu");
    } catch (error) {
        return fail(`the pattern '${expression}' of the tokenizer: ${error.message}`, "not supported");
    }
}

const literal = (text) => new RegExp(text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), "gu");

function patternOf(part) {
    const { Regex, String: text } = part.pattern ?? {};
    return Regex !== undefined ? pattern(Regex) : text ? literal(text)
        : fail(`a step '${part.type}' needs a pattern, a String or a Regex`, "malformed input");
}

/* ---- bytes as characters */

const pointOfByte = [];
const byteOfPoint = new Map();
for (let byte = 0, more = 256; byte < 256; byte++) {
    const shown = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    pointOfByte.push(String.fromCodePoint(shown ? byte : more++));
    byteOfPoint.set(pointOfByte[byte], byte);
}
const utf8 = new TextEncoder();
const utf8Of = (text) => Array.from(utf8.encode(text));

/* ---- steps: functions from pieces {text, first} to pieces */

const change = (make) => (pieces) => pieces.map((piece) => (piece.id === undefined ? { ...piece, text: make(piece.text, piece) } : piece))
    .filter((piece) => piece.id !== undefined || piece.text !== "");

function split(expression, behaviour, inverse = false) {
    const joins = {
        Removed: () => false, Isolated: () => false, MergedWithPrevious: (before, part) => part.matched && !before.matched,
        MergedWithNext: (before, part) => before.matched && !part.matched, Contiguous: (before, part) => before.matched === part.matched,
    }[behaviour] ?? fail(`the tokenizer's split with a behavior '${behaviour}' is not supported`, "not supported");
    return (pieces) => pieces.flatMap((piece) => {
        if (piece.id !== undefined) {
            return [piece];
        }
        const parts = [];
        const add = (begin, end, matched) => { end > begin && parts.push({ begin, end, matched }); };
        let done = 0;
        for (const match of piece.text.matchAll(expression)) {
            add(done, match.index, inverse);
            add(match.index, match.index + match[0].length, !inverse);
            done = match.index + match[0].length;
        }
        add(done, piece.text.length, inverse);
        const joined = [];
        parts.forEach((part, i) => {
            if (i > 0 && joins(parts[i - 1], part)) {
                joined.at(-1).end = part.end;
            } else if (behaviour !== "Removed" || !part.matched) {
                joined.push({ ...part });
            }
        });
        return joined.map(({ begin, end }) => ({ text: piece.text.slice(begin, end), first: piece.first && begin === 0 }));
    });
}

const BYTE_LEVEL = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const MARK = "\u2581";
const schemeOf = (part) => part.prepend_scheme ?? ((part.add_prefix_space ?? true) ? "always" : "never");

const normalizers = {
    ...Object.fromEntries(["NFC", "NFD", "NFKC", "NFKD"].map((form) => [form, () => [change((text) => text.normalize(form))]])),
    Prepend: (part) => [change((text) => (part.prepend ?? "") + text)],
    Replace: (part) => { const from = patternOf(part); return [change((text) => text.replace(from, () => part.content ?? ""))]; },
    Strip: (part) => [change((text) => {
        const left = (part.strip_left ?? true) ? text.trimStart() : text;
        return (part.strip_right ?? true) ? left.trimEnd() : left;
    })],
};

const splitters = {
    ByteLevel: (part) => [
        ...((part.add_prefix_space ?? true) ? [change((text) => (text.startsWith(" ") ? text : ` ${text}`))] : []),
        ...((part.use_regex ?? true) ? [split(pattern(BYTE_LEVEL), "Isolated")] : []),
        change((text) => utf8Of(text).map((byte) => pointOfByte[byte]).join("")),
    ],
    Split: (part) => [split(patternOf(part), part.behavior, part.invert ?? false)],
    Metaspace: (part) => {
        const mark = part.replacement ?? MARK;
        const scheme = schemeOf(part);
        const asked = (piece) => scheme === "always" || (scheme === "first" && piece.first);
        const marked = (text, piece) => (asked(piece) && !text.startsWith(" ") && !text.startsWith(mark) ? mark : "") + text.replaceAll(" ", mark);
        return [change(marked), ...((part.split ?? true) ? [split(literal(mark), "MergedWithNext")] : [])];
    },
    Digits: (part) => [split(pattern(part.individual_digits ? "\\p{N}" : "\\p{N}+"), "Isolated")],
    Whitespace: () => [split(pattern("\\s+"), "Removed"), split(pattern("[\\p{L}\\p{M}\\p{N}\\p{Pc}]+|[^\\p{L}\\p{M}\\p{N}\\p{Pc}\\s]+"), "Isolated")],
    WhitespaceSplit: () => [split(pattern("\\s+"), "Removed")],
    Punctuation: (part) => [split(pattern("[\\p{P}$+<=>^`|~]"), part.behavior ?? "Isolated")],
};

/* ---- decoders: functions from a token's text to its text, or to a number, a byte */

const decoders = {
    ByteLevel: () => (text) => {
        const bytes = Array.from(text, (c) => byteOfPoint.get(c));
        return bytes.includes(undefined) ? text : bytes;
    },
    ByteFallback: () => (text) => (/^<0x[0-9a-f]{2}>$/i.test(text) ? [parseInt(text.slice(3, 5), 16)] : text),
    Metaspace: (part) => (text, stream) =>
        text.replaceAll(part.replacement ?? MARK, schemeOf(part) !== "never" && !stream.begun ? "" : " "),
    Replace: (part) => (text) => (part.pattern?.String === undefined
        ? fail("the tokenizer's decoder with a pattern 'Regex' is not supported", "not supported") : text.replaceAll(part.pattern.String, part.content ?? "")),
    Strip: (part, fused) => (text, stream) => {
        const what = part.content ?? " ";
        let left = fused ? stream.left ?? part.start : part.start;
        let rest = text;
        for (; left > 0 && rest.startsWith(what); left--) {
            rest = rest.slice(what.length);
        }
        stream.left = fused ? (rest === "" ? left : 0) : stream.left;
        return rest;
    },
};

function stepsOf(part, table, members, what) {
    const known = part === null || part === undefined || part.type === "Sequence" ? undefined
        : table[part.type] ?? fail(`the tokenizer's ${what} '${part.type}' is not supported`, "not supported");
    return known !== undefined ? known(part) : (part?.[members] ?? []).flatMap((inner) => stepsOf(inner, table, members, what));
}

/* ---- a tokenizer */

const ENDS = new Set(["</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "[EOS]", "<|im_end|>", "<end_of_turn>", "<|end|>", "<|eot|>",
    "<|endofprompt|>"]);

export class Tokenizer {
    #ids = new Map();
    #names = [];
    #scores = [];
    #special = new Set();
    #added;
    #merges = new Map();
    #model;
    #unknown;
    #normalizers;
    #splitters;
    #decoders;
    #begin;
    #longest = 0;

    /** From the text of a tokenizer.json, or what JSON.parse makes of it. */
    constructor(json) {
        let root = json;
        try {
            root = typeof json === "string" ? JSON.parse(json) : json;
        } catch (error) {
            fail(`no tokenizer: ${error.message}`, "malformed input");
        }
        if (root?.model?.vocab === undefined) {
            fail("no tokenizer: it has no 'model' with a vocabulary", "malformed input");
        }
        this.#readTokens(root);
        this.#normalizers = stepsOf(root.normalizer, normalizers, "normalizers", "normalizer");
        this.#splitters = stepsOf(root.pre_tokenizer, splitters, "pretokenizers", "pre-tokenizer");
        this.#decoders = this.#readDecoders(root.decoder);
        this.#begin = this.#readBegin(root.post_processor).map((name) => this.#ids.get(name) ??
            fail(`the post-processor puts '${name}' in front, which the vocabulary does not have`, "malformed input"));
    }

    #readTokens({ model, added_tokens: added = [] }) {
        this.#model = model;
        const unigram = Array.isArray(model.vocab);
        if (!["BPE", "Unigram", undefined].includes(model.type)) {
            fail(`the tokenizer's model '${model.type}' is not supported`, "not supported");
        }
        const rows = unigram ? model.vocab.map(([name, score], id) => [name, id, score]) : Object.entries(model.vocab);
        for (const [name, id, score] of [...rows, ...added.map((token) => [token.content, token.id])]) {
            this.#ids.has(name) || this.#ids.set(name, id);
            this.#names[id] = name;
            this.#scores[id] = score ?? this.#scores[id];
            this.#longest = Math.max(this.#longest, name.length);
        }
        this.#added = [...added].sort((a, b) => utf8.encode(b.content).length - utf8.encode(a.content).length);
        this.#special = new Set(added.filter((token) => token.special).map((token) => token.id));
        this.#unknown = unigram ? model.unk_id ?? undefined : this.#ids.get(model.unk_token);
        (model.merges ?? []).forEach((merge, rank) => {
            const [left, right] = Array.isArray(merge) ? merge : merge.split(" ");
            this.#merges.set(`${this.#ids.get(left)} ${this.#ids.get(right)}`, { rank, whole: this.#ids.get(left + right) });
        });
    }

    #readDecoders(decoder) {
        if (decoder === null || decoder === undefined) {
            return [(text, stream) => (stream.begun ? ` ${text}` : text)];
        }
        let fused = false;
        const read = (part) => {
            if (part.type === "Sequence") {
                return (part.decoders ?? []).flatMap(read);
            }
            if (part.type === "Fuse") {
                fused = true;
                return [];
            }
            return [(decoders[part.type] ?? fail(`the tokenizer's decoder '${part.type}' is not supported`, "not supported"))(part, fused)];
        };
        return read(decoder);
    }

    #readBegin(post) {
        if (post?.type === "TemplateProcessing") {
            const end = (post.single ?? []).findIndex((item) => item.SpecialToken === undefined);
            return post.single.slice(0, end < 0 ? undefined : end).map((item) => item.SpecialToken.id);
        }
        if (post?.type === "Sequence") {
            return (post.processors ?? []).flatMap((part) => this.#readBegin(part));
        }
        return /^(Bert|Roberta)Processing$/.test(post?.type) ? [post.cls[0]] : [];
    }

    /** One more than the largest number of a token. */
    get size() {
        return this.#names.length;
    }

    find(name) {
        return this.#ids.get(name);
    }

    isEnd(id) {
        return this.#special.has(id) && ENDS.has(this.#names[id]);
    }

    #cut(pieces, early) {
        const tokens = this.#added.filter((token) => !(token.normalized ?? !token.special) === early);
        const at = (text, place) => tokens.find((token) => text.startsWith(token.content, place) && (!token.single_word ||
            !(/[\p{L}\p{N}\p{M}\p{Pc}]$/u.test(text.slice(0, place)) || /^[\p{L}\p{N}\p{M}\p{Pc}]/u.test(text.slice(place + token.content.length)))));
        return pieces.flatMap((piece) => {
            const made = [];
            let begin = 0;
            for (let place = 0; piece.id === undefined && place < piece.text.length;) {
                const token = at(piece.text, place);
                if (token === undefined) {
                    place++;
                    continue;
                }
                const before = piece.text.slice(begin, place);
                made.push({ text: token.lstrip ? before.trimEnd() : before, first: piece.first && begin === 0 }, { id: token.id });
                place += token.content.length;
                const rest = piece.text.slice(place);
                place = begin = token.rstrip ? place + rest.length - rest.trimStart().length : place;
            }
            return begin === 0 && made.length === 0 ? [piece]
                : [...made, { text: piece.text.slice(begin), first: false }].filter(({ id, text }) => id !== undefined || text !== "");
        });
    }

    /** The tokens of a character that the vocabulary does not have. */
    #unknownOf(character, ids, state) {
        const bytes = utf8Of(character).map((byte) => this.#ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`));
        if (this.#model.byte_fallback && !bytes.includes(undefined)) {
            ids.push(...bytes);
        } else if (this.#unknown !== undefined && !(state.fused && (Array.isArray(this.#model.vocab) || this.#model.fuse_unk))) {
            state.fused = true;
            ids.push(this.#unknown);
        }
    }

    #bpe(text) {
        const whole = this.#model.ignore_merges ? this.#ids.get(text) : undefined;
        if (whole !== undefined) {
            return [whole];
        }
        const ids = [];
        const state = { fused: false };
        for (const character of text) {
            const id = this.#ids.get(character);
            state.fused = state.fused && id === undefined;
            id === undefined ? this.#unknownOf(character, ids, state) : ids.push(id);
        }
        for (;;) {
            let best;
            for (let i = 0; i + 1 < ids.length; i++) {
                const merge = this.#merges.get(`${ids[i]} ${ids[i + 1]}`);
                best = merge !== undefined && (best === undefined || merge.rank < best.rank) ? { ...merge, at: i } : best;
            }
            if (best === undefined) {
                return ids;
            }
            ids.splice(best.at, 2, best.whole);
        }
    }

    #unigram(text) {
        const places = [{ score: 0 }];
        const lowest = Math.min(...this.#scores.filter((score) => score !== undefined)) - 10;
        const offer = (at, from, score, id) => {
            if (places[at] === undefined || score > places[at].score) {
                places[at] = { score, from, id };
            }
        };
        for (let at = 0; at < text.length; at++) {
            if (places[at] === undefined) {
                continue;
            }
            const character = String.fromCodePoint(text.codePointAt(at)).length;
            let single = false;
            for (let size = 1; size <= Math.min(text.length - at, this.#longest); size++) {
                const id = this.#ids.get(text.slice(at, at + size));
                if (id !== undefined && id !== this.#unknown) {
                    single ||= size === character;
                    offer(at + size, at, places[at].score + (this.#scores[id] ?? 0), id);
                }
            }
            single || offer(at + character, at, places[at].score + lowest, undefined);
        }
        const found = [];
        for (let end = text.length; end > 0; end = places[end].from) {
            found.unshift([text.slice(places[end].from, end), places[end].id]);
        }
        const ids = [];
        const state = { fused: false };
        for (const [part, id] of found) {
            state.fused = state.fused && id === undefined;
            id === undefined ? this.#unknownOf(part, ids, state) : ids.push(id);
        }
        return ids;
    }

    /** The tokens of a text; `begin`: with what stands in front of each text. */
    encode(text, begin = true) {
        let pieces = this.#cut(text === "" ? [] : [{ text, first: true }], true);
        pieces = this.#cut(this.#normalizers.reduce((all, step) => step(all), pieces), false);
        pieces = this.#splitters.reduce((all, step) => step(all), pieces);
        const one = (piece) => (Array.isArray(this.#model.vocab) ? this.#unigram(piece) : this.#bpe(piece));
        return [...(begin ? this.#begin : []), ...pieces.flatMap((piece) => (piece.id !== undefined ? [piece.id] : one(piece.text)))];
    }

    /** A function from tokens, one after the other, to the text that is complete with each; without one, the rest. */
    stream() {
        const state = { begun: false, left: undefined };
        const whole = new TextDecoder("utf-8", { ignoreBOM: true });
        return (id) => {
            if (id === undefined) {
                return whole.decode();
            }
            if (this.#names[id] === undefined) {
                fail(`token ${id} is none of the tokenizer's ${this.size}: take the tokenizer that belongs to the model`, "value out of range");
            }
            if (this.#special.has(id)) {
                return "";
            }
            let text = this.#names[id];
            for (const step of this.#decoders) {
                text = typeof text === "string" ? step(text, state) : text;
            }
            const bytes = typeof text === "string" ? utf8.encode(text) : Uint8Array.from(text);
            state.left = bytes.length > 0 ? 0 : state.left;
            state.begun = true;
            return whole.decode(bytes, { stream: true });
        };
    }

    decode(ids) {
        const next = this.stream();
        return ids.map((id) => next(id)).join("") + next();
    }
}

/* ---- choosing a token: what vta_sample chooses, to the bit */

const SERIES = [2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800, 39916800, 479001600, 6227020800].map((n) => 1 / n);

function exactExp(x) {
    if (Number.isNaN(x) || x > 710 || x < -746) {
        return x > 710 ? Infinity : x < -746 ? 0 : x;
    }
    const product = x * 1.4426950408889634;
    const n = Math.trunc(product < 0 ? product - 0.5 : product + 0.5);
    const high = x - n * 6.93147180369123816490e-01;
    const low = n * 1.90821492927058770002e-10;
    const r = high - low;
    const tail = (high - r) - low;
    const rest = tail + r * r * SERIES.reduceRight((sum, term) => sum * r + term);
    const half = Math.trunc(n / 2);
    return (1 + (r + rest)) * 2 ** half * 2 ** (n - half);
}

class Sampler {
    #state;

    constructor({ temperature = 0, topK = 0, topP = 0, seed = 1 }) {
        if (!(temperature >= 0 && temperature <= 1e6)) {
            fail(`a temperature of ${temperature} is not between 0 and 1000000`);
        }
        if (!(topP >= 0 && topP <= 1)) {
            fail(`top-p of ${topP} is not between 0 and 1`);
        }
        Object.assign(this, { temperature, topK, topP });
        this.#state = BigInt.asUintN(64, BigInt(seed));
    }

    #uniform() {
        const cut = (x) => BigInt.asUintN(64, x);
        this.#state = cut(this.#state + 0x9e3779b97f4a7c15n);
        let x = this.#state;
        x = cut((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n);
        x = cut((x ^ (x >> 27n)) * 0x94d049bb133111ebn);
        return Number((x ^ (x >> 31n)) >> 11n) * 2 ** -53;
    }

    choose(logits) {
        let top = 0;
        logits.forEach((logit, i) => {
            if (Number.isNaN(logit) || logit === Infinity) {
                fail(`the logit of token ${i} is ${logit}; the model computes no numbers here`);
            }
            top = logit > logits[top] ? i : top;
        });
        if (logits[top] === -Infinity) {
            fail("all logits are -infinity; the model leaves no token to choose");
        }
        const weight = (id) => exactExp((logits[id] - logits[top]) / this.temperature);
        if (this.temperature === 0 || this.topK === 1) {
            return top;
        }
        const all = this.topK === 0 && (this.topP === 0 || this.topP === 1);
        const from = all ? Array.from(logits.keys()) : this.#candidates(logits, weight);
        let at = this.#uniform() * from.reduce((sum, id) => sum + weight(id), 0);
        return from.find((id) => (at -= weight(id)) < 0) ?? top;
    }

    /** The tokens among which is drawn, the likeliest first. Their weights are summed as the heap of vta_sample has them. */
    #candidates(logits, weight) {
        const before = (a, b) => logits[a] > logits[b] || (logits[a] === logits[b] && a < b);
        const count = this.topK === 0 || this.topK > logits.length ? logits.length : this.topK;
        const share = this.topP === 0 ? 1 : this.topP;
        const sorted = Array.from(logits.keys()).sort((a, b) => (before(a, b) ? -1 : 1)).slice(0, count);
        const summed = count < logits.length ? sorted : heapOf(logits, before);
        const most = share * summed.reduce((sum, id) => sum + weight(id), 0);
        let sum = 0;
        const end = share === 1 ? count : sorted.findIndex((id) => (sum += weight(id)) >= most);
        return sorted.slice(0, end < 0 || share === 1 ? count : end + 1);
    }
}

function heapOf(logits, before) {
    const heap = Array.from(logits.keys());
    for (let i = heap.length >> 1; i-- > 0;) {
        for (let at = i, child = 2 * i + 1; child < heap.length; child = 2 * at + 1) {
            child += child + 1 < heap.length && before(heap[child + 1], heap[child]) ? 1 : 0;
            if (!before(heap[child], heap[at])) {
                break;
            }
            [heap[at], heap[child]] = [heap[child], heap[at]];
            at = child;
        }
    }
    return heap;
}

/* ---- the loop */

const ROLES = [["mask", "mask"], ["position", "position"], ["token_type", "zero"]];

export class Generator {
    #model;
    #tokenizer;
    #roles;
    #ids;
    #logits;
    #states;
    #cache;
    #width;
    #cancelled = false;

    /** A model, and its tokenizer, or undefined: prompts and results are tokens alone. */
    constructor(model, tokenizer = undefined) {
        this.#model = model;
        this.#tokenizer = tokenizer;
        this.#states = model.states;
        this.#findInputs();
        this.#findOutput();
        if (tokenizer !== undefined && tokenizer.size > this.vocabulary) {
            fail(`the tokenizer has ${tokenizer.size} tokens and the model chooses among ${this.vocabulary}: take the tokenizer that ` +
                "belongs to this model");
        }
        if (this.#cache === "bounded") {
            this.#states.forEach((_, i) => model.joinState(i));
        }
    }

    #findInputs() {
        const { inputs } = this.#model;
        const roleOf = (tensor, i) => {
            if (this.#states.some((state) => state.input === i)) {
                return "state";
            }
            if (!/^(u?int|bool)/.test(tensor.type)) {
                fail(`input '${tensor.name}' is neither tokens, a mask, positions nor a state: text is generated by models from ids to logits`);
            }
            return ROLES.find(([part]) => tensor.name.toLowerCase().includes(part))?.[1] ?? "ids";
        };
        this.#roles = inputs.map(roleOf);
        const ids = this.#roles.filter((role) => role === "ids").length;
        if (ids !== 1) {
            fail(`the model has ${ids} inputs of tokens, 1 is needed: an input of integers that is called neither mask nor position`);
        }
        this.#ids = this.#roles.indexOf("ids");
        this.#width = inputs[this.#ids].shape.at(-1);
        const bounded = this.#roles.includes("position");
        this.#cache = this.#states.length === 0 ? "none" : bounded ? "bounded" : "carried";
        this.context = this.#cache === "none" ? this.#width : bounded ? inputs[this.#states[0].input].shape.at(-2) : Infinity;
        if (this.#cache === "carried" && this.#width !== 1) {
            fail(`the model carries states over ${this.#width} tokens a run; compile it for 1 token a run`);
        }
    }

    #findOutput() {
        const fits = this.#model.outputs.map((tensor, index) => ({ tensor, index }))
            .filter(({ tensor, index }) => tensor.type === "float32" && !this.#states.some((state) => state.output === index));
        const named = fits.filter(({ tensor }) => tensor.name.toLowerCase().includes("logits"));
        const found = named.length > 0 ? named : fits;
        if (found.length !== 1) {
            fail(`the model has ${found.length} outputs of floats that could be logits, 1 is needed, or one that is called logits`);
        }
        this.#logits = found[0].index;
        this.vocabulary = found[0].tensor.shape.at(-1);
    }

    /** Ends the generation that is going on, at its next token. */
    cancel() {
        this.#cancelled = true;
    }

    /** New tokens behind a text or tokens: {token, text}, one after the other. Without `ignoreEnd` the end of a text ends it. */
    *generate(prompt, options = {}) {
        const { maxTokens = Infinity, ignoreEnd = false } = options;
        const sampler = new Sampler(options);
        const history = this.#promptOf(prompt);
        const next = this.#tokenizer?.stream(); // what follows may be the rest of a character of the prompt
        history.forEach((id) => next?.(id));
        this.#cancelled = false;
        const state = { past: 0 };
        this.#states.forEach((one) => this.#model.view(one.input).fill(this.#model.inputs[one.input].type.endsWith("64") ? 0n : 0));
        for (let count = 0, ended = false; count < maxTokens && history.length <= this.context && !ended; count++) {
            const token = sampler.choose(this.#step(history, state));
            history.push(token);
            ended = !ignoreEnd && (this.#tokenizer?.isEnd(token) ?? false);
            yield { token, text: next?.(token) ?? "" };
        }
        const rest = next?.() ?? "";
        if (rest !== "") {
            yield { token: undefined, text: rest };
        }
    }

    #promptOf(prompt) {
        if (typeof prompt === "string" && this.#tokenizer === undefined) {
            fail("a text needs a tokenizer; without one a prompt is tokens");
        }
        const ids = typeof prompt === "string" ? this.#tokenizer.encode(prompt) : Array.from(prompt, Number);
        if (ids.length === 0) {
            fail("the prompt has no tokens; give a text or numbers of tokens");
        }
        const odd = ids.find((id) => !Number.isInteger(id) || id < 0 || id >= this.vocabulary);
        if (odd !== undefined) {
            fail(`token ${odd} of the prompt is outside of the model's vocabulary, which ends at ${this.vocabulary - 1}`, "value out of range");
        }
        if (ids.length > this.context) {
            fail(`the prompt has ${ids.length} tokens and the model takes ${this.context}: give a shorter one, or compile the model for a ` +
                "longer context", "value out of range");
        }
        return ids;
    }

    #fill(input, value) {
        const to = this.#model.view(input);
        const big = to instanceof BigInt64Array || to instanceof BigUint64Array;
        to.forEach((_, i) => { to[i] = big ? BigInt(value(i, to.length)) : Number(value(i, to.length)); });
    }

    /** Runs the model on what it has not seen; the logits behind the last. */
    #step(history, state) {
        let first;
        let count;
        do {
            first = this.#cache === "none" ? 0 : state.past;
            count = Math.min(history.length - first, this.#width);
            this.#run(history, first, count);
            state.past = first + count;
        } while (state.past < history.length);
        const all = this.#model.get(this.#logits);
        const rows = all.length / this.vocabulary;
        if (rows !== this.#width && (rows !== 1 || count !== this.#width)) {
            fail(`output '${this.#model.outputs[this.#logits].name}' has ${rows} rows for ${this.#width} tokens; a row for each token is needed`);
        }
        const row = rows === 1 ? 0 : count - 1;
        return all.subarray(row * this.vocabulary, (row + 1) * this.vocabulary);
    }

    #run(history, first, count) {
        this.#roles.forEach((role, input) => {
            const fills = {
                ids: (i) => (i < count ? history[first + i] : 0),
                mask: (i, places) => (places === this.#width ? i < count : i < first + count),
                position: (i) => first + i, zero: () => 0,
            };
            role !== "state" && this.#fill(input, fills[role]);
        });
        if (this.#cancelled) {
            fail(`interrupted behind ${first} tokens`, "interrupted");
        }
        this.#model.step();
        if (this.#cache === "carried") {
            this.#states.forEach((state) => this.#model.set(state.input, this.#model.get(state.output)));
        }
    }
}
