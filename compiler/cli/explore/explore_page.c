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

enum { MAX_POINTS = 4000 };

/* clang-format off */
static const char *const style[] = {
    "*{box-sizing:border-box}body{margin:0;font:14px/1.5 system-ui,sans-serif;color:#1d2530;background:#f3f5f8}",
    "header{padding:20px 32px 14px;background:#17202e;color:#fff}h1{margin:0;font-size:20px;font-weight:600}header p{margin:2px 0 0;color:#aab6c8}",
    "main{max-width:1500px;margin:0 auto;padding:18px 32px 60px}section{background:#fff;border:1px solid #dde2ea;border-radius:10px;padding:16px 20px;margin-top:18px}",
    "h2{margin:0 0 10px;font-size:15px}h2 small{font-weight:400;color:#69768a;margin-left:8px}",
    ".two{display:grid;grid-template-columns:1fr 1fr;gap:18px}.two>*{min-width:0}@media(max-width:1000px){.two{grid-template-columns:1fr}}",
    "svg{width:100%;height:auto;display:block}svg text{font-size:12px;fill:#45505e}.axis{stroke:#9aa5b3}.grid{stroke:#e6eaf0}",
    ".dot{fill:#b9c4d3;cursor:pointer}.front{fill:#2f6fde;stroke:#fff;cursor:pointer}.best{fill:#d4641a;stroke:#fff;cursor:pointer}.shipped{fill:#1d8a52;stroke:#fff;cursor:pointer}.on{stroke:#17202e;stroke-width:2.5}",
    ".legend{color:#45505e;font-size:12.5px;margin:8px 0 0}.legend i{display:inline-block;width:10px;height:10px;border-radius:5px;margin:0 6px 0 16px}",
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:12.5px;font-variant-numeric:tabular-nums}",
    "th{text-align:right;font-weight:600;color:#45505e;padding:5px 9px;border-bottom:2px solid #dde2ea;white-space:nowrap}td{text-align:right;padding:3px 9px;border-bottom:1px solid #eef1f5;white-space:nowrap}",
    "th.l,td.l{text-align:left}tbody tr.pick{cursor:pointer}tbody tr.pick:hover td,tr.now td{background:#eef4fd}pre{background:#f3f5f8;border-radius:6px;padding:10px 14px;overflow-x:auto;font-size:12.5px;margin:8px 0 0}",
    "button{font:inherit;font-size:12px;border:1px solid #dde2ea;background:#fff;border-radius:5px;padding:1px 8px;margin-left:4px;cursor:pointer}button.now{background:#2f6fde;border-color:#2f6fde;color:#fff}.most{stroke:#b3261e;stroke-dasharray:4 4}",
    "@media(max-width:600px){main{padding:10px 8px 40px}header{padding:14px}section{padding:12px}svg text{font-size:18px}}",
    ".note{color:#69768a;margin:8px 0 0;font-size:12.5px}.bad{color:#b3261e}",
    NULL};

