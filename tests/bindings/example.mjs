// SPDX-License-Identifier: Apache-2.0
//
// The JavaScript binding as a program in Node uses it. Arguments: BINDING MODEL, in a folder where in1.bin and in2.bin are inputs
// and here1, here2 hold what the same model gives without WebAssembly; or BINDING MODEL write, which writes the inputs.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const [binding, path, write] = isMainThread ? process.argv.slice(2) : workerData.arguments;
const { load, compile, VtaError } = await import(binding);

function picture(elements, seed) {
    return Float32Array.from({ length: elements }, () => {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        return (seed >>> 24) / 255;
    });
}

// The elements of a NumPy file stand behind the header, whose length is at byte 8.
function expected(number) {
    const folder = `here${number}`;
    const bytes = readFileSync(`${folder}/${readdirSync(folder)[0]}`);
    return new Float32Array(bytes.buffer.slice(bytes.byteOffset + 10 + bytes.readUInt16LE(8), bytes.byteOffset + bytes.length));
}

// The classifier's last step is a softmax: a product and a sum that are rounded one by one here, at once there.
function same(scores, number) {
    const there = expected(number);
    assert.equal(scores.length, there.length);
    scores.forEach((score, i) => assert.ok(Math.abs(score - there[i]) < 1e-6, `element ${i}: ${score}, not ${there[i]}`));
    return true;
}

function fails(kind, words, call) {
    assert.throws(call, (error) => error instanceof kind && error.message.includes(words) || assert.fail(error));
}

if (!isMainThread) {
    const model = await load(workerData.module);
    const scores = workerData.seeds.map((seed) => model.run(picture(3072, seed))[0]);
    parentPort.postMessage(scores);
} else {
    const module = await compile(path);
    const model = await load(module);
    console.log(`${model.name} on ${model.device}:`, model.inputs.map(String).length, "input,", model.outputs.length, "output");
    const [x] = model.inputs;
    const [y] = model.outputs;
    const elements = x.shape.reduce((a, b) => a * b);
    if (write !== undefined) {
        [1, 2].forEach((seed) => writeFileSync(`in${seed}.bin`, new Uint8Array(picture(elements, seed).buffer)));
        process.exit();
    }

    // Describe, set, run, get, profile; twice with different data.
    assert.equal(x.type, "float32");
    assert.equal(x.bytes, 4 * elements);
    model.set(0, picture(elements, 1));
    model.run();
    const one = model.get(0);
    const [two] = model.run(picture(elements, 2));
    assert.notDeepEqual(one, two);
    assert.ok(same(one, 1) && same(two, 2));
    model.set(x.name, Array.from(picture(elements, 1)));
    model.run();
    assert.deepEqual(model.get(y.name), one);
    model.view(0).set(picture(elements, 2));
    const steps = model.profile();
    assert.deepEqual(model.get(), two);
    assert.ok(steps.some((step) => step.onAccelerator && step.predicted > 0) && steps.some((step) => step.seconds > 0));
    assert.deepEqual(model.steps().map((step) => step.name), steps.map((step) => step.name));
    const nested = Array.from({ length: x.shape[0] }, () => Array.from(picture(elements, 1)));
    assert.deepEqual(model.run(nested)[0], one);

    // Errors are of the language.
    fails(RangeError, "12288 bytes, not 12", () => model.set(0, new Float32Array(3)));
    fails(TypeError, "number 1 of the array is of type string", () => model.set(0, Array.from({ length: elements }, (_, i) => i === 1 ? "x" : 0)));
    fails(TypeError, "typed array", () => model.set(0, 1.5));
    fails(RangeError, "3072 elements, not 2", () => model.set(0, [1, 2]));
    fails(TypeError, "float32, not a Int32Array", () => model.set(0, new Int32Array(elements)));
    fails(TypeError, "array of numbers", () => model.set(0, "picture"));
    fails(RangeError, "no input nothing", () => model.set("nothing", []));
    fails(RangeError, "no output 7", () => model.get(7));
    fails(TypeError, "2 inputs", () => model.run([], []));
    await assert.rejects(load("no such file.wasm"), (error) => error instanceof VtaError && error.status === "input/output error");
    await assert.rejects(load(new Uint8Array([1, 2, 3])), (error) => error.status === "malformed input");
    const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
    await assert.rejects(load(empty), (error) => error.status === "malformed input" && error.message.includes("exports no"));
    await assert.rejects(load(module, { device: "tsim" }), (error) => error.status === "no such device");
    await assert.rejects(load(module, { device: "fsim:tiny" }), (error) => error.status === "configuration mismatch");
    assert.deepEqual((await load(module, { device: "fsim?strict=1" })).run(picture(elements, 2))[0], two);

    // Many models at once, opened and closed again and again: the memory is given back.
    const many = await Promise.all(Array.from({ length: 8 }, () => load(module)));
    many.forEach((other, i) => assert.deepEqual(other.run(picture(elements, 1 + (i % 2)))[0], i % 2 === 0 ? one : two));
    many.forEach((other) => other.close());

    // A pool of workers, each with its own.
    const pool = Array.from({ length: 4 }, (_, i) => new Promise((resolve, reject) => {
        const worker = new Worker(new URL(import.meta.url), {
            workerData: { arguments: [binding, path], module, seeds: i % 2 === 0 ? [1, 2] : [2, 1] },
        });
        worker.on("message", resolve);
        worker.on("error", reject);
    }));
    (await Promise.all(pool)).forEach((scores, i) => assert.deepEqual(scores, i % 2 === 0 ? [one, two] : [two, one]));

    model.close();
    model.close();
    fails(VtaError, "closed", () => model.run());
    console.log("example.mjs: good");
}
