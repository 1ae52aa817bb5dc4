// SPDX-License-Identifier: Apache-2.0
//
// The search of the site: sections that have all words, those with the words in their heading first; arrows and Enter choose.
"use strict";
const field = document.getElementById("search"), found = document.getElementById("found");
const menu = document.getElementById("menu"), contents = document.getElementById("contents");
const MOST = 30;

function scoreOf([, , title, heading, words], terms) {
    const top = heading.toLowerCase(), all = `${title} ${heading} ${words}`.toLowerCase();
    if (!terms.every((term) => all.includes(term))) {
        return 0;
    }
    return 1 + terms.reduce((sum, term) => sum + (top === term ? 40 : top.includes(term) ? 10 : 0)
        + (title.toLowerCase().includes(term) ? 3 : 0), 0);
}

function element(tag, text, inside = []) {
    const node = document.createElement(tag);
    node.textContent = text;
    node.append(...inside);
    return node;
}

// The words around the first term, with that term marked.
function excerpt(words, terms) {
    const at = Math.max(0, ...terms.map((term) => words.toLowerCase().indexOf(term)));
    const start = Math.max(0, at - 50), text = words.slice(start, at + 110);
    const term = terms.find((one) => text.toLowerCase().includes(one));
    if (term === undefined) {
        return element("small", text);
    }
    const place = text.toLowerCase().indexOf(term), end = place + term.length;
    return element("small", start > 0 ? "…" : "", [text.slice(0, place), element("mark", text.slice(place, end)), text.slice(end)]);
}

function show() {
    const terms = field.value.toLowerCase().split(/\s+/).filter((term) => term !== "");
    const rows = terms.length === 0 ? [] : pages.map((row) => [scoreOf(row, terms), row]).filter(([score]) => score > 0)
        .sort((a, b) => b[0] - a[0]).slice(0, MOST);
    found.replaceChildren(...rows.map(([, row]) => {
        const link = element("a", "", [element("b", row[3]), ` ${row[3] === row[2] ? "" : row[2]}`, excerpt(row[4], terms)]);
        link.href = `${root}${row[0]}#${row[1]}`;
        link.onclick = hide;
        return link;
    }), ...(terms.length > 0 && rows.length === 0 ? [element("small", "Nothing has all of these words.")] : []));
    found.hidden = terms.length === 0;
}

function hide() {
    found.hidden = true;
}

function step(by) {
    const links = [...found.querySelectorAll("a")], now = links.findIndex((link) => link.classList.contains("chosen"));
    const next = links[(now + by + links.length) % links.length];
    links[now]?.classList.remove("chosen");
    next?.classList.add("chosen");
    next?.scrollIntoView({ block: "nearest" });
}

field.addEventListener("input", show);
field.addEventListener("focus", show);
field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    (found.querySelector("a.chosen") ?? found.querySelector("a"))?.click();
});
document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) {
        event.preventDefault();
        field.focus();
    } else if (event.key === "Escape") {
        hide();
        field.blur();
    } else if (!found.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
        event.preventDefault();
        step(event.key === "ArrowDown" ? 1 : -1);
    }
});
document.addEventListener("click", (event) => {
    if (!found.contains(event.target) && event.target !== field) {
        hide();
    }
});
menu.addEventListener("click", () => menu.setAttribute("aria-expanded", String(contents.classList.toggle("open"))));