static const char *const body[] = {
    "<header><h1 id=\"title\"></h1><p id=\"under\"></p></header><main>",
    "<div class=\"two\"><section><h2>Speed and area <small>click a point</small><span id=\"of\"></span></h2><div id=\"area\"></div></section>",
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
    "$('title').textContent = `Configurations for ${d.networks.map(n => n.name + (d.networks.some(o => o.weigh !== n.weigh) ? ` × ${n.weigh}` : '')).join(', ')} on ${d.part}`;",
    "$('under').textContent = `${whole(d.space)} configurations: ${whole(d.illegal)} not legal, ${whole(d.too_large)} too large, ${whole(d.candidates)} judged by the timing model; objective ${d.objective}`;",
    "const all = d.points.concat(d.shipped); let now = d.points[0] || d.shipped[0]; const dots = new Map();",
    "function plot(place, x, y, names) {",
    "  const ns = 'http://www.w3.org/2000/svg', w = 640, h = 400, m = [46, 14, 40, 76];",
    "  const svg = document.createElementNS(ns, 'svg'); svg.setAttribute('viewBox', `0 0 ${w} ${h}`);",
    "  const put = (tag, attributes, text) => { const e = document.createElementNS(ns, tag); for (const k in attributes) e.setAttribute(k, attributes[k]); if (text !== undefined) e.textContent = text; svg.append(e); return e; };",
    "  const ok = all.filter(p => p.runs), top = f => ok.reduce((most, p) => Math.max(most, f(p)), 0) * 1.06 || 1, tx = Math.min(top(x), names[4] * 1.5 || Infinity), ty = top(y);",
    "  const step = t => { const s = Math.pow(10, Math.floor(Math.log10(t / 4))); return s * [1, 2, 5, 10].find(k => s * k * 5.5 >= t); }, sx = step(tx), sy = step(ty);",
    "  const px = v => m[3] + (w - m[3] - m[1]) * v / tx, py = v => h - m[2] - (h - m[2] - 14) * v / ty;",
    "  for (let i = 0; i * sx <= tx; i++) { put('line', {x1: px(i * sx), x2: px(i * sx), y1: py(0), y2: py(ty), class: 'grid'}); put('text', {x: px(i * sx), y: h - 22, 'text-anchor': 'middle'}, names[2](i * sx)); }",
    "  for (let i = 0; i * sy <= ty; i++) { put('line', {x1: px(0), x2: px(tx), y1: py(i * sy), y2: py(i * sy), class: 'grid'}); put('text', {x: m[3] - 6, y: py(i * sy) + 4, 'text-anchor': 'end'}, names[3](i * sy)); }",
    "  if (names[4] <= tx) { put('line', {x1: px(names[4]), x2: px(names[4]), y1: py(0), y2: py(ty), class: 'most'}).append(document.createElementNS(ns, 'title')); }",
    "  put('text', {x: w / 2, y: h - 5, 'text-anchor': 'middle'}, names[0]); put('text', {x: 14, y: h / 2, 'text-anchor': 'middle', transform: `rotate(-90 14 ${h / 2})`}, names[1]);",
    "  ok.filter(p => x(p) <= tx).reverse().forEach(p => {",
    "    const kind = p.shipped ? 'shipped' : p === d.points[0] ? 'best' : p.front ? 'front' : 'dot';",
    "    const e = put('circle', {cx: px(x(p)), cy: py(y(p)), r: kind === 'dot' ? 2.5 : kind === 'front' ? 4.5 : 6, class: kind});",
    "    const t = document.createElementNS(ns, 'title'); t.textContent = `${p.name}: ${p.fps.toFixed(1)} pictures a second, ${percent(p.share)}, ${joule(p.energy)}`; e.append(t);",
    "    e.addEventListener('click', () => choose(p)); if (p === now) e.classList.add('on'); if (!dots.has(p)) dots.set(p, []); dots.get(p).push(e);",
    "  });",
    "  $(place).replaceChildren(svg);",
    "}",
    "const short = v => v.toLocaleString('en-US', {maximumFractionDigits: 6});",
    "const axes = {share: [p => p.share, 'share of the part, of what it has least of', v => short(100 * v) + ' %', 1]};",
    "for (const [k, name] of [['lut', 'LUT'], ['dsp', 'DSP'], ['bram', 'BRAM36']]) axes[name] = [p => p.area[k], `${name} (dashed: what the part may give)`, short, d.most[k]];",
    "function draw(name) {",
    "  document.querySelectorAll('#area circle').forEach(e => dots.forEach((list, p) => dots.set(p, list.filter(o => o !== e))));",
    "  const [x, label, say, most] = axes[name]; plot('area', x, p => p.fps, [label, 'pictures a second (geometric mean)', say, short, most]);",
    "  $('of').replaceChildren(...Object.keys(axes).map(k => { const b = element('button', k, k === name ? 'now' : ''); b.addEventListener('click', () => draw(k)); return b; }));",
    "}",
    "draw('share');",
    "plot('energy', p => p.energy * 1e3, p => p.fps, ['mJ a picture of a chip (geometric mean)', 'pictures a second (geometric mean)', short, short]);",
    "function rows(id, head, lines, left, pick) {",
    "  const t = $(id), h = element('tr'); t.replaceChildren(); head.forEach((c, i) => h.append(element('th', c, i < left ? 'l' : ''))); t.append(h);",
    "  lines.forEach((line, k) => { const r = element('tr'); line.forEach((c, i) => r.append(element('td', c, i < left ? 'l' : ''))); if (pick) { r.className = 'pick' + (pick[k] === now ? ' now' : ''); r.addEventListener('click', () => choose(pick[k])); } t.append(r); });",
    "}",
    "const called = p => p.file ? p.file.replace('.json', '') : p.name;",
    "const shape = c => `${c.batch}×${c.block_in}×${c.block_out}`;",
    "const parts = c => (c.table ? 'tables ' : '') + (c.loop_back ? 'loop-back ' : '') + c.depthwise_taps;",
    "const units = ['array', 'alu', 'load', 'store'];",
    "const logs = {batch: 'LOG_BATCH', block_in: 'LOG_BLOCK_IN', block_out: 'LOG_BLOCK_OUT', bus: 'LOG_BUS_WIDTH'}, keys = {inp: 'LOG_INP_BUFF_SIZE', wgt: 'LOG_WGT_BUFF_SIZE', acc: 'LOG_ACC_BUFF_SIZE', uop: 'LOG_UOP_BUFF_SIZE', queue: 'LOG_QUEUE_DEPTH', pump: 'ARRAY_PUMP', alu_dsps: 'ALU_DSPS', addr_bits: 'ADDR_BITS', table: 'TABLE', loop_back: 'LOOP_BACK', depthwise_taps: 'DEPTHWISE_TAPS', clock_mhz: 'CLOCK_MHZ', mem_latency: 'MEM_LATENCY', mem_bandwidth: 'MEM_BANDWIDTH', mem_shared: 'MEM_SHARED'};",
    "function text(p) { /* as one that is written, with values of its own */",
    "  if (p.json) return p.json;",
    "  let t = d.points[0].json.replace(/(\"NAME\" : )\"[^\"]*\"/, `$1\"${p.name}\"`); const put = (k, v) => { t = t.replace(new RegExp(`(\"${k}\" : )\\\\d+`), `$1${v}`); };",
    "  for (const k in logs) put(logs[k], Math.log2(p.config[k])); for (const k in keys) put(keys[k], p.config[k]);",
    "  return t;",
    "}",
    "const quote = s => /^[\\w./-]+$/.test(s) ? s : `'${s.replace(/'/g, `'\\\\''`)}'`;",
    "function commands(p) {",
    "  const here = location.protocol === 'file:' ? decodeURIComponent(location.pathname).replace(/[^/]*$/, '') : '';",
    "  const file = p.shipped ? p.name : quote(here + (p.file || p.name + '.json'));",
    "  return (p.file || p.shipped ? '' : `Save this as ${file}, then:\\n`) + `vtac compile MODEL --target vta --config ${file}\\n` + (!d.bitstream ? `${d.part}: no board with it has a script; fpga/README.md says how to add one` : p.shipped ? (p.name === d.bitstream ? `./run bitstream ${d.bitstream}` : `./run bitstream ${d.bitstream} isa/configs/${file}.json`) : `./run area ${file}\\n./run bitstream ${d.bitstream} ${file}`);",
    "}",
    "function choose(p) {",
    "  (dots.get(now) || []).forEach(e => e.classList.remove('on')); now = p; (dots.get(p) || []).forEach(e => e.classList.add('on'));",
    "  document.body.dataset.point = called(p);",
    "  const a = p.area, lines = [['pictures a second', p.fps.toFixed(2)], ['energy of a board a picture', p.board_energy ? `${joule(p.board_energy)}${d.power.error ? ` ± ${(100 * d.power.error).toFixed(0)} %` : ''}` : 'not measured'], ['energy of a chip a picture', joule(p.energy)], ['LUT', `${whole(a.lut)} of ${whole(d.most.lut)}`], ['DSP', `${whole(a.dsp)} of ${whole(d.most.dsp)}`], ['BRAM36', `${whole(a.bram)} of ${whole(d.most.bram)}`]];",
    "  p.networks.forEach((n, i) => lines.push([d.networks[i].name, n.cycles ? `${whole(n.cycles)} cycles, ${(p.config.clock_mhz * 1e6 / n.cycles).toFixed(1)} a second` + (n.tsim ? `; compiled ${whole(n.foretold)}, on tsim ${whole(n.tsim)} (${((n.foretold / n.tsim - 1) * 100).toFixed(1)} %)` : '') : n.why]));",
    "  if (p.counted) lines.push(['Yosys counts (beside the fit)', ['lut', 'dsp', 'bram'].map(k => `${k.toUpperCase()} ${whole(p.counted[k])} (${((a[k] / p.counted[k] - 1) * 100).toFixed(1)} %)`).join(', ')]);",
    "  if (p.fits) lines.push(['does not fit', p.fits]);",
    "  $('point').querySelector('h2').textContent = called(p) + ' ' + shape(p.config);",
    "  rows('figures', ['', ''], lines, 1); $('config').textContent = text(p) + '\\n\\n' + commands(p);",
    "  if (p.layers) rows('layers', ['network', 'layer', 'cycles', 'bound by'], p.layers.map(l => [d.networks[l[0]].name, l[1], whole(l[2]), l[3]]), 2);",
    "  else rows('layers', ['network', 'cycles', ...units, 'bound by'], p.networks.map((n, i) => [d.networks[i].name, whole(n.cycles), ...n.busy.map(whole), units[n.busy.indexOf(Math.max(...n.busy))]]), 1);",
    "  table();",
    "}",
    "function table() {",
    "  const front = d.points.filter(p => p.front).concat(d.shipped);",
    "  rows('front', ['', 'tile', 'pump', 'parts', 'inp/wgt/acc/uop', 'bus', 'MHz', 'a second', 'board mJ', 'chip mJ', 'LUT', 'DSP', 'BRAM36', ...d.networks.map(n => n.name)], front.map(p => [called(p), shape(p.config), p.config.pump, parts(p.config), `${p.config.inp}/${p.config.wgt}/${p.config.acc}/${p.config.uop}`, p.config.bus, p.config.clock_mhz, p.fps.toFixed(1), p.board_energy ? (p.board_energy * 1e3).toPrecision(3) : '-', (p.energy * 1e3).toPrecision(3), whole(p.area.lut), whole(p.area.dsp), whole(p.area.bram), ...p.networks.map(n => n.cycles ? whole(n.cycles) : '-')]), 2, front);",
    "}",
    "const best = d.points[0], fits = d.shipped.filter(p => p.runs && !p.fits);",
    "if (!best || !fits.length) $('shipped').remove();",
    "else rows('beside', ['', 'pictures a second', ...d.networks.map(n => n.name), 'chip energy', 'LUT', 'DSP', 'BRAM36'], fits.map(p => [p.name, (best.fps / p.fps).toFixed(4), ...p.networks.map((n, i) => (n.cycles / best.networks[i].cycles * best.config.clock_mhz / p.config.clock_mhz).toFixed(4)), (best.energy / p.energy).toFixed(3), ...['lut', 'dsp', 'bram'].map(k => `${whole(best.area[k])} instead of ${whole(p.area[k])}`)]), 1);",
    "rows('tiles', ['tile', 'array at', 'judged', 'pictures a second of the fastest', 'the least that does not fit takes'], d.tiles.map(t => [`${t.batch}×${t.block_in}×${t.block_out}`, t.pump > 1 ? `${t.pump} × the clock` : 'the clock', whole(t.judged), t.fps ? t.fps.toFixed(1) : '-', t.nearest]), 1);",
    "rows('out', ['by', 'configurations'], d.outside.map(o => [o.by, whole(o.count)]), 1);",
    "$('models').textContent = `Area: fitted to ${d.area_model.samples} runs of Yosys; each against a fit to the others is off by ${percent(d.area_model.lut)} of its LUT, ${percent(d.area_model.dsp)} of its DSP, ${percent(d.area_model.bram)} of its BRAM36 in the mean. Board mJ: ${d.power.text}${d.power.measurements.map(m => `; ${m.watts} W: ${m.source}`).join('')}. Chip mJ, which rank configurations and leave the rest of a board out: ${d.energy.join('; ')}.`;",
    "if (now) choose(now);",
    NULL};
