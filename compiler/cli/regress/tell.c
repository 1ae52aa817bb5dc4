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
    cli_put_page_head(&out, "regress", "vtac regress");
    vta_str_put(&out, "<header><h1>vtac regress</h1>\n<p><b id=\"sum\"></b>, suite <code>");
    put_xml(&out, s->path);
    vta_str_printf(&out,
                   "</code>, cycles may grow by %g %%.<span id=\"runs\"></span></p></header>\n<main><section "
                   "class=\"scroll\">",
                   s->tolerance);
    vta_str_put(&out,
                "<table><thead><tr><th>model<th>configuration<th>device<th>outcome<th class=\"n\">cycles"
                "<th class=\"n\">baseline<th class=\"n\">change<th>history<th "
                "class=\"n\">seconds<th></tr></thead><tbody "
                "id=\"rows\"></tbody></table></section></main>\n<script>\n");
    put_cases(&data, s);
    put_history(&data, history);
    vta_str_append(&out, data.text, data.size);
    vta_str_put(&out, "</script>\n");
    cli_put_page_script(&out, "regress");
    out.failed = out.failed || data.failed;
    vta_str_free(&data);
    return write_text(path, &out, diag);
}
