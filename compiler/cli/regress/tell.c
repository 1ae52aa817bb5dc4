/* SPDX-License-Identifier: Apache-2.0
 *
 * What came of a suite, for others to read: JUnit's XML, and a page with the cycles of all runs that a
 * history has.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "regress.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/str.h"
#include "vta/untrusted.h"

const char *cli_regress_word(cli_regress_outcome outcome)
{
    switch (outcome) {
    case REGRESS_WAITING: return "not run";
    case REGRESS_PASSED: return "passed";
    case REGRESS_WRONG: return "wrong";
    case REGRESS_SLOWER: return "slower";
    case REGRESS_BROKEN: return "broken";
    }
    return "";
}

/* Bytes of the character of UTF-8 that begins here; 0 where none does that XML takes. */
static size_t character_bytes(const char *text)
{
    enum { LONGEST = 4 };
    uint32_t point;
    const size_t size = vta_utf8_character(text, strnlen(text, LONGEST), &point);
    return point == 0xfffe || point == 0xffff ? 0 : size;
}

/* Text in an attribute or element; control characters have no place in XML, nor half a character, with which
 * a message that was cut may end. */
static void put_xml(vta_str *out, const char *text)
{
    for (size_t size; *text != '\0'; text += size > 0 ? size : 1) {
        size = character_bytes(text);
        switch (*text) {
        case '&': vta_str_put(out, "&amp;"); break;
        case '<': vta_str_put(out, "&lt;"); break;
        case '>': vta_str_put(out, "&gt;"); break;
        case '"': vta_str_put(out, "&quot;"); break;
        default:
            if ((unsigned char)*text < 0x20) {
                vta_str_put(out, " ");
            } else {
                vta_str_append(out, size > 0 ? text : "?", size > 0 ? size : 1);
            }
            break;
        }
    }
}

static vta_status write_text(const char *path, vta_str *text, vta_diag *diag)
{
    const vta_status status =
        text->failed ? vta_no_memory(diag) : vta_file_write(path, text->text, text->size, diag);
    vta_str_free(text);
    return status;
}

vta_status cli_regress_junit(const char *path, const cli_regress_suite *s, vta_diag *diag)
{
    vta_str out = {0};
    uint32_t failures = 0;
    uint32_t errors = 0;
    double seconds = 0;
    for (uint32_t i = 0; i < s->case_count; i++) {
        failures += s->cases[i].outcome == REGRESS_WRONG || s->cases[i].outcome == REGRESS_SLOWER;
        errors += s->cases[i].outcome == REGRESS_BROKEN || s->cases[i].outcome == REGRESS_WAITING;
        seconds += s->cases[i].seconds;
    }
    vta_str_printf(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"");
    put_xml(&out, s->path);
    vta_str_printf(
        &out, "\" tests=\"%" PRIu32 "\" failures=\"%" PRIu32 "\" errors=\"%" PRIu32 "\" time=\"%.3f\">\n",
        s->case_count, failures, errors, seconds);
    for (uint32_t i = 0; i < s->case_count; i++) {
        const cli_regress_case *c = &s->cases[i];
        vta_str_put(&out, "<testcase classname=\"");
        put_xml(&out, c->model->name);
        vta_str_put(&out, "\" name=\"");
        put_xml(&out, c->config);
        vta_str_put(&out, " on ");
        put_xml(&out, c->device);
        vta_str_printf(&out, "\" time=\"%.3f\">\n", c->seconds);
        if (c->outcome != REGRESS_PASSED) {
            const char *element =
                c->outcome == REGRESS_WRONG || c->outcome == REGRESS_SLOWER ? "failure" : "error";
            vta_str_printf(&out, "<%s type=\"%s\" message=\"", element, cli_regress_word(c->outcome));
            put_xml(&out, c->why);
            vta_str_put(&out, "\"/>\n");
        }
        if (c->cycles > 0) {
            vta_str_printf(&out, "<system-out>%" PRIu64 " cycles</system-out>\n", c->cycles);
        }
        vta_str_put(&out, "</testcase>\n");
    }
    vta_str_put(&out, "</testsuite>\n</testsuites>\n");
    return write_text(path, &out, diag);
}

