// SPDX-License-Identifier: Apache-2.0
//
// A page that knows its classes and the way of its pictures, in Chromium: a picture is dropped on it, its camera (one that Chromium makes up)
// is switched on and off, its GPU button off and on where it has one. With PNG a picture of the page at 500 and 1400 pixels, light and dark.
// Arguments: PAGE PROFILE PICTURE [PNG]
import { readFileSync, writeFileSync } from "node:fs";

import { open, SWIFTSHADER } from "./chromium.mjs";

const [page, profile, picture, png] = process.argv.slice(2);
const { command, say, load, close } = await open(profile, [...SWIFTSHADER, "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]);
const wait = (condition) => say(`new Promise((resolve) => { const look = () => (${condition}) ? resolve(true) : setTimeout(look, 10); look(); })`);
const best = `document.querySelectorAll("#scores tr")[1]?.cells[0].textContent`;

try {
    await load(page);
    console.log(`scale ${await say(`document.getElementById("scale").selectedOptions[0].textContent`)}`);
    for (let turn = 0; turn < 2; turn++) {
        await say(`document.getElementById("scores").replaceChildren()`);
        await say(`{
            const bytes = Uint8Array.from(atob("${readFileSync(picture).toString("base64")}"), (c) => c.charCodeAt(0));
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([bytes], "dropped.png", { type: "image/png" }));
            dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
        }`);
        await wait(`${best} !== undefined`);
        console.log(`dropped ${await say(best)}`);
    }
    for (const [width, scheme] of png === undefined ? [] : [[500, "light"], [1400, "light"], [500, "dark"], [1400, "dark"]]) {
        await command("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: true });
        await command("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
        const { data } = await command("Page.captureScreenshot", { captureBeyondViewport: true });
        writeFileSync(`${png}_${width}_${scheme}.png`, Buffer.from(data, "base64"));
    }
    const wide = await say(`document.documentElement.scrollWidth <= innerWidth`);
    console.log(`fits ${wide}`);
    if (await say(`!document.getElementById("gpu").hidden`)) {
        for (let turn = 0; turn < 2; turn++) {
            const before = await say(`document.getElementById("gpu").ariaPressed`);
            await say(`document.getElementById("gpu").click()`);
            await wait(`document.getElementById("gpu").ariaPressed !== "${before}"`);
            console.log(`gpu ${before} to ${await say(`document.getElementById("gpu").ariaPressed`)}, ${await say(best)}`);
        }
    }
    await say(`document.getElementById("scores").replaceChildren(); document.getElementById("camera").click()`);
    await wait(`${best} !== undefined || document.getElementById("wrong").textContent !== ""`);
    await say(`document.getElementById("scores").replaceChildren()`);
    await wait(`${best} !== undefined`);
    console.log(`camera ${await say(`document.getElementById("camera").ariaPressed`)}`);
    await say(`document.getElementById("camera").click()`);
    console.log(`camera ${await say(`document.getElementById("camera").ariaPressed`)}, ${await say(`document.getElementById("wrong").textContent`)}`);
} finally {
    close();
}
