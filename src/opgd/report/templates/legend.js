// Legends of buttons: one for each view, all with the same state.
report.legend = (() => {
  const { element, rows, shortText } = report;
  const { state } = rows;

  function toggle(code, add) {
    const alone = state.shown?.size === 1 && state.shown.has(code);
    let shown = state.shown === null ? null : new Set(state.shown);
    if (add && shown && !alone) {
      if (!shown.delete(code)) shown.add(code);
      if (!shown.size) shown = null;
    } else shown = alone ? null : new Set([code]);
    rows.change("shown", { shown });
  }

  function fill(node) {
    node.hidden = state.coloring.kind !== "groups";
    const focused = node.contains(document.activeElement) ? document.activeElement.dataset.code : null;
    node.replaceChildren();
    if (node.hidden) return;
    for (const [code, count] of rows.groupsOf(state.coloring)) {
      const name = rows.groupName(state.coloring, code);
      const button = element("button", undefined, { type: "button", title: shortText(name, 400), "data-code": code });
      button.setAttribute("aria-pressed", String(!state.shown || state.shown.has(code)));
      button.append(report.draw.swatch(rows.styleOf(state.coloring, code)), element("bdi", shortText(name, 60)), element("small", count.toLocaleString("en")));
      button.addEventListener("click", (event) => toggle(code, event.shiftKey || event.ctrlKey || event.metaKey));
      node.appendChild(button);
      if (String(code) === focused) button.focus();
    }
  }

  const nodes = [...document.querySelectorAll("[data-legend]")];
  const fillAll = () => nodes.forEach(fill);
  rows.onChange((what) => { if (what === "coloring" || what === "shown") fillAll(); });
  report.onTheme(fillAll);
  return { fillAll };
})();
