/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of an exploration: the front, plots, and for each point its configuration, its layers and what
 * binds them. The script draws from the JSON beside it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"
#include "html.h"

enum { MOST_POINTS = 4000 };

/* clang-format off */
static const char *const style[] = {
    "*{box-sizing:border-box}body{margin:0;font:14px/1.5 system-ui,sans-serif;color:#1d2530;background:#f3f5f8}",
    "header{padding:20px 32px 14px;background:#17202e;color:#fff}h1{margin:0;font-size:20px;font-weight:600}header p{margin:2px 0 0;color:#aab6c8}",
    "main{max-width:1500px;margin:0 auto;padding:18px 32px 60px}section{background:#fff;border:1px solid #dde2ea;border-radius:10px;padding:16px 20px;margin-top:18px}",
    "h2{margin:0 0 10px;font-size:15px}h2 small{font-weight:400;color:#69768a;margin-left:8px}",
    ".two{display:grid;grid-template-columns:1fr 1fr;gap:18px}@media(max-width:1000px){.two{grid-template-columns:1fr}}",
    "svg{width:100%;height:auto;display:block}svg text{font-size:12px;fill:#45505e}.axis{stroke:#9aa5b3}.grid{stroke:#e6eaf0}",
    ".dot{fill:#b9c4d3;cursor:pointer}.front{fill:#2f6fde;stroke:#fff;cursor:pointer}.best{fill:#d4641a;stroke:#fff;cursor:pointer}.shipped{fill:#1d8a52;stroke:#fff;cursor:pointer}.on{stroke:#17202e;stroke-width:2.5}",
    ".legend{color:#45505e;font-size:12.5px;margin:8px 0 0}.legend i{display:inline-block;width:10px;height:10px;border-radius:5px;margin:0 6px 0 16px}",
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:12.5px;font-variant-numeric:tabular-nums}",
    "th{text-align:right;font-weight:600;color:#45505e;padding:5px 9px;border-bottom:2px solid #dde2ea;white-space:nowrap}td{text-align:right;padding:3px 9px;border-bottom:1px solid #eef1f5;white-space:nowrap}",
    "th.l,td.l{text-align:left}tbody tr.pick{cursor:pointer}tbody tr.pick:hover td,tr.now td{background:#eef4fd}pre{background:#f3f5f8;border-radius:6px;padding:10px 14px;overflow-x:auto;font-size:12.5px;margin:8px 0 0}",
    ".note{color:#69768a;margin:8px 0 0;font-size:12.5px}.bad{color:#b3261e}",
    NULL};

static const char *const body[] = {
    "<header><h1 id=\"title\"></h1><p id=\"under\"></p></header><main>",
    "<div class=\"two\"><section><h2>Speed and area <small>click a point</small></h2><div id=\"area\"></div></section>",
    "<section><h2>Speed and energy</h2><div id=\"energy\"></div></section></div>",
    "<p class=\"legend\"><i style=\"background:#d4641a\"></i>the best by the objective<i style=\"background:#2f6fde\"></i>front: nothing is better in speed, area and energy<i style=\"background:#b9c4d3\"></i>others<i style=\"background:#1d8a52\"></i>comes with vtac</p>",
    "<section id=\"point\"><h2>The point</h2><div class=\"two\"><div><div class=\"scroll\"><table id=\"figures\"></table></div><pre id=\"config\"></pre></div><div class=\"scroll\"><table id=\"layers\"></table></div></div></section>",
    "<section><h2>The front <small>click a row</small></h2><div class=\"scroll\"><table id=\"front\"></table></div></section>",
    "<section id=\"shipped\"><h2>Beside those that come with vtac <small>how many times as fast the best is</small></h2><div class=\"scroll\"><table id=\"beside\"></table></div></section>",
    "<section><h2>Why nothing is faster <small>arrays, the smallest first</small></h2><div class=\"scroll\"><table id=\"tiles\"></table></div></section>",
    "<section><h2>What is out</h2><div class=\"scroll\"><table id=\"out\"></table></div><p class=\"note\" id=\"models\"></p></section></main>",
    NULL};

