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
// A call that fails throws VtaError, with the library's sentence and `status`. A model runs in the thread that calls it; workers each
// load their own, from one WebAssembly.Module.
//
// With `--target webgpu` the model has kernels for the browser's GPU, too, which answers later:
//
//     const model = await load("model.wasm", { device: "webgpu" });   // throws where there is no GPU, or it refuses the kernels
//     const outputs = await model.infer(pixels);                      // infer works without a GPU, too

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

/** A model; options.device is a URI of fsim, "fsim" unless told, or "webgpu". */
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
    const asked = options.device != null && String(options.device) === "webgpu";
    const model = new Model(instance.exports, asked ? {} : options);
    if (asked) {
        try {
            await model.open();
        } catch (error) {
            model.close();
            throw error;
        }
    }
    return model;
}

const SPACE = { workspace: 0, constant: 1, input: 2, output: 3 };
const ROOM = 1 << 26; // for the items' scratch memory
const round = (bytes, to) => Math.ceil(bytes / to) * to;

async function adapterOf() {
    if (typeof navigator === "undefined" || navigator.gpu === undefined) {
        throw new VtaError("no GPU: WebGPU is not there (it needs a recent browser, and https, file or localhost)", "not supported");
    }
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (adapter === null) {
        throw new VtaError("no GPU: the browser gives none to pages (its settings, or its list of drivers, forbid it)", "not supported");
    }
    return adapter;
}

/* A model's kernels on a device of WebGPU. Two buffers have all its memory: "held" the constants, written once, "work" the
 * workspace, the inputs, the outputs and the items' scratch memory. */
class Kernels {
    #c;
    #model;
    #read;
    #device;
    #lost;
    #work;
    #held;
    #places;
    #staging;
    #steps = [];
    #ends = [];
    #clock;

    constructor(exports, model, read) {
        this.#c = exports;
        this.#model = model;
        this.#read = read;
    }