/* clang-format on */

static void put_string(vta_str *out, const char *name, const char *value)
{
    vta_str_printf(out, ", \"%s\": ", name);
    cli_put_json(out, value);
}

/* Writes the results of a network: its cycles, the cycles of each unit alone, and its proof on tsim. */
static void put_networks(vta_str *out, const cli_explored *e, const vtac_candidate *c, const cli_proof *proof)
{
    vta_str_put(out, ", \"networks\": [");
    for (uint32_t n = 0; n < e->networks->count; n++) {
        const vtac_estimate *t = &c->networks[n];
        vta_str_printf(
            out, "%s{\"cycles\": %" PRIu64 ", \"busy\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
            n > 0 ? ", " : "", t->cycles, t->sum.array, t->sum.alu, t->sum.load, t->sum.store);
        if (proof != NULL && proof->cycles[n] > 0) {
            vta_str_printf(out, ", \"foretold\": %" PRIu64 ", \"tsim\": %" PRIu64, proof->predicted[n],
                           proof->cycles[n]);
        }
        put_string(out, "why", t->why);
        vta_str_put(out, "}");
    }
    vta_str_put(out, "]");
    if (proof != NULL && proof->counted.lut > 0) {
        const vtac_area *a = &proof->counted;
        vta_str_printf(out, ", \"counted\": {\"lut\": %.0f, \"ff\": %.0f, \"dsp\": %.0f, \"bram\": %.1f}",
                       a->lut, a->ff, a->dsp, a->bram);
    }
}

