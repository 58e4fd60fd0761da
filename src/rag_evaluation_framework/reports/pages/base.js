'use strict';
/* What every view is built with. The page is made of text nodes alone: innerHTML does not occur. */
const $ = (query, within = document) => within.querySelector(query);
const $$ = (query, within = document) => [...within.querySelectorAll(query)];
const SVG = 'http://www.w3.org/2000/svg';

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value == null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
    if (name === 'lang') element.setAttribute('dir', 'auto');
  }
  for (const child of children.flat(9)) if (child != null && child !== false) element.append(child);
  return element;
}
const h = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

/* Figures as everywhere: two decimals, a dash where there is none, a sign on differences. */
const f2 = x => x == null ? '–' : x.toFixed(2).replace(/^-(0\.0+)$/, '$1');
const signed = x => x == null ? '–' : (x > 0.0049 ? '+' : '') + f2(x);
const whole = x => Math.round(x).toLocaleString('en');
const counted = (n, noun) => `${whole(n)} ${noun}${n === 1 ? '' : 's'}`;
const percent = (x, low = 0, high = 1) => Math.max(0, Math.min(100, (x - low) / (high - low) * 100)).toFixed(2) + '%';
/* Text that people wrote has its own element, with its language and a direction of its own. */
const language = text => /[\u3400-\u9fff]/.test(text) ? 'zh-Hans' : 'und';
const own = text => ({ lang: language(text) });

/* A mean and how sure it is, on a fixed scale: an open dot where the interval reaches across the limit. */
function whiskers(value, low, high, { min = 0, max = 1, limit, zero, bad, open, label } = {}) {
  const y = 10, image = s('svg', { class: 'iv', role: 'img', 'aria-label': label || '' });
  image.append(s('line', { class: 'grid', x1: '0%', x2: '100%', y1: y, y2: y, 'stroke-dasharray': value == null ? '2 4' : null }));
  const across = (at, kind, top, bottom) => s('line', { class: kind, x1: percent(at, min, max), x2: percent(at, min, max), y1: top, y2: bottom });
  if (zero) image.append(across(0, 'axis', 0, 20));
  if (value == null) return image;
  if (limit != null) image.append(across(limit, 'limit', 2, 18));
  if (low != null) image.append(s('line', { class: 'whisk' + (bad ? ' bad' : ''), x1: percent(low, min, max), x2: percent(high, min, max), y1: y, y2: y }));
  image.append(s('circle', { class: 'dot' + (bad ? ' bad' : '') + (open ? ' open' : ''), cx: percent(value, min, max), cy: y, r: 4.5 }));
  return image;
}
function meter(value) {
  const fill = h('i');
  fill.style.width = Math.max(0, Math.min(1, value)) * 100 + '%';
  return h('span', { class: 'bar', 'aria-hidden': 'true' }, fill);
}
/* Charts that have text are drawn in real pixels, and again when their width changes. */
function chart(element, draw) {
  let width = 0;
  const redraw = () => { if (width) element.replaceChildren(draw(width)); };
  new ResizeObserver(() => {
    const now = Math.floor(element.clientWidth);
    if (now && now !== width) { width = now; redraw(); }
  }).observe(element);
  return redraw;
}
const verdict = pair => pair && h('span', { class: 'verd ' + pair[1] }, pair[0]);
/* The verdict on an answer or a turn: the state, who decided it and why; then the cause and the flags. */
const ended = text => /[.…!?。]$/.test(text) ? text : text + '.';
const verdictLines = (each, kind) => !each?.v ? [] : [
  h('p', { class: kind }, verdict(each.v), each.by ? h('span', { class: 'dim' }, ` (${each.by})`) : null, each.why ? [': ', h('span', { class: 'dim', dir: 'auto' }, ended(each.why))] : '.'),
  ...(each.cause ? [h('p', { class: 'small' }, 'Cause: ', h('bdi', {}, ended(each.cause)))] : []),
  ...(each.fl ? [h('p', { class: 'small' }, `Flagged: ${each.fl.join(', ')}.`)] : [])];
const say = text => { $('#live').textContent = text; };
const isTyping = event => /INPUT|TEXTAREA|SELECT/.test(event.target.tagName) && !/radio|checkbox|range/.test(event.target.type);

