// SPDX-License-Identifier: Apache-2.0
//
// What model_bench prints, of ONNX Runtime's CPU provider: node peer.js FOLDER MODEL.onnx THREADS SECONDS, where
// FOLDER holds node_modules/onnxruntime-node. Exit status 3: it cannot load the model. Short runs are timed some at a
// time, as model_bench does: processor time counts whole microseconds here.
'use strict';
const [folder, path, threads, seconds] = process.argv.slice(2);
const ort = require(`${folder}/node_modules/onnxruntime-node`);

const arrays = {
  float32: Float32Array, uint8: Uint8Array, int8: Int8Array, int64: BigInt64Array, int32: Int32Array, bool: Uint8Array,
  float16: typeof Float16Array === 'undefined' ? Uint16Array : Float16Array,
};

function inputs(session) {
  const feeds = {};
  for (const info of session.inputMetadata) {
    const shape = info.shape.map((d) => (typeof d === 'number' && d > 0 ? d : 1));
    const data = new arrays[info.type](shape.reduce((a, b) => a * b, 1));
    let state = 1;
    for (let i = 0; info.type === 'float32' && i < data.length; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      data[i] = state / 2147483648;
    }
    feeds[info.name] = new ort.Tensor(info.type, data, shape);
  }
  return feeds;
}

async function measure(session) {
  const feeds = inputs(session);
  const cpu = [];
  const wall = [];
  for (let i = 0; i < 2; i++) await session.run(feeds);
  const begin = process.hrtime.bigint();
  await session.run(feeds);
  const first = Number(process.hrtime.bigint() - begin) / 1e6;
  const batch = Math.max(1, Math.min(1000, Math.floor(0.25 / first)));
  while (cpu.length < 5 || Number(process.hrtime.bigint() - begin) < 1e9 * Number(seconds)) {
    const before = process.cpuUsage();
    const start = process.hrtime.bigint();
    for (let i = 0; i < batch; i++) await session.run(feeds);
    wall.push(Number(process.hrtime.bigint() - start) / 1e6 / batch);
    const used = process.cpuUsage(before);
    cpu.push((used.user + used.system) / 1e3 / batch);
  }
  for (const list of [cpu, wall]) list.sort((a, b) => a - b);
  const middle = cpu.length >> 1;
  console.log([cpu[0], cpu[middle], wall[0], wall[middle]].map((x) => x.toFixed(5)).join(' '));
}

const open = (level) => ort.InferenceSession.create(path, {
  intraOpNumThreads: Number(threads), interOpNumThreads: 1, graphOptimizationLevel: level, logSeverityLevel: 4,
});

// Some models load only without the last optimizations.
open('all').catch(() => open('extended')).catch(() => open('basic')).then(measure, () => process.exit(3));
