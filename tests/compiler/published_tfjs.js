// SPDX-License-Identifier: Apache-2.0
//
// A model of TensorFlow.js by TensorFlow.js: draws its inputs by a seed, runs it, and writes both as .npy.
//
// usage: published_tfjs.js MODULES MODEL.json FOLDER SEED SIZE
//   MODULES  the folder of npm's packages, @tensorflow/tfjs among them (tfjs-backend-wasm is taken where it is)
//   SIZE     what an open axis behind the first is taken as
// prints a line of JSON: {"inputs": [{"name", "open", "shape", "dtype"}], "outputs": [{"name", "shape"}]}
'use strict';
const fs = require('fs');
const path = require('path');
const [modules, file, folder, seed, size] = process.argv.slice(2);
const load = (name) => require(path.resolve(modules, name));
const tf = load('@tensorflow/tfjs');

/** Numbers from 0 to 1 by a seed. */
function drawer(start) {
    let state = BigInt(start) | 1n;
    return () => {
        state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
        return Number(state >> 40n) / 2 ** 24;
    };
}

/** The file's topology and the bytes of its shards. */
function files() {
    return {
        load: async () => {
            const model = JSON.parse(fs.readFileSync(file, 'utf8'));
            const groups = model.weightsManifest || [];
            const read = (p) => fs.readFileSync(path.join(path.dirname(file), p));
            const bytes = Buffer.concat(groups.flatMap((g) => g.paths).map(read));
            return {
                ...model,
                weightSpecs: groups.flatMap((g) => g.weights),
                weightData: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
            };
        },
    };
}

const KINDS = { int32: ['<i4', Int32Array], bool: ['|b1', Uint8Array], float32: ['<f4', Float32Array] };

function save(name, tensor) {
    const [descr, Kind] = KINDS[tensor.dtype];
    const dims = tensor.shape.map((d) => d + ',').join('');
    const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${dims}), }`;
    const head = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + '\n';
    const prefix = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, head.length & 255, head.length >> 8]);
    const data = Kind.from(tensor.dataSync());
    fs.writeFileSync(path.join(folder, name), Buffer.concat([prefix, Buffer.from(head), Buffer.from(data.buffer)]));
}

/** Smooth waves and some noise from 0 to 1, as pictures are, or small numbers for integers. */
function drawn(shape, dtype, random) {
    const count = shape.reduce((a, b) => a * b, 1);
    const period = 5 + 20 * random();
    const values = Array.from({ length: count }, (_, i) =>
        dtype === 'int32' ? Math.floor(random() * 256) : 0.5 + 0.35 * Math.sin(i / period) + 0.15 * (random() - 0.5));
    return tf.tensor(dtype === 'bool' ? values.map((v) => v > 0.5) : values, shape, dtype);
}

async function main() {
    try {
        load('@tensorflow/tfjs-backend-wasm').setWasmPaths(path.resolve(modules, '@tensorflow/tfjs-backend-wasm/dist') + '/');
        await tf.setBackend(process.env.TFJS_BACKEND || 'wasm');
    } catch {
        await tf.setBackend('cpu');
    }
    await tf.ready();
    const text = JSON.parse(fs.readFileSync(file, 'utf8'));
    const layers = text.format === 'layers-model' || text.modelTopology.model_config !== undefined;
    const model = await (layers ? tf.loadLayersModel(files()) : tf.loadGraphModel(files()));
    const random = drawer(seed);
    const feeds = model.inputs.map((input) => {
        const shape = (input.shape || []).map((d, i) => (d > 0 ? d : i === 0 ? 1 : Number(size)));
        const open = (input.shape || []).some((d) => !(d > 0));
        return { name: input.name, open, shape, dtype: input.dtype, tensor: drawn(shape, input.dtype, random) };
    });
    const given = Object.fromEntries(feeds.map((f) => [f.name, f.tensor]));
    let found = layers ? model.predict(feeds.length === 1 ? feeds[0].tensor : feeds.map((f) => f.tensor))
        : await model.executeAsync(given);
    found = Array.isArray(found) ? found : [found];
    feeds.forEach((f, i) => save(`in${i}.npy`, f.tensor));
    found.forEach((t, i) => save(`out${i}.npy`, t));
    const inputs = feeds.map(({ name, open, shape, dtype }) => ({ name, open, shape, dtype }));
    const outputs = found.map((t, i) => ({ name: (model.outputs[i] || {}).name, shape: t.shape }));
    console.log(JSON.stringify({ inputs, outputs }));
}

main().catch((e) => {
    console.error(String(e.message || e).split('\n')[0]);
    process.exit(1);
});
