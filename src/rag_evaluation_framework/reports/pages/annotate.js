/* The desk of an annotator. Positions are code points in the data and everywhere here; they are turned into
   nodes and back only where a line is drawn and where the mouse has selected. */
let DATA;
const SCALE = [1, 2, 3, 4, 5], VERDICTS = ['yes', 'no', 'partly'], AWAY = 120;
let at = 0, item = null, mine = null, criterion = 0, sentence = 0, cited = 0, acted = Date.now(), unsaved = 0;
let shown = null, lines = [], selection = null, caret = 0, box = null;

/* Requests to the server, sent in order; changes that were not saved stay here. */
async function ask(path) {
  const reply = await fetch(path);
  if (!reply.ok) throw new Error((await reply.json().catch(() => ({}))).error || `the server answered ${reply.status}`);
  return reply.json();
}
let telling = Promise.resolve();
function save(part, message) {
  const now = Date.now(), seconds = Math.min(AWAY, (now - acted) / 1000), about = item;
  acted = now;
  mine.seconds += seconds;
  const change = JSON.stringify({ ...mine, key: item.key, seconds, part });
  if (message) say(message);
  unsaved++;
  telling = telling.then(() => tell(change, about));
  drawQueue();
  return telling;
}
async function tell(change, about) {
  try {
    const reply = await fetch('save', { method: 'POST', body: change, headers: { 'Content-Type': 'application/json', 'X-Rag-Eval-Token': location.pathname.split('/')[1] } });
    const saved = await reply.json().catch(() => ({ error: `the server answered ${reply.status}` }));
    if (!reply.ok) throw new Error(saved.error);
    unsaved = Math.max(0, unsaved - 1);
    DATA.items.find(each => each.key === about.key).finished = saved.item.mine.finished || !!saved.item.mine.label;
    Object.assign(about, { others: saved.item.others, scores: saved.item.scores, verdict: saved.item.verdict, why: saved.item.why, written: saved.written });
    if (about === item) status(`Saved to ${about.file}`);
  } catch (error) {
    const reason = error instanceof TypeError ? 'rag-eval annotate is no longer running' : error.message;
    if (about === item) status(`Not saved: ${reason}. What you did is still here; the next action saves it too.`, true);
    say('Not saved');
  }
  drawQueue();
  if (about === item) { drawOthers(); drawWritten(); }
}
function status(text, failed) {
  const place = $('#saved');
  if (!place) return;
  place.textContent = text;
  place.classList.toggle('failed', !!failed);
}
addEventListener('beforeunload', event => { if (unsaved) event.preventDefault(); });

/* What may be seen: with --blind the server tells no more; else the box hides it. */
const hidden = () => ($('#blind').checked && !mine.finished) || !item.others;
const overlap = (one, other) => {
  const places = spans => new Set((spans || []).flatMap(([d, from, to]) => Array.from({ length: to - from }, (_, i) => `${d}:${from + i}`)));
  const a = places(one), b = places(other);
  if (!a.size && !b.size) return null;
  let both = 0;
  for (const each of a) if (b.has(each)) both++;
  return both / (a.size + b.size - both);
};
/* Redrawing keeps the focus and what is unfolded: what may have the focus has a name. */
function redraw(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.f : null;
  const unfolded = $$('details[open] > summary', place).map(each => each.dataset.f), top = place.scrollTop;
  place.replaceChildren(...children.flat(9).filter(each => each != null && each !== false));
  place.scrollTop = top;
  for (const each of $$('details > summary', place)) if (unfolded.includes(each.dataset.f)) each.parentElement.open = true;
  if (focused) $(`[data-f="${CSS.escape(focused)}"]`, place)?.focus({ preventScroll: true });
}

