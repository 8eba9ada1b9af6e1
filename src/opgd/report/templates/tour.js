// The tour: at time t the points are pca A(t) + scores B(t), with the 2 x 2 matrices of inspection/tour.py.
report.tour = (() => {
  const { data, byId, rows } = report;
  const tour = data.tour;
  if (!tour) return null;
  const { state } = report.scatter;
  const plot = byId("tour-plot"), slider = byId("tour-slider");
  const times = (a, b) => a.map((row) => [0, 1].map((j) => row[0] * b[0][j] + row[1] * b[1][j]));

  function matrices(t) {
    const weights = (s) => tour.angles.map((angle) => (angle < 1e-6 ? s : Math.sin(s * angle) / Math.sin(angle)));
    const turn = (1 - t) * tour.turns[0] + t * tour.turns[1];
    const rotation = [[Math.cos(turn), Math.sin(turn)], [-Math.sin(turn), Math.cos(turn)]];
    const stretch = tour.stretch.map((row, i) => row.map((value, j) => (1 - t) * (i === j) + t * value));
    const inside = times(rotation, stretch);
    const along = (matrix, w) => times(matrix.map((row) => row.map((value, j) => value * w[j])), inside);
    return [along(tour.from_pca, weights(1 - t)), along(tour.from_scores, weights(t))];
  }

  function picture(t) {
    const [a, b] = matrices(t);
    const [p, q] = rows.pca.map(({ numbers }) => numbers());
    const [u, v] = rows.axes.slice(0, 2).map(({ numbers }) => numbers());
    const [cu, cv] = rows.axes.slice(0, 2).map(({ center }) => center);
    const x = new Float64Array(rows.n), y = new Float64Array(rows.n);
    for (let i = 0; i < rows.n; i++) {
      const du = u[i] - cu, dv = v[i] - cv;
      x[i] = p[i] * a[0][0] + q[i] * a[1][0] + du * b[0][0] + dv * b[1][0];
      y[i] = p[i] * a[0][1] + q[i] * a[1][1] + du * b[0][1] + dv * b[1][1];
    }
    return [x, y];
  }

  function draw() {
    const t = Number(slider.value);
    byId("tour-value").textContent = `${Math.round(100 * t)}%`;
    slider.setAttribute("aria-valuetext", `${Math.round(100 * t)}% of the way to the axes`);
    const [x, y] = picture(t);
    const traces = rows.parts(state.coloring, state.shown).map((part) => rows.trace(part, state.coloring, x, y));
    const layout = report.layout();
    const extent = (numbers) => {
      let [low, high] = [Infinity, -Infinity];
      for (const value of numbers) { low = Math.min(low, value); high = Math.max(high, value); }
      const room = 0.06 * (high - low || 1);
      return [low - room, high + room];
    };
    Object.assign(layout.xaxis, { range: extent(x), zeroline: false, title: { text: "" } });
    Object.assign(layout.yaxis, { range: extent(y), zeroline: false, scaleanchor: "x", title: { text: "" } });
    layout.dragmode = false;
    layout.margin = { l: 44, r: 12, t: 12, b: 32 };
    return Plotly.react(plot, traces, layout, report.config);
  }

  let scheduled = false;
  function drawSoon() {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => { scheduled = false; draw(); });
  }

  let playing = null;
  function stop() {
    playing = null;
    byId("play").textContent = "Play";
  }
  function play() {
    if (playing) return stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) { // switch between the two ends without animation
      slider.value = Number(slider.value) < 0.5 ? 1 : 0;
      return drawSoon();
    }
    const from = Number(slider.value) < 0.999 ? Number(slider.value) : 0;
    const animation = playing = { begin: performance.now() };
    byId("play").textContent = "Stop";
    const step = (now) => {
      if (playing !== animation) return;
      const position = Math.min(1, from + Math.max(0, now - animation.begin) / 4000);
      slider.value = position;
      draw();
      if (position < 1) requestAnimationFrame(step);
      else stop();
    };
    requestAnimationFrame(step);
  }
  slider.addEventListener("input", () => { stop(); drawSoon(); });
  byId("play").addEventListener("click", play);
  report.scatter.onChange(drawSoon);
  report.onTheme(drawSoon);
  return { draw, matrices, picture, plot };
})();

report.showTheme();
report.ready = report.scatter.start().then(() => {
  report.selection.listen();
  return report.tour?.draw();
}).then(() => { document.documentElement.dataset.ready = "true"; });
window.opgdReport = report;
