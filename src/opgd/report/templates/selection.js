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

  // Values of a row, or a message: above the plot if `origin` is the control that asked for it, otherwise below.
  function showDetails(content, origin = null) {
    const details = byId("details"), plot = byId("plot");
    details.classList.toggle("top", origin !== null);
    if (origin) plot.before(details);
    else document.querySelector(".selection").after(details);
    details.replaceChildren(...content);
    details.hidden = false;
  }
  function pin(row, origin = null) {
    const pairs = element("dl"), head = element("div", undefined, { class: "details-head" });
    const limit = origin && innerWidth < 640 ? 8 : PINNED_COLUMNS; // the plot should not be far below
    for (const [key, value] of rows.facts(row, limit).slice(1)) appendPair(pairs.appendChild(element("div")), key, value);
    head.append(element("h3", `Row ${shortText(rows.name(row))}`), ...(origin && !byId("projection").contains(origin) ? [makeBack(origin)] : []));
    const rest = rows.cells.length > limit ? [element("p", `${limit} of ${rows.cells.length} columns, those with the largest loadings.`, { class: "note" })] : [];
    showDetails([head, pairs, ...rest], origin);
    rows.change("marked", { marked: row });
  }
  // A button that leads back to the list, and to the control in it.
  function makeBack(origin) {
    const section = origin.closest("section");
    const button = element("button", `Back to ${section?.querySelector("h2")?.textContent.toLowerCase() ?? "the list"}`, { type: "button", id: "details-back" });
    button.addEventListener("click", () => {
      const same = [...(section?.querySelectorAll("button.link") ?? [])].find((other) => other.textContent === origin.textContent);
      const target = origin.isConnected ? origin : same ?? section; // tables are made again when a row is marked
      target.scrollIntoView({ block: "center", behavior: "instant" });
      target.focus({ preventScroll: true });
    });
    return button;
  }
  // Show a row above the plot, and scroll there.
  function visit(row, origin, wanted) {
    if (row >= 0) pin(row, origin);
    else showDetails([element("p", `Row ${shortText(wanted)} is not among the ${rows.n.toLocaleString("en")} rows shown.`)], origin);
    if (!byId("projection").contains(origin)) {
      byId("details").scrollIntoView({ block: "start" });
      byId("details-back")?.focus({ preventScroll: true });
    }
  }

  function find(text) {
    const wanted = String(text).trim();
    if (!wanted) return;
    let row = 0;
    while (row < rows.n && rows.name(row) !== wanted) row += 1;
    visit(row < rows.n ? row : -1, byId("find"), wanted);
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

  // Rows as CSV with the columns of the table; `notes` has a text for each of the rows, such as why it is listed.
  function csv(indices, notes = null) {
    const header = ["row", ...(report.data.names ? ["name"] : []), ...(notes ? ["reason"] : []), ...rows.groupings.map(({ name }) => name), ...rows.values.map(({ name }) => name), ...rows.cells.map(({ name }) => name)];
    const lines = indices.map((row, k) => [
      rows.position(row),
      ...(report.data.names ? [csvText(report.data.names[row])] : []),
      ...(notes ? [csvText(notes[k])] : []),
      ...rows.groupings.map(({ codes, names }) => (codes[row] < 0 ? "" : csvText(names[codes[row]]))),
      ...rows.values.map(({ numbers }) => Number(numbers()[row].toPrecision(6))),
      ...rows.cells.map(({ plain }) => csvCell(plain(row))),
    ].join(","));
    return [header.map(csvText).join(","), ...lines].join("\r\n") + "\r\n";
  }
  const PLAIN_NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i; // is not a formula
  const csvCell = (value) => (value === null ? "" : PLAIN_NUMBER.test(value) ? String(value) : csvText(value));
  const saveRows = (name, text) => report.saveFile(name, new Blob([text], { type: "text/csv;charset=utf-8" }));
  function saveListed(button) {
    const listed = [...document.querySelectorAll(`#${button.dataset.csv} [data-row]`)].map((link) => [rows.positions.indexOf(Number(link.dataset.row)), link.closest("tr").querySelector(".reason")?.textContent ?? ""]);
    const drawn = listed.filter(([row]) => row >= 0);
    saveRows(`${button.dataset.csv}.csv`, csv(drawn.map(([row]) => row), drawn.map(([, reason]) => reason)));
  }

  byId("selected").textContent = NOTHING;
  byId("clear").addEventListener("click", () => select([]));
  byId("select-shown").addEventListener("click", () => select(rows.visibleParts().flatMap((part) => [...part.rows])));
  byId("download").addEventListener("click", () => saveRows("selected_rows.csv", csv([...state.selected].sort((a, b) => a - b))));
  byId("find").addEventListener("change", () => find(byId("find").value));
  for (const button of document.querySelectorAll("[data-row]")) {
    const position = button.dataset.row; // names of rows may be other numbers
    button.addEventListener("click", () => visit(rows.positions.indexOf(Number(position)), button, button.textContent));
  }
  for (const button of document.querySelectorAll("[data-csv]")) button.addEventListener("click", () => saveListed(button));
  return { select, pin, visit, showTip, csvText };
})();
