// SPDX-License-Identifier: Apache-2.0
const d = JSON.parse(document.getElementById('data').textContent);
document.getElementById('title').textContent = d.model;
const links = d.pages.map(p => {
  const a = element('a', p.name);
  a.href = '#' + p.name;
  a.title = p.words;
  return a;
});
document.getElementById('links').append(...links);
function show() {
  const k = Math.max(0, d.pages.findIndex(p => '#' + p.name === location.hash));
  links.forEach((a, i) => { if (i === k) a.setAttribute('aria-current', 'page'); else a.removeAttribute('aria-current'); });
  document.getElementById('page').src = d.pages[k].file;
  document.body.dataset.shown = d.pages[k].name;
}
addEventListener('hashchange', show);
show();