/* The queue. */
const SHOWN_AT_ONCE = 100;
function drawQueue() {
  const done = DATA.items.filter(each => each.finished).length, spent = DATA.items.filter(each => each.finished && each.seconds);
  const pace = spent.length ? spent.reduce((sum, each) => sum + each.seconds, 0) / spent.length : null;
  $('#progress-title').textContent = `${whole(done)} of ${whole(DATA.items.length)} done`;
  $('#progress').max = DATA.items.length;
  $('#progress').value = done;
  $('#pace').textContent = pace == null ? '' : `${Math.round(pace)} s each so far, about ${Math.max(1, Math.ceil((DATA.items.length - done) * pace / 60))} min left`;
  const first = Math.max(0, Math.min(at - 20, DATA.items.length - SHOWN_AT_ONCE));
  redraw($('#list'), DATA.items.slice(first, first + SHOWN_AT_ONCE).map((each, n) => h('li', {},
    h('button', { type: 'button', class: each.finished ? 'done' : null, 'aria-current': first + n === at ? 'true' : null, 'data-f': 'item ' + each.key, onclick: () => open(first + n) },
      h('span', { class: 'vh' }, each.finished ? 'done: ' : 'open: '), h('span', { class: 'one', ...own(each.question) }, each.question),
      !$('#blind').checked && each.why && h('span', { class: 'sub' }, each.why)))));
  const current = $('#list [aria-current]');
  if (current && !$('#list').contains(document.activeElement)) {
    const list = $('#list');
    list.scrollTop += current.offsetTop - list.offsetTop - list.clientHeight / 3 - list.scrollTop;
    list.scrollLeft += current.getBoundingClientRect().left - list.getBoundingClientRect().left - 20;
  }
}
async function open(index, focus) {
  if (item) $$('#work details[open]').forEach(each => { each.open = false; });
  const next = Math.max(0, Math.min(DATA.items.length - 1, index));
  try {
    item = await ask('item?key=' + encodeURIComponent(DATA.items[next].key));
  } catch (error) {
    status(`The item cannot be shown: ${error.message}.`, true);
    return;
  }
  at = next;
  mine = item.mine;
  criterion = Math.max(0, DATA.criteria.findIndex(name => mine.scores[name] == null));
  sentence = 0;
  cited = Math.max(0, item.citations.findIndex((_, n) => !mine.verdicts[n]));
  acted = Date.now();
  history.replaceState(null, '', '#' + encodeURIComponent(item.key));
  drawQueue();
  drawWork();
  const marked = mine.spans?.[0];
  await show(marked ? marked[0] : item.documents[0] ?? 0, marked?.[1] ?? 0);
  if (focus) $('#work h2.q').focus();
  document.documentElement.dataset.ready = item.key;
}

