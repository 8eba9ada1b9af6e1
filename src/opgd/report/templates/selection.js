// Tooltips, pinned rows, row search, and the selection with its download.
report.selection = (() => {
  const { byId, element, rows, shortText } = report;
  const { state } = rows;
  const TIP_COLUMNS = 6, PINNED_COLUMNS = 30;
  const NOTHING = "No rows selected. Drag with the Box or Lasso tool to select rows.";

  function appendPair(list, key, value) {
    const term = element("dt", undefined, { title: shortText(key, 400) }), description = element("dd");
    term.appendChild(element("bdi", shortText(key, 60)));
    description.appendChild(element("bdi", shortText(value, 80)));
    list.append(term, description);
  }

  function showTip(row, event) {
    const tip = byId("tip");
    tip.hidden = row === null;
    if (row === null) return;
    const list = element("dl"), { clientX, clientY } = event;
    for (const [key, value] of rows.facts(row, TIP_COLUMNS)) appendPair(list, key, value);
    tip.replaceChildren(list);
    // next to the pointer, inside the plot if there is room, and always inside the window
    const box = event.currentTarget.getBoundingClientRect(), [width, height] = [tip.offsetWidth, tip.offsetHeight];
    const right = Math.min(box.right, innerWidth - 4), bottom = Math.min(box.bottom, innerHeight - 4);
    const left = clientX + 16 + width > right ? clientX - 16 - width : clientX + 16;
    tip.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(clientY + 12, bottom - height))}px`;
  }

  function pin(row) {
    const details = byId("details"), pairs = element("dl");
    for (const [key, value] of rows.facts(row, PINNED_COLUMNS)) {
      const cell = pairs.appendChild(element("div"));
      appendPair(cell, key, value);
    }
    details.replaceChildren(element("h3", `Row ${shortText(rows.name(row))}`), pairs);
    details.hidden = false;
    rows.change("marked", { marked: row });
  }

  function find(text) {
    const wanted = String(text).trim();
    if (!wanted) return;
    let row = 0;
    while (row < rows.n && rows.name(row) !== wanted) row += 1;
    show(row < rows.n ? row : -1, wanted);
  }

  function show(row, wanted) {
    if (row >= 0) return pin(row);
    byId("details").replaceChildren(element("p", `Row ${shortText(wanted)} is not among the rows shown.`));
    byId("details").hidden = false;
  }

  function select(indices) {
    rows.change("selected", { selected: new Set(indices) });
    const any = state.selected.size > 0;
    byId("clear").disabled = byId("download").disabled = !any;
    byId("selected").textContent = any ? describeSelection() : NOTHING;
    byId("selected").parentNode.classList.toggle("active", any); // stays on the screen while the plot is
  }

  function describeSelection() {
    const first = rows.groupings[0], counts = new Map();
    for (const row of state.selected) counts.set(first.codes[row], (counts.get(first.codes[row]) ?? 0) + 1);
    const parts = [...counts].sort((a, b) => b[1] - a[1]);
    const words = parts.slice(0, 5).map(([code, count]) => `${shortText(rows.groupName(first, code), 30)}: ${count.toLocaleString("en")}`);
    const more = parts.length > 5 ? ", …" : "";
    const total = state.selected.size;
    return `${total.toLocaleString("en")} ${total === 1 ? "row" : "rows"} selected (${words.join(", ")}${more})`;
  }

  // Quote text, with an apostrophe before text that a spreadsheet would evaluate as a formula.
  function csvText(text) {
    const formula = /^([\t\r\n]|[\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20])/;
    const safe = formula.test(text) ? `'${text}` : String(text);
    return `"${safe.replaceAll('"', '""')}"`;
  }

  function csv() {
    const header = ["row", ...(report.data.names ? ["name"] : []), ...rows.groupings.map(({ name }) => name), ...rows.values.map(({ name }) => name)];
    const lines = [...state.selected].sort((a, b) => a - b).map((row) => [
      rows.position(row),
      ...(report.data.names ? [csvText(report.data.names[row])] : []),
      ...rows.groupings.map(({ codes, names }) => (codes[row] < 0 ? "" : csvText(names[codes[row]]))),
      ...rows.values.map(({ numbers }) => Number(numbers()[row].toPrecision(6))),
    ].join(","));
    return [header.map(csvText).join(","), ...lines].join("\r\n") + "\r\n";
  }

  byId("selected").textContent = NOTHING;
  byId("clear").addEventListener("click", () => select([]));
  byId("select-shown").addEventListener("click", () => select(rows.visibleParts().flatMap((part) => [...part.rows])));
  byId("download").addEventListener("click", () => report.saveFile("selected_rows.csv", new Blob([csv()], { type: "text/csv;charset=utf-8" })));
  byId("find").addEventListener("change", () => find(byId("find").value));
  for (const button of document.querySelectorAll("[data-row]")) {
    button.addEventListener("click", () => {
      const position = button.dataset.row;  // names of rows may be other numbers
      show(rows.positions.indexOf(Number(position)), position);
      byId("projection").scrollIntoView();
    });
  }
  return { select, pin, showTip, csvText };
})();
