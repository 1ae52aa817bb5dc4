// SPDX-License-Identifier: Apache-2.0
//
// Compiled models in Node and in browsers: what `vtac compile --host wasm32` wrote, a WebAssembly module with the model, the
// runtime and the accelerator's functional simulator in it.
//
//     import { load } from "./vta.mjs";
//     const model = await load("model.wasm");             // a path, a URL, a Response, bytes, or a WebAssembly.Module
//     model.set(0, pixels);                               // a typed array of the input's type, or an array of numbers
//     model.run();
//     console.log(model.get(0));                          // a typed array of its own
//     for (const step of model.profile()) console.log(step.name, step.seconds);
//     model.close();
//
// What fails throws VtaError, with the library's sentence and `status`. A model runs in the thread that calls it; workers each
// load their own, from one WebAssembly.Module.

export class VtaError extends Error {
    constructor(text, status) {
        super(text);
        this.name = "VtaError";
        this.status = status;
    }
}

const arrays = {
    int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
    uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
    float32: Float32Array, float64: Float64Array,
    bool8: Uint8Array, float16: Uint16Array, bfloat16: Uint16Array,
};
const kinds = { 0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool" };

async function bytesOf(source) {
    if (typeof source === "string" || source instanceof URL) {
        const text = String(source);
        if (typeof process !== "undefined" && !/^(https?|data|blob):/.test(text)) {
            const { readFile } = await import("node:fs/promises");
            return readFile(text.startsWith("file:") ? new URL(text) : source);
        }
        source = await fetch(source);
    }
    if (typeof Response !== "undefined" && source instanceof Response) {
        if (!source.ok) {
            throw new VtaError(`${source.url}: ${source.status} ${source.statusText}`, "input/output error");
        }
        return source.arrayBuffer();
    }
    return source;
}

/** The module of a model, for load; it can be sent to workers. */
export async function compile(source) {
    if (source instanceof WebAssembly.Module) {
        return source;
    }
    let bytes;
    try {
        bytes = await bytesOf(source);
    } catch (error) {
        throw error instanceof VtaError ? error : new VtaError(`${source}: ${error.message}`, "input/output error");
    }
    try {
        return await WebAssembly.compile(bytes);
    } catch (error) {
        throw new VtaError(`not a model for WebAssembly: ${error.message}`, "malformed input");
    }
}

/** A model; options.device is a URI of fsim, "fsim" unless told. */
export async function load(source, options = {}) {
    const module = await compile(source);
    let instance;
    try {
        instance = await WebAssembly.instantiate(module, { env: { now: () => performance.now() / 1000 } });
    } catch (error) {
        throw new VtaError(`not a model for WebAssembly: ${error.message}`, "malformed input");
    }
    if (instance.exports.vta_web_open === undefined) {
        throw new VtaError("not a model for WebAssembly: it exports no 'vta_web_open'", "malformed input");
    }
    return new Model(instance.exports, options);
}

class Tensor {
    #words;

    constructor(name, words) {
        const [, code, bits, bytes, , rank, ...dimensions] = words;
        this.name = name;
        this.type = `${kinds[code] ?? `type${code}_`}${bits}`;
        this.shape = dimensions.slice(0, rank);
        this.bytes = bytes;
        this.#words = words;
        Object.freeze(this.shape);
    }

    /** Where it lies in the module's memory. */
    get address() {
        return this.#words[4];
    }
}

class Model {
    #c;
    #open = false;

    constructor(exports, options) {
        this.#c = exports;
        const device = options.device == null ? 0 : this.#text(String(options.device));
        this.#check(exports.vta_web_open(device));
        exports.vta_web_give(device);
        this.#open = true;
        this.name = this.#read(exports.vta_web_name());
        this.device = this.#read(exports.vta_web_device());
        this.version = this.#read(exports.vta_web_version());
        this.inputs = this.#tensors(0);
        this.outputs = this.#tensors(1);
    }

    /** Copies an input, by number or name. */
    set(key, values) {
        const tensor = this.#find(this.inputs, key, "input");
        const to = this.#view(tensor);
        if (ArrayBuffer.isView(values)) {
            const plain = values instanceof Uint8Array || values instanceof Uint8ClampedArray;
            if (values.constructor !== to.constructor && !(plain && values.byteLength === tensor.bytes)) {
                throw new TypeError(`'${tensor.name}' is of ${tensor.type}, not a ${values.constructor.name}`);
            }
            if (values.byteLength !== tensor.bytes) {
                throw new RangeError(`'${tensor.name}' has ${tensor.bytes} bytes, not ${values.byteLength}`);
            }
            new Uint8Array(to.buffer, to.byteOffset, tensor.bytes).set(
                new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
            return;
        }
        const single = typeof values === "number" && tensor.shape.length === 0;
        const flat = single ? [values] : Array.isArray(values) ? values.flat(Infinity) : undefined;
        if (flat === undefined) {
            throw new TypeError(`'${tensor.name}' takes a typed array or an array of numbers`);
        }
        const odd = flat.findIndex((value) => !["number", "bigint", "boolean"].includes(typeof value));
        if (odd >= 0) {
            throw new TypeError(`'${tensor.name}' takes numbers; number ${odd} of the array is of type ${typeof flat[odd]}`);
        }
        if (flat.length !== to.length) {
            throw new RangeError(`'${tensor.name}' has ${to.length} elements, not ${flat.length}`);
        }
        to.set(flat);
        const wrong = /int|bool/.test(tensor.type) ? flat.findIndex((value, i) => to[i] != value) : -1;
        if (wrong >= 0) {
            throw new RangeError(`'${tensor.name}' is of ${tensor.type}, which does not hold ${flat[wrong]}`);
        }
    }

    /** A copy of an output, by number or name. */
    get(key = 0) {
        return this.#view(this.#find(this.outputs, key, "output")).slice();
    }

    /** The module's own memory for an input, to write without a copy; valid until the next call of anything else. */
    view(key = 0) {
        return this.#view(this.#find(this.inputs, key, "input"));
    }

    /** One inference; inputs that are given are set before. Returns the outputs. */
    run(...inputs) {
        if (inputs.length > this.inputs.length) {
            throw new TypeError(`${inputs.length} inputs are given; the model has ${this.inputs.length}`);
        }
        inputs.forEach((values, index) => this.set(index, values));
        this.#check(this.#live().vta_web_run(0));
        return this.outputs.map((_, index) => this.get(index));
    }

    /** The same with a clock round each step; returns the steps. */
    profile(...inputs) {
        inputs.forEach((values, index) => this.set(index, values));
        this.#check(this.#live().vta_web_run(1));
        return this.steps();
    }

    /** What the last run left. */
    steps() {
        const c = this.#live();
        return Array.from({ length: c.vta_web_steps() }, (_, index) => {
            const row = Array.from(new Float64Array(c.memory.buffer, c.vta_web_step(index), 7));
            const [name, op, accelerator, seconds, cycles, predicted, flops] = row;
            return {
                name: this.#read(name), op: this.#read(op), onAccelerator: accelerator !== 0, seconds, cycles, predicted, flops,
            };
        });
    }

    /** Frees the model. More than once does nothing. */
    close() {
        if (this.#open) {
            this.#c.vta_web_close();
            this.#open = false;
        }
    }

    #live() {
        if (!this.#open) {
            throw new VtaError("the model is closed", "invalid argument");
        }
        return this.#c;
    }

    #check(status) {
        if (status !== 0) {
            throw new VtaError(this.#read(this.#c.vta_web_error()), this.#read(this.#c.vta_web_status(status)));
        }
    }

    #read(address) {
        const bytes = new Uint8Array(this.#c.memory.buffer, address);
        return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
    }

    /** A text in the module's memory, which is to be given back. */
    #text(text) {
        const bytes = new TextEncoder().encode(text);
        if (bytes.includes(0)) {
            throw new VtaError("a URI with a character 0 in it", "invalid argument");
        }
        const address = this.#c.vta_web_take(bytes.length + 1);
        if (address === 0) {
            throw new VtaError("out of memory", "out of memory");
        }
        const to = new Uint8Array(this.#c.memory.buffer, address, bytes.length + 1);
        to.set(bytes);
        to[bytes.length] = 0;
        return address;
    }

    #tensors(outputs) {
        return Object.freeze(Array.from({ length: this.#c.vta_web_count(outputs) }, (_, index) => {
            const words = Array.from(new Uint32Array(this.#c.memory.buffer, this.#c.vta_web_tensor(outputs, index), 14));
            return new Tensor(this.#read(words[0]), words);
        }));
    }

    #find(tensors, key, what) {
        const tensor = typeof key === "number" ? tensors[key] : tensors.find((t) => t.name === key);
        if (tensor === undefined) {
            throw new RangeError(`there is no ${what} ${key}; the model has ${tensors.map((t) => t.name).join(", ")}`);
        }
        return tensor;
    }

    #view(tensor) {
        const kind = arrays[tensor.type] ?? Uint8Array;
        return new kind(this.#live().memory.buffer, tensor.address, tensor.bytes / kind.BYTES_PER_ELEMENT);
    }
}
