// SPDX-License-Identifier: Apache-2.0
//
// A page in Chromium without a window, by its debugging pipe: commands and their answers are one message each, ended by a 0.
import { spawn } from "node:child_process";

/** WebGPU on the processor, by the renderer that Chromium brings along. */
export const SWIFTSHADER = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];

export async function open(profile, flags = ["--disable-gpu"]) {
    const chromium = spawn("chromium", ["--headless", "--no-sandbox", "--disable-dev-shm-usage", ...flags, "--remote-debugging-pipe",
        `--user-data-dir=${profile}`, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    process.on("SIGTERM", () => { chromium.kill(); process.exit(1); });
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
    const send = (method, params = {}, sessionId = undefined) => {
        last += 1;
        const id = last;
        chromium.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
        return new Promise((resolve, reject) => waiting.set(id, [resolve, reject]));
    };
    const { targetId } = await send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
    const command = (method, params = {}) => send(method, params, sessionId);
    await command("Page.enable");
    /** The value of an expression in the page, awaited there. */
    const say = async (expression) => {
        const { result, exceptionDetails } = await command("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
        if (exceptionDetails !== undefined) {
            throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        }
        return result.value;
    };
    /** Opens a model's page, and waits until it has loaded the model. */
    const load = async (page, before = undefined) => {
        const script = before === undefined ? undefined : await command("Page.addScriptToEvaluateOnNewDocument", { source: before });
        await command("Page.navigate", { url: `file://${page}` });
        await say(`new Promise((resolve) => globalThis.vta === undefined ? addEventListener("vta", resolve) : resolve()).then(() => 0)`);
        if (script !== undefined) {
            await command("Page.removeScriptToEvaluateOnNewDocument", script);
        }
    };
    return { command, say, load, close: () => chromium.kill() };
}
