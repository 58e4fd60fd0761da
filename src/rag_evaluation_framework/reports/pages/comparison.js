/* Runs compared with the first: each answer before and now, and those whose verdict moved. */
function comparisonView(view, root, number) {
  const MOST_MOVERS = 200, SHOWN = 50;
  const runPick = $('.which-run', root), metricPick = $('.which-metric', root), slopes = $('.slopes', root), picture = $('.moved-chart', root);
  view.runs.forEach((run, i) => runPick?.append(h('option', { value: i }, run.name)));
  view.metrics.forEach(name => metricPick.append(h('option', {}, name)));
  let run, shownMovers = SHOWN, kind = 0, current = -1;
  const sampleLink = id => link({ v: run.view, s: id, m: null, w: null, r: null });

  function drawSlopes() {
    const i = view.metrics.indexOf(metricPick.value), pairs = run.pairs.filter(each => each.m.some(scores => scores[i] != null));
    const moved = pairs.filter(each => each.m[0][i] !== each.m[1][i]).sort((a, b) => change(a) - change(b));
    function change(each) { return (each.m[1][i] ?? 9) - (each.m[0][i] ?? 9); }
    const still = pairs.length - moved.length;
    $('.sums', root).textContent = `${whole(moved.length)} changed, ${whole(still)} unchanged`;
    picture.replaceChildren();
    slopes.replaceChildren();
    if (moved.length > MOST_MOVERS) return drawScatter(moved, i, still);
    const line = each => {
      const [before, now] = [each.m[0][i], each.m[1][i]], isDown = (now ?? 0) < (before ?? 0) === view.up[i];
      const image = s('svg', { class: 'iv', 'aria-hidden': 'true' }, s('line', { class: 'grid', x1: 0, x2: '100%', y1: 10, y2: 10 }));
      if (before != null && now != null) image.append(s('line', { class: 'seg ' + (isDown ? 'dn' : 'up'), x1: percent(before), x2: percent(now), y1: 10, y2: 10 }));
      if (before != null) image.append(s('circle', { class: 'dot open' + (isDown ? ' bad' : ''), cx: percent(before), cy: 10, r: 4.5 }));
      if (now != null) image.append(s('circle', { class: 'dot' + (isDown ? ' bad' : ''), cx: percent(now), cy: 10, r: 4.5 }));
      return h('tr', {}, h('th', { scope: 'row', class: 'mono' }, each.s === 0 ? h('span', { class: 'alarm' }, each.name, ' ▾') : each.name),
        h('td', { class: 'q hide-s' }, h('a', { href: sampleLink(each.id), ...own(each.q) }, each.q)), h('td', { class: 'num' }, f2(before)), h('td', { class: 'num' }, f2(now)), h('td', { class: 'track' }, image));
    };
    slopes.append(h('caption', { class: 'vh' }, `${metricPick.value} of each changed question, before and now`), h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'id'), h('th', { scope: 'col', class: 'q hide-s' }, 'question'), h('th', { scope: 'col', class: 'num' }, 'before'), h('th', { scope: 'col', class: 'num' }, 'now'), h('th', { scope: 'col', class: 'track' }, '0 – 1'))),
      h('tbody', {}, moved.map(line), still ? h('tr', {}, h('td', { class: 'dim', colspan: 5 }, `${counted(still, 'question')} ${still === 1 ? 'has' : 'have'} the same ${metricPick.value} in both runs`)) : null));
  }
  /* Above 200 movers: before across, now up; what lies below the line got lower. */
  function drawScatter(moved, i, still) {
    const both = moved.filter(each => each.m[0][i] != null && each.m[1][i] != null), down = both.filter(each => each.m[1][i] < each.m[0][i]).length;
    chart(picture, width => {
      const size = Math.min(width, 460), left = 36, bottom = 32, x = at => left + at * (size - left - 8), y = at => 8 + (1 - at) * (size - 8 - bottom);
      const image = s('svg', { width: size, height: size, role: 'img', 'aria-label': `${metricPick.value} before and now of ${whole(both.length)} changed questions: ${whole(down)} lower, ${whole(both.length - down)} higher; ${whole(still)} unchanged` });
      for (const at of [0, .5, 1]) image.append(s('line', { class: 'grid', x1: x(0), x2: x(1), y1: y(at), y2: y(at) }), s('text', { x: left - 6, y: y(at) + 4, 'text-anchor': 'end' }, at.toFixed(1)), s('text', { x: x(at), y: size - 14, 'text-anchor': 'middle' }, at.toFixed(1)));
      image.append(s('line', { class: 'axis', x1: x(0), y1: y(0), x2: x(1), y2: y(1) }), s('text', { x: x(1), y: size - 1, 'text-anchor': 'end' }, 'before'), s('text', { x: 2, y: 8 }, 'now'));
      const jitter = index => ((index * 2654435761 % 97) / 97 - .5) * .03;
      both.forEach((each, index) => { const isDown = each.m[1][i] < each.m[0][i] === view.up[i]; image.append(s('circle', { class: 'dot speck' + (isDown ? ' bad' : ''), cx: x(each.m[0][i] + jitter(index)), cy: y(each.m[1][i] + jitter(index + 7)), r: 2.2 }, s('title', {}, `${each.name}: ${f2(each.m[0][i])} → ${f2(each.m[1][i])}`))); });
      return image;
    });
  }

  /* Words that differ; characters in Chinese. */
  const pieces = text => language(text) === 'zh-Hans' ? Array.from(text) : text.match(/\s+|[\p{L}\p{N}_’'.-]+|[^\s\p{L}\p{N}_]/gu) || [];
  function differing(before, now) {
    const a = pieces(before).slice(0, 1200), b = pieces(now).slice(0, 1200), table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    const old = [], fresh = [];
    const push = (list, mark, text) => { const last = list[list.length - 1]; last && last[0] === mark ? last[1] += text : list.push([mark, text]); };
    for (let i = 0, j = 0; i < a.length || j < b.length;) {
      if (i < a.length && j < b.length && a[i] === b[j]) { push(old, 0, a[i++]); push(fresh, 0, b[j++]); }
      else if (i < a.length && (j >= b.length || table[i + 1][j] >= table[i][j + 1])) push(old, 1, a[i++]);
      else push(fresh, 1, b[j++]);
    }
    const kept = old.filter(([mark]) => !mark).reduce((sum, [, text]) => sum + text.replace(/\s/g, '').length, 0);
    if (kept < .3 * Math.min(before.length, now.length)) return [[before], [now]];
    return [old.map(([mark, text]) => mark ? h('del', {}, text) : text), fresh.map(([mark, text]) => mark ? h('ins', {}, text) : text)];
  }
  const LAST = view.movements.length - 1;  /* unchanged: of these only the answers in other words are listed */
  const members = (which = kind) => run.pairs.filter(each => (each.s ?? LAST) === which && (which !== LAST || each.a[0] !== each.a[1]));
  function mover(each) {
    const [before, now] = differing(each.a[0] ?? '', each.a[1] ?? '');
    const side = (title, pair, text, parts) => h('div', { class: pair?.[1] }, h('h4', {}, h('span', {}, title), verdict(pair)), h('p', { class: 'read', ...own(text ?? '') }, text == null ? '–' : parts));
    return h('article', { class: 'mover', tabindex: -1, 'aria-label': each.name },
      h('h3', own(each.q), h('a', { class: 'soft', href: sampleLink(each.id) }, each.q)),
      h('p', { class: 'meta' }, h('span', { class: 'mono' }, each.name), each.w ? h('span', { dir: 'auto' }, each.w) : null),
      h('div', { class: 'ab' }, side('Before', each.v?.[0], each.a[0], before), side('Now', each.v?.[1], each.a[1], now)),
      h('details', {}, h('summary', { class: 'small' }, 'expected answer and scores'), each.e == null ? null : h('p', { class: 'read', ...own(each.e) }, each.e),
        h('div', { class: 'scroll' }, h('table', { class: 'facts' }, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'score'), h('th', { scope: 'col', class: 'num' }, 'before'), h('th', { scope: 'col', class: 'num' }, 'now'))), h('tbody', {}, view.metrics.map((name, i) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'num' }, f2(each.m[0][i])), h('td', { class: 'num' }, f2(each.m[1][i])))))))));
  }
  function drawMovers() {
    $('.moves .chips', root).replaceChildren(...view.movements.map(([word], i) => h('button', { class: 'chip', type: 'button', 'aria-pressed': String(i === kind), onclick: () => choose(i) }, `${i === LAST ? 'unchanged verdict, new wording' : word} ${whole(members(i).length)}`)));
    const list = members(), none = $('.moves .empty', root);
    none.hidden = !!list.length;
    none.textContent = kind === LAST ? 'No other answer has changed.' : `No answer ${/^became/.test(view.movements[kind][0]) ? '' : 'is '}${view.movements[kind][0]}.`;
    $('.moves .legend', root).hidden = !list.length;
    $('.movers', root).replaceChildren(...list.slice(0, shownMovers).map(mover), ...(list.length > shownMovers ? [h('button', { class: 'quiet', type: 'button', onclick: () => { shownMovers += SHOWN; drawMovers(); } }, `show more (${whole(list.length - shownMovers)} left)`)] : []));
  }
  /* The worst movement that has an answer comes first. */
  const first = () => Math.max(0, view.movements.findIndex((_, i) => members(i).length));
  function choose(next) { kind = next; shownMovers = SHOWN; current = -1; remember({ w: next === first() ? null : view.movements[next][1] }); drawMovers(); }
  metricPick.addEventListener('change', () => { remember({ m: metricPick.value }); drawSlopes(); });
  runPick?.addEventListener('change', () => { remember({ r: runPick.value }); show(); });
  function show() {
    const now = address();
    run = view.runs[Math.min(view.runs.length - 1, +now.get('r') || 0)];
    if (runPick) runPick.value = view.runs.indexOf(run);
    if (view.metrics.includes(now.get('m'))) metricPick.value = now.get('m');
    const asked = view.movements.findIndex(([, key]) => key === now.get('w'));
    kind = asked < 0 ? first() : asked;
    drawSlopes();
    drawMovers();
    document.title = view.title;
  }
  return {
    title: view.title,
    show,
    key(event) {
      if (isTyping(event)) return;
      const list = $$('.mover', root);
      if (event.key === 'j' || event.key === 'k') {
        current = Math.max(0, Math.min(list.length - 1, current + (event.key === 'j' ? 1 : -1)));
        list[current]?.focus();
        list[current]?.scrollIntoView({ block: 'start' });
      } else if (view.movements.some(([, key]) => key === event.key)) { choose(view.movements.findIndex(([, key]) => key === event.key)); say(counted(members().length, 'answer')); }
      else if (event.key === 'm') { metricPick.selectedIndex = (metricPick.selectedIndex + 1) % metricPick.options.length; remember({ m: metricPick.value }); drawSlopes(); }
    },
  };
}
