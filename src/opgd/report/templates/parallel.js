// Parallel coordinates of axes or columns; a drag along a coordinate selects rows.
report.parallel = (() => {
  const { byId, rows, style, shortText, formatNumber } = report;
  if (!byId("parallel-plot")) return null;
  const { state } = rows, MAX_LINES = 1200;
  const FEW_VALUES = 10, MISSING = -0.1; // height of missing cells, below the smallest value
  let brushes = new Map(), focus = 0, isBrushing = false;
  const shown = () => {
    const list = byId("parallel-kind").value === "axes" ? rows.axes : rows.columns;
    return list.slice(0, byId("parallel-plot").clientWidth < 520 ? 5 : 9);
  };
  // The range of the values inside the frame (extreme values leave the plot), whether there are few different values,
  // whose lines are spread, and whether cells are missing.
  const scales = new Map();
  function scaleOf(quantity) {
    if (!scales.has(quantity)) {
      const numbers = quantity.numbers(), [low, high] = rows.rangeOf(numbers), { frame } = quantity;
      const range = high > low ? [Math.max(low, frame[0]), Math.min(high, frame[1])] : frame, values = new Set();
      for (const value of numbers) if (value === value && values.size <= FEW_VALUES) values.add(value);
      scales.set(quantity, { range, jitter: values.size <= FEW_VALUES ? 0.07 : 0, missing: numbers.some((value) => value !== value) });
    }
    return scales.get(quantity);
  }
  const share = (quantity, i) => {
    const { range: [low, high], jitter } = scaleOf(quantity), value = quantity.numbers()[i];
    return value === value ? (value - low) / (high - low) + jitter * rows.spread(i) : MISSING + 0.03 * rows.spread(i);
  };
  const anyMissing = () => shown().some((quantity) => scaleOf(quantity).missing);
  const placeOf = (k, count, s) => s.left + (count > 1 ? (k / (count - 1)) * s.width : s.width / 2);

  // At most `most` rows of a list, evenly spaced.
  function thin(list, most) {
    const step = Math.max(1, list.length / most);
    return Array.from({ length: Math.min(list.length, most) }, (_, k) => list[Math.floor(k * step)]);
  }
  function drawLines(pen, s, keep, opacity, width) {
    const quantities = shown();
    const parts = rows.visibleParts(), total = parts.reduce((sum, part) => sum + part.rows.length, 0) || 1;
    for (const part of parts) {
      const members = keep ? part.rows.filter(keep) : part.rows, quota = Math.max(20, Math.ceil((MAX_LINES * part.rows.length) / total));
      const { color } = rows.partStyle(state.coloring, part.code);
      for (const i of thin(members, keep ? MAX_LINES : quota)) {
        pen.path(quantities.map((quantity, k) => [placeOf(k, quantities.length, s), s.y(share(quantity, i))]), { stroke: color, width, opacity });
      }
    }
  }

  const chart = report.makeChart(byId("parallel-plot"), {
    top: 40, bottom: 26, left: 44, right: 44, touch: "pan-y",
    home: () => [0, 1, anyMissing() ? MISSING - 0.04 : -0.04, 1.04],
    paint(pen, s) {
      const any = state.selected.size > 0;
      drawLines(pen, s, any ? (i) => !state.selected.has(i) : null, any ? 0.05 : rows.n > 400 ? 0.22 : 0.45, 1);
      if (any) drawLines(pen, s, (i) => state.selected.has(i), state.selected.size > 200 ? 0.5 : 0.85, 1.3);
      if (state.marked !== null) pen.path(shown().map((quantity, k) => [placeOf(k, shown().length, s), s.y(share(quantity, state.marked))]), { stroke: style("--ink"), width: 2.6 });
    },
    over(pen, s) {
      const quantities = shown(), room = s.width / Math.max(1, quantities.length - 1);
      quantities.forEach((quantity, k) => {
        const { range: [low, high], missing } = scaleOf(quantity), active = document.activeElement === byId("parallel-plot") && k === focus;
        const x = placeOf(k, quantities.length, s), side = k === quantities.length - 1 ? -6 : 6;
        pen.path([[x, s.y(1)], [x, s.y(0)]], { stroke: style(active ? "--accent" : "--soft"), width: active ? 2.4 : 1.2 });
        const end = k === 0 ? "start" : k === quantities.length - 1 ? "end" : "middle";
        const longest = Math.max(6, Math.floor((Math.min(room, 190) * (end === "middle" ? 1 : 0.8)) / 8.8));
        pen.text(end === "middle" ? x : end === "start" ? 2 : s.left + s.width + 42, s.top - 28, shortText(quantity.kind === "axis" ? quantity.name.replace(/ \(.*$/, "") : quantity.name, longest), { color: style("--ink"), size: 12, weight: 600, anchor: end });
        pen.text(x, s.top - 11, formatNumber(high, 3), { color: style("--soft"), size: 11 });
        if (!missing) pen.text(x, s.y(0) + 14, formatNumber(low, 3), { color: style("--soft"), size: 11 });
        else {
          pen.text(x + side, s.y(0) + 3, formatNumber(low, 3), { color: style("--soft"), size: 11, anchor: side < 0 ? "end" : "start", halo: style("--card") });
          pen.text(x, s.y(MISSING) + 14, "missing", { color: style("--soft"), size: 11 });
        }
        const brush = brushes.get(quantity);
        if (brush) pen.path([[x - 8, s.y(brush[0])], [x + 8, s.y(brush[0])], [x + 8, s.y(brush[1])], [x - 8, s.y(brush[1])]], { fill: style("--veil"), stroke: style("--accent"), width: 1.5, close: true });
      });
    },
    legend: rows.legendEntries,
    onDrag(at, s) {
      const quantities = shown();
      const near = quantities.map((_, k) => Math.abs(placeOf(k, quantities.length, s) - at[0])), k = near.indexOf(Math.min(...near));
      if (near[k] > 24) return { move() {} };
      const limit = (py) => Math.max(0, Math.min(1, s.fromY(py))), start = limit(at[1]);
      focus = k;
      let moved = false;
      return {
        move(to) {
          moved = true;
          brushes.set(quantities[k], [start, limit(to[1])].sort((a, b) => a - b));
          chart.drawSoon();
        },
        end() {
          if (!moved) brushes.delete(quantities[k]);
          applyBrushes();
        },
      };
    },
    onKey(event) {
      const quantities = shown(), quantity = quantities[Math.min(focus, quantities.length - 1)];
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") focus = (focus + (event.key === "ArrowLeft" ? quantities.length - 1 : 1)) % quantities.length;
      else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
        const up = event.key === "ArrowUp", [low] = brushes.get(quantity) ?? [up ? 0.65 : 0.1];
        const next = Math.max(0, Math.min(0.75, low + (up ? 0.1 : -0.1)));
        brushes.set(quantity, [next, next + 0.25]);
        applyBrushes();
      } else if (event.key === "Escape") { brushes.clear(); applyBrushes(); } else return false;
      chart.drawSoon();
      return true;
    },
  });

  function applyBrushes() {
    isBrushing = true;
    const tests = [...brushes].map(([quantity, [low, high]]) => (i) => {
      const value = share(quantity, i);
      if (value <= MISSING / 2) return false; // missing
      return (value >= low || low < 0.001) && (value <= high || high > 0.999); // ranges that end at the border are open
    });
    report.selection.select(tests.length ? rows.visibleParts().flatMap((part) => [...part.rows].filter((i) => tests.every((test) => test(i)))) : []);
    isBrushing = false;
  }
  byId("parallel-kind").addEventListener("change", () => { brushes.clear(); chart.drawSoon(); });
  byId("parallel-plot").addEventListener("focus", chart.drawSoon);
  byId("parallel-plot").addEventListener("blur", chart.drawSoon);
  rows.onChange((what) => { if (what === "selected" && !isBrushing) brushes.clear(); chart.drawSoon(); });
  return { chart };
})();
