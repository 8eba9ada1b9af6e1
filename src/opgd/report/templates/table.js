// The table of rows: sorted by any column, with the selection of the plots.
report.table = (() => {
  const { byId, rows, element, shortText, formatProbability } = report;
  if (!byId("rows-table")) return null;
  const { state } = rows, PAGE = 12, MAX_CELLS = 5;
  const first = [
    { name: "row", text: rows.name, key: (i) => rows.positions[i], row: true },
    ...rows.groupings.filter(({ name }) => name !== "correctness").map((grouping) => ({
      name: grouping.name, text: (i) => rows.groupName(grouping, grouping.codes[i]), key: (i) => grouping.codes[i],
    })),
    ...rows.values.map(({ name, numbers }) => ({ name, text: (i) => formatProbability(numbers()[i]), key: (i) => numbers()[i], number: true })),
  ];
  const columns = byId("rows-columns"), total = report.data.originals.length ? rows.cells.length : report.data.n_columns;
  columns.appendChild(element("option", `${Math.min(MAX_CELLS, rows.cells.length)} of ${total.toLocaleString("en")} with the largest loadings`, { value: MAX_CELLS }));
  if (rows.cells.length > MAX_CELLS) columns.appendChild(element("option", rows.cells.length < total ? `${rows.cells.length} of ${total.toLocaleString("en")}` : `all ${total}`, { value: rows.cells.length }));
  let fields;
  const setFields = () => { fields = [...first, ...rows.cells.slice(0, Number(columns.value))]; };
  setFields();
  let sorted = { field: 0, down: false }, page = 0, order = [];

  function compare(a, b) {
    const missing = (value) => value === "" || value !== value;
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  }
  function sortRows() {
    const only = byId("rows-selected").checked && state.selected.size > 0;
    const visible = only ? [...state.selected] : rows.visibleParts().flatMap((part) => [...part.rows]);
    const { key } = fields[sorted.field], sign = sorted.down ? -1 : 1;
    const keys = new Map(visible.map((i) => [i, key(i)]));
    order = visible.sort((a, b) => sign * compare(keys.get(a), keys.get(b)) || a - b);
    page = Math.max(0, Math.min(page, Math.ceil(order.length / PAGE) - 1));
  }

  function makeHead() {
    const line = element("tr");
    line.appendChild(element("th")).appendChild(element("span", "selected", { class: "hidden-text" }));
    fields.forEach((field, k) => {
      const head = line.appendChild(element("th", undefined, { scope: "col", ...(field.number ? { class: "num" } : {}) }));
      if (k === sorted.field) head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      const mark = k === sorted.field ? (sorted.down ? " ↓" : " ↑") : "";
      const button = head.appendChild(element("button", undefined, { type: "button", class: "sort", title: shortText(field.name, 400), "data-field": k }));
      button.append(element("bdi", shortText(field.name, 24)), mark);
      button.addEventListener("click", () => {
        sorted = { field: k, down: k === sorted.field ? !sorted.down : false };
        page = 0;
        update();
        byId("rows-table").querySelector(`[data-field="${k}"]`).focus();
      });
    });
    return line;
  }
  function makeLine(i) {
    const line = element("tr");
    if (state.marked === i) line.className = "chosen";
    const box = line.appendChild(element("td")).appendChild(element("input", undefined, { type: "checkbox", "aria-label": `Select row ${rows.name(i)}` }));
    box.checked = state.selected.has(i);
    box.addEventListener("change", () => {
      const selected = new Set(state.selected);
      if (!selected.delete(i)) selected.add(i);
      report.selection.select(selected);
    });
    for (const field of fields) {
      const cell = line.appendChild(element("td", undefined, field.number ? { class: "num" } : {}));
      if (!field.row) { cell.appendChild(element("bdi", shortText(field.text(i), 32))); continue; }
      const button = cell.appendChild(element("button", undefined, { type: "button", class: "link" }));
      button.appendChild(element("bdi", shortText(field.text(i), 32)));
      button.addEventListener("click", () => report.selection.visit(i, button));
    }
    return line;
  }
  function show() {
    byId("rows-table").tHead.replaceChildren(makeHead());
    byId("rows-table").tBodies[0].replaceChildren(...order.slice(page * PAGE, (page + 1) * PAGE).map(makeLine));
    const last = Math.min(order.length, (page + 1) * PAGE);
    byId("rows-count").textContent = order.length ? `${(page * PAGE + 1).toLocaleString("en")}–${last.toLocaleString("en")} of ${order.length.toLocaleString("en")} rows` : "No rows";
    byId("rows-back").disabled = page === 0;
    byId("rows-next").disabled = last >= order.length;
  }
  function update() { sortRows(); show(); }
  byId("rows-back").addEventListener("click", () => { page -= 1; show(); });
  byId("rows-next").addEventListener("click", () => { page += 1; show(); });
  columns.addEventListener("change", () => {
    setFields();
    if (sorted.field >= fields.length) sorted = { field: 0, down: false };
    update();
  });
  byId("rows-selected").addEventListener("change", () => { page = 0; update(); });
  rows.onChange((what) => {
    if (what === "coloring") return;
    if (what === "marked" && order.indexOf(state.marked) >= 0 && !byId("rows-table").contains(document.activeElement)) page = Math.floor(order.indexOf(state.marked) / PAGE);
    what === "shown" || what === "selected" ? update() : show();
  });
  update();
  return { getOrder: () => order };
})();
