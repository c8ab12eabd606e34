// The choice of a pair, a search by words, and steps from item to item. Without a script every fold opens by hand.
{
  const find = document.querySelector(".find");
  const pairs = [...document.querySelectorAll(".pair")], texts = new Map();
  const itemsOf = pair => [...pair.querySelectorAll(".differing-item")];
  const has = (item, words) => {
    if (words.length && !texts.has(item)) texts.set(item, item.textContent.toLowerCase());
    return words.every(word => texts.get(item).includes(word));
  };
  const counted = new Intl.NumberFormat("en");
  const filter = () => {
    const chosen = find.querySelector("select").value;
    const words = find.querySelector("input").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0, all = 0;
    for (const pair of pairs) {
      const items = itemsOf(pair);
      let here = 0;
      for (const item of items) {
        item.hidden = !has(item, words);
        here += !item.hidden;
      }
      pair.hidden = (chosen && pair.id !== chosen) || (words.length && !here);
      if (!chosen || pair.id === chosen) [shown, all] = [shown + here, all + items.length];
      if (chosen || words.length) pair.open = !pair.hidden;
    }
    find.querySelector("output").textContent =
      chosen || words.length ? `${counted.format(shown)} of ${counted.format(all)} items` : "";
  };
  if (find) {
    find.hidden = false;
    let waiting;
    find.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(filter, 120);
    });
    // Where a link leads to what the filter hides, the filter goes.
    const uncover = () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!target?.closest(".pair[hidden], .differing-item[hidden]")) return;
      find.querySelector("select").value = find.querySelector("input").value = "";
      filter();
      reveal();
    };
    addEventListener("hashchange", uncover);
  }
  for (const link of document.querySelectorAll(".steps :is([rel=next], [rel=prev])"))
    link.addEventListener("click", event => {
      const item = link.closest(".differing-item"), shown = itemsOf(item.closest(".pair")).filter(each => !each.hidden);
      const other = shown[shown.indexOf(item) + (link.rel === "next" ? 1 : -1)];
      event.preventDefault();
      if (!other) return;
      item.open = false;
      location.hash = other.id;
      other.querySelector("summary").focus({ preventScroll: true });
    });
}
