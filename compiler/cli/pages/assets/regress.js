// SPDX-License-Identifier: Apache-2.0
const body = document.getElementById('rows'), told = document.getElementById('runs');
const passed = suite.cases.filter(c => c.outcome === 'passed').length;
document.getElementById('sum').textContent = passed + ' of ' + suite.cases.length + ' passed';
if (runs.length > 1)
    told.textContent = ' The curves are of ' + runs.length + ' runs; red: it grew by more.';
function cell(row, text, kind, name) {
    const td = element('td', text, kind);
    if (name) td.dataset.name = name;
    row.appendChild(td); return td;
}
function shape(svg, kind, values) {
    const made = document.createElementNS('http://www.w3.org/2000/svg', kind);
    for (const name in values) made.setAttribute(name, values[name]);
    svg.appendChild(made); return made;
}
const figure = v => v ? v.toLocaleString('en') : '';
// The cycles of runs: the whole height is their span, or 2 % where that is more.
function curve(past, tolerance) {
    const w = 160, h = 26, values = past.map(p => p.cycles);
    const least = Math.min(...values), most = Math.max(...values);
    const span = Math.max(most - least, most * 0.02);
    const x = i => values.length < 2 ? w / 2 : 4 + i * (w - 8) / (values.length - 1);
    const y = v => h - 4 - (v - (least + most - span) / 2) / span * (h - 8);
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('width', w); svg.setAttribute('height', h);
    const points = values.map((v, i) => x(i) + ',' + y(v)).join(' ');
    shape(svg, 'polyline', {points});
    values.forEach((v, i) => {
        const grew = i > 0 && v > values[i - 1] * (1 + tolerance / 100);
        const r = grew ? 1.8 : 2.5;
        if (grew || i === values.length - 1) shape(svg, 'circle', {cx: x(i), cy: y(v), r, class: grew ? 'grew' : ''});
    });
    const tell = p => (p.label || 'a run') + ': ' + figure(p.cycles);
    const lines = past.slice(-12).reverse().map(tell);
    if (past.length > 12)
        lines.push(past.length + ' runs, from ' + figure(least) + ' to ' + figure(most));
    shape(svg, 'title', {}).textContent = lines.join('\n');
    return svg;
}
const bad = c => c.outcome !== 'passed' ? 0 : 1;
for (const c of [...suite.cases].sort((a, b) => bad(a) - bad(b))) {
    const row = document.createElement('tr');
    cell(row, c.model); cell(row, c.config); cell(row, c.device);
    cell(row, c.outcome, c.outcome.replace(' ', ''));
    cell(row, figure(c.cycles), 'n', 'cycles'); cell(row, figure(c.baseline), 'n', 'baseline');
    const change = (c.change > 0 ? '+' : '') + c.change.toFixed(2) + '\u00a0%';
    cell(row, c.baseline && c.cycles ? change : '', 'n', 'change');
    const past = runs.filter(h => h.cycles && h.cycles[c.key] > 0)
        .map(h => ({label: h.label, cycles: h.cycles[c.key]}));
    const drawn = cell(row, ''); if (past.length) drawn.appendChild(curve(past, c.tolerance));
    cell(row, c.seconds.toFixed(1), 'n', 'seconds'); cell(row, c.why, 'why');
    body.appendChild(row);
}
