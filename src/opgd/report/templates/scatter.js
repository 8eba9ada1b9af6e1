// The scatter plot of any two quantities, with ellipses of the Gaussians.
report.scatter = (() => {
  const { byId, element, rows, shortText, data, style } = report;
  const { state } = rows;
  const coordinates = [...rows.axes, ...rows.pca, ...rows.columns, rows.strip];
  const place = { x: 0, y: rows.axes.length > 1 ? 1 : coordinates.length - 1 };
  let xs = new Float64Array(rows.n), ys = new Float64Array(rows.n), showAll = false;
  const at = (key) => coordinates[place[key]];

  function fillSelect(select, quantities, labels) {
    const groups = {};
    quantities.forEach((quantity, i) => {
      const label = labels[quantity.kind];
      groups[label] ??= select.appendChild(element("optgroup", undefined, { label }));
      groups[label].appendChild(element("option", shortText(quantity.name, 60), { value: i }));
    });
  }
  const headings = { axis: "Axes", pca: "Principal components", column: "Columns", strip: "Strips" };
  fillSelect(byId("x"), coordinates.slice(0, -1), headings);
  fillSelect(byId("y"), coordinates, headings);
  fillSelect(byId("color"), rows.colorings, { groups: "Groups", value: "Model output", column: "Columns" });

  const usesModelGroups = () => ["class", "predicted class", "cluster", "initial cluster"].includes(state.coloring.name);
  const outlineStyle = (group) => (usesModelGroups() ? rows.styleOf(state.coloring, group).color : style("--soft"));
  const isShown = (group) => !usesModelGroups() || !state.shown || state.shown.has(group);

  function drawEllipses(pen, s) {
    if (!byId("ellipses").checked || !data.gaussians || at("x").kind !== "axis" || place.x === place.y) return;
    const { means, covariances, groups, radius, reach } = data.gaussians, { x, y } = place;
    means.forEach((mean, g) => {
      if (!isShown(groups[g])) return;
      const paths = { stroke: outlineStyle(groups[g]), ...(means.length > 12 ? { width: 1.2, opacity: 0.75 } : { width: 1.8 }) };
      if (at("y").kind === "axis") {
        const [a, b, c] = [covariances[g][x][x], covariances[g][x][y], covariances[g][y][y]];
        const [p, q] = [Math.sqrt(a), b / Math.sqrt(a)]; // Cholesky
        const r = Math.sqrt(Math.max(0, c - q * q));
        pen.path(Array.from({ length: 96 }, (_, k) => (2 * Math.PI * k) / 96).map((t) => [
          s.x(mean[x] + radius * p * Math.cos(t)), s.y(mean[y] + radius * (q * Math.cos(t) + r * Math.sin(t))),
        ]), { ...paths, close: true });
      } else if (at("y").kind === "strip") { // the density above the strip of its group
        const foot = data.groupings[0].names.length - groups[g] + 0.3, deviation = Math.sqrt(covariances[g][x][x]);
        const tallest = Math.min(...covariances.map((covariance) => Math.sqrt(covariance[x][x])));
        pen.path(Array.from({ length: 121 }, (_, k) => ((k - 60) / 60) * reach).map((z) => [
          s.x(mean[x] + z * deviation), s.y(foot + 0.4 * (tallest / deviation) * Math.exp((-z * z) / 2)),
        ]), paths);
      }
    });
  }

  // Names of the groups at the centers of their ellipses; a name that would cover another one moves up or down.
  function drawNames(pen, s) {
    if (!byId("ellipses").checked || !data.gaussians || at("x").kind !== "axis" || at("y").kind !== "axis" || place.x === place.y || !usesModelGroups()) return;
    const { means, groups } = data.gaussians, names = data.groupings[0].names, taken = [];
    means.forEach((mean, g) => {
      if (!isShown(groups[g]) || groups.indexOf(groups[g]) !== g) return; // at the first Gaussian of a group
      const text = shortText(names[groups[g]].replace(/^cluster /, ""), 18), width = report.draw.measure(text, 12, 650), x = s.x(mean[place.x]), y = s.y(mean[place.y]);
      const free = [0, 14, -14, 28, -28, 42, -42].find((step) => !taken.some(([u, v, w]) => Math.abs(u - x) < (w + width) / 2 + 3 && Math.abs(v - y - step) < 14));
      if (free === undefined || x < s.left || x > s.left + s.width) return;
      taken.push([x, y + free, width]);
      if (Math.abs(free) > 14) pen.path([[x, y], [x, y + free]], { stroke: style("--ink"), width: 0.8, opacity: 0.6 });
      pen.text(x, y + free, text, { color: style("--ink"), weight: 650, halo: style("--card") });
    });
  }

  const full = (quantity) => {
    const [low, high] = quantity.kind === "strip" ? quantity.frame : rows.rangeOf(quantity.numbers());
    const room = quantity.kind === "strip" ? 0 : 0.05 * (high - low || 1);
    return [low - room, high + room];
  };
  const home = () => ["x", "y"].flatMap((key) => (showAll || !at(key).frame ? full(at(key)) : at(key).frame));

  function locate(s) {
    const [x, y] = [at("x").numbers(), at("y").numbers()];
    for (let i = 0; i < rows.n; i++) { xs[i] = s.x(x[i]); ys[i] = s.y(y[i]); }
  }

  const isInside = (i, s) => xs[i] >= s.left && xs[i] <= s.left + s.width && ys[i] >= s.top && ys[i] <= s.top + s.height;
  function countOutside(s) {
    let count = 0;
    for (const part of rows.visibleParts()) {
      for (const i of part.rows) if (!isInside(i, s) && Number.isFinite(xs[i] + ys[i])) count += 1;
    }
    return count;
  }

  const chart = report.makeChart(byId("plot"), {
    home,
    mode: () => document.querySelector("input[name=tool]:checked").value,
    xAxis: () => ({ title: at("x").name }),
    yAxis: () => (at("y").kind === "strip" ? { ticks: rows.strip.ticks } : { title: at("y").name }),
    colorbar: rows.colorbar,
    legend: rows.legendEntries,
    paint(pen, s) {
      locate(s);
      rows.paint(pen, xs, ys);
      drawEllipses(pen, s);
      drawNames(pen, s);
      const outside = countOutside(s);
      byId("outside").hidden = !outside;
      byId("outside-count").textContent = `${outside.toLocaleString("en")} ${outside === 1 ? "point is" : "points are"} outside the frame.`;
    },
    pick: (at) => rows.nearest(xs, ys, at),
    onHover: (row, event) => report.selection.showTip(row, event),
    onClick: (row) => { if (row !== null) report.selection.pin(row); },
    onRegion(contains) {
      report.selection.select(rows.visibleParts().flatMap((part) => [...part.rows].filter((i) => contains(xs[i], ys[i]))));
    },
  });

  function setCoordinate(key, number) {
    place[key] = number;
    byId(key).value = number;
    showAll = false;
    chart.setView(null);
  }
  for (const key of ["x", "y"]) {
    byId(key).value = place[key];
    byId(key).addEventListener("change", () => setCoordinate(key, Number(byId(key).value)));
  }
  byId("color").addEventListener("change", () => rows.change("coloring", { coloring: rows.colorings[Number(byId("color").value)], shown: null }));
  byId("ellipses").addEventListener("change", chart.drawSoon);
  byId("tools").addEventListener("change", chart.updateTouch);
  byId("reset").addEventListener("click", () => { showAll = false; chart.setView(null); });
  byId("show-all").addEventListener("click", () => { showAll = true; chart.setView(null); });
  rows.onChange(chart.drawSoon);
  return { chart, place, coordinates, pixels: () => [xs, ys] };
})();