/* Documents: positions are code points, never UTF-16 units. */
const pointsOf = new Map();
function points(index) {
  if (!pointsOf.has(index)) pointsOf.set(index, Array.from(DATA.documents[index].text));
  return pointsOf.get(index);
}
function runs(length, value) {
  const found = [];
  for (let from = 0; from < length;) {
    const kind = value(from);
    let to = from + 1;
    while (to < length && value(to) === kind) to++;
    found.push([from, to, kind]);
    from = to;
  }
  return found;
}
/* read: [document, start, end, rank]; needed: [document, start, end] */
function painted(index, read, needed, cited = []) {
  const text = points(index), ranks = new Uint8Array(text.length), wanted = new Uint8Array(text.length), meant = new Uint8Array(text.length);
  for (const [, from, to, rank] of read) for (let i = from; i < to && i < text.length; i++) ranks[i] ||= Math.min(rank, 250);
  for (const [, from, to] of needed) wanted.fill(1, from, to);
  for (const [from, to] of cited) meant.fill(1, from, to);
  return { text, ranks, wanted, meant };
}
function documentLines({ text, ranks, wanted, meant }) {
  const lines = [];
  for (let from = 0; from <= text.length;) {
    let to = from;
    while (to < text.length && text[to] !== '\n') to++;
    const line = text.slice(from, to).join('');
    const kind = !line ? 'gap' : /^#/.test(line) ? 'head' : /^\|/.test(line) ? 'cell' : null;
    const element = h('p', { 'data-o': line ? from : null, class: kind, ...(line ? own(line) : {}) });
    for (const [a, b] of runs(to - from, i => ranks[from + i] * 4 + wanted[from + i] * 2 + meant[from + i])) {
      const x = from + a, rank = ranks[x], need = wanted[x], words = text.slice(x, from + b).join('');
      if (rank && (x === 0 || ranks[x - 1] !== rank)) {
        element.append(h('span', { class: 'rank', title: 'retrieved at rank ' + rank }, h('span', { class: 'vh' }, 'retrieved, rank '), String(rank)));
      }
      const begins = need && (x === 0 || !wanted[x - 1] || !ranks[x - 1] !== !rank);
      element.append(rank || need || meant[x]
        ? h('mark', { class: [rank && 'r', need && 'n', meant[x] && 'cited'].filter(Boolean).join(' '), 'data-p': x },
          begins ? h('span', { class: 'vh' }, rank ? '[expected and retrieved] ' : '[expected, not retrieved] ') : null, words)
        : h('span', { 'data-p': x }, words));
    }
    lines.push(element);
    from = to + 1;
  }
  return lines;
}
/* Two lanes over the document's length: retrieved above, expected below; a frame for the visible part. */
function miniMap(index, read, needed, box) {
  const length = Math.max(1, points(index).length), { ranks, wanted } = painted(index, read, needed);
  const list = spans => spans.map(([, from, to]) => `${from}–${to}`).join(', ') || 'nothing';
  const map = s('svg', { class: 'map', role: 'img', 'aria-label': `${DATA.documents[index].name}, ${whole(length)} characters. Retrieved: ${list(read)}. Expected: ${list(needed)}.` });
  for (const y of [2, 18]) map.append(s('rect', { class: 'lane', x: 0, y, width: '100%', height: 12 }));
  for (const [, from, to] of read) map.append(s('rect', { class: 'rd', x: percent(from / length), y: 2, width: ((to - from) / length * 100).toFixed(2) + '%', height: 12 }));
  for (const [from, to, kind] of runs(length, i => wanted[i] ? ranks[i] ? 2 : 1 : 0)) {
    if (kind) map.append(s('rect', { class: kind === 1 ? 'nd miss' : 'nd', x: percent(from / length), y: 18, width: Math.max(.5, (to - from) / length * 100).toFixed(2) + '%', height: 12 }));
  }
  const frame = s('rect', { class: 'win', y: 0, height: 32, x: 0, width: '0' });
  map.append(frame);
  const follow = () => {
    const total = box.scrollHeight || 1, fits = total <= box.clientHeight + 4;
    frame.setAttribute('x', box.scrollTop / total * 100 + '%');
    frame.setAttribute('width', fits ? '0' : box.clientHeight / total * 100 + '%');
  };
  box.addEventListener('scroll', follow);
  new ResizeObserver(follow).observe(box);
  map.addEventListener('click', event => {
    const place = map.getBoundingClientRect();
    box.scrollTop = (event.clientX - place.left) / place.width * box.scrollHeight - box.clientHeight / 2;
  });
  return map;
}
const bring = (box, element, part = 3) => {
  box.scrollTop += element.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / part;
};

/* The address carries the state: which view, which sample, what is searched for, filtered and sorted. */
const address = () => new URLSearchParams(location.hash.slice(1));
function link(changes, from = address()) {
  const next = new URLSearchParams(from);
  for (const [name, value] of Object.entries(changes)) value == null || value === '' ? next.delete(name) : next.set(name, value);
  return '#' + next.toString();
}
const go = changes => { location.hash = link(changes); };
const remember = changes => history.replaceState(null, '', link(changes));

/* Theme and the list of keys. */
const THEMES = ['auto', 'light', 'dark'];
let theme = 0;
function setTheme(next) {
  theme = next;
  if (THEMES[theme] === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = THEMES[theme];
  $('#theme').textContent = 'Theme: ' + THEMES[theme];
  try { localStorage.setItem('rag-eval-theme', THEMES[theme]); } catch { /* a file may have no storage */ }
}
try { theme = Math.max(0, THEMES.indexOf(localStorage.getItem('rag-eval-theme'))); } catch { /* the same */ }
setTheme(theme);
$('#theme').addEventListener('click', () => setTheme((theme + 1) % 3));
$('#keys-open').addEventListener('click', () => $('#keys').showModal());
addEventListener('beforeprint', () => $$('details').forEach(each => { each.open = true; }));
$('.skip').addEventListener('click', event => { event.preventDefault(); $('#main').focus(); });

/* The data beside the script, compressed where they are large. */
async function read() {
  const element = $('#data');
  if (element.dataset.packed !== 'gzip') return JSON.parse(element.textContent);
  const text = atob(element.textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
}