/* The answer and what is said of it. */
function drawWork() {
  const answered = item.answer != null;
  redraw($('#work'),
    h('p', { class: 'kicker' }, h('span', { class: 'mono' }, item.id), item.about.map(each => h('span', {}, each)), h('span', { id: 'why' })),
    h('h2', { class: 'q', tabindex: -1, 'data-f': 'question', ...own(item.question) }, item.question),
    answered && h('div', { class: 'blk' }, h('h3', {}, item.sentences.length ? 'Answer: select each unsupported sentence' : 'Answer'), drawnAnswer()),
    item.reference && h('div', { class: 'blk' }, h('h3', {}, 'Expected answer'), h('p', { class: 'read said', ...own(item.reference) }, item.reference)),
    answered && drawnLabel(),
    drawnContexts(),
    item.citations.length > 0 && drawnCitations(),
    answered && h('div', { class: 'blk' }, h('h3', {}, 'Scores, 1 poor to 5 excellent'), DATA.criteria.map(drawnCriterion)),
    h('div', { class: 'blk' }, h('label', { class: 'head', for: 'note' }, 'Why (optional)'),
      h('textarea', { id: 'note', 'data-f': 'note', dir: 'auto', onchange: event => { mine.note = event.target.value; save(answered ? 'answer' : 'passage', 'note saved'); } }, mine.note)),
    h('div', { class: 'blk', id: 'others' }),
    h('div', { class: 'blk actions' }, h('button', { class: 'main-b', type: 'button', 'data-f': 'done', onclick: finish }, mine.finished ? 'Next' : 'Done, next'),
      h('button', { class: 'quiet', type: 'button', 'data-f': 'skip', onclick: () => open(at + 1, true) }, 'Skip'),
      h('span', { class: 'small dim', id: 'saved', role: 'status' }, `Saved to ${item.file} after every action`)),
    h('details', {}, h('summary', { class: 'small', 'data-f': 'written' }, 'annotation records'), h('pre', { id: 'written', tabindex: 0, 'data-f': 'records', dir: 'auto' })));
  drawOthers();
  drawWritten();
}
function drawnAnswer() {
  const text = Array.from(item.answer), parts = [];
  let from = 0;
  item.sentences.forEach(([start, end], n) => {
    parts.push(text.slice(from, start).join(''));
    const words = text.slice(start, end).join('');
    parts.push(h('span', {
      role: 'button', tabindex: 0, class: 'sent' + (n === sentence ? ' on' : ''), 'aria-pressed': String(isUnsupported(n)), 'data-f': 'sentence ' + n,
      onclick: () => { sentence = n; press(); },
      onkeydown: event => { if (event.key === ' ' || event.key === 'Enter') { event.preventDefault(); event.stopPropagation(); sentence = n; press(); } },
    }, words));
    from = end;
  });
  return h('p', { class: 'read said', ...own(item.answer) }, parts, text.slice(from).join(''));
}
const LABELS = { c: 'correct', p: 'partly', w: 'wrong' };
function drawnLabel() {
  return h('div', { class: 'blk' }, h('h3', {}, 'Is the answer correct?'), h('div', { class: 'chips', role: 'group', 'aria-label': 'the answer is' }, Object.entries(LABELS).map(([key, word]) =>
    h('button', { class: 'chip', type: 'button', 'aria-pressed': String(mine.label === word), 'data-f': 'label ' + word, onclick: () => label(word) }, word, ' ', h('kbd', { 'aria-hidden': 'true' }, key)))));
}
async function label(word) {
  if (item.answer == null) return;
  const isSame = mine.label === word;
  mine.label = isSame ? null : word;
  drawWork();
  await save('answer', isSame ? 'label taken back' : `labeled ${word}`);
  if (!isSame && !unsaved) await open(at + 1, true);
}
const isUnsupported = n => mine.unsupported.some(([from, to]) => from === item.sentences[n][0] && to === item.sentences[n][1]);
function press() {
  if (!item.sentences.length) return;
  const [start, end] = item.sentences[sentence];
  if (isUnsupported(sentence)) mine.unsupported = mine.unsupported.filter(([from, to]) => from !== start || to !== end);
  else mine.unsupported.push([start, end]);
  drawWork();
  save('answer', `sentence ${sentence + 1} ${isUnsupported(sentence) ? 'unsupported' : 'supported'}`);
}
function drawnCriterion(name, n) {
  const score = mine.scores[name], value = score == null ? null : score * 4 + 1;
  return h('fieldset', { class: 'crit' + (n === criterion ? ' on' : '') }, h('legend', { class: 'vh' }, name), h('span', { 'aria-hidden': 'true' }, name),
    h('div', { class: 'opts' }, SCALE.map(each => h('label', {},
      h('input', { type: 'radio', name, value: each, 'aria-label': `${name}: ${each} of 5`, checked: value === each, 'data-f': `${name} ${each}`, onchange: () => rate(n, each) }),
      h('span', { class: 'o', 'aria-hidden': 'true' }, String(each))))),
    h('span', { class: 'num dim' }, f2(score)));
}
function rate(n, value) {
  if (item.answer == null) return;
  mine.scores[DATA.criteria[n]] = (value - 1) / 4;
  criterion = Math.min(DATA.criteria.length - 1, n + 1);
  drawWork();
  save('answer', `${DATA.criteria[n]} ${value}`);
}
function drawnCitations() {
  return h('div', { class: 'blk' }, h('h3', {}, 'Does the citation support what it follows?'), h('ul', { class: 'cites' }, item.citations.map((each, n) =>
    h('li', { class: n === cited ? 'on' : null },
      each.place ? h('button', { type: 'button', class: 'link mono', 'data-f': 'cited ' + n, onclick: () => { cited = n; drawWork(); show(each.place[0], each.place[1], each.place); } }, each.label) : h('span', { class: 'mono' }, each.label),
      h('div', { class: 'chips', role: 'group', 'aria-label': `${each.label} supports it` }, VERDICTS.map(verdict =>
        h('button', { class: 'chip', type: 'button', 'aria-pressed': String(mine.verdicts[n] === verdict), 'data-f': `verdict ${n} ${verdict}`, onclick: () => judge(n, verdict) },
          verdict, n === cited && verdict !== 'partly' && [' ', h('kbd', { 'aria-hidden': 'true' }, verdict[0])])))))));
}
function judge(n, verdict) {
  if (!item.citations.length) return;
  mine.verdicts[n] = verdict;
  cited = Math.min(item.citations.length - 1, n + 1);
  drawWork();
  save('answer', `citation ${item.citations[n].label}: ${verdict}`);
}
function drawnContexts() {
  if (!item.contexts.length) return null;
  return h('div', { class: 'blk' }, h('h3', {}, `Retrieved passages (${item.contexts.length})`),
    h('ol', { class: 'contexts' }, item.contexts.map((each, n) => h('li', {},
      h('p', { class: 'from' }, h('span', { class: 'rank' }, String(n + 1)), each.name && h('span', { class: 'mono' }, each.name),
        each.place && h('button', { class: 'quiet', type: 'button', 'data-f': 'context ' + n, onclick: () => show(each.place[0], each.place[1], each.place) }, 'show in the document')),
      h('p', { class: 'read clip', ...own(each.text) }, each.text)))));
}
function drawOthers() {
  const place = $('#others');
  if (!place) return;
  $('#why').textContent = hidden() ? '' : item.why || '';
  if (hidden()) { redraw(place, h('h3', {}, 'Other annotators'), h('p', { class: 'dim' }, 'Hidden until you finish this item.')); return; }
  const people = [['you', mine], ...Object.entries(item.others)], mean = said => {
    const scores = DATA.criteria.map(name => said.scores[name]).filter(each => each != null);
    return scores.length ? f2(scores.reduce((sum, each) => sum + each, 0) / scores.length) : '–';
  };
  const judged = said => item.citations.map((_, n) => said.verdicts[n] || '–').join(', ') || '–';
  const row = ([name, said], n) => {
    const same = n ? overlap(mine.spans, said.spans) : null;
    return h('tr', {}, h('th', { scope: 'row', class: n ? 'mono' : null }, name),
      item.answer != null && [h('td', { class: 'num' + (n && said.unsupported.length !== mine.unsupported.length ? ' dif' : '') }, `${said.unsupported.length} of ${item.sentences.length}`),
        h('td', { class: n && judged(said) !== judged(mine) ? 'dif' : null }, judged(said)), h('td', { class: 'num' }, mean(said))],
      h('td', { class: 'num' + (same != null && same < .8 ? ' dif' : '') }, n ? f2(same) : '–'));
  };
  redraw(place, h('h3', {}, 'Other annotators'),
    people.length < 2 ? h('p', { class: 'dim' }, 'No other annotator has labeled this item yet.')
      : h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Other annotators', 'data-f': 'people' }, h('table', { class: 'dis' },
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'annotator'), item.answer != null && [h('th', { scope: 'col', class: 'num' }, 'unsupported'), h('th', { scope: 'col' }, 'citations'), h('th', { scope: 'col', class: 'num' }, 'score')], h('th', { scope: 'col', class: 'num' }, 'overlap'))),
        h('tbody', {}, people.map(row)))),
    item.unreadable.length > 0 && h('p', { class: 'small alarm' }, `Cannot read the annotations of ${item.unreadable.join(', ')}.`),
    verdictLines(item.verdict, 'small'),
    item.scores.length > 0 && h('p', { class: 'small dim' }, 'Metrics: ' + item.scores.map(([name, value, by]) => `${name} ${f2(value)} (${by})`).join(', ') + '.'));
}
function drawWritten() {
  const place = $('#written');
  if (place) place.textContent = item.written?.length ? JSON.stringify(item.written, null, 2) : 'No record of this item yet.';
}
async function finish() {
  const says = item.answer != null || mine.spans != null;
  if (!mine.finished) {
    if (!says) {
      status('Mark the passage that answers the question, or press 0 if there is none.', true);
      return;
    }
    mine.finished = true;
    const saved = save(item.answer != null ? 'answer' : 'passage', 'done');
    DATA.items[at].seconds = mine.seconds;
    if ($('#blind').checked && Object.keys(item.others || {}).length === 0 && DATA.blind) await saved;
  }
  await open(at + 1, true);
}

