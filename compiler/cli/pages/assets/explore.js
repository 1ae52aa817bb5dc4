// SPDX-License-Identifier: Apache-2.0
const d = JSON.parse(document.getElementById('data').textContent), $ = id => document.getElementById(id);
const whole = n => Math.round(n).toLocaleString('en-US'), percent = x => (100 * x).toFixed(1) + ' %', joule = x => (x * 1e3).toPrecision(3) + ' mJ';
document.title = `explore ${d.part}`;
$('title').textContent = `Configurations for ${d.networks.map(n => n.name + (d.networks.some(o => o.weigh !== n.weigh) ? ` × ${n.weigh}` : '')).join(', ')} on ${d.part}`;
$('under').textContent = `${whole(d.space)} configurations: ${whole(d.illegal)} not legal, ${whole(d.too_large)} too large, ${whole(d.candidates)} judged by the timing model${d.left ? ` (${whole(d.timed)} of ${whole(d.distinct)} that programs tell apart; ${whole(d.left)} configurations left by the search)` : ''}; objective ${d.objective}`;
const all = d.points.concat(d.shipped); let now = d.points[0] || d.shipped[0]; const dots = new Map();
function plot(place, x, y, names) {
  const ns = 'http://www.w3.org/2000/svg', w = 640, h = 400, m = [46, 14, 52, 84];
  const svg = document.createElementNS(ns, 'svg'); svg.setAttribute('viewBox', `0 0 ${w} ${h}`);
  const put = (tag, attributes, text) => { const e = document.createElementNS(ns, tag); for (const k in attributes) e.setAttribute(k, attributes[k]); if (text !== undefined) e.textContent = text; svg.append(e); return e; };
  const ok = all.filter(p => p.runs), top = f => ok.reduce((most, p) => Math.max(most, f(p)), 0) * 1.06 || 1, tx = Math.min(top(x), names[4] * 1.5 || Infinity), ty = top(y);
  const step = t => { const s = Math.pow(10, Math.floor(Math.log10(t / 4))); return s * [1, 2, 5, 10].find(k => s * k * 5.5 >= t); }, sx = step(tx), sy = step(ty);
  const px = v => m[3] + (w - m[3] - m[1]) * v / tx, py = v => h - m[2] - (h - m[2] - 14) * v / ty;
  for (let i = 0; i * sx <= tx; i++) { put('line', {x1: px(i * sx), x2: px(i * sx), y1: py(0), y2: py(ty), class: 'grid'}); put('text', {x: px(i * sx), y: h - 32, 'text-anchor': 'middle'}, names[2](i * sx)); }
  for (let i = 0; i * sy <= ty; i++) { put('line', {x1: px(0), x2: px(tx), y1: py(i * sy), y2: py(i * sy), class: 'grid'}); put('text', {x: m[3] - 6, y: py(i * sy) + 4, 'text-anchor': 'end'}, names[3](i * sy)); }
  if (names[4] <= tx) { put('line', {x1: px(names[4]), x2: px(names[4]), y1: py(0), y2: py(ty), class: 'most'}).append(document.createElementNS(ns, 'title')); }
  put('text', {x: w / 2, y: h - 8, 'text-anchor': 'middle'}, names[0]); put('text', {x: 14, y: h / 2, 'text-anchor': 'middle', transform: `rotate(-90 14 ${h / 2})`}, names[1]);
  ok.filter(p => x(p) <= tx).reverse().forEach(p => {
    const kind = p.shipped ? 'shipped' : p === d.points[0] ? 'best' : p.front ? 'front' : 'dot';
    const e = put('circle', {cx: px(x(p)), cy: py(y(p)), r: kind === 'dot' ? 2.5 : kind === 'front' ? 4.5 : 6, class: kind});
    const t = document.createElementNS(ns, 'title'); t.textContent = `${p.name}: ${p.fps.toFixed(1)} pictures a second, ${percent(p.share)}, ${joule(p.energy)}`; e.append(t);
    e.addEventListener('click', () => choose(p)); if (p === now) e.classList.add('on'); if (!dots.has(p)) dots.set(p, []); dots.get(p).push(e);
  });
  $(place).replaceChildren(svg);
}
const short = v => v.toLocaleString('en-US', {maximumFractionDigits: 6});
const axes = {share: [p => p.share, 'share of the part, of what it has least of', v => short(100 * v) + ' %', 1]};
for (const [k, name] of [['lut', 'LUT'], ['dsp', 'DSP'], ['bram', 'BRAM36']]) axes[name] = [p => p.area[k], `${name} (dashed: what the part may give)`, short, d.most[k]];
function draw(name) {
  document.querySelectorAll('#area circle').forEach(e => dots.forEach((list, p) => dots.set(p, list.filter(o => o !== e))));
  const [x, label, say, most] = axes[name]; plot('area', x, p => p.fps, [label, 'pictures a second (geometric mean)', say, short, most]);
  $('of').replaceChildren(...Object.keys(axes).map(k => { const b = element('button', k, k === name ? 'now' : ''); b.addEventListener('click', () => draw(k)); return b; }));
}
draw('share');
plot('energy', p => p.energy * 1e3, p => p.fps, ['mJ a picture of a chip (geometric mean)', 'pictures a second (geometric mean)', short, short]);
plot('cost', p => p.share, p => p.energy * 1e3, ['share of the part', 'mJ a picture of a chip', v => short(100 * v) + ' %', short, 1]);
function rows(id, head, lines, left, pick) {
  const t = $(id), h = element('tr'), kind = i => (i < left ? 'l' : '') + (i === 0 ? ' name' : ''); t.replaceChildren(); head.forEach((c, i) => h.append(element('th', c, kind(i)))); t.append(h);
  lines.forEach((line, k) => { const r = element('tr'); line.forEach((c, i) => r.append(element('td', c, kind(i)))); if (pick) { r.className = 'pick' + (pick[k] === now ? ' now' : ''); r.addEventListener('click', () => choose(pick[k])); } t.append(r); });
}
const called = p => p.file ? p.file.replace('.json', '') : p.name;
const shape = c => `${c.batch}×${c.block_in}×${c.block_out}` + (c.cores > 1 ? ` × ${c.cores}` : '');
const parts = c => (c.table ? 'tables ' : '') + (c.loop_back ? 'loop-back ' : '') + c.depthwise_taps;
const change = x => x > 0 ? `${x >= 1 ? '+' : '−'}${Math.abs(100 * (x - 1)).toFixed(1)} %` : '';
rows('keys', ['best with', 'speed', 'chip mJ', 'LUT', 'note'], d.keys.map(k => [`${k.key}=${k.value}`, change(k.fps), change(k.energy), change(k.lut), k.why]), 1);
const units = ['array', 'alu', 'load', 'store'];
const logs = {batch: 'LOG_BATCH', block_in: 'LOG_BLOCK_IN', block_out: 'LOG_BLOCK_OUT', bus: 'LOG_BUS_WIDTH'}, keys = {inp: 'LOG_INP_BUFF_SIZE', wgt: 'LOG_WGT_BUFF_SIZE', acc: 'LOG_ACC_BUFF_SIZE', uop: 'LOG_UOP_BUFF_SIZE', queue: 'LOG_QUEUE_DEPTH', pump: 'ARRAY_PUMP', alu_dsps: 'ALU_DSPS', cores: 'CORES', addr_bits: 'ADDR_BITS', table: 'TABLE', loop_back: 'LOOP_BACK', depthwise_taps: 'DEPTHWISE_TAPS', clock_mhz: 'CLOCK_MHZ', mem_latency: 'MEM_LATENCY', mem_bandwidth: 'MEM_BANDWIDTH', mem_shared: 'MEM_SHARED'};
function text(p) { /* as one that is written, with values of its own */
  if (p.json) return p.json;
  let t = d.points[0].json.replace(/("NAME" : )"[^"]*"/, `$1"${p.name}"`); const put = (k, v) => { t = t.replace(new RegExp(`("${k}" : )\\d+`), `$1${v}`); };
  for (const k in logs) put(logs[k], Math.log2(p.config[k])); for (const k in keys) put(keys[k], p.config[k]);
  return t;
}
const quote = s => /^[\w./-]+$/.test(s) ? s : `'${s.replace(/'/g, `'\\''`)}'`;
function commands(p) {
  const here = location.protocol === 'file:' ? decodeURIComponent(location.pathname).replace(/[^/]*$/, '') : '';
  const file = p.shipped ? p.name : quote(here + (p.file || p.name + '.json'));
  return (p.file || p.shipped ? '' : `Save this as ${file}, then:\n`) + `vtac compile MODEL --target vta --config ${file}\n` + (!d.bitstream ? `${d.part}: no board with it has a script; fpga/README.md says how to add one` : p.shipped ? (p.name === d.bitstream ? `./run bitstream ${d.bitstream}` : `./run bitstream ${d.bitstream} isa/configs/${file}.json`) : `./run area ${file}\n./run bitstream ${d.bitstream} ${file}`);
}
function choose(p) {
  (dots.get(now) || []).forEach(e => e.classList.remove('on')); now = p; (dots.get(p) || []).forEach(e => e.classList.add('on'));
  document.body.dataset.point = called(p);
  const a = p.area, lines = [['pictures a second', p.fps.toFixed(2)], ['energy of a board a picture', p.board_energy ? `${joule(p.board_energy)}${d.power.error ? ` ± ${(100 * d.power.error).toFixed(0)} %` : ''}` : 'not measured'], ['energy of a chip a picture', joule(p.energy)], ['LUT', `${whole(a.lut)} of ${whole(d.most.lut)}`], ['DSP', `${whole(a.dsp)} of ${whole(d.most.dsp)}`], ['BRAM36', `${whole(a.bram)} of ${whole(d.most.bram)}`]];
  p.networks.forEach((n, i) => lines.push([d.networks[i].name, n.cycles ? `${whole(n.cycles)} cycles, ${(p.config.clock_mhz * 1e6 / n.cycles).toFixed(1)} a second` + (n.tsim ? `; compiled ${whole(n.foretold)}, on tsim ${whole(n.tsim)} (${((n.foretold / n.tsim - 1) * 100).toFixed(1)} %)` : '') : n.why]));
  if (p.counted) lines.push(['Yosys counts (beside the fit)', ['lut', 'dsp', 'bram'].map(k => `${k.toUpperCase()} ${whole(p.counted[k])} (${((a[k] / p.counted[k] - 1) * 100).toFixed(1)} %)`).join(', ')]);
  if (p.fits) lines.push(['does not fit', p.fits]);
  $('point').querySelector('h2').textContent = called(p) + ' ' + shape(p.config);
  rows('figures', ['', ''], lines, 1); $('config').textContent = text(p) + '\n\n' + commands(p);
  if (p.layers) rows('layers', ['network', 'layer', 'cycles', 'bound by'], p.layers.map(l => [d.networks[l[0]].name, l[1], whole(l[2]), l[3]]), 2);
  else rows('layers', ['network', 'cycles', ...units, 'bound by'], p.networks.map((n, i) => [d.networks[i].name, whole(n.cycles), ...n.busy.map(whole), units[n.busy.indexOf(Math.max(...n.busy))]]), 1);
  table();
}
function table() {
  const front = d.points.filter(p => p.front).concat(d.shipped);
  rows('front', ['', 'tile', 'pump', 'parts', 'inp/wgt/acc/uop', 'bus', 'MHz', 'a second', 'board mJ', 'chip mJ', 'LUT', 'DSP', 'BRAM36', ...d.networks.map(n => n.name)], front.map(p => [called(p), shape(p.config), p.config.pump, parts(p.config), `${p.config.inp}/${p.config.wgt}/${p.config.acc}/${p.config.uop}`, p.config.bus, p.config.clock_mhz, p.fps.toFixed(1), p.board_energy ? (p.board_energy * 1e3).toPrecision(3) : '-', (p.energy * 1e3).toPrecision(3), whole(p.area.lut), whole(p.area.dsp), whole(p.area.bram), ...p.networks.map(n => n.cycles ? whole(n.cycles) : '-')]), 2, front);
}
const best = d.points[0], fits = d.shipped.filter(p => p.runs && !p.fits);
if (!best || !fits.length) $('shipped').remove();
else rows('beside', ['', 'pictures a second', ...d.networks.map(n => n.name), 'chip energy', 'LUT', 'DSP', 'BRAM36'], fits.map(p => [p.name, (best.fps / p.fps).toFixed(4), ...p.networks.map((n, i) => (n.cycles / best.networks[i].cycles * best.config.clock_mhz / p.config.clock_mhz).toFixed(4)), (best.energy / p.energy).toFixed(3), ...['lut', 'dsp', 'bram'].map(k => `${whole(best.area[k])} instead of ${whole(p.area[k])}`)]), 1);
rows('tiles', ['tile', 'array at', 'fit', 'judged', 'pictures a second of the fastest', 'the least that does not fit takes'], d.tiles.map(t => [`${t.batch}×${t.block_in}×${t.block_out}`, t.pump > 1 ? `${t.pump} × the clock` : 'the clock', whole(t.fitting), whole(t.judged), t.fps ? t.fps.toFixed(1) : t.fitting > t.judged ? 'left by the search' : '-', t.nearest]), 1);
rows('out', ['by', 'configurations'], d.outside.map(o => [o.by, whole(o.count)]), 1);
$('models').textContent = `Area: fitted to ${d.area_model.samples} runs of Yosys; each against a fit to the others is off by ${percent(d.area_model.lut)} of its LUT, ${percent(d.area_model.dsp)} of its DSP, ${percent(d.area_model.bram)} of its BRAM36 in the mean. Board mJ: ${d.power.text}${d.power.measurements.map(m => `; ${m.watts} W: ${m.source}`).join('')}. Chip mJ, which rank configurations and leave the rest of a board out: ${d.energy.join('; ')}.`;
if (now) choose(now);