static const char *const script[] = {
    "const d = JSON.parse(document.getElementById('data').textContent), $ = id => document.getElementById(id);",
    "const whole = n => Math.round(n).toLocaleString('en-US'), percent = x => (100 * x).toFixed(1) + ' %', joule = x => (x * 1e3).toPrecision(3) + ' mJ';",
    "document.title = `explore ${d.part}`;",
    "$('title').textContent = `Configurations for ${d.networks.map(n => n.name).join(', ')} on ${d.part}`;",
    "$('under').textContent = `${whole(d.space)} configurations: ${whole(d.illegal)} not legal, ${whole(d.too_large)} too large, ${whole(d.candidates)} judged by the timing model; objective ${d.objective}; ${d.seconds.toFixed(0)} s`;",
    "const all = d.points.concat(d.shipped); let now = d.points[0] || d.shipped[0]; const dots = new Map();",
    "function plot(place, x, y, names) {",
    "  const ns = 'http://www.w3.org/2000/svg', w = 640, h = 400, m = [46, 14, 40, 60];",
    "  const svg = document.createElementNS(ns, 'svg'); svg.setAttribute('viewBox', `0 0 ${w} ${h}`);",
    "  const put = (tag, attributes, text) => { const e = document.createElementNS(ns, tag); for (const k in attributes) e.setAttribute(k, attributes[k]); if (text !== undefined) e.textContent = text; svg.append(e); return e; };",
    "  const ok = all.filter(p => p.runs), top = f => Math.max(...ok.map(f)) * 1.06 || 1, tx = top(x), ty = top(y);",
    "  const px = v => m[3] + (w - m[3] - m[1]) * v / tx, py = v => h - m[2] - (h - m[2] - 14) * v / ty;",
    "  for (let i = 0; i <= 5; i++) {",
    "    const vx = tx * i / 5, vy = ty * i / 5;",
    "    put('line', {x1: px(vx), x2: px(vx), y1: py(0), y2: py(ty), class: 'grid'}); put('line', {x1: px(0), x2: px(tx), y1: py(vy), y2: py(vy), class: 'grid'});",
    "    put('text', {x: px(vx), y: h - 22, 'text-anchor': i < 5 ? 'middle' : 'end'}, names[2](vx)); put('text', {x: m[3] - 6, y: py(vy) + 4, 'text-anchor': 'end'}, names[3](vy));",
    "  }",
    "  put('text', {x: w / 2, y: h - 5, 'text-anchor': 'middle'}, names[0]); put('text', {x: 14, y: h / 2, 'text-anchor': 'middle', transform: `rotate(-90 14 ${h / 2})`}, names[1]);",
    "  [...ok].reverse().forEach(p => {",
    "    const kind = p.shipped ? 'shipped' : p === d.points[0] ? 'best' : p.front ? 'front' : 'dot';",
    "    const e = put('circle', {cx: px(x(p)), cy: py(y(p)), r: kind === 'dot' ? 2.5 : kind === 'front' ? 4.5 : 6, class: kind});",
    "    const t = document.createElementNS(ns, 'title'); t.textContent = `${p.name}: ${p.fps.toFixed(1)} pictures a second, ${percent(p.share)}, ${joule(p.energy)}`; e.append(t);",
    "    e.addEventListener('click', () => choose(p)); if (!dots.has(p)) dots.set(p, []); dots.get(p).push(e);",
    "  });",
    "  $(place).append(svg);",
    "}",
    "const unit = (digits) => v => v.toFixed(digits);",
    "plot('area', p => p.share, p => p.fps, ['share of the part, of what it has least of', 'pictures a second (geometric mean)', v => (100 * v).toFixed(0) + ' %', unit(0)]);",
    "plot('energy', p => p.energy * 1e3, p => p.fps, ['mJ a picture (geometric mean)', 'pictures a second (geometric mean)', v => v ? v.toPrecision(2) : '0', unit(0)]);",
    "function rows(id, head, lines, left, pick) {",
    "  const t = $(id), h = element('tr'); t.replaceChildren(); head.forEach((c, i) => h.append(element('th', c, i < left ? 'l' : ''))); t.append(h);",
    "  lines.forEach((line, k) => { const r = element('tr'); line.forEach((c, i) => r.append(element('td', c, i < left ? 'l' : ''))); if (pick) { r.className = 'pick' + (pick[k] === now ? ' now' : ''); r.addEventListener('click', () => choose(pick[k])); } t.append(r); });",
    "}",
    "const called = p => p.file ? p.file.replace('.json', '') : p.name;",
    "const shape = c => `${c.batch}×${c.block_in}×${c.block_out}`;",
    "const parts = c => (c.table ? 'tables ' : '') + (c.loop_back ? 'loop-back ' : '') + c.depthwise_taps;",
    "function choose(p) {",
    "  (dots.get(now) || []).forEach(e => e.classList.remove('on')); now = p; (dots.get(p) || []).forEach(e => e.classList.add('on'));",
    "  const a = p.area, lines = [['pictures a second', p.fps.toFixed(2)], ['energy a picture', joule(p.energy)], ['LUT', `${whole(a.lut)} of ${whole(d.most.lut)}`], ['DSP', `${whole(a.dsp)} of ${whole(d.most.dsp)}`], ['BRAM36', `${whole(a.bram)} of ${whole(d.most.bram)}`]];",
    "  p.networks.forEach((n, i) => lines.push([d.networks[i].name, n.cycles ? `${whole(n.cycles)} cycles, ${(p.config.clock_mhz * 1e6 / n.cycles).toFixed(1)} a second` + (n.tsim ? `; on tsim ${whole(n.tsim)} (${((n.cycles / n.tsim - 1) * 100).toFixed(1)} %)` : '') : n.why]));",
    "  if (p.fits) lines.push(['does not fit', p.fits]);",
    "  $('point').querySelector('h2').textContent = called(p) + ' ' + shape(p.config);",
    "  rows('figures', ['', ''], lines, 1); $('config').textContent = p.json + (p.file ? `\\n\\nvtac compile MODEL --target vta --config ${p.file}\\n./run bitstream ${d.board} ${p.file}` : '');",
    "  rows('layers', ['network', 'layer', 'cycles', 'bound by'], (p.layers || []).map(l => [d.networks[l[0]].name, l[1], whole(l[2]), l[3]]), 2);",
    "  table();",
    "}",
    "function table() {",
    "  const front = d.points.filter(p => p.front).concat(d.shipped);",
    "  rows('front', ['', 'tile', 'pump', 'parts', 'inp/wgt/acc/uop', 'bus', 'MHz', 'a second', 'mJ', 'LUT', 'DSP', 'BRAM36', ...d.networks.map(n => n.name)], front.map(p => [called(p), shape(p.config), p.config.pump, parts(p.config), `${p.config.inp}/${p.config.wgt}/${p.config.acc}/${p.config.uop}`, p.config.bus, p.config.clock_mhz, p.fps.toFixed(1), (p.energy * 1e3).toFixed(2), whole(p.area.lut), whole(p.area.dsp), whole(p.area.bram), ...p.networks.map(n => n.cycles ? whole(n.cycles) : '-')]), 2, front);",
    "}",
    "const best = d.points[0], fits = d.shipped.filter(p => p.runs && !p.fits);",
    "if (!best || !fits.length) $('shipped').remove();",
    "else rows('beside', ['', 'pictures a second', ...d.networks.map(n => n.name), 'energy', 'LUT', 'DSP', 'BRAM36'], fits.map(p => [p.name, (best.fps / p.fps).toFixed(4), ...p.networks.map((n, i) => (n.cycles / best.networks[i].cycles * best.config.clock_mhz / p.config.clock_mhz).toFixed(4)), (best.energy / p.energy).toFixed(3), ...['lut', 'dsp', 'bram'].map(k => `${whole(best.area[k])} instead of ${whole(p.area[k])}`)]), 1);",
    "rows('tiles', ['tile', 'array at', 'judged', 'pictures a second of the fastest', 'the least that does not fit takes'], d.tiles.map(t => [`${t.batch}×${t.block_in}×${t.block_out}`, t.pump > 1 ? `${t.pump} × the clock` : 'the clock', whole(t.judged), t.fps ? t.fps.toFixed(1) : '-', t.nearest]), 1);",
    "rows('out', ['by', 'configurations'], d.outside.map(o => [o.by, whole(o.count)]), 1);",
    "$('models').textContent = `Area: fitted to ${d.area_model.samples} runs of Yosys; each against a fit to the others is off by ${percent(d.area_model.lut)} of its LUT, ${percent(d.area_model.dsp)} of its DSP, ${percent(d.area_model.bram)} of its BRAM36 in the mean. Energy: ${d.energy.join('; ')}.`;",
    "if (now) choose(now);",
    NULL};