/* The document. Only the lines that change are drawn again. */
async function show(index, position = 0, look = null) {
  if (!DATA.documents.length) {
    shown = null;
    redraw($('#docside'), h('h2', {}, 'Relevant characters'), h('p', { class: 'empty' }, `Nothing can be marked: ${DATA.no_documents}.`));
    return;
  }
  const about = DATA.documents[index];
  if (about.text == null) Object.assign(about, await ask('document?number=' + index));
  shown = index;
  selection = null;
  caret = look ? look[1] : position;
  lines = [];
  const text = points(index);
  for (let from = 0; from <= text.length;) {
    let to = text.indexOf('\n', from);
    if (to < 0) to = text.length;
    lines.push({ from, to });
    from = to + 1;
  }
  box = h('div', { class: 'doc', tabindex: 0, role: 'textbox', 'aria-readonly': 'true', 'aria-multiline': 'true', 'aria-label': `${about.name}: select what is relevant`, 'data-f': 'doc', onkeydown: documentKey, onmouseup: mouse });
  for (const line of lines) box.append(line.element = h('p', {}));
  redraw($('#docside'), h('div', { class: 'tools' }, h('h2', {}, 'Relevant characters'),
    h('select', { 'aria-label': 'Document', 'data-f': 'documents', onchange: event => show(+event.target.value) }, orderedDocuments().map(n => h('option', { value: n, selected: n === index }, DATA.documents[n].name)))),
  h('p', { class: 'legend', id: 'legend' }), h('div', { id: 'map' }), h('div', { class: 'selbar', id: 'selection', role: 'group', 'aria-label': 'Selection' }), box, h('ul', { class: 'marks', id: 'marks' }));
  drawDocument();
  if (look) select(look[1], look[2]);
  const first = box.querySelector(look ? '.x1' : '.r, .n');
  if (first) requestAnimationFrame(() => bring(box, first));
}
const orderedDocuments = () => [...new Set([...item.documents, ...DATA.documents.keys()])];
const marksHere = () => (mine.spans || []).map((each, n) => [...each, n + 1]).filter(each => each[0] === shown);
const othersHere = () => hidden() ? [] : Object.values(item.others).flatMap(each => each.spans || []).filter(each => each[0] === shown);
let paint = null;
function drawDocument() {
  if (shown == null) return;
  paint = painted(shown, marksHere(), othersHere());
  lines.forEach((_, n) => drawLine(n));
  $('#legend').replaceChildren(h('span', {}, h('mark', { class: 'r' }, 'fill'), ' yours'),
    ...(hidden() ? [] : [h('span', {}, h('mark', { class: 'n' }, 'dashed line'), ' another’s only'), h('span', {}, h('mark', { class: 'r n' }, 'fill and line'), ' both')]));
  const map = miniMap(shown, marksHere(), othersHere(), box);
  map.setAttribute('aria-label', map.getAttribute('aria-label').replace('Retrieved:', 'Yours:').replace('Expected:', 'Others’:'));
  $('#map').replaceChildren(map);
  drawSelection();
  drawMarks();
}
function drawLine(n) {
  const { from, to, element } = lines[n], { text, ranks, wanted } = paint, words = text.slice(from, to).join('');
  const [a, b] = selection ? [Math.min(...selection), Math.max(...selection)] : [-1, -1];
  element.className = !words ? 'gap' : /^#/.test(words) ? 'head' : /^\|/.test(words) ? 'cell' : '';
  element.lang = words ? language(words) : '';
  element.dir = 'auto';
  element.dataset.from = from;
  element.dataset.to = to;
  if (words) element.dataset.o = from;
  const children = [], hasCaret = caret >= from && caret <= to && !selection;
  for (const [i, j] of runs(to - from, i => { const x = from + i; return ranks[x] * 8 + wanted[x] * 4 + (x >= a && x < b ? 2 : 0) + (hasCaret && x >= caret ? 1 : 0); })) {
    const x = from + i, rank = ranks[x], other = wanted[x], chosen = x >= a && x < b;
    if (hasCaret && x === caret) children.push(h('span', { class: 'caret', 'aria-hidden': 'true' }));
    if (rank && (x === 0 || ranks[x - 1] !== rank)) children.push(h('span', { class: 'rank', title: `your passage ${rank}` }, h('span', { class: 'vh' }, 'your passage '), String(rank)));
    const begins = other > 0 && (x === 0 || !wanted[x - 1] || !ranks[x - 1] !== !rank);
    children.push(rank || other || chosen
      ? h('mark', { class: [rank ? 'r' : '', other ? 'n' : '', chosen ? 'x1' : ''].filter(Boolean).join(' '), 'data-p': x }, begins && h('span', { class: 'vh' }, rank ? '[both] ' : '[another’s] '), text.slice(x, from + j).join(''))
      : h('span', { 'data-p': x }, text.slice(x, from + j).join('')));
  }
  if (hasCaret && (caret === to || from === to)) children.push(h('span', { class: 'caret', 'aria-hidden': 'true' }));
  element.replaceChildren(...children);
}
function lineAt(position) {
  let low = 0, high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lines[middle].from <= position) low = middle; else high = middle - 1;
  }
  return low;
}
function move(change) {
  const touched = () => selection ? [lineAt(Math.min(...selection)), lineAt(Math.max(...selection))] : [lineAt(caret), lineAt(caret)];
  const before = touched();
  change();
  const after = touched();
  for (const [first, last] of [before, after]) for (let n = first; n <= last; n++) drawLine(n);
  drawSelection();
}
const select = (from, to) => move(() => { selection = from === to ? null : [from, to]; caret = to; });
function drawSelection() {
  const place = $('#selection');
  if (!selection) {
    redraw(place, h('span', { class: 'dim' }, 'Select with the mouse, or press ', h('kbd', {}, 'd'), ' and use the arrow keys.'),
      h('button', { class: 'chip', type: 'button', 'data-f': 'nothing', 'aria-pressed': String(mine.spans != null && !mine.spans.length), onclick: nothing }, 'Nothing here answers it ', h('kbd', { 'aria-hidden': 'true' }, '0')));
    return;
  }
  const a = Math.min(...selection), b = Math.max(...selection), words = points(shown).slice(a, b).join('');
  redraw(place, h('span', { class: 'mono' }, `${a}–${b}`), h('span', { class: 'dim' }, counted(b - a, 'character')), h('span', { class: 't', ...own(words) }, words.replace(/\n/g, ' ')),
    h('button', { class: 'main-b', type: 'button', 'data-f': 'mark', onclick: mark }, 'Mark relevant ', h('kbd', { 'aria-hidden': 'true' }, 'Enter')));
}
function drawMarks() {
  redraw($('#marks'), (mine.spans || []).map(([document, from, to], n) => {
    const about = DATA.documents[document], words = about.text == null ? '' : points(document).slice(from, to).join('');
    return h('li', {}, h('span', { class: 'rank' }, String(n + 1)), h('span', { class: 'mono' }, `${about.name} ${from}–${to}`), h('span', { class: 't', ...own(words) }, words.replace(/\n/g, ' ')),
      h('button', { class: 'quiet', type: 'button', 'data-f': 'remove ' + n, 'aria-label': `Remove passage ${n + 1}`, onclick: () => remove(n) }, 'remove'));
  }));
}
function marked(message) {
  selection = null;
  getSelection().removeAllRanges();
  drawDocument();
  save('passage', message);
}
function mark() {
  if (!selection) return;
  let next = [shown, Math.min(...selection), Math.max(...selection)];
  mine.spans = (mine.spans || []).filter(([document, from, to]) => {
    if (document !== shown || from > next[2] || to < next[1]) return true;
    next = [shown, Math.min(from, next[1]), Math.max(to, next[2])];
    return false;
  });
  mine.spans = [...mine.spans, next].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  caret = next[2];
  marked(`marked ${next[1]} to ${next[2]}`);
}
function remove(n) {
  mine.spans = mine.spans.filter((_, each) => each !== n);
  if (!mine.spans.length) mine.spans = null;
  marked('mark removed');
}
function nothing() {
  mine.spans = mine.spans != null && !mine.spans.length ? null : [];
  marked(mine.spans ? 'nothing here answers it' : 'taken back');
}

