([position, side]) => {
  const line = lines[lineAt(position)];
  const known = [...line.element.querySelectorAll('[data-p]')].findLast(each => +each.dataset.p <= position);
  const node = known.lastChild, units = points(shown).slice(+known.dataset.p, position).join('').length;
  const range = document.createRange();
  range.setStart(node, units);
  range.setEnd(node, units + points(shown)[position].length);
  const rects = [...range.getClientRects()], place = rects[side ? rects.length - 1 : 0];
  const isTurned = /[\u0590-\u06ff]/.test(points(shown)[position]);
  return [(side === 1) === isTurned ? place.left + .5 : place.right - .5, place.top + place.height / 2];
}
