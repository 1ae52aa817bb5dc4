// SPDX-License-Identifier: Apache-2.0
//
// What a person does with a model's page, done in Chromium: each picture is chosen, and what the page then says is printed,
// "NAME CLASS". Twice over; then a file that is no picture. Arguments: PAGE PROFILE PICTURE…
import { basename } from "node:path";

import { open } from "./chromium.mjs";

const [page, profile, ...pictures] = process.argv.slice(2);
const { command, say, load, close } = await open(profile);

try {
    const choose = async (file) => {
        const { root } = await command("DOM.getDocument");
        const { nodeId } = await command("DOM.querySelector", { nodeId: root.nodeId, selector: "#picture" });
        await say(`document.getElementById("scores").replaceChildren(); document.getElementById("wrong").textContent = ""`);
        await command("DOM.setFileInputFiles", { nodeId, files: [file] });
        return say(`new Promise((resolve) => {
            const look = () => {
                const row = document.querySelectorAll("#scores tr")[1];
                const wrong = document.getElementById("wrong").textContent;
                row === undefined && wrong === "" ? setTimeout(look, 5) : resolve(wrong || row.cells[0].textContent);
            };
            look();
        })`);
    };
    await load(page);
    console.log(`title ${await say("document.title")}`);
    for (const picture of [...pictures, ...pictures]) {
        console.log(`${basename(picture)} ${await choose(picture)}`);
    }
    console.log(`steps ${await say(`document.querySelectorAll("#steps tr").length`)}`);
    console.log(`wrong ${await choose(page)}`);
} finally {
    close();
}