/* ---- the page */

static const char *const head[] = {
    "<!DOCTYPE html>",
    "<html lang=\"en\"><head><meta charset=\"utf-8\">",
    "<meta name=\"viewport\" content=\"width=device-width\"><title>vtac regress</title>",
    "<style>",
    "body { font: 15px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }",
    "table { border-collapse: collapse }",
    "th, td { padding: .3em .9em; text-align: left; border-bottom: 1px solid #ddd }",
    "td:first-child, .why { overflow-wrap: anywhere; min-width: 16em }",
    ".why { color: #555; max-width: 40em }",
    "th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }",
    ".passed { color: #176b2c } .wrong, .slower, .broken, .notrun { color: #b3261e; font-weight: 600 }",
    "svg { vertical-align: middle }",
    "@media (max-width: 70em) { /* no room for columns: a paragraph for each case */",
    "body { margin: 1em } thead { display: none } table { width: 100% }",
    "tr { display: flex; flex-wrap: wrap; gap: 0 1em; padding: .5em 0; border-bottom: 1px solid #ddd }",
    "td { border: 0; padding: .1em 0 } td:empty { display: none }",
    "td:first-child, .why { width: 100%; min-width: 0 }",
    "td[data-name]::before { content: attr(data-name) ' '; color: #777 } }",
    "</style></head><body>",
    NULL,
};
static const char *const script[] = {
    "const body = document.getElementById('rows'), told = document.getElementById('runs');",
    "const passed = suite.cases.filter(c => c.outcome === 'passed').length;",
    "document.getElementById('sum').textContent = passed + ' of ' + suite.cases.length + ' passed';",
    "if (runs.length > 1)",
    "    told.textContent = ' The curves are of ' + runs.length + ' runs; red: it grew by more.';",
    "function cell(row, text, kind, name) {",
    "    const td = element('td', text, kind);",
    "    if (name) td.dataset.name = name;",
    "    row.appendChild(td); return td;",
    "}",
    "function shape(svg, kind, values) {",
    "    const made = document.createElementNS('http://www.w3.org/2000/svg', kind);",
    "    for (const name in values) made.setAttribute(name, values[name]);",
    "    svg.appendChild(made); return made;",
    "}",
    "const figure = v => v ? v.toLocaleString('en') : '';",
    "// The cycles of runs: the whole height is their span, or 2 % where that is more.",
    "function curve(past, tolerance) {",
    "    const w = 160, h = 26, values = past.map(p => p.cycles);",
    "    const least = Math.min(...values), most = Math.max(...values);",
    "    const span = Math.max(most - least, most * 0.02);",
    "    const x = i => values.length < 2 ? w / 2 : 4 + i * (w - 8) / (values.length - 1);",
    "    const y = v => h - 4 - (v - (least + most - span) / 2) / span * (h - 8);",
    "    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');",
    "    svg.setAttribute('width', w); svg.setAttribute('height', h);",
    "    const points = values.map((v, i) => x(i) + ',' + y(v)).join(' ');",
    "    shape(svg, 'polyline', {points, fill: 'none', stroke: '#3367d6', 'stroke-width': 1.5});",
    "    values.forEach((v, i) => {",
    "        const grew = i > 0 && v > values[i - 1] * (1 + tolerance / 100);",
    "        const fill = grew ? '#b3261e' : '#3367d6', r = grew ? 1.8 : 2.5;",
    "        if (grew || i === values.length - 1) shape(svg, 'circle', {cx: x(i), cy: y(v), r, fill});",
    "    });",
    "    const tell = p => (p.label || 'a run') + ': ' + figure(p.cycles);",
    "    const lines = past.slice(-12).reverse().map(tell);",
    "    if (past.length > 12)",
    "        lines.push(past.length + ' runs, from ' + figure(least) + ' to ' + figure(most));",
    "    shape(svg, 'title', {}).textContent = lines.join('\\n');",
    "    return svg;",
    "}",
    "const bad = c => c.outcome !== 'passed' ? 0 : 1;",
    "for (const c of [...suite.cases].sort((a, b) => bad(a) - bad(b))) {",
    "    const row = document.createElement('tr');",
    "    cell(row, c.model); cell(row, c.config); cell(row, c.device);",
    "    cell(row, c.outcome, c.outcome.replace(' ', ''));",
    "    cell(row, figure(c.cycles), 'n', 'cycles'); cell(row, figure(c.baseline), 'n', 'baseline');",
    "    const change = (c.change > 0 ? '+' : '') + c.change.toFixed(2) + '\\u00a0%';",
    "    cell(row, c.baseline && c.cycles ? change : '', 'n', 'change');",
    "    const past = runs.filter(h => h.cycles && h.cycles[c.key] > 0)",
    "        .map(h => ({label: h.label, cycles: h.cycles[c.key]}));",
    "    const drawn = cell(row, ''); if (past.length) drawn.appendChild(curve(past, c.tolerance));",
    "    cell(row, c.seconds.toFixed(1), 'n', 'seconds'); cell(row, c.why, 'why');",
    "    body.appendChild(row);",
    "}",
    NULL,
};

