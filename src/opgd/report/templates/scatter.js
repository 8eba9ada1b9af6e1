// The scatter plot: any two quantities, any coloring, and a legend of buttons.
report.scatter = (() => {
  const { byId, element, rows, plotlyText, shortText, data } = report;
  const plot = byId("plot");
  const coordinates = [...rows.axes, ...rows.pca, ...rows.columns];
  const colorings = [...rows.groupings, ...rows.values, ...rows.columns];
  const state = { x: 0, y: 1, coloring: colorings[0], shown: null, selected: new Set(), marked: null, parts: [] };
  const ELLIPSE = 2.145966; // Mahalanobis radius that contains 90% of a Gaussian in two dimensions

  function fillSelect(select, quantities, labels) {
    const groups = {};
    quantities.forEach((quantity, i) => {
      const label = labels[quantity.kind];
      groups[label] ??= select.appendChild(element("optgroup", undefined, { label }));
      groups[label].appendChild(element("option", shortText(quantity.name, 60), { value: i }));
    });
  }
  const headings = { axis: "Axes", pca: "Principal components", column: "Columns" };
  fillSelect(byId("x"), coordinates, headings);
  fillSelect(byId("y"), coordinates, headings);
  fillSelect(byId("color"), colorings, { groups: "Groups", value: "Model output", column: "Columns" });
  byId("x").value = state.x;
  byId("y").value = state.y = Math.min(1, coordinates.length - 1);

  function ellipses() {
    const [x, y] = [coordinates[state.x], coordinates[state.y]];
    if (!byId("ellipses").checked || !data.gaussians || x.kind !== "axis" || y.kind !== "axis" || x === y) return [];
    const { means, covariances, groups } = data.gaussians;
    const byGroup = ["class", "predicted class", "cluster", "cluster at the start"].includes(state.coloring.name);
    return means.flatMap((mean, g) => {
      if (byGroup && state.shown && !state.shown.has(groups[g])) return [];
      const [a, b, c] = [[state.x, state.x], [state.x, state.y], [state.y, state.y]].map(([i, j]) => covariances[g][i][j]);
      const [p, q] = [Math.sqrt(a), b / Math.sqrt(a)]; // Cholesky
      const r = Math.sqrt(Math.max(0, c - q * q));
      const turn = Array.from({ length: 97 }, (_, k) => (2 * Math.PI * k) / 96);
      const color = byGroup ? rows.styleOf(state.coloring, groups[g]).color : report.style("--soft");
      return [{
        type: "scatter", mode: "lines", hoverinfo: "skip", line: { color, width: 1.8 },
        x: turn.map((t) => mean[state.x] + ELLIPSE * p * Math.cos(t)),
        y: turn.map((t) => mean[state.y] + ELLIPSE * (q * Math.cos(t) + r * Math.sin(t))),
      }];
    });
  }

  function mark() {
    if (state.marked === null) return [];
    const [x, y] = [coordinates[state.x].numbers(), coordinates[state.y].numbers()];
    const ring = { size: 17, symbol: "circle-open", color: report.style("--ink"), line: { width: 2.5 } };
    return [{ type: "scatter", mode: "markers", hoverinfo: "skip", x: [x[state.marked]], y: [y[state.marked]], marker: ring }];
  }

  function draw() {
    const [x, y] = [coordinates[state.x], coordinates[state.y]];
    state.parts = rows.parts(state.coloring, state.shown);
    const traces = state.parts.map((part) => rows.trace(part, state.coloring, x.numbers(), y.numbers()));
    if (state.selected.size) {
      traces.forEach((trace, k) => {
        trace.selectedpoints = [];
        state.parts[k].rows.forEach((row, i) => { if (state.selected.has(row)) trace.selectedpoints.push(i); });
      });
    }
    const layout = report.layout();
    const longest = plot.clientWidth < 500 ? 34 : 70;
    layout.xaxis.title = { text: plotlyText(x.name, longest) };
    layout.yaxis.title = { text: plotlyText(y.name, longest) };
    layout.dragmode = document.querySelector("input[name=tool]:checked").value;
    layout.uirevision = `${state.x}/${state.y}`;
    return Plotly.react(plot, [...traces, ...ellipses(), ...mark()], layout, report.config);
  }

  function swatch({ color, symbol }) {
    // the symbols of the plot as SVG paths in a box from -1 to 1
    const shapes = {
      circle: "M-.8 0a.8 .8 0 1 0 1.6 0a.8 .8 0 1 0 -1.6 0", square: "M-.75-.75h1.5v1.5h-1.5z", diamond: "M0-1L.9 0L0 1L-.9 0z",
      "triangle-up": "M0-.9L.9 .7H-.9z", "triangle-down": "M0 .9L.9-.7H-.9z", "triangle-left": "M-.9 0L.7 .9V-.9z", "triangle-right": "M.9 0L-.7 .9V-.9z",
      cross: "M-.3-.9h.6v.6h.6v.6h-.6v.6h-.6v-.6h-.6v-.6h.6z", x: "M-.85-.5L-.5-.85L0-.35L.5-.85L.85-.5L.35 0L.85 .5L.5 .85L0 .35L-.5 .85L-.85 .5L-.35 0z",
      star: "M0-1L.25-.3L.95-.3L.4 .12L.6 .8L0 .4L-.6 .8L-.4 .12L-.95-.3L-.25-.3z", pentagon: "M0-.9L.86-.28L.53 .73H-.53L-.86-.28z",
    };
    const make = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
    const [svg, path] = [make("svg"), make("path")];
    const open = symbol.endsWith("-open");
    for (const [key, value] of Object.entries({ viewBox: "-1.2 -1.2 2.4 2.4", width: 13, height: 13, "aria-hidden": "true" })) svg.setAttribute(key, value);
    path.setAttribute("d", shapes[symbol.replace("-open", "")]);
    path.setAttribute("fill", open ? "none" : color);
    if (open) { path.setAttribute("stroke", color); path.setAttribute("stroke-width", ".25"); }
    svg.appendChild(path);
    return svg;
  }

  function drawLegend() {
    const legend = byId("legend");
    legend.replaceChildren();
    legend.hidden = state.coloring.kind !== "groups";
    if (legend.hidden) return;
    for (const [code, count] of rows.groupsOf(state.coloring)) {
      const name = rows.groupName(state.coloring, code);
      const button = element("button", undefined, { type: "button", title: shortText(name, 400), "data-code": code });
      button.setAttribute("aria-pressed", String(!state.shown || state.shown.has(code)));
      button.append(swatch(rows.styleOf(state.coloring, code)), element("bdi", shortText(name, 60)), element("small", count.toLocaleString("en")));
      button.addEventListener("click", (event) => toggleGroup(code, event.shiftKey));
      legend.appendChild(button);
    }
  }

  function toggleGroup(code, add) {
    const alone = state.shown?.size === 1 && state.shown.has(code);
    if (add && state.shown && !alone) {
      if (!state.shown.delete(code)) state.shown.add(code);
      if (!state.shown.size) state.shown = null;
    } else state.shown = alone ? null : new Set([code]);
    for (const button of byId("legend").children) {
      button.setAttribute("aria-pressed", String(!state.shown || state.shown.has(Number(button.dataset.code))));
    }
    drawAll();
  }

  const listeners = [];
  function drawAll() {
    draw();
    for (const listener of listeners) listener();
  }

  for (const key of ["x", "y"]) byId(key).addEventListener("change", () => { state[key] = Number(byId(key).value); draw(); });
  byId("color").addEventListener("change", () => {
    state.coloring = colorings[Number(byId("color").value)];
    state.shown = null;
    drawLegend();
    drawAll();
  });
  byId("ellipses").addEventListener("change", draw);
  byId("tools").addEventListener("change", (event) => Plotly.relayout(plot, { dragmode: event.target.value }));
  byId("reset").addEventListener("click", () => Plotly.relayout(plot, { "xaxis.autorange": true, "yaxis.autorange": true }));
  byId("picture").addEventListener("click", () => Plotly.downloadImage(plot, { format: "png", filename: "projection", width: 1200, height: 900, scale: 2 }));

  function start() {
    drawLegend();
    report.onTheme(() => { drawLegend(); draw(); });
    return draw();
  }
  return { state, plot, draw, start, coordinates, onChange: (listener) => listeners.push(listener) };
})();
