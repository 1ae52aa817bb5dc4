// SPDX-License-Identifier: Apache-2.0
//
// What a person does with a model's page, done in Chromium: each picture is chosen, and what the page then says is printed,
// "NAME CLASS". Twice over; then a file that is no picture. Arguments: PAGE PROFILE PICTURE…
import { spawn } from "node:child_process";
import { basename } from "node:path";

const [page, profile, ...pictures] = process.argv.slice(2);
const chromium = spawn("chromium", ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });

// Commands and their answers, one message each, ended by a 0.
const waiting = new Map();
let last = 0;
let text = "";
chromium.stdio[4].setEncoding("utf8");
chromium.stdio[4].on("data", (more) => {
    const messages = (text + more).split("\0");
    text = messages.pop();
    for (const { id, result, error } of messages.map((message) => JSON.parse(message))) {
        const [resolve, reject] = waiting.get(id) ?? [];
        waiting.delete(id);
        error === undefined ? resolve?.(result) : reject?.(new Error(error.message));
    }
});
function command(method, params = {}, sessionId = undefined) {
    last += 1;
    const id = last;
    chromium.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => waiting.set(id, [resolve, reject]));
}

try {
    const { targetId } = await command("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await command("Target.attachToTarget", { targetId, flatten: true });
    const say = async (expression) => {
        const { result, exceptionDetails } = await command("Runtime.evaluate",
            { expression, awaitPromise: true, returnByValue: true }, sessionId);
        if (exceptionDetails !== undefined) {
            throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        }
        return result.value;
    };
    await command("Page.navigate", { url: `file://${page}` }, sessionId);
    const choose = async (file) => {
        const { root } = await command("DOM.getDocument", {}, sessionId);
        const { nodeId } = await command("DOM.querySelector", { nodeId: root.nodeId, selector: "#picture" }, sessionId);
        await say(`document.getElementById("scores").replaceChildren(); document.getElementById("wrong").textContent = ""`);
        await command("DOM.setFileInputFiles", { nodeId, files: [file] }, sessionId);
        return say(`new Promise((resolve) => {
            const look = () => {
                const row = document.querySelectorAll("#scores tr")[1];
                const wrong = document.getElementById("wrong").textContent;
                row === undefined && wrong === "" ? setTimeout(look, 5) : resolve(wrong || row.cells[0].textContent);
            };
            look();
        })`);
    };
    await say(`new Promise((resolve) => globalThis.vta === undefined ? addEventListener("vta", resolve) : resolve()).then(() => 0)`);
    console.log(`title ${await say("document.title")}`);
    for (const picture of [...pictures, ...pictures]) {
        console.log(`${basename(picture)} ${await choose(picture)}`);
    }
    console.log(`steps ${await say(`document.querySelectorAll("#steps tr").length`)}`);
    console.log(`wrong ${await choose(page)}`);
} finally {
    chromium.kill();
}