static void put_point(vta_str *out, const cli_explored *e, const vtac_candidate *c, int32_t place,
                      const char *fits)
{
    const vta_config *k = &c->config;
    const char *layers = cli_layers_of(e, c);
    char *json = layers != NULL ? vta_config_to_json(k) : NULL;
    vta_str_put(out, "{\"name\": ");
    cli_put_json(out, k->name);
    vta_str_printf(out,
                   ", \"runs\": %s, \"front\": %s, \"fps\": %.6g, \"energy\": %.6g, \"board_energy\": %.6g, "
                   "\"share\": %.6g, \"area\": "
                   "{\"lut\": %.0f, \"ff\": %.0f, \"dsp\": %.0f, \"bram\": %.1f}",
                   c->runs ? "true" : "false", c->front ? "true" : "false", c->fps, c->energy,
                   c->fps > 0 ? e->power.watts / c->fps : 0.0, c->share, c->area.lut, c->area.ff, c->area.dsp,
                   c->area.bram);
    vta_str_printf(
        out,
        ",\n  \"config\": {\"batch\": %u, \"block_in\": %u, \"block_out\": %u, \"inp\": %u, \"wgt\": "
        "%u, \"acc\": %u, \"uop\": %u, \"bus\": %u, \"queue\": %u, \"pump\": %u, "
        "\"table\": %u, \"loop_back\": %u, \"depthwise_taps\": %u, \"clock_mhz\": %u, \"alu_dsps\": %u, "
        "\"addr_bits\": %u, \"mem_latency\": %u, \"mem_bandwidth\": %u, \"mem_shared\": %u}",
        k->batch, k->block_in, k->block_out, k->log_inp_buff, k->log_wgt_buff, k->log_acc_buff,
        k->log_uop_buff, 1U << k->log_bus_width, k->log_queue, k->array_pump, k->table, k->loop_back,
        k->depthwise_taps, k->clock_mhz, k->alu_dsps, k->addr_bits, k->mem_latency, k->mem_bandwidth,
        k->mem_shared);
    put_networks(out, e, c, place >= 0 && (uint32_t)place < e->proof_count ? &e->proofs[place] : NULL);
    if (place < 0) {
        vta_str_put(out, ", \"shipped\": true");
        put_string(out, "fits", fits);
    } else if (c->front || place < EXPLORE_FINALISTS) {
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
        if (c->runs && (c->front || i < MAX_POINTS)) {
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

/* The power of boards with the part: a sentence, numbers (watts 0: nobody measured), and the measurements. */
static void put_power(vta_str *out, const cli_explored *e)
{
    char text[VTAC_POWER_TEXT];
    const char *before = "";
    vtac_power_text(&e->power, e->part->name, text, sizeof text);
    vta_str_printf(out, ",\n \"power\": {\"watts\": %.4g, \"error\": %.4g", e->power.watts, e->power.error);
    put_string(out, "text", text);
    vta_str_put(out, ", \"measurements\": [");
    for (size_t i = 0; i < e->powers->count; i++) {
        const vtac_power *p = &e->powers->items[i];
        if (strcmp(p->part, e->part->name) == 0) {
            vta_str_printf(out, "%s{\"watts\": %.4g", before, p->watts);
            put_string(out, "source", p->source);
            vta_str_put(out, "}");
            before = ", ";
        }
    }
    vta_str_put(out, "]}");
}

static void put_json(vta_str *out, const cli_explored *e)
{
    const vtac_exploration *x = e->found;
    vta_str_put(out, "{\"part\": ");
    cli_put_json(out, e->part->name);
    put_string(out, "bitstream", e->part->bitstream);
    put_string(out, "objective", vtac_objective_name(e->options->objective));
    vta_str_printf(out,
                   ", \"space\": %" PRIu64 ", \"around\": %" PRIu64 ", \"illegal\": %" PRIu64
                   ", \"too_large\": %" PRIu64 ", \"candidates\": %u, \"timed\": %u",
                   x->space, x->around, x->illegal, x->too_large, x->count, x->timed);
    vta_str_printf(out, ", \"most\": {\"lut\": %.0f, \"dsp\": %.0f, \"bram\": %.0f}", e->part->lut_max,
                   e->part->dsp_max, e->part->bram_max);
    vta_str_printf(out,
                   ", \"area_model\": {\"samples\": %u, \"lut\": %.4f, \"ff\": %.4f, \"dsp\": %.4f, "
                   "\"bram\": %.4f}, \"energy\": [",
                   x->area_model.samples, x->area_model.error.lut, x->area_model.error.ff,
                   x->area_model.error.dsp, x->area_model.error.bram);
    for (const char *const *line = vtac_energy_sources(); *line != NULL; line++) {
        vta_str_put(out, line == vtac_energy_sources() ? "" : ", ");
        cli_put_json(out, *line);
    }
    vta_str_put(out, "]");
    put_power(out, e);
    vta_str_put(out, ",\n \"networks\": [");
    for (uint32_t n = 0; n < e->networks->count; n++) {
        vta_str_put(out, n > 0 ? ", {\"name\": " : "{\"name\": ");
        cli_put_json(out, e->networks->items[n].name);
        vta_str_printf(out, ", \"weigh\": %g, \"host_cycles\": %.0f}",
                       e->options->counts[n] > 0 ? e->options->counts[n] : 1,
                       e->networks->explored[n].host_cycles);
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
            i > 0 ? ",\n " : "\n ", t->batch, t->block_in, t->block_out, t->pump, t->evaluated, t->fps);
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
