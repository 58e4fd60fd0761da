/* All stored results, and the progress of runs under way. */
let DATA;
const POLL = 2000, SHOWN_METRICS = 3, PAGE = 100, chosen = [], seen = new Map();
let query = '', current = -1, shownRows = PAGE;

const NOUNS = { passed: 'passed', failed: 'failed', undecided: 'undecided', 'not evaluated': 'not evaluated', incomplete: 'incomplete' };
function headline() {
  const counts = {};
  for (const each of DATA.results) if (NOUNS[each.verdict]) counts[each.verdict] = (counts[each.verdict] || 0) + 1;
  const parts = Object.entries(counts).map(([word, n]) => `${whole(n)} ${word}`);
  const stored = DATA.results.length ? `${counted(DATA.results.length, 'result')}${parts.length ? ': ' + parts.join(', ') : ''}. ` : '';
  const running = DATA.running.length ? `${counted(DATA.running.length, 'run')} running.` : '';
  $('#headline').textContent = (stored + running).trim() || 'No results yet. Start a run: rag-eval evaluate';
}
const metrics = () => {
  const times = new Map();
  for (const each of DATA.results) for (const name of Object.keys(each.metrics)) times.set(name, (times.get(name) || 0) + 1);
  return [...times].sort((a, b) => b[1] - a[1]).slice(0, SHOWN_METRICS).map(([name]) => name);
};
const when = text => text ? text.slice(0, 16).replace('T', ' ') : '–';
const haystack = each => each.haystack ||= [each.id, each.dataset, each.target, each.verdict, each.when, each.error].join(' ').toLowerCase();
const matching = () => DATA.results.filter(each => query.split(/\s+/).every(word => haystack(each).includes(word)));

