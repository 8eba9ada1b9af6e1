// Quantities, groups and names of the rows, and the state that all views share.
report.rows = (() => {
  const { data, unpack, lazyNumbers, formatNumber, formatProbability, style } = report;
  const n = data.n_drawn;
  const positions = unpack(data.rows);
  const quantity = (kind) => (packed) => {
    const { name, frame, missing } = packed, complete = lazyNumbers(packed);
    if (!missing) return { kind, name, frame, numbers: complete };
    let observed = null; // with NaN for cells that were missing
    const numbers = () => {
      if (observed === null) {
        observed = Float64Array.from(complete());
        for (const i of unpack(missing)) observed[i] = NaN;
      }
      return observed;
    };
    return { kind, name, frame, numbers };
  };
  const axes = data.axes.map(quantity("axis"));
  const pca = data.pca.map(quantity("pca"));
  const columns = data.columns.map(quantity("column"));
  const values = data.values.map(quantity("value"));
  const originals = data.originals.map(({ name, words, codes }) => ({ name, words, codes: unpack(codes) }));
  const groupings = data.groupings.map(({ name, names, codes }) => ({ kind: "groups", name, names, codes: unpack(codes) }));
  const radius = Math.max(1.7, Math.min(4.6, 6.4 - Math.log10(n)));

  // A number between -0.5 and 0.5 for each row, the same on every opening, that separates rows with equal values.
  const spread = (i) => ((positions[i] * 2654435761) >>> 0) / 4294967296 - 0.5;

  // Heights of strips, one for each group of the first grouping, with the rows spread inside.
  const strip = (() => {
    const { codes, names } = groupings[0];
    const hasUnknown = codes.some((code) => code < 0);
    const ticks = names.map((name, k) => [names.length - k, name]).concat(hasUnknown ? [[0, noName(groupings[0])]] : []);
    let heights = null;
    const numbers = () => (heights ??= Float64Array.from(codes, (code, i) => (code < 0 ? 0 : names.length - code) + 0.56 * spread(i)));
    return { kind: "strip", name: `by ${groupings[0].name}`, ticks, numbers, frame: [hasUnknown ? -0.6 : 0.4, names.length + 0.75] };
  })();

  function noName(coloring) { return coloring.name.endsWith("cluster") ? "noise" : "no label"; }
  function groupStyle(code) {
    if (code < 0) return { color: style("--soft"), symbol: "circle-open" };
    const { color, dark, symbol } = data.styles[code % data.styles.length];
    return { color: report.isDark() ? dark : color, symbol };
  }

  // "correctness" has fixed colors and symbols
  const styleOf = (coloring, code) =>
    coloring.name === "correctness" && code >= 0
      ? { color: code ? style("--warm") : "#94a4a2", symbol: code ? "x" : "circle" }
      : groupStyle(code);

  const groupName = (coloring, code) => (code < 0 ? noName(coloring) : coloring.names[code]);

  function groupsOf(coloring) {
    const counts = new Map();
    for (const code of coloring.codes) counts.set(code, (counts.get(code) ?? 0) + 1);
    return [...counts].sort((a, b) => (a[0] < 0) - (b[0] < 0) || a[0] - b[0]);
  }

  const COLOR_STEPS = 48, QUICK_ROWS = 6000;
  function rangeOf(numbers) {
    let [low, high] = [Infinity, -Infinity];
    for (const value of numbers) if (value === value) { if (value < low) low = value; if (value > high) high = value; }
    return low > high ? [0, 1] : [low, high];
  }

  // The range of colors: that of the values inside the frame, so that extreme values do not determine it.
  function colorRange({ numbers, frame }) {
    const [low, high] = rangeOf(numbers());
    return frame && high > frame[0] && low < frame[1] ? [Math.max(low, frame[0]), Math.min(high, frame[1])] : [low, high];
  }

  // Split the rows into parts with the same style: groups, or steps of a color scale. Small groups come last.
  const caches = new Map();
  function parts(coloring) {
    if (caches.has(coloring)) return caches.get(coloring);
    const byCode = new Map();
    const add = (code, i) => { if (!byCode.has(code)) byCode.set(code, []); byCode.get(code).push(i); };
    if (coloring.kind === "groups") coloring.codes.forEach((code, i) => add(code, i));
    else {
      const [low, high] = colorRange(coloring), step = (high - low || 1) / COLOR_STEPS;
      coloring.numbers().forEach((value, i) => add(value === value ? Math.max(0, Math.min(COLOR_STEPS - 1, Math.floor((value - low) / step))) : -1, i));
    }
    const found = [...byCode].map(([code, rows]) => ({ code, rows: Int32Array.from(rows) }));
    found.sort((a, b) => (coloring.kind === "groups" ? b.rows.length - a.rows.length : a.code - b.code));
    caches.set(coloring, found);
    return found;
  }
  function partStyle(coloring, code) {
    if (coloring.kind === "groups") return styleOf(coloring, code);
    return code < 0 ? { color: style("--soft"), symbol: "circle-open" } : { color: report.draw.viridis((code + 0.5) / COLOR_STEPS), symbol: "circle" };
  }

  // State of all views: the coloring, the groups shown, selected rows and the pinned row.
  const listeners = [];
  const colorings = [...groupings, ...values, ...columns];
  const state = { coloring: colorings[0], shown: null, selected: new Set(), marked: null };
  const change = (what, changes) => { Object.assign(state, changes); for (const listener of listeners) listener(what); };
  const onChange = (listener) => listeners.push(listener);
  const visibleParts = () => parts(state.coloring).filter(({ code }) => state.coloring.kind !== "groups" || !state.shown || state.shown.has(code));

  // The step between the rows that are drawn: larger while something moves.
  const quickStep = () => (report.isQuick ? Math.ceil(n / QUICK_ROWS) : 1);

  // Draw the visible rows at the given pixels; rows that are not selected are faint if some are.
  function paint(pen, xs, ys) {
    const opacity = n > 20000 ? 0.45 : n > 4000 ? 0.65 : 0.88, edge = n > 4000 ? null : style("--edge");
    const step = quickStep();
    const drawPart = (part, keep, alpha) => {
      let found = keep ? part.rows.filter(keep) : part.rows;
      if (step > 1) found = found.filter((_, k) => k % step === 0);
      if (found.length) pen.markers(xs, ys, found, { ...partStyle(state.coloring, part.code), radius, edge, opacity: alpha });
    };
    const any = state.selected.size > 0;
    for (const part of visibleParts()) drawPart(part, any ? (row) => !state.selected.has(row) : null, any ? 0.1 : opacity);
    if (any) for (const part of visibleParts()) drawPart(part, (row) => state.selected.has(row), 0.95);
    const i = state.marked;
    if (i !== null && Number.isFinite(xs[i] + ys[i])) {
      pen.path(Array.from({ length: 32 }, (_, k) => [xs[i] + 9 * Math.cos((k * Math.PI) / 16), ys[i] + 9 * Math.sin((k * Math.PI) / 16)]), { stroke: style("--ink"), width: 2.2, close: true });
    }
  }

  // The visible row nearest to a point, within 14 pixels.
  function nearest(xs, ys, [px, py]) {
    let best = 14 * 14, found = null;
    for (const { rows } of visibleParts()) {
      for (const i of rows) {
        const d = (xs[i] - px) ** 2 + (ys[i] - py) ** 2;
        if (d < best) { best = d; found = i; }
      }
    }
    return found;
  }

  const legendEntries = () =>
    state.coloring.kind !== "groups" ? [] : groupsOf(state.coloring).filter(([code]) => !state.shown || state.shown.has(code)).map(([code]) => ({ ...styleOf(state.coloring, code), name: groupName(state.coloring, code) }));
  const colorbar = () => {
    if (state.coloring.kind === "groups") return null;
    const [low, high] = colorRange(state.coloring);
    return { low, high, name: state.coloring.name };
  };

  // The position of a row in its table, which is the training or the test set, and its name there.
  const isTest = (i) => positions[i] >= data.n_train;
  const position = (i) => positions[i] - (isTest(i) ? data.n_train : 0);
  const name = (i) => (isTest(i) ? "test " : "") + (data.names ? data.names[i] : position(i));

  // Names and values that describe a row, as text; columns are sorted by loading, the largest first.
  // Columns of the table are shown as they were before the steps of a pipeline.
  function facts(i, maxColumns) {
    const pairs = [["row", name(i)]];
    for (const grouping of groupings) {
      if (grouping.name !== "correctness") pairs.push([grouping.name, groupName(grouping, grouping.codes[i])]);
    }
    for (const { name, numbers } of values) pairs.push([name, formatProbability(numbers()[i])]);
    for (const { name, text } of cells.slice(0, maxColumns)) pairs.push([name, text(i)]);
    return pairs;
  }
  // Numbers such as "€1,200.00" and "12%", NaN for other words.
  const parseNumber = (word) => (/\d/.test(word) ? Number(word.replace(/[€$£¥%,\s]/g, "")) : NaN);
  const wordCells = ({ name, words, codes }) => {
    const parsed = words.map(parseNumber), number = parsed.length > 0 && parsed.every((value) => value === value);
    const keys = number ? parsed : words;
    return { name, number, plain: (i) => (codes[i] < 0 ? null : words[codes[i]]), text: (i) => (codes[i] < 0 ? "missing" : words[codes[i]]), key: (i) => (codes[i] < 0 ? "" : keys[codes[i]]) };
  };
  const cells = originals.length
    ? originals.map(wordCells)
    : columns.map(({ name, numbers }) => ({ name, number: true, plain: (i) => (numbers()[i] === numbers()[i] ? Number(numbers()[i].toPrecision(7)) : null), text: (i) => formatNumber(numbers()[i]), key: (i) => numbers()[i] }));

  return {
    n, positions, axes, pca, columns, values, groupings, colorings, strip, cells, groupsOf, groupName, styleOf, rangeOf, parts, visibleParts, paint, nearest, legendEntries, colorbar,
    facts, name, position, state, change, onChange,
  };
})();