static void put_cases(vta_str *out, const cli_regress_suite *s)
{
    vta_str_put(out, "const suite = {\"cases\": [");
    for (uint32_t i = 0; i < s->case_count; i++) {
        const cli_regress_case *c = &s->cases[i];
        char key[1024];
        cli_regress_key(c, key, sizeof key);
        vta_str_put(out, i > 0 ? ",\n{\"key\": " : "\n{\"key\": ");
        cli_put_json(out, key);
        vta_str_put(out, ", \"model\": ");
        cli_put_json(out, c->model->name);
        vta_str_put(out, ", \"config\": ");
        cli_put_json(out, c->config);
        vta_str_put(out, ", \"device\": ");
        cli_put_json(out, c->device);
        vta_str_printf(out,
                       ", \"outcome\": \"%s\", \"cycles\": %" PRIu64 ", \"baseline\": %" PRIu64
                       ", \"change\": %.6g, \"tolerance\": %g, \"seconds\": %.3f, \"why\": ",
                       cli_regress_word(c->outcome), c->cycles, c->baseline, c->change, c->model->tolerance,
                       c->seconds);
        cli_put_json(out, c->why);
        vta_str_put(out, "}");
    }
    vta_str_put(out, "]};\n");
}

/* Each line of a history is an object of JSON; what a cut has left of one is passed over by the page itself.
 */
static void put_history(vta_str *out, const char *history)
{
    vta_str_put(out, "const runs = [];\nfor (const line of [");
    for (const char *line = history; line != NULL && *line != '\0';) {
        const size_t size = strcspn(line, "\n");
        char *copy = strndup(line, size);
        if (copy != NULL) {
            cli_put_json(out, copy);
            vta_str_put(out, ",\n");
        }
        out->failed = out->failed || copy == NULL;
        free(copy);
        line += size + (line[size] == '\n');
    }
    vta_str_put(out,
                "]) { try { runs.push(JSON.parse(line)); } catch (error) { /* a line that was cut */ } }\n");
}

vta_status cli_regress_page(const char *path, const cli_regress_suite *s, const char *history, vta_diag *diag)
{
    vta_str out = {0};
    vta_str data = {0};
    cli_put_lines(&out, head);
    vta_str_put(&out, "<h1>vtac regress</h1>\n<p><b id=\"sum\"></b>, suite <code>");
    put_xml(&out, s->path);
    vta_str_printf(&out, "</code>, cycles may grow by %g %%.<span id=\"runs\"></span></p>\n", s->tolerance);
    vta_str_put(&out,
                "<table><thead><tr><th>model<th>configuration<th>device<th>outcome<th class=\"n\">cycles"
                "<th class=\"n\">baseline<th class=\"n\">change<th>history<th "
                "class=\"n\">seconds<th></tr></thead><tbody id=\"rows\"></tbody></table>\n<script>\n");
    put_cases(&data, s);
    put_history(&data, history);
    vta_str_append(&out, data.text, data.size);
    vta_str_put(&out, "</script>\n");
    cli_put_script(&out, script);
    vta_str_put(&out, "</body></html>\n");
    out.failed = out.failed || data.failed;
    vta_str_free(&data);
    return write_text(path, &out, diag);
}
