// SPDX-License-Identifier: Apache-2.0
const d = JSON.parse(document.getElementById('data').textContent), $ = id => document.getElementById(id);
document.title = `tune ${d.model}`; $('title').textContent = `Schedules of ${d.model}`;
$('under').textContent = `${d.target}; ${d.trials} trials by ${d.tuner}; ${d.tasks.length} kinds of kernels`;
const show = v => d.cycles ? Math.round(v).toLocaleString('en-US') + ' cycles' : (v * 1e6).toPrecision(4) + ' µs';
const curved = t => new Set(t.costs.filter(c => c !== null)).size > 1;
for (const t of [...d.tasks.filter(curved), ...d.tasks.filter(t => !curved(t))]) {
  const s = element('section'), ns = 'http://www.w3.org/2000/svg', w = 400, h = 190, svg = document.createElementNS(ns, 'svg');
  svg.setAttribute('viewBox', `0 0 ${w} ${h}`);
  const put = (tag, attributes, text) => { const e = document.createElementNS(ns, tag); for (const k in attributes) e.setAttribute(k, attributes[k]); if (text !== undefined) e.textContent = text; svg.append(e); };
  const costs = t.costs, good = costs.filter(c => c !== null), low = Math.min(...good), high = Math.min(Math.max(...good), low * 4);
  const x = i => 8 + (w - 16) * i / Math.max(costs.length - 1, 1), y = c => 20 + (h - 44) * (1 - (Math.min(c, high) - low) / ((high - low) || 1));
  const told = good.length === 0 ? `not tried in these ${d.trials} trials` : `${costs.length} ${costs.length === 1 ? 'trial' : 'trials'}, ${good.length === 1 ? '' : 'all '}of ${show(low)}`;
  const head = [element('h2', t.step), element('p', `${t.kernel} ${t.shape}`), element('p', `taken: ${t.best}` + (t.best === t.standard ? ' (the standard one)' : `; standard: ${t.standard}`))];
  document.querySelector('main').append(s);
  if (good.length === 0 || low === high) { s.append(...head, element('p', told)); continue; } // no curve to draw
  for (const c of [low, high]) { put('line', {x1: 8, x2: w - 8, y1: y(c), y2: y(c), class: 'grid'}); }
  let best = Infinity, line = '';
  costs.forEach((c, i) => { if (c !== null) { put('circle', {cx: x(i), cy: y(c), r: 2.5, class: 'trial'}); if (c < best) { if (line) line += ` ${x(i)},${y(best)}`; best = c; } } if (best < Infinity) line += ` ${x(i)},${y(best)}`; });
  put('polyline', {points: line.trim(), class: 'best'}); for (const c of [low, high]) put('text', {x: 8, y: y(c) - 4}, show(c) + (c === high && Math.max(...good) > high ? ' and more' : '')); put('text', {x: w / 2, y: h - 4, 'text-anchor': 'middle'}, `${costs.length} trials; the line is the best so far`);
  s.append(...head, svg);
}
