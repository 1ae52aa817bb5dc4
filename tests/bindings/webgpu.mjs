// SPDX-License-Identifier: Apache-2.0
//
// Models' pages in Chromium with a GPU. Each job opens a page, perhaps after a script, and infers once for each list of input
// files, on one load; outputs are written as bytes. What the page says is printed as JSON, a line each job.
//
// usage: webgpu.mjs PROFILE JOBS   (a file: [{page, script, before, runs: [{inputs: [FILE], outputs: [FILE], script}]}])
import { readFile, writeFile } from "node:fs/promises";

import { open, SWIFTSHADER } from "./chromium.mjs";

const [profile, jobs] = process.argv.slice(2);
const { command, say, load, close } = await open(profile, SWIFTSHADER);

/* Bytes go to the page as base64, in pieces: one message does not take all. */
async function give(name, bytes) {
    const text = bytes.toString("base64");
    await say(`globalThis.${name} = ""; 0`);
    for (let i = 0; i < text.length; i += 1 << 22) {
        await say(`globalThis.${name} += "${text.slice(i, i + (1 << 22))}"; 0`);
    }
}

async function infer({ inputs, outputs, script = "" }) {
    for (const [i, file] of inputs.entries()) {
        await give("given", await readFile(file));
        await say(`{ const bytes = Uint8Array.from(atob(given), (c) => c.charCodeAt(0)); const to = vta.model.view(${i});
            new Uint8Array(to.buffer, to.byteOffset, to.byteLength).set(bytes); } 0`);
    }
    const count = await say(`(async () => { ${script}; const begin = performance.now();
        globalThis.got = await vta.model.infer(); globalThis.took = performance.now() - begin; return got.length; })()`);
    for (let i = 0; i < count; i++) {
        const text = await say(`{ const a = got[${i}]; const b = new Uint8Array(a.buffer, a.byteOffset, a.byteLength); let t = "";
            for (let k = 0; k < b.length; k += 32768) t += String.fromCharCode(...b.subarray(k, k + 32768)); btoa(t); }`);
        await writeFile(outputs[i], Buffer.from(text, "base64"));
    }
    return say("took");
}

try {
    for (const job of JSON.parse(await readFile(jobs))) {
        await load(job.page, job.before);
        const took = [];
        for (const run of job.runs ?? []) {
            took.push(await infer(run));
        }
        const said = job.script === undefined ? null : await say(job.script);
        const picture = job.picture === undefined ? undefined : await command("Page.captureScreenshot", { format: "png" });
        if (picture !== undefined) {
            await writeFile(job.picture, Buffer.from(picture.data, "base64"));
        }
        const page = await say(`({ where: document.getElementById("where").textContent, about: document.getElementById("about").textContent,
            on: vta.model.onGpu, device: vta.model.device, table: document.getElementById("steps").innerText })`);
        console.log(JSON.stringify({ ...page, took, said }));
    }
} finally {
    close();
}
