// SPDX-License-Identifier: Apache-2.0
const data = JSON.parse(document.getElementById('data').textContent);
const view = document.getElementById('view'), all = document.getElementById('all');
const side = document.getElementById('side'), find = document.getElementById('find'), found = document.getElementById('found');
const nodes = [...document.querySelectorAll('.n')], edges = [...document.querySelectorAll('#edges path')];
const size = {w: +view.dataset.w, h: +view.dataset.h};
let at = {x: 0, y: 0, k: 1};
const show = () => all.setAttribute('transform', `translate(${at.x} ${at.y}) scale(${at.k})`);
const clamp = k => Math.min(3, Math.max(0.02, k));
function zoom(factor, x, y) {
  const k = clamp(at.k * factor);
  at = {x: x - (x - at.x) * k / at.k, y: y - (y - at.y) * k / at.k, k};
  show();
}
function fit() {
  const w = view.clientWidth, h = view.clientHeight, k = clamp(Math.min(w / size.w, h / size.h, 1));
  at = {x: (w - size.w * k) / 2, y: Math.max(0, (h - size.h * k) / 2), k};
  show();
}
function start() { // legible: the top of the graph, as wide as it fits
  const w = view.clientWidth, k = Math.min(1, Math.max(0.45, w / size.w)), first = nodes.find(n => n.classList.contains('end'));
  const x = first ? first.transform.baseVal[0].matrix.e : size.w / 2;
  at = {x: size.w * k <= w ? (w - size.w * k) / 2 : w / 2 - x * k, y: 0, k};
  show();
}
view.addEventListener('wheel', e => {
  e.preventDefault();
  const box = view.getBoundingClientRect();
  zoom(Math.exp(-e.deltaY * 0.0015), e.clientX - box.left, e.clientY - box.top);
}, {passive: false});
let drag = null, moved = false;
view.addEventListener('pointerdown', e => { drag = {x: e.clientX - at.x, y: e.clientY - at.y, sx: e.clientX, sy: e.clientY}; moved = false; });
window.addEventListener('pointermove', e => {
  if (!drag) return;
  moved = moved || Math.hypot(e.clientX - drag.sx, e.clientY - drag.sy) > 4;
  if (moved) { view.classList.add('drag'); at.x = e.clientX - drag.x; at.y = e.clientY - drag.y; show(); }
});
window.addEventListener('pointerup', () => { drag = null; view.classList.remove('drag'); });
function value(v, link) {
  const e = element('div', undefined, 'v'), code = element(link === undefined ? 'code' : 'a');
  code.append(v.name || '_');
  if (link !== undefined) code.onclick = () => { pick(link); centre(link); };
  e.append(code, ' ', element('code', v.type, 't'));
  if ('low' in v) e.append(element('div', v.values ? `[${v.values.join(', ')}]` : `${v.low} … ${v.high}, mean ${v.mean}`, 'r'));
  return e;
}
const maker = new Map(), users = new Map();
data.forEach((d, i) => { if (d.op !== 'output') d.outputs.forEach(v => maker.set(v.name, i)); });
data.forEach((d, i) => d.inputs.forEach(v => users.set(v.name, (users.get(v.name) || []).concat(i))));
function pick(i) {
  const d = data[i];
  nodes.forEach((n, k) => n.classList.toggle('on', k === i));
  edges.forEach(e => e.classList.toggle('on', +e.dataset.a === i || +e.dataset.b === i));
  side.replaceChildren(element('h2', d.op), element('code', d.name));
  if (d.runs) {
    const list = element('dl');
    list.append(element('dt', 'where'), element('dd', d.runs));
    if ('there' in d) list.append(element('dt', 'cycles there'), element('dd', d.there.toLocaleString()));
    list.append(element('dt', 'cycles on host'), element('dd', d.here.toLocaleString()));
    side.append(element('h3', 'runs'), list);
    if (d.why) side.append(element('div', d.why, 'r'));
  }
  const names = Object.keys(d.attrs);
  if (names.length) {
    const list = element('dl');
    names.forEach(n => list.append(element('dt', n), element('dd', d.attrs[n])));
    side.append(element('h3', 'attributes'), list);
  }
  if (d.inputs.length) side.append(element('h3', 'inputs'), ...d.inputs.map(v => value(v, maker.get(v.name))));
  if (d.outputs.length) side.append(element('h3', 'outputs'), ...d.outputs.map(v => value(v, (users.get(v.name) || [])[0])));
}
function centre(i) {
  const m = nodes[i].transform.baseVal[0].matrix;
  at.k = Math.max(at.k, 0.6);
  at.x = view.clientWidth / 2 - m.e * at.k;
  at.y = view.clientHeight / 2 - m.f * at.k;
  show();
}
nodes.forEach((n, i) => {
  n.addEventListener('click', () => { if (!moved) pick(i); });
  n.addEventListener('keydown', e => { if (e.key === 'Enter') pick(i); });
});
let hits = [], hit = 0;
function search() {
  const text = find.value.trim().toLowerCase();
  const names = d => [d.op, d.name, ...d.inputs.map(v => v.name), ...d.outputs.map(v => v.name)];
  hits = text === '' ? [] : data.map((d, i) => i).filter(i => names(data[i]).some(n => n.toLowerCase().includes(text)));
  nodes.forEach((n, i) => n.classList.toggle('hit', hits.includes(i)));
  all.classList.toggle('dim', text !== '');
  found.textContent = text === '' ? '' : `${hits.length} found`;
  hit = 0;
}
find.addEventListener('input', search);
find.addEventListener('keydown', e => {
  if (e.key === 'Enter' && hits.length) { pick(hits[hit]); centre(hits[hit]); hit = (hit + 1) % hits.length; }
  if (e.key === 'Escape') { find.value = ''; search(); find.blur(); }
});
document.getElementById('fit').onclick = fit;
window.addEventListener('keydown', e => {
  if (e.target === find) return;
  const x = view.clientWidth / 2, y = view.clientHeight / 2;
  if (e.key === '/') { e.preventDefault(); find.focus(); }
  if (e.key === 'f') fit();
  if (e.key === '+') zoom(1.25, x, y);
  if (e.key === '-') zoom(0.8, x, y);
});
start();
const wanted = decodeURIComponent(location.hash.slice(1)); // page.html#name opens with that node
const index = wanted === '' ? -1 : data.findIndex(d => d.name === wanted);
if (index >= 0) { pick(index); centre(index); }
document.body.dataset.drawn = `${nodes.length} nodes, ${edges.length} edges`;
