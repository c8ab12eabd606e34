// What a reader would not see, or only by scrolling the page to the side. A region that scrolls is allowed
// where it has a label and can be reached by keyboard; its caption must be seen without scrolling.
() => {
  const found = new Set(), wide = document.documentElement.clientWidth;
  const beginning = node => node.textContent.trim().slice(0, 80);
  const say = (what, node) =>
    found.add(`${what}: <${node.nodeName} class="${node.getAttribute("class") ?? ""}"> ${beginning(node)}`);
  const hidden = node =>
    !node.checkVisibility() || node.closest(".hide, .skip") || !node.getClientRects().length;
  const region = node => node.closest(":is([role=region], [role=group])[aria-label][tabindex]");
  for (const node of document.querySelectorAll("body *:not(svg *)")) {
    if (hidden(node)) continue;
    const box = node.getBoundingClientRect(), style = getComputedStyle(node), around = region(node);
    if ((!around || around === node) && (box.right > wide + 1 || box.left < -1))
      say("wider than the window", node);
    const over = node.clientWidth && node.scrollWidth > node.clientWidth + 1 && !node.matches("input");
    if (over && /hidden|clip/.test(style.overflowX)) say("cut at its side", node);
    if (over && /auto|scroll/.test(style.overflowX) && around !== node)
      say("scrolls, and has no label", node);
    if (node.clientHeight && node.scrollHeight > node.clientHeight + 1 && /hidden|clip/.test(style.overflowY))
      say("cut below", node);
    if (style.textOverflow === "ellipsis" && over) say("ends in dots", node);
    if (node.matches("caption") && around && box.right > around.getBoundingClientRect().right + 1)
      say("caption cut", node);
  }
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.width && (box.left < frame.left - 1 || box.right > frame.right + 1
          || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)) say("outside its figure", text);
      if (text.textContent.includes("…")) say("cut in its figure", text);
    }
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; node = texts.nextNode();) {
    const parent = node.parentElement;
    if (hidden(parent) || parent.closest("svg, script, style, code, pre, .digest")
        || getComputedStyle(parent).writingMode !== "horizontal-tb") continue;
    for (const token of node.data.matchAll(/\S{2,28}(?!\S)/g)) {
      if (token.index && /\S/.test(node.data[token.index - 1])) continue;
      for (const word of token[0].matchAll(/[\p{L}\p{N}_]{2,}/gu)) {
        const range = document.createRange(), at = token.index + word.index;
        range.setStart(node, at); range.setEnd(node, at + word[0].length);
        const lines = [...range.getClientRects()].filter(box => box.width).map(box => Math.round(box.top));
        if (new Set(lines).size > 1) found.add(`broken within a word: ${word[0]} in ${beginning(parent)}`);
      }
    }
  }
  return [...found];
}
