// Quantities, groups and names of the rows, and the plotly traces that draw them.
report.rows = (() => {
  const { data, unpack, lazyNumbers, formatNumber, shortText, style } = report;
  const n = data.n_drawn;
  const positions = unpack(data.rows);
  const quantity = (kind) => (packed) => ({ kind, name: packed.name, center: packed.center, numbers: lazyNumbers(packed) });
  const axes = data.axes.map(quantity("axis"));
  const pca = data.pca.map(quantity("pca"));
  const columns = data.columns.map(quantity("column"));
  const values = data.values.map(quantity("value"));
  const originals = data.originals.map(({ name, words, codes }) => ({ name, words, codes: unpack(codes) }));
  const groupings = data.groupings.map(({ name, names, codes }) => ({ kind: "groups", name, names, codes: unpack(codes) }));
  const size = Math.max(3.2, Math.min(9, 12.5 - 2 * Math.log10(n)));
  const growth = { star: 1.35, cross: 1.15, x: 1.1, diamond: 0.95, square: 0.9 };

  function groupStyle(code) {
    if (code < 0) return { color: style("--soft"), symbol: "circle-open" };
    const hollow = Math.floor(code / (data.colors.length * data.symbols.length)) % 2;
    const symbol = data.symbols[code % data.symbols.length];
    return { color: data.colors[code % data.colors.length], symbol: hollow ? symbol + "-open" : symbol };
  }

  // "correctness" has fixed colors and symbols
  const styleOf = (coloring, code) =>
    coloring.name === "correctness" && code >= 0
      ? { color: code ? "#bd1f01" : "#94a4a2", symbol: code ? "x" : "circle" }
      : groupStyle(code);

  const groupName = (coloring, code) => (code < 0 ? "no label" : coloring.names[code]);

  function groupsOf(coloring) {
    const counts = new Map();
    for (const code of coloring.codes) counts.set(code, (counts.get(code) ?? 0) + 1);
    return [...counts].sort((a, b) => (a[0] < 0) - (b[0] < 0) || a[0] - b[0]);
  }

  const pick = (numbers, rows) => Float64Array.from(rows, (i) => numbers[i]);

  // Split the rows into traces: one for each visible group, or a single one for a numeric coloring.
  function parts(coloring, shown) {
    if (coloring.kind !== "groups") return [{ code: null, rows: Int32Array.from({ length: n }, (_, i) => i) }];
    const rowsByCode = new Map(groupsOf(coloring).filter(([code]) => !shown || shown.has(code)).map(([code]) => [code, []]));
    coloring.codes.forEach((code, i) => rowsByCode.get(code)?.push(i));
    return [...rowsByCode].map(([code, rows]) => ({ code, rows })).sort((a, b) => b.rows.length - a.rows.length);
  }

  function trace(part, coloring, x, y) {
    const marker = { size, opacity: n > 5000 ? 0.65 : 0.85, line: { width: n > 5000 ? 0 : 0.6, color: style("--edge") } };
    if (part.code === null) {
      marker.color = pick(coloring.numbers(), part.rows);
      marker.colorscale = "Viridis";
      marker.showscale = true;
      marker.colorbar = { thickness: 12, len: 0.9, outlinewidth: 0, title: { text: report.plotlyText(coloring.name, 24), side: "right" } };
    } else {
      const { color, symbol } = styleOf(coloring, part.code);
      Object.assign(marker, { color, symbol, size: size * (growth[symbol] ?? 1) });
      if (symbol.endsWith("-open")) marker.line = { width: 1, color };
    }
    return {
      type: report.pointType, mode: "markers", x: pick(x, part.rows), y: pick(y, part.rows), marker, hoverinfo: "none",
      selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 0.12 } },
    };
  }

  const name = (i) => (data.names ? `${positions[i]} (${shortText(data.names[i], 40)})` : String(positions[i]));

  // Names and values that describe a row, as text; columns are sorted by loading, the largest first.
  // Columns of the table are shown as they were before the steps of a pipeline.
  function facts(i, maxColumns) {
    const pairs = [["row", name(i)]];
    for (const grouping of groupings) {
      if (grouping.name !== "correctness") pairs.push([grouping.name, groupName(grouping, grouping.codes[i])]);
    }
    const encoded = originals.length ? [] : columns.slice(0, maxColumns);
    for (const { name, numbers } of [...values, ...encoded]) pairs.push([name, formatNumber(numbers()[i])]);
    for (const { name, words, codes } of originals.slice(0, maxColumns)) pairs.push([name, codes[i] < 0 ? "missing" : words[codes[i]]]);
    return pairs;
  }

  return { n, positions, axes, pca, columns, values, groupings, groupsOf, groupName, styleOf, parts, trace, facts, name };
})();
