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
#include "vta/file.h"
#include "vta/str.h"

const char *regress_word(regress_outcome outcome)
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

/* Text in an attribute or element; control characters have no place in XML. */
static void put_xml(vta_str *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&': vta_str_put(out, "&amp;"); break;
        case '<': vta_str_put(out, "&lt;"); break;
        case '>': vta_str_put(out, "&gt;"); break;
        case '"': vta_str_put(out, "&quot;"); break;
        default: vta_str_append(out, (unsigned char)*text >= 0x20 ? text : " ", 1); break;
        }
    }
}

static vta_status write_text(const char *path, vta_str *text, vta_diag *diag)
{
    const vta_status status = text->failed ? vta_fail(diag, VTA_NOMEM, "out of memory")
                                           : vta_file_write(path, text->text, text->size, diag);
    vta_str_free(text);
    return status;
}

vta_status regress_junit(const char *path, const regress_suite *s, vta_diag *diag)
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
        const regress_case *c = &s->cases[i];
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
            vta_str_printf(&out, "<%s type=\"%s\" message=\"", element, regress_word(c->outcome));
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
    "<html lang=\"en\"><head><meta charset=\"utf-8\"><title>vtac regress</title>",
    "<style>",
    "body { font: 15px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }",
    "table { border-collapse: collapse } th, td { padding: .3em .9em; text-align: left; border-bottom: 1px "
    "solid #ddd }",
    "td.n { text-align: right; font-variant-numeric: tabular-nums }",
    ".passed { color: #176b2c } .wrong, .slower, .broken, .notrun { color: #b3261e; font-weight: 600 }",
    "svg { vertical-align: middle } .why { color: #555; max-width: 40em }",
    "</style></head><body>",
    NULL,
};
static const char *const script[] = {
    "const body = document.getElementById('rows');",
    "const passed = suite.cases.filter(c => c.outcome === 'passed').length;",
    "document.getElementById('sum').textContent = passed + ' of ' + suite.cases.length + ' passed';",
    "function cell(row, text, kind) {",
    "    const td = element('td', text, kind); row.appendChild(td); return td;",
    "}",
    "// The cycles of the runs before and this one; the vertical axis begins at 0 only where the change is "
    "that large.",
    "function curve(values) {",
    "    const w = 160, h = 26, least = Math.min(...values), most = Math.max(...values), span = "
    "Math.max(most - least, most * 0.02);",
    "    const at = (v, i) => (values.length < 2 ? w / 2 : 4 + i * (w - 8) / (values.length - 1)) + ',' +",
    "        (h - 4 - (v - (least + most - span) / 2) / span * (h - 8));",
    "    const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg');",
    "    svg.setAttribute('width', w); svg.setAttribute('height', h);",
    "    const line = document.createElementNS(ns, 'polyline');",
    "    line.setAttribute('points', values.map(at).join(' '));",
    "    line.setAttribute('fill', 'none'); line.setAttribute('stroke', '#3367d6'); "
    "line.setAttribute('stroke-width', '1.5');",
    "    const dot = document.createElementNS(ns, 'circle'), [x, y] = at(values[values.length - 1], "
    "values.length - 1).split(',');",
    "    dot.setAttribute('cx', x); dot.setAttribute('cy', y); dot.setAttribute('r', 2.5); "
    "dot.setAttribute('fill', '#3367d6');",
    "    const title = document.createElementNS(ns, 'title'); title.textContent = values.join(', ');",
    "    svg.append(line, dot, title); return svg;",
    "}",
    "for (const c of suite.cases) {",
    "    const row = document.createElement('tr');",
    "    cell(row, c.model); cell(row, c.config); cell(row, c.device);",
    "    cell(row, c.outcome, c.outcome.replace(' ', ''));",
    "    cell(row, c.cycles ? c.cycles.toLocaleString('en') : '', 'n');",
    "    cell(row, c.baseline ? c.baseline.toLocaleString('en') : '', 'n');",
    "    cell(row, c.baseline && c.cycles ? (c.change > 0 ? '+' : '') + c.change.toFixed(2) + ' %' : '', "
    "'n');",
    "    const past = runs.map(h => h.cycles && h.cycles[c.key]).filter(v => v > 0);",
    "    const drawn = cell(row, ''); if (past.length) drawn.appendChild(curve(past));",
    "    cell(row, c.seconds.toFixed(1), 'n'); cell(row, c.why, 'why');",
    "    body.appendChild(row);",
    "}",
    NULL,
};

static void put_cases(vta_str *out, const regress_suite *s)
{
    vta_str_put(out, "const suite = {\"cases\": [");
    for (uint32_t i = 0; i < s->case_count; i++) {
        const regress_case *c = &s->cases[i];
        char key[1024];
        regress_key(c, key, sizeof key);
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
                       ", \"change\": %.6g, \"seconds\": %.3f, \"why\": ",
                       regress_word(c->outcome), c->cycles, c->baseline, c->change, c->seconds);
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

vta_status regress_page(const char *path, const regress_suite *s, const char *history, vta_diag *diag)
{
    vta_str out = {0};
    vta_str data = {0};
    cli_put_lines(&out, head);
    vta_str_put(&out, "<h1>vtac regress</h1>\n<p><b id=\"sum\"></b>, suite <code>");
    put_xml(&out, s->path);
    vta_str_printf(&out, "</code>, cycles may grow by %g %%.</p>\n", s->tolerance);
    vta_str_put(
        &out,
        "<table><thead><tr><th>model<th>configuration<th>device<th>outcome<th>cycles<th>baseline<th>change"
        "<th>history<th>seconds<th></tr></thead><tbody id=\"rows\"></tbody></table>\n<script>\n");
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