/* From where the mouse is to a position: the nearest element that knows its place counts. */
function positionOf(node, offset) {
  if (node.nodeType === Node.TEXT_NODE) {
    const known = node.parentElement.closest('[data-p]');
    if (!known) return +(node.parentElement.closest('[data-from]')?.dataset.from ?? NaN);
    const aside = node.parentElement.closest('.vh, .rank');
    return +known.dataset.p + (aside ? 0 : Array.from(node.data.slice(0, offset)).length);
  }
  for (let child = node.childNodes[offset]; child; child = child.nextSibling) {
    if (child.dataset?.p != null) return +child.dataset.p;
    if (child.dataset?.from != null) return +child.dataset.from;
  }
  if (node.dataset?.p != null) return +node.dataset.p + Array.from(node.lastChild?.data ?? '').length;
  const line = node.closest?.('[data-from]');
  return line ? +line.dataset.to : node === box ? points(shown).length : NaN;
}
/* No character that people see as one is cut. */
function outward(position, forward) {
  const edges = boundaries(lineAt(position), 'grapheme');
  return edges.includes(position) ? position : forward ? edges.find(each => each > position) ?? position : edges.findLast(each => each < position) ?? position;
}
function mouse() {
  const chosen = getSelection();
  if (!chosen.rangeCount) return;
  const range = chosen.getRangeAt(0);
  if (!box.contains(range.startContainer) || !(box.contains(range.endContainer) || range.endContainer === box.nextSibling)) return;
  const from = positionOf(range.startContainer, range.startOffset), to = box.contains(range.endContainer) ? positionOf(range.endContainer, range.endOffset) : points(shown).length;
  if (Number.isNaN(from) || Number.isNaN(to)) return;
  chosen.removeAllRanges();
  if (from === to) move(() => { selection = null; caret = outward(from); });
  else select(outward(from), outward(to, true));
  box.focus({ preventScroll: true });
}

