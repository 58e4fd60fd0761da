/* One run: its answers as a table that is searched, sorted and filtered, and each answer on a page of its own. */
function runView(view, root, number) {
  const samples = view.samples, FIRST = 30, PAGE = 100;  /* rows drawn at once: what fills a screen, then more as it is scrolled */
  const column = name => view.metrics.indexOf(name);
  /* A threshold is for the mean: it marks no answer, and is named beside the scores that fall short of it. */
  const required = (name, x) => {
    const [operator, value, written] = view.required[name] || [];
    if (x == null || !operator || (operator === '>=' ? x >= value : x <= value)) return null;
    return `${name} ${f2(x)} (the gate ${operator === '>=' ? 'requires' : 'allows'} a mean of ${written})`;
  };
  /* What is searched is made once a sample, when nothing else is to be done or at the first search. */
  const hay = each => each.hay ??= [each.id, each.name, each.q, each.e, each.a, each.v?.[0], each.why, each.cause, ...(each.k || []).map(kind => view.kinds[kind]), (each.t || []).join(' '),
    [...needs(each), ...got(each)].map(nameOf).join(' ')].join('\n').toLowerCase();
  let made = 0;
  const prepare = () => {
    for (const end = Math.min(samples.length, made + 500); made < end; made++) hay(samples[made]);
    if (made < samples.length) setTimeout(prepare);
  };
  setTimeout(prepare, 50);
  function needs(sample) { return sample.n || []; }
  function got(sample) { return sample.r || []; }
  function nameOf(place) { return typeof place[0] === 'number' ? DATA.documents[place[0]].name : place[0]; }

  /* The table. */
  const box = $('.samples', root), find = $('input[type=search]', box), table = $('table', box), none = $('.empty', box);
  const shownMetrics = view.columns;
  const COLUMNS = [
    ['verdict', each => each.i], ['id', each => each.name], ['question', each => each.q], ['reason', reasonOf],
    ...shownMetrics.map(name => [name, each => each.m[column(name)] ?? 2]),
  ];
  samples.forEach((each, i) => { each.i = i; });
  function reasonOf(each) { return each.cause || each.why || ''; }
  let state, shown = [], at = 0, observer;
  const chosenOf = (now, name) => new Set((now.get(name) || '').split(',').filter(Boolean));
  const states = () => {
    const now = address();
    return { text: now.get('q') || '', grades: chosenOf(now, 'g'), kinds: chosenOf(now, 'k'), tag: now.get('t'), order: now.get('o') || '' };
  };
  const has = (wanted, found) => !wanted.size || (found || []).some(each => wanted.has(each));
  function pick() {
    const text = state.text.trim().toLowerCase();
    shown = samples.filter(each => has(state.grades, each.f) && has(state.kinds, each.k) && (!state.tag || (each.t || []).includes(state.tag)) && (!text || hay(each).includes(text)));
    const sign = state.order.startsWith('-') ? -1 : 1, by = COLUMNS.find(([name]) => name === state.order.replace(/^-/, ''));
    if (!by) return;
    const keys = new Map(shown.map(each => [each, by[1](each)]));
    shown.sort((a, b) => { const x = keys.get(a), y = keys.get(b); return (x < y ? -1 : x > y ? 1 : 0) * sign || a.i - b.i; });
  }
  const chip = (text, on, changes) => h('button', { class: 'chip', type: 'button', 'aria-pressed': String(!!on), onclick: () => { change(changes); } }, text);
  const toggled = (chosen, name) => { const next = new Set(chosen); next.has(name) ? next.delete(name) : next.add(name); return [...next].join(','); };
  function chips() {
    $('.chips', box).replaceChildren(...[
      ...view.filters.map(([key, name, count]) => chip(`${name} ${whole(count)}`, state.grades.has(key), { g: toggled(state.grades, key) })),
      ...Object.entries(view.kinds).filter(([kind]) => state.kinds.has(kind)).map(([kind, name]) => chip(name, true, { k: toggled(state.kinds, kind) })),
      state.tag && chip(state.tag, true, { t: null }),
    ].filter(Boolean));
  }
  function change(changes) { remember(changes); state = states(); at = 0; draw(); }
  function row(each, i) {
    const cell = name => {
      const x = each.m[column(name)];
      if (x == null) return h('td', { class: 'num' }, h('span', { class: 'dim', title: each.x?.[name] || 'not applicable' }, '–'));
      return h('td', { class: 'num' }, x >= 0 && x <= 1 ? meter(x) : null, f2(x));
    };
    const figures = shownMetrics.map(name => `${name} ${f2(each.m[column(name)])}`).join(', '), reason = reasonOf(each);
    return h('tr', { class: 'row' + (i === at ? ' at' : ''), 'data-i': i },
      h('td', {}, verdict(each.v), (each.fl || []).map(flag => h('small', {}, flag))), h('td', { class: 'mono dim' }, each.name),
      h('th', { scope: 'row' }, h('a', { href: link({ v: number, s: each.id }), class: 'clip', ...own(each.q) }, each.q), h('span', { class: 'sub' }, [each.name, ...(each.v ? [each.v[0], ...(each.fl || [])] : [])].join(', '), '. ', h('bdi', {}, [reason, figures].filter(Boolean).join('. ')))),
      h('td', {}, h('div', { class: 'clip' }, h('span', {}, each.k?.length === 1 ? h('span', { class: 'sw k-' + each.k[0] }) : null, h('bdi', {}, reason || '–'))), each.by ? h('small', {}, each.by) : null), shownMetrics.map(cell));
  }
  function draw() {
    pick();
    chips();
    at = Math.min(at, Math.max(0, shown.length - 1));
    const key = state.order.replace(/^-/, ''), up = !state.order.startsWith('-');
    const head = h('thead', {}, h('tr', {}, COLUMNS.map(([name], i) => h('th', { class: i > 3 ? 'num' : null, scope: 'col', 'aria-sort': key === name ? up ? 'ascending' : 'descending' : null },
      h('button', { type: 'button', onclick: () => { change({ o: key === name && up ? '-' + name : name }); $$('th button', table)[i].focus(); } }, name.replace(/_/g, '_\u200b'))))));
    const body = h('tbody', {}, shown.slice(0, FIRST).map(row));
    table.replaceChildren(table.caption, head, body);
    observer?.disconnect();
    if (shown.length > FIRST) {
      let drawn = FIRST;
      observer = new IntersectionObserver(entries => {
        if (!entries.some(each => each.isIntersecting) || drawn >= shown.length) return;
        observer.unobserve(body.lastChild);
        const from = drawn;
        body.append(...shown.slice(from, drawn += PAGE).map((each, i) => row(each, from + i)));
        observer.observe(body.lastChild);
      });
      observer.observe(body.lastChild);
    }
    $('.count', box).textContent = `${whole(shown.length)} of ${whole(samples.length)}`;
    none.hidden = !!shown.length;
    if (!shown.length) {
      none.replaceChildren(state.text ? `No answer matches “${state.text}” with these filters. ` : 'No answer matches these filters. ',
        h('button', { class: 'quiet', type: 'button', onclick: () => { find.value = ''; change({ q: null, k: null, g: null, t: null }); } }, 'show all ' + whole(samples.length)));
    }
  }
  find.addEventListener('input', () => change({ q: find.value }));
  table.addEventListener('click', event => {
    const line = event.target.closest('tr.row');
    if (line && !event.target.closest('a')) go({ v: number, s: shown[+line.dataset.i].id });
  });
  function move(step) {
    if (!shown.length) return;
    at = Math.max(0, Math.min(shown.length - 1, at + step));
    for (const line of $$('tr.row', table)) line.classList.toggle('at', +line.dataset.i === at);
    const line = $(`tr[data-i="${at}"]`, table);
    line?.scrollIntoView({ block: 'nearest' });
    $('a', line || table)?.focus({ preventScroll: true });
  }

  /* One answer. */
  const page = h('article', { class: 'sample', hidden: true });
  root.append(page);
  let current = null, chosen = null, cited = null, turnOfNeed = -1;
  function reason([, , label, support, near, fresh, changes]) {
    const nearest = near == null ? '' : `; the nearest is passage ${near + 1}`;
    const said = label === 'contradicted' ? `Contradicted${near == null ? '' : ` by passage ${near + 1}`}` : `Not supported by the retrieved passages${nearest}`;
    return said + (fresh?.length ? ` (not in them: ${fresh.join(', ')})` : '') + (changes?.length ? `: ${changes.join(', ')}` : '') + '.' + (support == null ? '' : ` Support ${f2(support)} (${view.supportBy || 'word overlap'}).`);
  }
  const cite = (text, title, onclick) => h('button', { class: 'cite', type: 'button', title, onclick }, text);
  function numbered(text) {
    return text.split(/(\[\d{1,3}\])/).map(part => /^\[\d+\]$/.test(part) && +part.slice(1, -1) <= got(current).length
      ? cite(part, 'show the passage', () => toContext(+part.slice(1, -1))) : part);
  }
  /* What stands from one character to another of the answer, its citations as links: to a context, or to the cited characters. */
  function cites(text, from, to) {
    const out = [];
    for (const [begin, end, index, first, last] of (current.cited || []).filter(each => each[0] >= from && each[1] <= to)) {
      out.push(numbered(text.slice(from, begin).join('')), cite(text.slice(begin, end).join(''), 'show the cited characters', () => toCited(index, first, last)));
      from = end;
    }
    return [out, numbered(text.slice(from, to).join(''))];
  }
  function toCited(index, first, last) {
    chosen = index;
    cited = [index, first, last];
    refresh();
    jump(first);
    $('.docpane .doc', page).focus({ preventScroll: true });
  }
  function answer(sample) {
    const text = Array.from(sample.a || ''), doubtful = (sample.c || []).filter(claim => claim[2] !== 'supported'), out = [];
    let from = 0;
    doubtful.forEach((claim, i) => {
      if (claim[0] < from) return;
      out.push(cites(text, from, claim[0]));
      out.push(h('span', { class: 'unsup' + (claim[2] === 'contradicted' ? ' contra' : ''), tabindex: 0, role: 'note', 'aria-describedby': 'note' + (i + 1) },
        cites(text, claim[0], claim[1]), h('sup', {}, String(i + 1)), h('span', { class: 'tip', lang: 'en', 'aria-hidden': 'true' }, reason(claim))));
      from = claim[1];
    });
    out.push(cites(text, from, text.length));
    return [out, doubtful];
  }
  function toContext(rank) {
    const element = $('#ctx' + rank, page);
    if (!element) return;
    for (const each of $$('.ctx', page)) each.classList.toggle('on', each === element);
    const text = $('details', element);
    if (text) text.open = true;
    element.scrollIntoView({ block: 'center' });
    element.focus({ preventScroll: true });
  }
  const placesIn = (list, index) => list.filter(place => place[0] === index);
  function open(sample) {
    current = sample;
    $('.overview', root).hidden = true;
    page.hidden = false;
    turnOfNeed = -1;
    cited = null;
    const index = shown.indexOf(sample);
    if (index >= 0) at = index;
    const read = got(sample).map((place, i) => typeof place[0] === 'number' ? [...place, i + 1] : null).filter(Boolean);
    const needed = needs(sample).filter(place => typeof place[0] === 'number' && place.length > 1);
    const inDocuments = [...new Set([...[...needs(sample), ...got(sample)].filter(place => typeof place[0] === 'number').map(place => place[0]), ...(sample.cited || []).map(each => each[2])])];
    chosen = inDocuments[0];
    const [given, doubtful] = answer(sample);
    const pane = h('div', { class: 'docpane' });
    page.replaceChildren(
      h('nav', { class: 'pager', 'aria-label': 'Answers' }, h('a', { href: link({ s: null }) }, '← All answers'), h('span', { class: 'mono dim' }, sample.name), h('span', { class: 'dim small' }, [...(sample.t || []), index >= 0 ? `${whole(index + 1)} of ${whole(shown.length)}` : null].filter(Boolean).join(', ')),
        h('span', { class: 'end noprint' }, h('button', { class: 'quiet', type: 'button', disabled: index < 1, onclick: () => step(-1) }, 'previous ', h('kbd', {}, 'k')), h('button', { class: 'quiet', type: 'button', disabled: index < 0 || index >= shown.length - 1, onclick: () => step(1) }, 'next ', h('kbd', {}, 'j')))),
      h('h1', { tabindex: -1, ...own(sample.q) }, sample.q),
      ...verdictLines(sample, 'lead'),
      h('div', { class: 'sgrid' }, h('div', {},
        (sample.turns || []).map(turn => h('div', { class: 'blk' }, h('h2', {}, `Turn ${turn.n}`), h('p', { class: 'read', ...own(turn.q) }, turn.q), turn.e == null ? null : h('p', { class: 'small dim' }, 'expected: ', h('span', own(turn.e), turn.e)), h('p', { class: 'read', ...own(turn.a || '') }, turn.a ?? '–'), verdictLines(turn))),
        h('div', { class: 'blk' }, h('h2', {}, 'Answer'), sample.a == null ? h('p', { class: 'empty' }, sample.err || 'No answer: only retrieval was measured.') : h('p', { class: 'read', ...own(sample.a) }, given),
          doubtful.length ? h('ol', { class: 'notes' }, doubtful.map((claim, i) => h('li', { id: 'note' + (i + 1) }, h('b', { class: 'alarm' }, `${i + 1} `), h('span', { dir: 'auto' }, reason(claim))))) : null),
        sample.e == null || sample.turns ? null : h('div', { class: 'blk' }, h('h2', {}, 'Expected answer'), h('p', { class: 'read', ...own(sample.e) }, sample.e)),
        h('div', { class: 'blk' }, h('h2', {}, 'Scores'), h('dl', { class: 'scores' }, view.metrics.map((name, i) => sample.m[i] == null && !sample.x?.[name] ? null : h('div', {}, h('dt', {}, name), h('dd', { title: sample.x?.[name] }, f2(sample.m[i]))))),
          view.metrics.map((name, i) => required(name, sample.m[i])).filter(Boolean).map(text => h('p', { class: 'small dim' }, text))),
        h('div', { class: 'blk' }, h('h2', {}, 'Retrieved passages, by rank'), contexts(sample, needed)),
        sample.st ? h('div', { class: 'blk' }, h('h2', {}, 'Steps, by start time'), steps(sample)) : null),
      pane));
    if (chosen === undefined) pane.replaceChildren(h('h2', {}, 'In the documents'), h('p', { class: 'empty' }, view.notKept || 'This question names no document.'));
    else showDocument(pane, inDocuments, read, needed);
    $('h1', page).focus({ preventScroll: true });
    scrollTo({ top: 0, behavior: 'instant' });
    document.title = `${sample.name} – rag-eval`;
  }
  /* The steps of the system: each with its time as a stretch of the whole, and its error. */
  function steps(sample) {
    const line = ([from, to]) => s('svg', { class: 'span', 'aria-hidden': 'true' }, s('line', { class: 'grid', x1: '0%', x2: '100%', y1: 5, y2: 5 }),
      s('rect', { x: from + '%', width: Math.max(0.6, to - from) + '%', y: 1, height: 8 }));
    return [h('ol', { class: 'steps' }, sample.st.map(([kind, said, time, stretch, error]) => h('li', { class: error ? 'bad' : null },
      h('p', { class: 'small' }, h('b', {}, kind), ' ', h('bdi', own(said), said), h('span', { class: 'dim end' }, time)),
      stretch ? line(stretch) : null,
      error ? h('p', { class: 'small alarm' }, 'failed: ', h('bdi', own(error), error)) : null))),
    h('p', { class: 'small dim' }, sample.sb)];
  }
  function contexts(sample, needed) {
    if (!got(sample).length) return h('p', { class: 'empty' }, sample.none ? 'The agent retrieved no passage.' : 'The retrieved passages were not reported.');
    return got(sample).map((place, i) => {
      const rank = i + 1;
      if (typeof place[0] !== 'number') {
        const text = place[1] == null ? null : DATA.texts[place[1]];
        return h('div', { class: 'ctx' + (place[2] ? ' hit' : ''), id: 'ctx' + rank, tabindex: -1 }, h('p', { class: 'small' }, h('span', { class: 'rank' }, String(rank)), h('span', { class: 'mono' }, place[0] || `passage ${rank}`), h('span', { class: 'dim' }, place[2] ? ' expected' : '')),
          text == null ? null : h('details', { open: i < 3 }, h('summary', { class: 'small' }, 'text'), h('p', { class: 'read', ...own(text) }, text)));
      }
      const [index, from, to] = place, name = DATA.documents[index].name;
      if (from == null) return h('div', { class: 'ctx', id: 'ctx' + rank, tabindex: -1 }, h('p', { class: 'small' }, h('span', { class: 'rank' }, String(rank)), h('span', { class: 'mono' }, name)));
      const { text, wanted } = painted(index, [], placesIn(needed, index));
      let overlap = 0;
      for (let j = from; j < to; j++) overlap += wanted[j] || 0;
      return h('div', { class: 'ctx' + (overlap ? ' hit' : ''), id: 'ctx' + rank, tabindex: -1 },
        h('p', { class: 'small' }, h('span', { class: 'rank' }, String(rank)), h('button', { class: 'link mono', type: 'button', onclick: () => { chosen = index; refresh(); jump(from); } }, `${name} ${from}–${to}`), h('span', { class: 'dim' }, overlap ? ` ${whole(overlap)} of ${whole(to - from)} characters expected` : needed.length ? ' contains no expected passage' : '')),
        h('details', { open: overlap > 0 || rank === 1 }, h('summary', { class: 'small' }, 'text'), h('p', { class: 'read', ...own(text.slice(from, to).join('')) }, runs(to - from, j => wanted[from + j]).map(([a, b, kind]) => { const words = text.slice(from + a, from + b).join(''); return kind ? h('mark', { class: 'r n' }, words) : words; }))));
    });
  }
  let refresh = () => {};
  function showDocument(pane, indices, read, needed) {
    let need = 0, found = 0, total = 0;
    for (const index of indices) {
      const { text, ranks, wanted } = painted(index, placesIn(read, index), placesIn(needed, index));
      for (let i = 0; i < text.length; i++) { need += wanted[i]; total += ranks[i] ? 1 : 0; found += wanted[i] && ranks[i] ? 1 : 0; }
    }
    const sums = [need ? `Expected ${counted(need, 'character')}, ${whole(found)} of them retrieved.` : null, total ? `Retrieved ${counted(total, 'character')}${need ? `, ${(found / total * 100).toFixed(0)}% of them expected` : ''}.` : null].filter(Boolean).join(' ');
    refresh = () => {
      const mine = placesIn(read, chosen), wanted = placesIn(needed, chosen), text = h('div', { class: 'doc', tabindex: 0, role: 'region', 'aria-label': DATA.documents[chosen].name }, documentLines(painted(chosen, mine, wanted, cited?.[0] === chosen ? [cited.slice(1)] : [])));
      const select = step => { chosen = indices[(indices.indexOf(chosen) + step + indices.length) % indices.length]; refresh(); $('.tabs [aria-selected=true]', pane).focus(); };
      const tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Documents' }, indices.map(index => h('button', { type: 'button', role: 'tab', 'aria-selected': String(index === chosen), tabindex: index === chosen ? 0 : -1, onclick: () => { chosen = index; refresh(); }, onkeydown: event => { const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key]; if (way) select(way); } },
        DATA.documents[index].name, placesIn(needs(current), index).length ? h('span', { class: 'dim' }, ' expected') : null)));
      pane.replaceChildren(h('h2', {}, 'In the documents'), h('p', { class: 'small dim' }, sums),
        h('p', { class: 'legend' }, h('span', {}, h('mark', { class: 'r' }, 'fill'), ' retrieved'), h('span', {}, h('mark', { class: 'n' }, 'dashed line, no fill'), ' expected, not retrieved'), h('span', {}, h('mark', { class: 'r n' }, 'fill and line'), ' expected and retrieved')),
        tabs, miniMap(chosen, mine, wanted, text), h('p', { class: 'small dim' }, 'Upper lane: retrieved. Lower lane: expected.'), text);
      const first = $('.cited', text) || $('.n', text) || $('.r', text);
      if (first) requestAnimationFrame(() => bring(text, first));
    };
    refresh();
  }
  function jump(offset) {
    const text = $('.docpane .doc', page), place = $$('[data-p]', text).find(each => +each.dataset.p >= offset);
    if (place) { bring(text, place, 4); text.scrollIntoView({ block: 'nearest' }); }
  }
  function step(way) { const next = shown[at + way]; if (next) { at += way; go({ v: number, s: next.id }); } }
  const byId = new Map(samples.map(each => [each.id, each]));
  let before = '';
  return {
    title: view.title,
    show() {
      const now = address(), sample = byId.get(now.get('s'));
      state = states();
      find.value = state.text;
      const asked = ['q', 'k', 'g', 't', 'o'].map(name => now.get(name)).join();
      if (asked !== before || !table.tBodies.length) draw();
      const isNew = before && asked !== before && !sample;
      before = asked;
      if (sample) return open(sample);
      const wasOpen = !page.hidden;
      page.hidden = true;
      $('.overview', root).hidden = false;
      document.title = view.title;
      if (wasOpen) move(0);
      else if (isNew || now.has('g') || now.has('k') || now.has('t')) box.scrollIntoView();
    },
    key(event) {
      const isOpen = !page.hidden;
      if (event.key === 'Escape') {
        if (isOpen) go({ s: null });
        else if (document.activeElement === find) { find.value = ''; change({ q: null }); find.blur(); }
        return;
      }
      if (isTyping(event)) return;
      if (event.key === '/') { event.preventDefault(); if (isOpen) { go({ s: null }); setTimeout(() => find.focus()); } else find.focus(); }
      else if (event.key === 'j') isOpen ? step(1) : move(1);
      else if (event.key === 'k') isOpen ? step(-1) : move(-1);
      else if (event.key === 'f' && !isOpen) { change({ g: state.grades.has(view.wrong) ? null : view.wrong }); say(counted(shown.length, 'answer')); }
      else if (event.key === 'Enter' && !isOpen && document.activeElement === document.body && shown[at]) go({ v: number, s: shown[at].id });
      else if (event.key === 'n' && isOpen) {
        const places = $$('.docpane .n[data-p]', page).filter((each, i, all) => !i || +each.dataset.p > +all[i - 1].dataset.p + 1);
        if (places.length) { turnOfNeed = (turnOfNeed + 1) % places.length; bring($('.docpane .doc', page), places[turnOfNeed]); }
      } else if (isOpen && /^[1-9]$/.test(event.key)) { const jumpTo = $(`#ctx${event.key} button.link`, page); if (jumpTo) jumpTo.click(); toContext(+event.key); }
    },
  };
}
