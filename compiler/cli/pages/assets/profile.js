// SPDX-License-Identifier: Apache-2.0
const d = JSON.parse(document.getElementById('data').textContent), $ = id => document.getElementById(id);
const colours = {array: '#2f6fde', requantize: '#8a55c8', alu: '#c2479b', load: '#e8a020', store: '#d4641a', token: '#a32f2f', other: '#9aa5b3', launch: '#4b5768'};
const whole = n => Math.round(n).toLocaleString('en-US'), percent = (a, b) => b > 0 ? (100 * a / b).toFixed(1) + ' %' : '';
const short = n => n >= 1e9 ? (n / 1e9).toFixed(2) + ' G' : n >= 1e6 ? (n / 1e6).toFixed(2) + ' M' : n >= 1e4 ? (n / 1e3).toFixed(1) + ' k' : whole(n);
const bytes = n => n >= 1 << 20 ? (n / (1 << 20)).toFixed(2) + ' MiB' : n >= 1 << 10 ? (n / (1 << 10)).toFixed(1) + ' KiB' : whole(n) + ' B';
const time = s => s >= 1 ? s.toFixed(2) + ' s' : s >= 1e-3 ? (s * 1e3).toFixed(3) + ' ms' : (s * 1e6).toFixed(1) + ' µs';
const measured = d.cycles > 0, told = d.layers.some(l => l.cycles > 0), tip = $('tip');
const hue = i => `hsl(${(i * 137.5) % 360} 48% ${i % 2 ? 50 : 57}%)`;
function hint(e, text) {
  e.addEventListener('pointermove', p => say(p, typeof text === 'function' ? text() : text));
  e.addEventListener('pointerleave', () => tip.style.display = 'none');
}
function say(p, text) {
  tip.textContent = text;
  tip.style.display = 'block';
  tip.style.left = Math.min(p.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = Math.min(p.clientY + 16, innerHeight - tip.offsetHeight - 8) + 'px';
}
// ---- summary
document.title = d.model;
$('title').textContent = d.model;
$('under').textContent = d.config
  ? `${d.device || 'accelerator'} · configuration ${d.config.name}: ${d.config.batch}×${d.config.block_in}×${d.config.block_out}, ${d.config.bus_bytes} bytes a cycle after ${d.config.latency} cycles, ${d.config.clock_mhz} MHz`
  : d.device || 'host kernels alone';
const peak = d.config ? d.config.batch * d.config.block_in * d.config.block_out : 0, count = measured ? d.cycles : d.predicted;
function card(value, label, more) {
  const e = element('div', undefined, 'card');
  e.append(element('span', label), element('b', value), element('i', more || ''));
  $('cards').append(e);
}
if (count > 0) {
  card(whole(count), measured ? 'cycles, measured' : 'cycles, predicted', measured ? `predicted ${whole(d.predicted)} (${((d.predicted - d.cycles) / d.cycles * 100).toFixed(1)} %)` : 'the device does not count; tsim does');
  if (d.config) card(time(d.accelerator_s), 'on the accelerator', `at ${d.config.clock_mhz} MHz`);
}
const kernels = d.steps.some(s => !s.on_accelerator), estimated = d.simulated && d.processor !== '';
if (kernels) card(time(estimated ? d.host_estimate_s : d.host_s), 'host kernels', estimated ? `estimated for the processor of ${d.processor}; ${time(d.host_s)} on this machine` : 'as measured on this machine');
if (d.inferences_per_s > 0) {
  card(d.inferences_per_s.toFixed(1), 'inferences a second', !d.simulated || !kernels ? 'one after the other'
    : estimated ? `one after the other: the accelerator at its clock, host kernels as estimated for ${d.processor}` : 'of the accelerator alone: a board’s processor takes longer for its kernels than this one (vtac explain)');
}
if (count > 0 && peak > 0) card(percent(d.macs, count * peak), 'of the array’s peak', `${short(d.macs)} MACs, ${peak} a cycle`);
if (count === 0 && d.flops > 0) card((d.flops / d.host_s / 1e9).toFixed(1), 'GFLOP/s', `${short(d.flops)} operations`);
if (d.config) card(bytes(d.bytes_read + d.bytes_written), 'moved', `${bytes(d.bytes_read)} read, ${bytes(d.bytes_written)} written`);
if (d.config) card(bytes(d.memory.constants + d.memory.work), 'device memory', `${bytes(d.memory.constants)} constants, ${bytes(d.memory.work)} to work in`);
card(bytes(d.memory.host), 'host workspace', d.memory.program ? `${bytes(d.memory.program)} of instructions` : '');
card(time(d.wall_s), 'this run took', d.runs > 1 ? `median of ${d.runs}` : '');
// ---- the split
const total = d.classes.map((c, k) => d.layers.reduce((sum, l) => sum + l.split[k], 0)), all = total.reduce((a, b) => a + b, 0);
function split(bar, parts, sum, name) {
  parts.forEach((n, k) => {
    if (!n) return;
    const e = element('div');
    e.style.cssText = `flex:${n} 0 0;background:${colours[d.classes[k].name]}`;
    hint(e, `${name}${d.classes[k].name}: ${whole(n)} cycles, ${percent(n, sum)}\n${d.classes[k].doc}`);
    bar.append(e);
  });
  return bar;
}
if (told) {
  split($('sum'), total, all, '');
  d.classes.forEach((c, k) => {
    const e = element('span'), key = element('i');
    key.style.background = colours[c.name];
    e.append(key, element('b', c.name), ` ${percent(total[k], all)} · ${whole(total[k])}`);
    hint(e, c.doc);
    $('legend').append(e);
  });
} else $('where').remove();
// ---- tables
function table(place, columns, rows, foot, pick) {
  const t = place.querySelector('table'), head = element('thead'), body = element('tbody'), line = element('tr');
  let by = -1, up = false;
  const cells = (row, i) => columns.map(c => {
    const v = c.show(row, i), e = v instanceof Node ? element('td') : element('td', v, c.mark ? c.mark(row) : '');
    if (v instanceof Node) e.append(v);
    if (c.left) e.classList.add('l');
    if (c.rare) e.classList.add('rare');
    if (c.view) e.classList.add(c.view);
    if (c.wide) { e.classList.add('name'); e.title = v; }
    if (v === '0') e.classList.add('z');
    return e;
  });
  const lines = rows.map((row, i) => {
    const e = element('tr');
    e.append(...cells(row, i));
    if (pick) e.onclick = () => pick(i);
    return e;
  });
  const sort = k => {
    up = by === k ? !up : columns[k].left === true;
    by = k;
    const order = rows.map((row, i) => i).sort((a, b) => {
      const x = columns[k].key(rows[a], a), y = columns[k].key(rows[b], b);
      return (x < y ? -1 : x > y ? 1 : a - b) * (up ? 1 : -1);
    });
    [...line.children].forEach((e, i) => e.ariaSort = i === k ? (up ? 'ascending' : 'descending') : null);
    body.append(...order.map(i => lines[i]));
  };
  columns.forEach((c, k) => {
    const e = element('th', c.title, [c.left ? 'l' : '', c.wide ? 'name' : '', c.rare ? 'rare' : '', c.view || ''].join(' '));
    e.onclick = () => sort(k);
    if (c.doc) hint(e, c.doc);
    line.append(e);
  });
  head.append(line);
  body.append(...lines);
  t.append(head, body);
  if (foot) {
    const e = element('tfoot'), last = element('tr');
    last.append(...cells(foot, -1));
    e.append(last);
    t.append(e);
  }
  return lines;
}
const off = l => l.cycles > 0 && l.predicted > 0 ? (l.predicted - l.cycles) / l.cycles * 100 : NaN;
const number = (title, get, doc, view) => ({title, key: get, show: r => whole(get(r)), doc, view});
let rows = [];
if (d.layers.length) {
  const sum = {name: 'all', op: '', bound: '', schedule: '', split: total};
  for (const k of ['macs', 'predicted', 'cycles', 'bytes_read', 'bytes_written']) sum[k] = d.layers.reduce((a, l) => a + l[k], 0);
  const columns = [
    {title: '#', key: (l, i) => i, show: (l, i) => i < 0 ? '' : String(i + 1), mark: () => 'dim'},
    {title: 'layer', left: true, wide: true, key: l => l.name, show: l => l.name},
    {title: 'operator', left: true, rare: true, key: l => l.op, show: l => l.op || (l === sum ? '' : 'launch')},
    number('predicted', l => l.predicted, 'cycles that the compiler expected')];
  if (told) columns.push(
    number('cycles', l => l.cycles, 'measured; a layer that is computed with another has them there'),
    {title: 'error', key: l => isNaN(off(l)) ? 0 : Math.abs(off(l)), show: l => isNaN(off(l)) ? '' : (off(l) > 0 ? '+' : '') + off(l).toFixed(1) + ' %', mark: l => Math.abs(off(l)) > 10 && l.cycles > 1000 ? 'bad' : '', doc: 'of the prediction'},
    {title: 'share', key: l => l.cycles, show: l => l.cycles ? percent(l.cycles, all) : ''},
    {title: 'what for', left: true, key: l => l.split[0] / (l.cycles || 1), show: l => split(element('div', undefined, 'bar'), l.split, l.cycles, ''), view: 'time', doc: 'the split of its cycles; sorts by the array’s part'});
  columns.push({title: 'of peak', key: l => l.macs / ((told ? l.cycles : l.predicted) || 1e99), show: l => peak && l.macs ? percent(l.macs, (told ? l.cycles : l.predicted) * peak) : '', doc: 'multiplications, of those that the array could do in its cycles'});
  if (told) d.classes.forEach((c, k) => columns.push(number(c.name, l => l.split[k], c.doc, 'time')));
  columns.push(number('MACs', l => l.macs, 'multiplications', 'plan'), number('read', l => l.bytes_read, 'bytes', 'plan'), number('written', l => l.bytes_written, 'bytes', 'plan'),
    {title: 'bound', left: true, view: 'plan', key: l => l.bound, show: l => l.bound, doc: 'what the compiler thinks bounds it'},
    {title: 'schedule', left: true, view: 'plan', key: l => l.schedule, show: l => l.schedule + (l.joined ? ' (joined)' : '')});
  rows = table($('layers'), columns, d.layers, sum, select);
  const shown = $('layers').querySelector('table'), views = told ? [['time', 'where cycles go'], ['plan', 'plan and memory']] : [];
  const see = view => { shown.className = view; views.forEach(([v], i) => buttons[i].classList.toggle('now', v === view)); };
  const buttons = views.map(([view, text]) => { const b = element('button', text); b.onclick = () => see(view); return b; });
  $('layers').querySelector('h2').append(...buttons);
  see(told ? 'time' : 'plan');
  $('layers').querySelector('.note').textContent = told ? `The columns from array to launch sum to the cycles of a layer, the rows to the ${whole(all)} cycles of the run.` : 'This device does not tell where its cycles went; run on tsim for that.';
} else $('layers').remove();
// ---- steps
{
  const clock = d.config ? d.config.clock_mhz : 0, us = s => s.on_accelerator ? (clock ? (s.cycles || s.predicted) / clock : 0) : s.us, most = Math.max(...d.steps.map(us), 1e-9);
  const steps = d.steps.reduce((a, s) => a + us(s), 0);
  table($('steps'), [
    {title: '#', key: (s, i) => i, show: (s, i) => String(i + 1), mark: () => 'dim'},
    {title: 'step', left: true, wide: true, key: s => s.name, show: s => s.name},
    {title: 'operator', left: true, key: s => s.op, show: s => s.on_accelerator ? 'accelerator' : s.op},
    {title: 'µs', key: us, show: s => us(s).toFixed(1)},
    {title: 'share', key: us, show: s => percent(us(s), steps)},
    {title: '', left: true, key: us, show: s => {
      const e = element('span', undefined, s.on_accelerator ? 'us a' : 'us');
      e.style.width = (us(s) / most * 240).toFixed(1) + 'px';
      return e;
    }},
    {title: 'GFLOP/s', key: s => s.flops / us(s) || 0, show: s => s.flops && us(s) > 0 ? (s.flops / us(s) / 1e3).toFixed(2) : ''},
    ...(d.steps.some(s => s.on_accelerator) ? [{title: 'cycles', key: s => s.cycles, show: s => s.on_accelerator ? whole(s.cycles || s.predicted) : ''}] : [])], d.steps);
}
// ---- timeline
let select_in_time = () => {};
function timeline() {
  const place = $('time'), canvas = place.querySelector('canvas'), pen = canvas.getContext('2d'), spans = d.timeline.spans;
  if (!spans.length) { $('time').remove(); return; }
  const end = spans.reduce((m, s) => Math.max(m, s[2] + s[3]), 1), lanes = [0, 1, 2].map(u => spans.reduce((m, s) => s[0] === u ? Math.max(m, s[1] + 1) : m, 1));
  const layers = new Map();
  spans.forEach(s => {
    if (s[0] !== 1) return;
    const l = layers.get(s[5]) || [s[2], s[2] + s[3]];
    layers.set(s[5], [Math.min(l[0], s[2]), Math.max(l[1], s[2] + s[3])]);
  });
  const left = 66, top = 24, gap = 12, deep = 40, lane = Math.max(8, Math.min(22, 210 / (lanes[0] + lanes[1] + lanes[2])));
  const y = [0, 1, 2].map(u => top + deep + gap + lanes.slice(0, u).reduce((a, n) => a + n * lane + gap, 0));
  canvas.height = 0;
  const tall = y[2] + lanes[2] * lane + 6;
  let from = 0, to = end, chosen = -1, wide = 0;
  const x = t => left + (t - from) / (to - from) * (wide - left), t_at = px => from + (px - left) / (wide - left) * (to - from);
  function draw() {
    const scale = devicePixelRatio || 1;
    wide = canvas.clientWidth;
    canvas.width = wide * scale;
    canvas.height = tall * scale;
    canvas.style.height = tall + 'px';
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, wide, tall);
    pen.font = '12px system-ui,sans-serif';
    pen.textBaseline = 'middle';
    const step = 10 ** Math.floor(Math.log10((to - from) / 4 || 1)), unit = [1, 2, 5, 10].map(k => k * step).find(k => (to - from) / k < 8);
    for (let t = Math.ceil(from / unit) * unit; t <= to; t += unit) {
      pen.fillStyle = colour('faint');
      pen.fillRect(x(t), top - 6, 1, tall - top);
      pen.fillStyle = colour('quiet');
      pen.textAlign = x(t) > wide - 40 ? 'right' : 'center';
      pen.fillText(whole(t), x(t), 9);
    }
    pen.save();
    pen.beginPath();
    pen.rect(left, top - 6, wide - left, tall);
    pen.clip();
    for (const [l, [a, b]] of layers) {
      if (b < from || a > to) continue;
      pen.globalAlpha = chosen < 0 || chosen === l ? 0.85 : 0.2;
      pen.fillStyle = hue(l);
      pen.fillRect(x(a), top + (l % 2) * deep / 2, Math.max(1, x(b) - x(a)), deep / 2 - 2);
      const room = Math.min(x(b), wide) - Math.max(x(a), left) - 8;
      if (room > 20 && pen.measureText(d.layers[l].name).width < room) {
        pen.fillStyle = '#fff';
        pen.textAlign = 'left';
        pen.fillText(d.layers[l].name, Math.max(x(a), left) + 4, top + (l % 2) * deep / 2 + deep / 4 - 1);
      }
    }
    for (const s of spans) {
      if (s[2] + s[3] < from || s[2] > to) continue;
      pen.globalAlpha = chosen < 0 || chosen === s[5] ? 1 : 0.15;
      pen.fillStyle = hue(s[5]);
      pen.fillRect(x(s[2]), y[s[0]] + s[1] * lane, Math.max(0.6, (x(s[2] + s[3]) - x(s[2])) * 0.97), lane - 1);
    }
    pen.restore();
    pen.globalAlpha = 1;
    pen.fillStyle = colour('ink');
    pen.textAlign = 'left';
    pen.fillText('layers', 0, top + deep / 2 - 1);
    d.timeline.units.forEach((u, k) => pen.fillText(u, 0, y[k] + lanes[k] * lane / 2));
  }
  function zoom(factor, at) {
    const size = Math.min(end, Math.max(20, (to - from) * factor)), share = (at - from) / (to - from);
    from = Math.max(0, Math.min(end - size, at - share * size));
    to = from + size;
    draw();
  }
  canvas.addEventListener('wheel', e => { e.preventDefault(); zoom(Math.exp(e.deltaY * 0.0015), t_at(e.offsetX)); }, {passive: false});
  canvas.addEventListener('dblclick', () => { from = 0; to = end; select(-1); });
  let drag = null;
  canvas.addEventListener('pointerdown', e => { drag = {x: e.clientX, from}; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointerup', () => drag = null);
  canvas.addEventListener('pointermove', e => {
    const size = to - from;
    if (drag) {
      from = Math.max(0, Math.min(end - size, drag.from - (e.clientX - drag.x) / (wide - left) * size));
      to = from + size;
      draw();
      return;
    }
    const t = t_at(e.offsetX), near = size / wide, hit = spans.find(s => t >= s[2] - near && t < s[2] + s[3] + near && e.offsetY >= y[s[0]] + s[1] * lane && e.offsetY < y[s[0]] + (s[1] + 1) * lane);
    const over = [...layers].find(([l, [a, b]]) => t >= a && t < b && e.offsetY >= top + (l % 2) * deep / 2 && e.offsetY < top + (l % 2 + 1) * deep / 2);
    if (hit) say(e, `${d.timeline.names[hit[6]]}, instruction ${hit[4]}\nlayer ${d.layers[hit[5]].name}\n${whole(hit[3])} cycles from ${whole(hit[2])}\nwaited ${hit[7]} for a token, ${hit[8]} for memory`);
    else if (over) say(e, `${d.layers[over[0]].name} (${d.layers[over[0]].op})\n${whole(d.layers[over[0]].cycles)} cycles, predicted ${whole(d.layers[over[0]].predicted)}`);
    else tip.style.display = 'none';
  });
  canvas.addEventListener('pointerleave', () => tip.style.display = 'none');
  addEventListener('resize', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  select_in_time = l => {
    chosen = l;
    const at = layers.get(l);
    if (at) {
      const size = at[1] - at[0];
      from = Math.max(0, at[0] - 0.3 * size);
      to = Math.min(end, at[1] + 0.3 * size);
    }
    draw();
  };
  place.querySelector('.note').textContent = `${whole(spans.length)} instructions, in the colour of their layer; compute is where a layer’s time counts.`;
  draw();
}
timeline();
// ---- roofline
let dots = [];
function roofline() {
  const place = $('roof'), points = d.layers.map((l, i) => ({l, i, cycles: told ? l.cycles : l.predicted, bytes: Math.max(l.bytes_read, l.bytes_written)})).filter(p => p.l.macs > 0 && p.cycles > 0 && p.bytes > 0);
  if (!points.length || !peak) { place.remove(); return; }
  const w = 620, h = 390, left = 54, right = 14, top = 14, bottom = 40, band = d.config.bus_bytes;
  const xs = points.map(p => p.l.macs / p.bytes), ys = points.map(p => p.l.macs / p.cycles);
  const x0 = Math.log10(Math.min(...xs, peak / band) / 2), x1 = Math.log10(Math.max(...xs, peak / band) * 2), y0 = Math.log10(Math.min(...ys) / 1.6), y1 = Math.log10(peak * 1.6);
  const x = v => left + (Math.log10(v) - x0) / (x1 - x0) * (w - left - right), y = v => h - bottom - (Math.log10(v) - y0) / (y1 - y0) * (h - top - bottom);
  const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg');
  const add = (tag, set, text) => {
    const e = document.createElementNS(ns, tag);
    for (const k in set) e.setAttribute(k, set[k]);
    if (text !== undefined) e.textContent = text;
    svg.append(e);
    return e;
  };
  add('rect', {x: 0, y: 0, width: 0, height: 0});
  svg.setAttribute('viewBox', `0 0 ${w} ${h}`);
  for (let k = Math.ceil(x0); k <= x1; k++) { add('line', {class: 'grid', x1: x(10 ** k), x2: x(10 ** k), y1: top, y2: h - bottom}); add('text', {x: x(10 ** k), y: h - bottom + 16, 'text-anchor': 'middle'}, 10 ** k); }
  for (let k = Math.ceil(y0); k <= y1; k++) { add('line', {class: 'grid', x1: left, x2: w - right, y1: y(10 ** k), y2: y(10 ** k)}); add('text', {x: left - 6, y: y(10 ** k) + 4, 'text-anchor': 'end'}, 10 ** k); }
  add('text', {x: (left + w - right) / 2, y: h - 6, 'text-anchor': 'middle'}, 'MACs a byte');
  add('text', {x: 13, y: (top + h - bottom) / 2, 'text-anchor': 'middle', transform: `rotate(-90 13 ${(top + h - bottom) / 2})`}, 'MACs a cycle');
  const knee = peak / band, low = Math.max(10 ** x0, 10 ** y0 / band);
  add('path', {d: `M${x(low)} ${y(low * band)}L${x(knee)} ${y(peak)}L${x(10 ** x1)} ${y(peak)}`, class: 'roof'});
  add('text', {x: w - right - 4, y: y(peak) - 18, 'text-anchor': 'end'}, `the array: ${peak}`);
  add('text', {x: x(Math.sqrt(low * knee)) - 8, y: y(Math.sqrt(low * knee) * band) - 6, 'text-anchor': 'end'}, `memory: ${band} bytes a cycle`);
  const most = Math.max(...points.map(p => p.cycles));
  points.sort((a, b) => b.cycles - a.cycles).forEach(p => {
    const e = add('circle', {class: 'dot', cx: x(p.l.macs / p.bytes), cy: y(p.l.macs / p.cycles), r: 3.5 + 9 * Math.sqrt(p.cycles / most), fill: hue(p.i), 'fill-opacity': 0.82});
    hint(e, `${p.l.name} (${p.l.op})\n${whole(p.cycles)} cycles, ${(p.l.macs / p.cycles).toFixed(1)} MACs a cycle\n${(p.l.macs / p.bytes).toFixed(1)} MACs a byte, bound: ${p.l.bound}`);
    e.onclick = () => select(p.i);
    dots.push([p.i, e]);
  });
  place.querySelector('div').append(svg);
}
roofline();
if (!$('time') || !$('roof')) document.querySelector('.two').style.gridTemplateColumns = '1fr';
function select(i) {
  rows.forEach((r, k) => r.classList.toggle('on', k === i));
  dots.forEach(([k, e]) => e.setAttribute('fill-opacity', i < 0 || k === i ? 0.82 : 0.15));
  select_in_time(i);
}
document.body.dataset.drawn = `${d.layers.length} layers, ${d.steps.length} steps, ${d.timeline.spans.length} instructions, ${dots.length} dots`;