    async open() {
        const row = this.#words(this.#c.vta_web_kernels?.() ?? 0, 7);
        if (row === undefined || this.#read(row[0]) !== "webgpu") {
            throw new VtaError("it has no kernels for 'webgpu'; compile it with '--target webgpu'", "not supported");
        }
        const [, prelude, kernels, steps, constants, constantBytes, workspaceBytes] = row;
        const adapter = await adapterOf();
        const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
        const timed = adapter.features.has("timestamp-query") && 2 * steps <= 4096;
        try {
            this.#device = await adapter.requestDevice({
                requiredLimits: { maxBufferSize, maxStorageBufferBindingSize }, requiredFeatures: timed ? ["timestamp-query"] : [],
            });
        } catch (error) {
            throw new VtaError(`no GPU: the browser gives no device: ${error.message}`, "not supported");
        }
        this.#device.lost.then((why) => { this.#lost = why.message || why.reason || "for no reason given"; });
        const { vendor, architecture, description } = adapter.info ?? {};
        this.name = `webgpu (${description || [vendor, architecture].filter(Boolean).join(" ") || "a GPU"})`;
        const bytes = this.#lay(steps, workspaceBytes);
        await this.#allocate(bytes, constantBytes, steps, timed);
        this.#device.queue.writeBuffer(this.#held, 0, this.#c.memory.buffer, constants, round(constantBytes, 4));
        await this.#build(kernels, this.#read(prelude));
    }

    #words(address, count) {
        return address === 0 ? undefined : Array.from(new Uint32Array(this.#c.memory.buffer, address, count));
    }

    /** Places of all buffers in "work"; returns its bytes. */
    #lay(steps, workspaceBytes) {
        const [inputs, outputs] = [[], []];
        let end = round(workspaceBytes, 256);
        for (const [tensors, starts] of [[this.#model.inputs, inputs], [this.#model.outputs, outputs]]) {
            for (const tensor of tensors) {
                starts.push(end);
                end += round(Math.max(tensor.bytes, 4), 256);
            }
        }
        this.#ends = [inputs, outputs];
        const rows = Array.from({ length: steps }, (_, i) => this.#step(i));
        const scratch = Math.max(0, ...rows.map((step) => step.scratch));
        this.#steps = rows.map((step) => ({ ...step, base: end }));
        return end + round(scratch, 256);
    }

    #step(index) {
        const address = this.#c.vta_web_launch(index);
        const [kernel, items, reason, written, scratchBytes, count, group] = this.#words(address, 7);
        const rows = this.#words(address + 28, 4 * count);
        const access = this.#read(written);
        const starts = { [SPACE.input]: this.#ends[0], [SPACE.output]: this.#ends[1] };
        const buffers = Array.from({ length: count }, (_, i) => {
            const [space, number, offset, bytes] = rows.slice(4 * i, 4 * i + 4);
            return { space, at: (starts[space]?.[number] ?? 0) + offset, bytes: round(bytes, 4), written: access[i] === "w" };
        });
        const each = round(scratchBytes, 64);
        const most = each > 0 ? Math.max(64, Math.floor(ROOM / each)) : Infinity;
        const many = Math.min(items <= most ? Math.ceil(items / 64) : Math.floor(most / 64), 65535);
        const groups = group > 0 ? items / group : many;
        const here = kernel === 0xffffffff;
        return { kernel, here, reason: this.#read(reason), buffers, each, groups, scratch: here ? 0 : each * Math.min(items, groups * (group || 64)) };
    }

    /** Buffers, and for each step the places of its own in a row of a uniform buffer. */
    async #allocate(bytes, constantBytes, steps, timed) {
        const d = this.#device;
        const limit = Math.min(d.limits.maxBufferSize, d.limits.maxStorageBufferBindingSize);
        const largest = Math.max(bytes, constantBytes);
        const tooLarge = new VtaError(`device '${this.name}': the model needs ${(largest / 1048576).toFixed(1)} MiB in one piece, ` +
            `it gives ${(limit / 1048576).toFixed(1)}`, "out of memory");
        if (largest > limit) {
            throw tooLarge;
        }
        const { STORAGE, UNIFORM, COPY_DST, COPY_SRC, MAP_READ, QUERY_RESOLVE } = GPUBufferUsage;
        const all = this.#ends.flat();
        const outputs = round(this.#model.outputs.reduce((sum, tensor) => sum + round(Math.max(tensor.bytes, 4), 256), 0), 256);
        const here = this.#steps.filter((step) => step.here)
            .map((step) => step.buffers.reduce((sum, buffer) => sum + buffer.bytes, 0));
        d.pushErrorScope("out-of-memory");
        this.#work = d.createBuffer({ size: Math.max(bytes, 256), usage: STORAGE | COPY_DST | COPY_SRC });
        this.#held = d.createBuffer({ size: Math.max(round(constantBytes, 4), 256), usage: STORAGE | COPY_DST });
        this.#places = d.createBuffer({ size: 256 * Math.max(steps, 1), usage: UNIFORM | COPY_DST });
        this.#staging = d.createBuffer({ size: Math.max(outputs, 256, ...here), usage: MAP_READ | COPY_DST });
        if (timed) {
            this.#clock = {
                set: d.createQuerySet({ type: "timestamp", count: 2 * Math.max(steps, 1) }),
                numbers: d.createBuffer({ size: 16 * Math.max(steps, 1), usage: QUERY_RESOLVE | COPY_SRC }),
                read: d.createBuffer({ size: 16 * Math.max(steps, 1), usage: MAP_READ | COPY_DST }),
            };
        }
        if (await d.popErrorScope() !== null || all.some(Number.isNaN)) {
            throw tooLarge;
        }
        const words = new Uint32Array(64 * Math.max(steps, 1));
        this.#steps.forEach((step, i) => {
            words.set(step.buffers.map((buffer) => buffer.at), 64 * i);
            words.set([step.base, step.each], 64 * i + 48);
        });
        d.queue.writeBuffer(this.#places, 0, words);
    }

    /** One pipeline for each kernel; of what is refused, the kernel's name and the first line. */
    async #build(kernels, prelude) {
        const d = this.#device;
        const { COMPUTE } = GPUShaderStage;
        const layout = d.createBindGroupLayout({
            entries: [
                { binding: 0, visibility: COMPUTE, buffer: { type: "storage" } },
                { binding: 1, visibility: COMPUTE, buffer: { type: "read-only-storage" } },
                { binding: 2, visibility: COMPUTE, buffer: { type: "uniform", hasDynamicOffset: true, minBindingSize: 208 } },
            ],
        });
        const pipelineLayout = d.createPipelineLayout({ bindGroupLayouts: [layout] });
        const pipelines = await Promise.all(Array.from({ length: kernels }, async (_, i) => {
            const [name, source] = this.#words(this.#c.vta_web_kernel(i), 2).map((address) => this.#read(address));
            d.pushErrorScope("validation");
            const module = d.createShaderModule({ code: `${prelude}@compute @workgroup_size(group) fn k${i}${source}` });
            const error = await d.popErrorScope();
            const refused = (await module.getCompilationInfo()).messages.find((message) => message.type === "error");
            const refuse = (text) => new VtaError(`device '${this.name}' refuses the kernel of '${name}': ${text.split("\n")[0]}`, "not supported");
            if (refused !== undefined || error !== null) {
                throw refuse(refused?.message ?? error.message);
            }
            try {
                return await d.createComputePipelineAsync({ layout: pipelineLayout, compute: { module, entryPoint: `k${i}` } });
            } catch (problem) {
                throw this.#lost === undefined ? refuse(problem.message) : this.#gone();
            }
        }));
        const group = d.createBindGroup({
            layout,
            entries: [
                { binding: 0, resource: { buffer: this.#work } },
                { binding: 1, resource: { buffer: this.#held } },
                { binding: 2, resource: { buffer: this.#places, size: 208 } },
            ],
        });
        this.#steps = this.#steps.map((step) => ({ ...step, group, pipeline: pipelines[step.kernel] }));
    }

    #gone() {
        return new VtaError(`device '${this.name}' is lost: ${this.#lost}`, "input/output error");
    }

    /** Copies parts of "work" to the host, which waits for what was queued before; `to` are addresses there. */
    async #fetch(encoder, parts) {
        let end = 0;
        for (const part of parts) {
            encoder.copyBufferToBuffer(this.#work, part.at, this.#staging, end, part.bytes);
            end += part.bytes;
        }
        this.#device.queue.submit([encoder.finish()]);
        try {
            await this.#staging.mapAsync(GPUMapMode.READ, 0, Math.max(end, 4));
        } catch (error) {
            this.#lost ??= error.message;
        }
        if (this.#lost !== undefined) {
            throw this.#gone();
        }
        const bytes = new Uint8Array(this.#staging.getMappedRange(0, Math.max(end, 4)));
        const memory = new Uint8Array(this.#c.memory.buffer);
        let from = 0;
        for (const part of parts) {
            memory.set(bytes.subarray(from, from + part.exactly), part.to);
            from += part.bytes;
        }
        this.#staging.unmap();
    }

    #send(to, address, bytes) {
        this.#device.queue.writeBuffer(this.#work, to, this.#c.memory.buffer, address, bytes);
    }

    /** A step of the host between kernels: what it touches comes here, what it writes goes back. */
    async #here(encoder, step, index, check) {
        const own = step.buffers.map((buffer, i) => ({ ...buffer, exactly: buffer.bytes, to: this.#c.vta_web_place(index, i) }))
            .filter((buffer) => buffer.space !== SPACE.constant);
        await this.#fetch(encoder, own.filter((buffer) => buffer.space !== SPACE.input));
        check(this.#c.vta_web_step_here(index));
        for (const buffer of own.filter(({ written }) => written)) {
            this.#send(buffer.at, buffer.to, buffer.bytes);
        }
    }

    /** One inference; returns the seconds of each step where they were asked for and the device has a clock. */
    async run(profiled, check) {
        if (this.#lost !== undefined) {
            throw this.#gone();
        }
        const d = this.#device;
        this.#model.inputs.forEach((tensor, i) => this.#send(this.#ends[0][i], tensor.address, round(tensor.bytes, 4)));
        const seconds = new Array(this.#steps.length).fill(0);
        const timed = profiled && this.#clock !== undefined;
        let encoder = d.createCommandEncoder();
        let pass;
        for (const [index, step] of this.#steps.entries()) {
            if (step.here) {
                pass?.end();
                pass = undefined;
                const begin = performance.now();
                await this.#here(encoder, step, index, check);
                seconds[index] = (performance.now() - begin) / 1e3;
                encoder = d.createCommandEncoder();
                continue;
            }
            if (timed || pass === undefined) {
                pass?.end();
                pass = encoder.beginComputePass(timed ? { timestampWrites: {
                    querySet: this.#clock.set, beginningOfPassWriteIndex: 2 * index, endOfPassWriteIndex: 2 * index + 1 } } : {});
            }
            pass.setPipeline(step.pipeline);
            pass.setBindGroup(0, step.group, [256 * index]);
            pass.dispatchWorkgroups(step.groups);
        }
        pass?.end();
        if (timed) {
            encoder.resolveQuerySet(this.#clock.set, 0, 2 * this.#steps.length, this.#clock.numbers, 0);
            encoder.copyBufferToBuffer(this.#clock.numbers, 0, this.#clock.read, 0, 16 * this.#steps.length);
        }
        await this.#fetch(encoder, this.#model.outputs.map((tensor, i) => ({
            at: this.#ends[1][i], bytes: round(tensor.bytes, 4), exactly: tensor.bytes, to: tensor.address,
        })));
        if (timed) {
            await this.#clock.read.mapAsync(GPUMapMode.READ);
            const at = new BigUint64Array(this.#clock.read.getMappedRange());
            this.#steps.forEach((step, i) => {
                seconds[i] = step.here ? seconds[i] : Math.max(0, Number(at[2 * i + 1] - at[2 * i]) / 1e9);
            });
            this.#clock.read.unmap();
        }
        return seconds;
    }

    /** Whether a step runs on the device, and why not. */
    reason(index) {
        return this.#steps[index].here ? this.#steps[index].reason : undefined;
    }

    close() {
        this.#device?.destroy();
    }
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
    #kernels;
    #seconds;

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
        this.states = Object.freeze(Array.from({ length: exports.vta_web_states() }, (_, index) => {
            const [input, output] = new Uint32Array(exports.memory.buffer, exports.vta_web_state(index), 2);
            return Object.freeze({ input, output });
        }));
    }

    /** Makes the output of a state, by its number in `states`, write into its input: the next run goes on with it. */
    joinState(index) {
        this.#check(this.#live().vta_web_join(index));
    }

    /** Whether the model has kernels for a GPU, and in which language. */
    get kernels() {
        const address = this.#live().vta_web_kernels?.() ?? 0;
        return address === 0 ? undefined : this.#read(new Uint32Array(this.#c.memory.buffer, address, 1)[0]);
    }

    /** Brings the model to the browser's GPU; load does that for device "webgpu". */
    async open() {
        const kernels = new Kernels(this.#live(), this, (address) => this.#read(address));
        try {
            await kernels.open();
        } catch (error) {
            kernels.close();
            throw error;
        }
        this.#kernels = kernels;
        this.device = kernels.name;
    }

    /** Leaves the GPU: the model runs as WebAssembly again. */
    leave() {
        this.#kernels?.close();
        this.#kernels = undefined;
        this.#seconds = undefined;
        this.device = this.#read(this.#live().vta_web_device());
    }

    get onGpu() {
        return this.#kernels !== undefined;
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
        this.step();
        return this.outputs.map((_, index) => this.get(index));
    }

    /** The same without copies: outputs are to be had by get. */
    step() {
        this.#here();
        this.#check(this.#live().vta_web_run(0));
    }

    /** As run, where the model is: on a GPU as well. One at a time. */
    async infer(...inputs) {
        if (this.#kernels === undefined) {
            return this.run(...inputs);
        }
        inputs.forEach((values, index) => this.set(index, values));
        this.#seconds = undefined;
        await this.#kernels.run(false, (status) => this.#check(status));
        return this.outputs.map((_, index) => this.get(index));
    }

    /** As profile, where the model is. */
    async trace(...inputs) {
        if (this.#kernels === undefined) {
            return this.profile(...inputs);
        }
        inputs.forEach((values, index) => this.set(index, values));
        this.#seconds = await this.#kernels.run(true, (status) => this.#check(status));
        return this.steps();
    }

    /** The same with a clock round each step; returns the steps. */
    profile(...inputs) {
        inputs.forEach((values, index) => this.set(index, values));
        this.#here();
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
                name: this.#read(name), op: this.#read(op), onAccelerator: accelerator !== 0,
                onGpu: this.#kernels !== undefined && this.#kernels.reason(index) === undefined,
                seconds: this.#seconds?.[index] ?? seconds, cycles, predicted, flops,
            };
        });
    }

    /** Frees the model. More than once does nothing. */
    close() {
        if (this.#open) {
            this.#kernels?.close();
            this.#kernels = undefined;
            this.#c.vta_web_close();
            this.#open = false;
        }
    }

    #here() {
        if (this.#kernels !== undefined) {
            throw new VtaError("a GPU answers later: 'await model.infer()', or 'await model.trace()'", "invalid argument");
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
