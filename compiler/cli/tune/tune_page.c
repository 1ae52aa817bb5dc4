/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of a search: for each task its trials and the best so far.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "tuning.h"
#include "vta/fail.h"
#include "vta/file.h"

/* clang-format off */
static const char *const style[] = {
    "*{box-sizing:border-box}body{margin:0;font:14px/1.5 system-ui,sans-serif;color:#1d2530;background:#f3f5f8}",
    "header{padding:20px 32px 14px;background:#17202e;color:#fff}h1{margin:0;font-size:20px;font-weight:600}header p{margin:2px 0 0;color:#aab6c8}",
    "main{display:grid;grid-template-columns:repeat(auto-fill,minmax(380px,1fr));gap:18px;padding:18px 32px 60px}",
    "section{background:#fff;border:1px solid #dde2ea;border-radius:10px;padding:14px 18px}h2{margin:0;font-size:14px;overflow-wrap:anywhere}p{margin:2px 0;color:#69768a;font-size:12px;overflow-wrap:anywhere}",
    "svg{width:100%;height:auto;display:block}svg text{font-size:11px;fill:#45505e}.grid{stroke:#e6eaf0}.trial{fill:#b9c4d3}.best{fill:none;stroke:#2f6fde;stroke-width:2}",
    NULL};

static const char *const body[] = {"<header><h1 id=\"title\"></h1><p id=\"under\"></p></header><main></main>", NULL};

static const char *const script[] = {
    "const d = JSON.parse(document.getElementById('data').textContent), $ = id => document.getElementById(id);",
    "document.title = `tune ${d.model}`; $('title').textContent = `Schedules of ${d.model}`;",
    "$('under').textContent = `${d.target}; ${d.trials} trials by ${d.tuner}; ${d.tasks.length} kinds of kernels`;",
    "const show = v => d.cycles ? Math.round(v).toLocaleString('en-US') + ' cycles' : (v * 1e6).toPrecision(4) + ' µs';",
    "for (const t of d.tasks) {",
    "  const s = element('section'), ns = 'http://www.w3.org/2000/svg', w = 400, h = 190, svg = document.createElementNS(ns, 'svg');",
    "  svg.setAttribute('viewBox', `0 0 ${w} ${h}`);",
    "  const put = (tag, attributes, text) => { const e = document.createElementNS(ns, tag); for (const k in attributes) e.setAttribute(k, attributes[k]); if (text !== undefined) e.textContent = text; svg.append(e); };",
    "  const costs = t.costs, good = costs.filter(c => c !== null), low = Math.min(...good), high = Math.min(Math.max(...good), low * 4);",
    "  const x = i => 8 + (w - 16) * i / Math.max(costs.length - 1, 1), y = c => 20 + (h - 44) * (1 - (Math.min(c, high) - low) / ((high - low) || 1));",
    "  for (const c of [low, high]) { put('line', {x1: 8, x2: w - 8, y1: y(c), y2: y(c), class: 'grid'}); put('text', {x: 8, y: y(c) - 4}, show(c) + (c === high && Math.max(...good) > high ? ' and more' : '')); }",
    "  let best = Infinity, line = '';",
    "  costs.forEach((c, i) => { if (c !== null) { put('circle', {cx: x(i), cy: y(c), r: 2.5, class: 'trial'}); if (c < best) { if (line) line += ` ${x(i)},${y(best)}`; best = c; } } if (best < Infinity) line += ` ${x(i)},${y(best)}`; });",
    "  put('polyline', {points: line.trim(), class: 'best'}); put('text', {x: w / 2, y: h - 4, 'text-anchor': 'middle'}, `${costs.length} trials; the line is the best so far`);",
    "  s.append(element('h2', t.step), element('p', `${t.kernel} ${t.shape}`), element('p', `taken: ${t.best}` + (t.best === t.standard ? ' (the standard one)' : `; standard: ${t.standard}`)), svg);",
    "  document.querySelector('main').append(s);",
    "}",
    NULL};
/* clang-format on */

static void put_task(vta_str *out, const cli_tuning *t, uint32_t number)
{
    const vtac_task *task = vta_vec_at(&t->tasks.items, number);
    bool first = true;
    vta_str_put(out, number > 0 ? ",\n{\"step\": " : "{\"step\": ");
    cli_put_json(out, task->steps.count > 0 ? *(const char **)vta_vec_at(&task->steps, 0) : "");
    vta_str_put(out, ", \"kernel\": ");
    cli_put_json(out, task->kernel);
    vta_str_put(out, ", \"shape\": ");
    cli_put_json(out, task->shape);
    vta_str_put(out, ", \"best\": ");
    cli_put_json(out, task->points[task->best]);
    vta_str_put(out, ", \"standard\": ");
    cli_put_json(out, task->points[task->standard]);
    vta_str_put(out, ", \"costs\": [");
    for (size_t i = 0; i < t->history.count; i++) {
        const cli_trial *trial = vta_vec_at(&t->history, i);
        if (trial->task == number) {
            vta_str_put(out, first ? "" : ", ");
            if (isfinite(trial->cost)) {
                vta_str_printf(out, "%.6g", trial->cost);
            } else {
                vta_str_put(out, "null");
            }
            first = false;
        }
    }
    vta_str_put(out, "]}");
}

vta_status cli_tuning_page(const cli_tuning *t, const char *path, vta_diag *diag)
{
    char target[320];
    vta_str out = {0};
    cli_tuning_target(t, target, sizeof target);
    vta_str_put(&out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<style>\n");
    cli_put_lines(&out, style);
    vta_str_put(&out, "</style>\n");
    cli_put_lines(&out, body);
    vta_str_put(&out, "<script id=\"data\" type=\"application/json\">{\"model\": ");
    cli_put_json(&out, t->model);
    vta_str_put(&out, ", \"target\": ");
    cli_put_json(&out, target);
    vta_str_printf(&out, ", \"tuner\": \"%s\", \"trials\": %" PRIu32 ", \"cycles\": %s, \"tasks\": [\n",
                   vtac_tuner_name(t->tuner), t->done, t->offload.wanted ? "true" : "false");
    for (uint32_t i = 0; i < t->tasks.items.count; i++) {
        put_task(&out, t, i);
    }
    vta_str_put(&out, "]}</script>\n");
    cli_put_script(&out, script);
    vta_str_put(&out, "\n</html>\n");
    const vta_status status =
        out.failed ? vta_no_memory(diag) : vta_file_write(path, out.text, out.size, diag);
    vta_str_free(&out);
    return status;
}
