// Parallel coordinates of axes or columns; a drag along a coordinate selects rows.
report.parallel = (() => {
  const { byId, rows, style, shortText, formatNumber } = report;
  if (!byId("parallel-plot")) return null;
  const { state } = rows, MAX_LINES = 1200;
  let brushes = new Map(), focus = 0, own = false;
  const shown = () => {
    const list = byId("parallel-kind").value === "axes" ? rows.axes : rows.columns;
    return list.slice(0, byId("parallel-plot").clientWidth < 520 ? 5 : 9);
  };
  const ranges = new Map(); // of the values inside the frame; extreme values leave the plot
  function rangeOf(quantity) {
    if (!ranges.has(quantity)) {
      const [low, high] = rows.rangeOf(quantity.complete()), { frame } = quantity;
      ranges.set(quantity, high > low ? [Math.max(low, frame[0]), Math.min(high, frame[1])] : frame);
    }
    return ranges.get(quantity);
  }
  const share = (quantity, i) => {
    const [low, high] = rangeOf(quantity);
    return (quantity.complete()[i] - low) / (high - low);
  };
  const placeOf = (k, count, s) => s.left + (count > 1 ? (k / (count - 1)) * s.width : s.width / 2);

  // At most MAX_LINES rows of a list, evenly spaced.
  function thin(list) {
    const step = Math.max(1, list.length / MAX_LINES);
    return Array.from({ length: Math.min(list.length, MAX_LINES) }, (_, k) => list[Math.floor(k * step)]);
  }
  function drawLines(pen, s, keep, opacity, width) {
    const quantities = shown();
    const parts = rows.visibleParts(), total = parts.reduce((sum, part) => sum + part.rows.length, 0) || 1;
    for (const part of parts) {
      const members = keep ? part.rows.filter(keep) : part.rows, quota = Math.max(20, Math.ceil((MAX_LINES * part.rows.length) / total));
      const { color } = rows.partStyle(state.coloring, part.code);
      for (const i of thin(members).slice(0, keep ? MAX_LINES : quota)) {
        pen.path(quantities.map((quantity, k) => [placeOf(k, quantities.length, s), s.y(share(quantity, i))]), { stroke: color, width, opacity });
      }
    }
  }

  const chart = report.makeChart(byId("parallel-plot"), {
    top: 40, bottom: 26, left: 44, right: 44, touch: "pan-y",
    home: () => [0, 1, 0, 1],
    paint(pen, s) {
      const any = state.selected.size > 0;
      drawLines(pen, s, any ? (i) => !state.selected.has(i) : null, any ? 0.05 : rows.n > 400 ? 0.22 : 0.45, 1);
      if (any) drawLines(pen, s, (i) => state.selected.has(i), state.selected.size > 200 ? 0.5 : 0.85, 1.3);
      if (state.marked !== null) pen.path(shown().map((quantity, k) => [placeOf(k, shown().length, s), s.y(share(quantity, state.marked))]), { stroke: style("--ink"), width: 2.6 });
    },
    over(pen, s) {
      const quantities = shown(), room = s.width / Math.max(1, quantities.length - 1);
      quantities.forEach((quantity, k) => {
        const x = placeOf(k, quantities.length, s), [low, high] = rangeOf(quantity), active = document.activeElement === byId("parallel-plot") && k === focus;
        pen.path([[x, s.top], [x, s.top + s.height]], { stroke: style(active ? "--accent" : "--soft"), width: active ? 2.4 : 1.2 });
        const end = k === 0 ? "start" : k === quantities.length - 1 ? "end" : "middle";
        const longest = Math.max(6, Math.floor((Math.min(room, 190) * (end === "middle" ? 1 : 0.8)) / 8.8));
        pen.text(end === "middle" ? x : end === "start" ? 2 : s.left + s.width + 42, s.top - 28, shortText(quantity.kind === "axis" ? quantity.name.replace(/ \(.*$/, "") : quantity.name, longest), { color: style("--ink"), size: 12, weight: 600, anchor: end });
        pen.text(x, s.top - 11, formatNumber(high), { color: style("--soft"), size: 11 });
        pen.text(x, s.top + s.height + 13, formatNumber(low), { color: style("--soft"), size: 11 });
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
    own = true;
    const tests = [...brushes].map(([quantity, [low, high]]) => (i) => {
      const value = share(quantity, i);
      return (value >= low || low < 0.001) && (value <= high || high > 0.999); // ranges that end at the border are open
    });
    report.selection.select(tests.length ? rows.visibleParts().flatMap((part) => [...part.rows].filter((i) => tests.every((test) => test(i)))) : []);
    own = false;
  }
  byId("parallel-kind").addEventListener("change", () => { brushes.clear(); chart.drawSoon(); });
  byId("parallel-plot").addEventListener("focus", chart.drawSoon);
  byId("parallel-plot").addEventListener("blur", chart.drawSoon);
  rows.onChange((what) => { if (what === "selected" && !own) brushes.clear(); chart.drawSoon(); });
  return { chart, brushes: () => brushes };
})();
