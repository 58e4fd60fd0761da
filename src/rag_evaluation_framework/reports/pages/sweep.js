/* A sweep: quality against characters per question, curves over k, metrics, missed questions. */
function sweepView(view, root) {
  const cells = view.cells.filter(each => each.value != null && each.read != null);
  const retrievers = [...new Set(view.cells.map(each => each.retriever))], chunkers = [...new Set(view.cells.map(each => each.chunker))];
  const highest = Math.min(1, Math.max(.2, Math.ceil(Math.max(...view.cells.map(each => each.high ?? each.value ?? 0), 0) * 5) / 5));
  const cheapest = [...cells].sort((a, b) => a.read - b.read || b.value - a.value);
  let top = -1;
  for (const each of cheapest) if (each.value > top) { each.front = true; top = each.value; }
  const describe = each => `${each.name}, k = ${each.k}: ${view.rankWord} ${f2(each.value)} [${f2(each.low)}, ${f2(each.high)}], ${whole(each.read)} characters per question`;
  const SHAPES = [
    (x, y, r, kind) => s('circle', { class: kind, cx: x, cy: y, r }),
    (x, y, r, kind) => s('path', { class: kind, d: `M${x},${y - r - 1}L${x + r + 1},${y + r - .5}H${x - r - 1}Z` }),
    (x, y, r, kind) => s('rect', { class: kind, x: x - r + .5, y: y - r + .5, width: 2 * r - 1, height: 2 * r - 1 }),
    (x, y, r, kind) => s('path', { class: kind, d: `M${x},${y - r - 1.5}L${x + r + 1.5},${y}L${x},${y + r + 1.5}L${x - r - 1.5},${y}Z` }),
  ];
  const shapeOf = each => SHAPES[retrievers.indexOf(each.retriever) % SHAPES.length];
  const against = $('.against', root), budget = $('input[type=range]', against), tip = $('.tip-line', root);
  let picked, redraw = () => {};
  if (!cells.length) against.replaceChildren(h('p', { class: 'empty' }, 'No characters per question: the retrieved passages have no recorded length.'));
  else drawAgainst();

  function drawAgainst() {
    const least = cheapest[0].read, most = cheapest[cheapest.length - 1].read;
    const low = Math.max(1, least * .8), high = Math.max(low * 1.5, most * 1.15);
    const min = Math.floor(least), step = Math.max(1, Math.round((most - least) / 200)), max = min + Math.ceil((most - min) / step) * step;
    Object.assign(budget, { min, max, step, value: max });
    function choose() {
      const can = cells.filter(each => each.read <= +budget.value + 1);
      const best = (can.length ? can : [cheapest[0]]).reduce((a, b) => b.value > a.value ? b : a);
      picked = +budget.value + 1 >= most && view.taken != null ? view.cells[view.taken] : best;
      if (picked.read == null) picked = best;
      $('output', against).textContent = `${whole(+budget.value)} characters per question`;
      tip.textContent = (picked === best ? `Highest ${view.rankWord} within the budget: ` : 'Recommended: ') + describe(picked);
    }
    function draw(width) {
      const height = width < 560 ? 340 : 430, left = 40, bottom = 40, above = 28, right = 16;
      const x = at => left + (Math.log(at) - Math.log(low)) / (Math.log(high) - Math.log(low)) * (width - left - right);
      const y = at => above + (1 - at / highest) * (height - above - bottom);
      const front = cheapest.filter(each => each.front);
      const image = s('svg', { width, height, role: 'group', 'aria-label': `${view.rankWord} against characters per question for ${counted(cells.length, 'setup')}. Pareto front: ${front.map(describe).join('; ')}.` });
      for (let at = 0; at <= highest + .001; at += .2) image.append(s('line', { class: 'grid', x1: left, x2: width - right, y1: y(at), y2: y(at) }), s('text', { x: left - 8, y: y(at) + 4, 'text-anchor': 'end' }, at.toFixed(1)));
      let last = -99;
      for (const at of [100, 200, 300, 500, 1000, 2000, 3000, 5000, 10000, 20000, 50000, 100000].filter(each => each >= low && each <= high)) {
        if (x(at) - last < 44) continue;
        last = x(at);
        image.append(s('line', { class: 'axis', x1: x(at), x2: x(at), y1: height - bottom, y2: height - bottom + 4 }), s('text', { x: x(at), y: height - bottom + 18, 'text-anchor': 'middle' }, whole(at)));
      }
      image.append(s('line', { class: 'axis', x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }), s('text', { x: width - right, y: height - 4, 'text-anchor': 'end' }, 'characters per question (log scale)'), s('text', { x: 2, y: 9 }, view.rankWord));
      const at = x(+budget.value), isRight = at > width * .75;
      image.append(s('line', { class: 'bud', x1: at, x2: at, y1: above, y2: height - bottom }), s('text', { class: 'lab', x: at + (isRight ? -6 : 6), y: height - bottom - 8, 'text-anchor': isRight ? 'end' : 'start' }, 'budget'));
      image.append(s('path', { class: 'front-l', d: 'M' + front.map(each => `${x(each.read)},${y(each.value)}`).join('L') }));
      for (const each of [...cells].sort((a, b) => (a === picked) - (b === picked) || !!a.front - !!b.front)) {
        const kind = (each.front ? ' front' : '') + (each === picked ? ' pick' : ''), text = describe(each), show = () => { tip.textContent = text; };
        image.append(s('g', { tabindex: each.front || each === picked ? 0 : null, role: 'img', 'aria-label': text, onmouseenter: show, onfocus: show },
          each.low == null ? null : s('line', { class: 'wk' + kind, x1: x(each.read), x2: x(each.read), y1: y(each.low), y2: y(each.high) }),
          shapeOf(each)(x(each.read), y(each.value), each === picked ? 6 : 4.5, 'pt' + kind + (each.read > +budget.value + 1 ? ' off' : '')), s('title', {}, text)));
      }
      const place = x(picked.read), isLate = place > width / 2;
      image.append(s('text', { class: 'lab', x: place + (isLate ? -8 : 8), y: Math.max(22, y(picked.high ?? picked.value) - 9), 'text-anchor': isLate ? 'end' : 'start', 'font-weight': 600 }, `${picked.name}, k = ${picked.k}`));
      return image;
    }
    choose();
    redraw = chart($('.scatter', root), draw);
    budget.addEventListener('input', () => { choose(); redraw(); });
    $('.marks', root).append(...retrievers.map((name, i) => h('span', { class: 'lg' }, s('svg', { width: 14, height: 14, 'aria-hidden': 'true' }, SHAPES[i % SHAPES.length](7, 7, 4.5, 'pt')), name)),
      h('span', {}, 'vertical line: 95% CI'), h('span', {}, 'filled: recommended'), h('span', {}, 'faint: over budget'));
  }

  /* One panel per chunker, all on one scale. */
  const panels = $('.kc', root);
  for (const chunker of panels ? chunkers : []) {
    const box = h('div'), rows = retrievers.map(name => view.cells.filter(each => each.chunker === chunker && each.retriever === name && each.value != null).sort((a, b) => a.k - b.k)).filter(each => each.length > 1);
    if (!rows.length) continue;
    const ks = [...new Set(rows.flat().map(each => each.k))].sort((a, b) => a - b), style = i => ['', 'fused', 'dense'][i % 3];
    panels.append(h('figure', {}, h('figcaption', {}, chunker), box));
    chart(box, width => {
      const height = 170, left = 30, bottom = 22, room = 56, first = Math.log(ks[0]), span = Math.log(ks[ks.length - 1]) - first || 1;
      const x = k => left + (Math.log(k) - first) / span * (width - left - room), y = at => 8 + (1 - at / highest) * (height - 8 - bottom);
      const image = s('svg', { width, height, role: 'img', 'aria-label': `${chunker}: ` + rows.map(row => `${row[0].retriever} ` + row.map(each => `k ${each.k} ${f2(each.value)}`).join(', ')).join('; ') });
      for (const at of [0, highest / 2, highest]) image.append(s('line', { class: 'grid', x1: left, x2: width - room, y1: y(at), y2: y(at) }), s('text', { x: left - 6, y: y(at) + 4, 'text-anchor': 'end' }, at.toFixed(1)));
      ks.forEach((k, i) => image.append(s('text', { x: x(k), y: height - 4, 'text-anchor': 'middle' }, i ? String(k) : 'k = ' + k)));
      const band = rows[0].filter(each => each.low != null);
      if (band.length > 1) image.append(s('path', { class: 'band', d: 'M' + band.map(each => `${x(each.k)},${y(each.high)}`).join('L') + 'L' + [...band].reverse().map(each => `${x(each.k)},${y(each.low)}`).join('L') + 'Z' }));
      const ends = rows.map(row => ({ name: row[0].retriever, y: y(row[row.length - 1].value) })).sort((a, b) => a.y - b.y);
      for (let i = 1; i < ends.length; i++) if (ends[i].y - ends[i - 1].y < 13) ends[i].y = ends[i - 1].y + 13;
      rows.forEach((row, i) => { image.append(s('path', { class: 'ln ' + style(i), d: 'M' + row.map(each => `${x(each.k)},${y(each.value)}`).join('L') })); for (const each of row) image.append(s('circle', { class: 'kp ' + style(i), cx: x(each.k), cy: y(each.value), r: 2.5 })); });
      for (const end of ends) image.append(s('text', { class: 'lab', x: width - room + 6, y: end.y + 4 }, end.name.slice(0, 9)));
      return image;
    });
  }

  /* Figures of one k at a time. */
  function showK(k) {
    const ks = $$('.heat-of', root).map(each => each.dataset.k);
    const chosen = ks.includes(k) ? k : ks[0];
    for (const each of $$('.heat-of', root)) each.hidden = each.dataset.k !== chosen;
    for (const each of $$('.ks .chip', root)) each.setAttribute('aria-pressed', String(each.dataset.k === chosen));
  }
  for (const each of $$('.ks .chip', root)) each.addEventListener('click', () => { remember({ k: each.dataset.k }); showK(each.dataset.k); });

  /* Missed questions. */
  const find = $('.missing input', root), lines = $$('.missed tbody tr', root).map(line => [line, line.textContent.toLowerCase()]);
  function search() {
    const text = find.value.trim().toLowerCase();
    let shown = 0;
    for (const [line, hay] of lines) { line.hidden = !hay.includes(text); shown += line.hidden ? 0 : 1; }
    $('.missing .count', root).textContent = `${whole(shown)} of ${whole(lines.length)}`;
  }
  find?.addEventListener('input', () => { remember({ q: find.value }); search(); });
  return {
    title: view.title,
    show() {
      showK(address().get('k'));
      if (find) { find.value = address().get('q') || ''; search(); }
      document.title = view.title;
    },
    key(event) {
      if (event.key === 'Escape' && find && document.activeElement === find) { find.value = ''; remember({ q: null }); search(); find.blur(); }
      else if (event.key === '/' && find && !isTyping(event)) { event.preventDefault(); find.focus(); }
    },
  };
}