function draw() {
  const names = metrics(), rows = matching();
  $('#head').replaceChildren(h('th', { scope: 'col', class: 'pick' }, h('span', { class: 'vh' }, 'compare')), h('th', { scope: 'col' }, 'run'), h('th', { scope: 'col', class: 'hide-s' }, 'when'),
    h('th', { scope: 'col', class: 'hide-s' }, 'dataset'), h('th', { scope: 'col', class: 'hide-m' }, 'agent'), ...Object.values(DATA.grades).map((name, n) => h('th', { scope: 'col', class: 'num' + (n % 2 ? ' hide-s' : '') }, name)),
    ...names.map((name, n) => h('th', { scope: 'col', class: 'num' + (n > 1 ? ' hide-m' : ' hide-s') }, name)), h('th', { scope: 'col' }, 'gate'));
  const focused = document.activeElement?.dataset?.f;
  $('#rows').replaceChildren(...rows.slice(0, shownRows).map((each, n) => h('tr', { class: 'row' + (n === current ? ' at' : ''), onclick: event => { if (!event.target.closest('input, a')) open(each); } },
    h('td', { class: 'pick' }, h('input', { type: 'checkbox', 'aria-label': `compare ${each.id}`, 'data-f': 'pick ' + each.key, checked: chosen.includes(each.key), disabled: !!each.error, onchange: () => pick(each) })),
    h('th', { scope: 'row' }, h('a', { class: 'mono', href: place(each), 'data-f': 'open ' + each.key }, each.id)), h('td', { class: 'hide-s' }, when(each.when)),
    h('td', { class: 'hide-s', ...own(each.dataset || '') }, each.dataset || '–'), h('td', { class: 'hide-m', ...own(each.target || '') }, each.target || '–'),
    Object.keys(DATA.grades).map((grade, n) => h('td', { class: 'num' + (n % 2 ? ' hide-s' : '') }, each.answers.total ? whole(each.answers[grade]) : '–')),
    names.map((name, n) => h('td', { class: 'num' + (n > 1 ? ' hide-m' : ' hide-s') }, f2(each.metrics[name]))),
    h('td', {}, each.error ? h('span', { class: 'alarm', title: each.error }, 'cannot be read') : verdictOf(each.verdict)))));
  if (focused) $(`[data-f="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  if (rows.length > shownRows) $('#rows').append(h('tr', {}, h('td', { colspan: 10 + names.length }, h('button', { class: 'quiet', type: 'button', onclick: () => { shownRows += PAGE; draw(); } }, `show more of ${whole(rows.length)}`))));
  $('#found').textContent = query ? counted(rows.length, 'result') : '';
  $('#empty').hidden = rows.length > 0;
  $('#empty').replaceChildren(query ? `No result matches “${query}”. ` : 'No results yet. Start a run: rag-eval evaluate', query ? h('button', { class: 'link', type: 'button', onclick: () => search('') }, `show all ${whole(DATA.results.length)}`) : '');
  $('#table').hidden = !rows.length;
  $('#compare').disabled = chosen.length !== 2;
  $('#compare').textContent = chosen.length === 2 ? 'Compare the two results' : 'Select two results to compare';
}
const TONES = { passed: 'yes', failed: 'no', 'not evaluated': 'no', undecided: 'un', incomplete: 'un' };
const verdictOf = word => word ? h('span', { class: 'verd ' + (TONES[word] || 'un') }, word) : '–';
const place = each => 'run?key=' + encodeURIComponent(each.key);
const open = each => { if (!each.error) location.href = place(each); };
function pick(each) {
  const at = chosen.indexOf(each.key);
  if (at >= 0) chosen.splice(at, 1);
  else { chosen.push(each.key); if (chosen.length > 2) chosen.shift(); }
  say(`${chosen.length} selected`);
  draw();
}
function compare() {
  if (chosen.length !== 2) return;
  const found = chosen.map(key => DATA.results.find(each => each.key === key)).sort((a, b) => (a.when || '') < (b.when || '') ? -1 : 1);
  location.href = `compare?base=${encodeURIComponent(found[0].key)}&candidate=${encodeURIComponent(found[1].key)}`;
}
function search(text) {
  query = text.trim().toLowerCase();
  current = -1;
  shownRows = PAGE;
  if ($('#search').value !== text) $('#search').value = text;
  remember({ q: text });
  draw();
}

/* Runs under way: done, rate, time left. */
const minutes = seconds => seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
function drawRunning() {
  $('#running').hidden = !DATA.running.length;
  $('#runs').replaceChildren(h('ul', {}, DATA.running.map(each => {
    const first = seen.get(each.key) || { done: each.done, at: Date.now() };
    seen.set(each.key, first);
    const rate = (each.done - first.done) / Math.max(.001, (Date.now() - first.at) / 1000);
    const pieces = [`${whole(each.done)} of ${whole(each.total)}`, each.failed && `${whole(each.failed)} failed`, rate > 0 && `${rate.toFixed(1)}/s`, rate > 0 && each.total > each.done && `${minutes((each.total - each.done) / rate)} left`];
    return h('li', {}, h('span', {}, h('a', { class: 'mono', href: place(each) }, each.id), ' ', h('span', { class: 'dim', ...own(each.dataset || '') }, each.dataset || '')),
      h('progress', { max: Math.max(1, each.total), value: each.done, 'aria-label': `${each.id}: ${each.done} of ${each.total}` }), h('span', { class: 'num small' }, pieces.filter(Boolean).join(', ')));
  })));
}
async function poll() {
  try {
    const state = await (await fetch('state')).json(), before = DATA.running.map(each => each.key).join();
    DATA.running = state.running;
    if (state.stamp !== DATA.stamp || state.running.map(each => each.key).join() !== before) {
      DATA = await (await fetch('list')).json();
      headline();
      draw();
    }
    drawRunning();
  } catch { $('#headline').textContent = 'rag-eval serve is no longer running.'; return; }
  setTimeout(poll, POLL);
}
addEventListener('keydown', event => {
  if (event.metaKey || event.ctrlKey || event.altKey || $('#keys').open) return;
  const rows = matching();
  if (event.key === 'Escape') { search(''); $('#search').blur(); }
  else if (isTyping(event)) return;
  else if (event.key === '?') $('#keys').showModal();
  else if (event.key === '/') { event.preventDefault(); $('#search').focus(); }
  else if (event.key === 'j' || event.key === 'k') {
    current = Math.max(0, Math.min(rows.length - 1, current + (event.key === 'j' ? 1 : -1)));
    draw();
    $$('#rows .row')[current]?.scrollIntoView({ block: 'nearest' });
    if (rows[current]) say(rows[current].id);
  } else if (event.key === 'Enter' && rows[current] && event.target === document.body) open(rows[current]);
  else if (event.key === 'x' && rows[current] && !rows[current].error) pick(rows[current]);
  else if (event.key === 'c') compare();
});
async function begin() {
  DATA = await read();
  $('#search').addEventListener('input', event => search(event.target.value));
  $('#compare').addEventListener('click', compare);
  headline();
  search(address().get('q') || '');
  drawRunning();
  setTimeout(poll, POLL);
  document.documentElement.dataset.ready = '';
}
begin();