/* Going into the document goes to what is in view. */
function enter() {
  box.focus({ preventScroll: true });
  const frame = box.getBoundingClientRect(), isSeen = line => {
    const place = line.element.getBoundingClientRect();
    return place.bottom > frame.top + 20 && place.top < frame.bottom - 20;
  };
  const seen = isSeen(lines[lineAt(caret)]) ? null : lines.find(line => line.to > line.from && isSeen(line));
  move(() => { if (seen) { selection = null; caret = seen.from; } });
}

/* Arrow keys: by what people see as a character, by word, sentence and paragraph. */
const edgesOf = new Map();
function boundaries(n, granularity) {
  const key = `${shown} ${n} ${granularity}`;
  if (!edgesOf.has(key)) {
    const { from, to } = lines[n], edges = [from];
    for (const { segment } of new Intl.Segmenter(undefined, { granularity }).segment(points(shown).slice(from, to).join(''))) edges.push(edges.at(-1) + Array.from(segment).length);
    edgesOf.set(key, edges);
  }
  return edgesOf.get(key);
}
function step(forward, granularity) {
  const total = points(shown).length, starts = DATA.documents[shown].sentences.map(each => each[0]);
  if (granularity === 'sentence') return forward ? starts.find(each => each > caret) ?? total : starts.findLast(each => each < caret) ?? 0;
  const n = lineAt(caret);
  if (granularity === 'paragraph') {
    const filled = lines.filter(each => each.to > each.from).map(each => each.from);
    return forward ? filled.find(each => each > caret) ?? total : filled.findLast(each => each < caret) ?? 0;
  }
  const edges = boundaries(n, granularity);
  if (forward) return edges.find(each => each > caret) ?? Math.min(total, lines[n].to + 1);
  return edges.findLast(each => each < caret) ?? Math.max(0, lines[n].from - 1);
}
function documentKey(event) {
  const taken = () => { event.preventDefault(); event.stopPropagation(); };
  const granularity = event.altKey ? 'sentence' : event.ctrlKey || event.metaKey ? 'word' : 'grapheme';
  let to = null;
  if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
    const isTurned = getComputedStyle(lines[lineAt(caret)].element).direction === 'rtl';
    to = step((event.key === 'ArrowRight') !== isTurned, granularity);
  } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') to = step(event.key === 'ArrowDown', 'paragraph');
  else if (event.ctrlKey || event.metaKey || event.altKey) return;
  else if (event.key === 's') {
    taken();
    const [from, end] = DATA.documents[shown].sentences.findLast(each => each[0] <= caret) ?? DATA.documents[shown].sentences[0] ?? [0, 0];
    move(() => { selection = from === end ? null : [end, from]; caret = from; });
    say(points(shown).slice(from, end).join(''));
    return;
  } else if (event.key === 'Enter') { taken(); mark(); box.focus(); return; }
  else if (event.key === 'Delete' || event.key === 'Backspace') {
    taken();
    const n = (mine.spans || []).findIndex(([document, from, end]) => document === shown && caret >= from && caret <= end);
    if (n >= 0) remove(n);
    return;
  } else if (event.key === 'Escape') {
    taken();
    if (selection) move(() => { selection = null; });
    else $('#work h2.q').focus();
    return;
  }
  if (to == null) return;
  taken();
  const anchor = selection ? selection[0] : caret;
  move(() => { selection = event.shiftKey && anchor !== to ? [anchor, to] : null; caret = to; });
  const line = lines[lineAt(caret)].element, place = line.getBoundingClientRect(), frame = box.getBoundingClientRect();
  if (place.top < frame.top + 20 || place.bottom > frame.bottom - 20) bring(box, line.querySelector('.caret') || line);
  say(selection ? points(shown).slice(Math.min(...selection), Math.max(...selection)).join('').slice(-80) : points(shown).slice(caret, caret + 12).join(''));
}

