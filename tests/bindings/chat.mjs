// SPDX-License-Identifier: Apache-2.0
//
// A language model in Node and as a page. What is asked of it comes as JSON, what it says goes out so.
//
// usage: chat.mjs FOLDER_OF_BINDINGS generate MODEL.wasm TOKENIZER REQUESTS.json     [{prompt, …options}] to [{ids, text} or {error}]
//        chat.mjs FOLDER_OF_BINDINGS encode TOKENIZER TEXTS.json                     to [[ids, text]]
//        chat.mjs FOLDER_OF_BINDINGS page PAGE PROFILE OPTIONS.json TEXT…            to {title, answers, wrong, widths}
import { readFileSync, writeFileSync } from "node:fs";

import { open } from "./chromium.mjs";

const [folder, what, ...words] = process.argv.slice(2);
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const binding = (name) => import(`${folder}/${name}.mjs`);

async function generate(model, tokenizer, requests) {
    const { load } = await binding("vta");
    const { Generator, Tokenizer } = await binding("generate");
    const generator = new Generator(await load(model), tokenizer === "" ? undefined : new Tokenizer(readFileSync(tokenizer, "utf8")));
    return read(requests).map(({ prompt, cancelAt, ...options }) => {
        const ids = [];
        let text = "";
        try {
            for (const one of generator.generate(prompt, options)) {
                one.token !== undefined && ids.push(one.token);
                text += one.text;
                ids.length === cancelAt && generator.cancel();
            }
            return { ids, text };
        } catch (error) {
            return { ids, error: error.message, name: error.name };
        }
    });
}

async function encode(tokenizer, texts) {
    const { Tokenizer } = await binding("generate");
    const t = new Tokenizer(readFileSync(tokenizer, "utf8"));
    return read(texts).map((text) => [t.encode(text), t.decode(t.encode(text))]);
}

async function talk(page, profile, options, ...texts) {
    const { command, say, load, close } = await open(profile);
    try {
        await load(page);
        const set = Object.entries(read(options)).map(([id, value]) => `document.getElementById("${id}").value = ${JSON.stringify(value)};`);
        await say(`${set.join("")} 0`);
        const answers = [];
        for (const text of texts) {
            answers.push(await say(`new Promise((resolve) => {
                const at = (id) => document.getElementById(id);
                at("text").value = ${JSON.stringify(text)};
                at("send").click();
                const look = () => at("send").disabled ? setTimeout(look, 5)
                    : resolve(at("wrong").textContent || [...document.querySelectorAll(".answered")].at(-1).textContent);
                setTimeout(look, 5);
            })`));
        }
        const widths = [];
        for (const width of [1400, 500]) {
            await command("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
            widths.push(await say("document.documentElement.scrollWidth"));
            const { data } = await command("Page.captureScreenshot");
            process.env.PICTURES && writeFileSync(`${process.env.PICTURES}/chat_${width}.png`, Buffer.from(data, "base64"));
        }
        return { title: await say("document.title"), answers, widths, speed: await say(`document.getElementById("speed").textContent`) };
    } finally {
        close();
    }
}

console.log(JSON.stringify(await { generate, encode, page: talk }[what](...words)));