/* clang-format on */

static void put_string(vta_str *out, const char *name, const char *value)
{
    vta_str_printf(out, ", \"%s\": ", name);
    cli_put_json(out, value);
}

static void put_point(vta_str *out, const cli_explored *e, const vtac_candidate *c, int32_t place,
                      const char *fits)
{
    const vta_config *k = &c->config;
    const char *layers = cli_layers_of(e, c);
    char *json = layers != NULL ? vta_config_to_json(k) : NULL;
    vta_str_put(out, "{\"name\": ");
    cli_put_json(out, k->name);
    vta_str_printf(
        out,
        ", \"runs\": %s, \"front\": %s, \"fps\": %.6g, \"energy\": %.6g, \"share\": %.6g, \"area\": "
        "{\"lut\": %.0f, \"ff\": %.0f, \"dsp\": %.0f, \"bram\": %.1f}",
        c->runs ? "true" : "false", c->front ? "true" : "false", c->fps, c->energy, c->share, c->area.lut,
        c->area.ff, c->area.dsp, c->area.bram);
    vta_str_printf(
        out,
        ",\n  \"config\": {\"batch\": %u, \"block_in\": %u, \"block_out\": %u, \"inp\": %u, \"wgt\": "
        "%u, \"acc\": %u, \"uop\": %u, \"bus\": %u, \"queue\": %u, \"pump\": %u, "
        "\"table\": %u, \"loop_back\": %u, \"depthwise_taps\": %u, \"clock_mhz\": %u}",
        k->batch, k->block_in, k->block_out, k->log_inp_buff, k->log_wgt_buff, k->log_acc_buff,
        k->log_uop_buff, 1U << k->log_bus_width, k->log_queue, k->array_pump, k->table, k->loop_back,
        k->depthwise_taps, k->clock_mhz);
    vta_str_put(out, ", \"networks\": [");
    for (uint32_t n = 0; n < e->networks->count; n++) {
        const bool proved = place >= 0 && (uint32_t)place < e->proof_count;
        vta_str_printf(out, "%s{\"cycles\": %" PRIu64, n > 0 ? ", " : "", c->networks[n].cycles);
        if (proved && e->proofs[place].cycles[n] > 0) {
            vta_str_printf(out, ", \"tsim\": %" PRIu64, e->proofs[place].cycles[n]);
        }
        put_string(out, "why", c->networks[n].why);
        vta_str_put(out, "}");
    }
    vta_str_put(out, "]");
    if (place < 0) {
        vta_str_put(out, ", \"shipped\": true");
        put_string(out, "fits", fits);
    } else {
        vta_str_printf(out, ", \"file\": \"best%d.json\"", place + 1);
    }
    if (layers != NULL) {
        vta_str_put(out, ", \"layers\": [");
        vta_str_put(out, layers);
        vta_str_put(out, "]");
    }
    put_string(out, "json", json != NULL ? json : "");
    vta_str_put(out, "}");
    free(json);
}

