// SPDX-License-Identifier: Apache-2.0
'use strict';
function element(tag, text, name) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.className = name;
  return e;
}
// A colour of family.css, for what is drawn without a style sheet.
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}
