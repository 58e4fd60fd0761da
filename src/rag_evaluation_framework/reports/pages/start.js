/* The data are read, the views are filled, and the address says which is shown. */
let DATA;
const MAKERS = { run: runView, comparison: comparisonView, sweep: sweepView };
async function start() {
  DATA = await read();
  const views = DATA.views.map(() => null);
  let active;
  function route() {
    const number = Math.max(0, Math.min(views.length - 1, +address().get('v') || 0));
    $$('.view').forEach((each, i) => { each.hidden = i !== number; });
    $$('header nav a').forEach((each, i) => i === number ? each.setAttribute('aria-current', 'page') : each.removeAttribute('aria-current'));
    views[number] ||= MAKERS[DATA.views[number].kind](DATA.views[number], $('#view-' + number), number);
    active = views[number];
    active.show();
  }
  addEventListener('hashchange', route);
  addEventListener('keydown', event => {
    if (event.metaKey || event.ctrlKey || event.altKey || $('#keys').open) return;
    if (event.key === '?' && !isTyping(event)) $('#keys').showModal();
    else active.key(event);
  });
  route();
  document.documentElement.dataset.ready = '';
}
start();