static void put_points(vta_str *out, const cli_explored *e)
{
    bool first = true;
    vta_str_put(out, ",\n \"points\": [");
    for (uint32_t i = 0; i < e->found->count; i++) {
        const vtac_candidate *c = &e->found->candidates[i];
        if (c->runs && (c->front || i < MOST_POINTS)) {
            vta_str_put(out, first ? "\n " : ",\n ");
            put_point(out, e, c, (int32_t)i, "");
            first = false;
        }
    }
    vta_str_put(out, "],\n \"shipped\": [");
    for (uint32_t i = 0; i < e->shipped_count; i++) {
        vta_str_put(out, i > 0 ? ",\n " : "\n ");
        put_point(out, e, &e->shipped[i], -1, e->fits[i]);
    }
    vta_str_put(out, "]");
}

static void put_json(vta_str *out, const cli_explored *e)
{
    const vtac_exploration *x = e->found;
    vta_str_put(out, "{\"part\": ");
    cli_put_json(out, e->part->name);
    put_string(out, "board", e->part->board);
    put_string(out, "objective", vtac_objective_name(e->options->objective));
    vta_str_printf(out,
                   ", \"space\": %" PRIu64 ", \"illegal\": %" PRIu64 ", \"too_large\": %" PRIu64
                   ", \"candidates\": %u, \"timed\": %u, \"seconds\": %.3f",
                   x->space, x->illegal, x->too_large, x->count, x->timed, e->seconds);
    vta_str_printf(out, ", \"most\": {\"lut\": %.0f, \"dsp\": %.0f, \"bram\": %.0f}", e->part->lut_most,
                   e->part->dsp_most, e->part->bram_most);
    vta_str_printf(out,
                   ", \"area_model\": {\"samples\": %u, \"lut\": %.4f, \"ff\": %.4f, \"dsp\": %.4f, "
                   "\"bram\": %.4f}, \"energy\": [",
                   x->area_model.samples, x->area_model.error.lut, x->area_model.error.ff,
                   x->area_model.error.dsp, x->area_model.error.bram);
    for (const char *const *line = vtac_energy_sources(); *line != NULL; line++) {
        vta_str_put(out, line == vtac_energy_sources() ? "" : ", ");
        cli_put_json(out, *line);
    }
    vta_str_put(out, "],\n \"networks\": [");
    for (uint32_t n = 0; n < e->networks->count; n++) {
        vta_str_put(out, n > 0 ? ", {\"name\": " : "{\"name\": ");
        cli_put_json(out, e->networks->items[n].name);
        vta_str_printf(out, ", \"host_cycles\": %.0f}", e->networks->explored[n].host_cycles);
    }
    vta_str_put(out, "],\n \"outside\": [");
    for (uint32_t i = 0; i < x->outside_count; i++) {
        vta_str_put(out, i > 0 ? ", {\"by\": " : "{\"by\": ");
        cli_put_json(out, x->outside[i].why);
        vta_str_printf(out, ", \"count\": %" PRIu64 "}", x->outside[i].count);
    }
    vta_str_put(out, "],\n \"tiles\": [");
    for (uint32_t i = 0; i < x->tile_count; i++) {
        const vtac_tile *t = &x->tiles[i];
        vta_str_printf(
            out,
            "%s{\"batch\": %u, \"block_in\": %u, \"block_out\": %u, \"pump\": %u, \"judged\": %" PRIu64
            ", \"fps\": %.6g",
            i > 0 ? ",\n " : "\n ", t->batch, t->block_in, t->block_out, t->pump, t->judged, t->fps);
        put_string(out, "nearest", t->nearest);
        vta_str_put(out, "}");
    }
    vta_str_put(out, "]");
    put_points(out, e);
    vta_str_put(out, "}\n");
}

char *cli_explore_json(const cli_explored *e)
{
    vta_str out = {0};
    put_json(&out, e);
    return vta_str_take(&out);
}

char *cli_explore_page(const cli_explored *e)
{
    vta_str out = {0};
    vta_str_put(&out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<style>\n");
    cli_put_lines(&out, style);
    vta_str_put(&out, "</style>\n");
    cli_put_lines(&out, body);
    vta_str_put(&out, "<script id=\"data\" type=\"application/json\">");
    put_json(&out, e);
    vta_str_put(&out, "</script>\n");
    cli_put_script(&out, script);
    vta_str_put(&out, "\n</html>\n");
    return vta_str_take(&out);
}