/* Keys of the desk. They are off while typing and with a modifier. */
addEventListener('keydown', event => {
  if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event) || $('#keys').open || !item) return;
  const key = event.key, isFree = event.target === document.body || event.target.matches?.('#main, h2.q');
  if (key === '?') $('#keys').showModal();
  else if (key === 'j') open(at + 1, true);
  else if (key === 'k') open(at - 1, true);
  else if (key === 's') open(at + 1, true);
  else if (LABELS[key]) label(LABELS[key]);
  else if (/^[1-5]$/.test(key)) rate(criterion, +key);
  else if (key === '0' && shown != null) nothing();
  else if (key === 'u') press();
  else if ((key === ',' || key === '.') && item.sentences.length) {
    sentence = Math.max(0, Math.min(item.sentences.length - 1, sentence + (key === '.' ? 1 : -1)));
    drawWork();
    say(Array.from(item.answer).slice(...item.sentences[sentence]).join(''));
  } else if (key === 'y' || key === 'n') judge(cited, key === 'y' ? 'yes' : 'no');
  else if (key === 'd' && box) { event.preventDefault(); enter(); }
  else if (key === 'Enter' && isFree) finish();
  else return;
});
async function begin() {
  DATA = await read();
  $('#blind').checked = $('#blind').disabled = DATA.blind;
  $('#blind').addEventListener('change', () => { drawQueue(); drawOthers(); drawDocument(); });
  $('#order').textContent = DATA.order;
  const named = decodeURIComponent(location.hash.slice(1)), place = DATA.items.findIndex(each => each.key === named);
  await open(place >= 0 ? place : Math.max(0, DATA.items.findIndex(each => !each.finished)));
}
begin();
