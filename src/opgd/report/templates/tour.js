// The tour: projections Z F M of the standardized columns Z, with F (p x 2) orthonormal and M 2 x 2.
// Between two planes F follows the geodesic of their principal vectors; M rotates and stretches inside the plane, so that
// the planes of the model end at its scores. Dragging the arrow of a column rotates F in the span of the plane and the column.
report.tour = (() => {
  const { data, byId, rows, element, style, unpack, shortText } = report;
  const tour = data.tour;
  if (!tour || !byId("tour-plot")) return null;
  const MAX_ARROWS = 12, names = tour.names, p = names.length;
  const members = tour.rows ? unpack(tour.rows) : Int32Array.from({ length: rows.n }, (_, i) => i);
  let standardized = null; // p arrays of values at the rows of the tour
  function columns() {
    const packed = tour.columns ? tour.columns.map((column) => report.lazyNumbers(column)) : rows.columns.map(({ complete }) => complete);
    return (standardized ??= packed.map((numbers, j) => Float32Array.from(numbers(), (value) => (value - tour.center[j]) / tour.scale[j])));
  }

  const dot = (a, b) => { let sum = 0; for (let j = 0; j < a.length; j++) sum += a[j] * b[j]; return sum; };
  const mix = (a, s, b, t) => a.map((value, j) => s * value + t * b[j]);
  const times = (a, b) => a.map((row) => [0, 1].map((j) => row[0] * b[0][j] + row[1] * b[1][j]));
  const transpose = (m) => [[m[0][0], m[1][0]], [m[0][1], m[1][1]]];
  const turn = (angle) => [[Math.cos(angle), -Math.sin(angle)], [Math.sin(angle), Math.cos(angle)]];
  const apply = (frame, m) => [0, 1].map((j) => mix(frame[0], m[0][j], frame[1], m[1][j]));

  // Gram-Schmidt: the coefficients of a plane as an orthonormal frame times a matrix with a positive determinant.
  function orthonormalize([first, second]) {
    const a = Math.sqrt(dot(first, first)), f = first.map((value) => value / a);
    const b = dot(f, second), rest = mix(second, 1, f, -b), c = Math.sqrt(dot(rest, rest));
    return { frame: [f, rest.map((value) => value / c)], inside: [[a, b], [0, c]] };
  }
  const planes = tour.planes.map(({ name, coefficients }) => {
    const numbers = Float64Array.from(unpack(coefficients));
    return { name, ...orthonormalize([numbers.slice(0, p), numbers.slice(p)]) };
  });

  // A = turn(u) diag(cosines) turn(v) with rotations on both sides, so that the second cosine may be negative.
  function decompose([[a, b], [c, d]]) {
    const [e, f, g, h] = [(a + d) / 2, (a - d) / 2, (c + b) / 2, (c - b) / 2];
    const [q, r, s, t] = [Math.hypot(e, h), Math.hypot(f, g), Math.atan2(g, f), Math.atan2(h, e)];
    return { u: turn((t + s) / 2), cosines: [q + r, q - r], v: turn((t - s) / 2) };
  }
  const polar = (m) => {
    const angle = Math.atan2(m[1][0] - m[0][1], m[0][0] + m[1][1]);
    return { angle, stretch: times(turn(-angle), m) };
  };

  // The view at time t between two views.
  function between(from, to, t) {
    const { u, cosines, v } = decompose(from.frame.map((a) => to.frame.map((b) => dot(a, b))));
    const [start, end] = [apply(from.frame, u), apply(to.frame, transpose(v))];
    const frame = [0, 1].map((k) => {
      const angle = Math.acos(Math.max(-1, Math.min(1, cosines[k]))), sine = Math.sin(angle);
      return sine < 1e-6 ? mix(start[k], 1 - t, end[k], t) : mix(start[k], Math.sin((1 - t) * angle) / sine, end[k], Math.sin(t * angle) / sine);
    });
    const [a, b] = [polar(times(transpose(u), from.inside)), polar(times(v, to.inside))];
    const gap = Math.atan2(Math.sin(b.angle - a.angle), Math.cos(b.angle - a.angle));
    const stretch = a.stretch.map((row, i) => row.map((value, j) => (1 - t) * value + t * b.stretch[i][j]));
    return { frame, inside: times(turn(a.angle + t * gap), stretch), angles: cosines.map((c) => Math.acos(Math.min(1, Math.abs(c)))) };
  }

  // The view whose arrow of column j is `arrow`, by the smallest rotation in the span of the plane and the column.
  function steer({ frame, inside }, j, arrow) {
    const [[a, b], [c, d]] = inside, determinant = a * d - b * c;
    let goal = [(arrow[0] * d - arrow[1] * c) / determinant, (arrow[1] * a - arrow[0] * b) / determinant];
    const size = Math.hypot(...goal);
    if (size > 0.999) goal = goal.map((value) => (0.999 * value) / size);
    const now = [frame[0][j], frame[1][j]];
    const rest = frame[0].map((value, k) => (k === j) - now[0] * value - now[1] * frame[1][k]), length = Math.sqrt(dot(rest, rest));
    if (length < 1e-6) return { frame, inside }; // the plane contains the column
    const w = [...now, length], next = [...goal, Math.sqrt(1 - goal[0] ** 2 - goal[1] ** 2)];
    const k = [w[1] * next[2] - w[2] * next[1], w[2] * next[0] - w[0] * next[2], w[0] * next[1] - w[1] * next[0]];
    const cosine = dot(w, next), cross = [[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]];
    const square = cross.map((row) => [0, 1, 2].map((i) => row[0] * cross[0][i] + row[1] * cross[1][i] + row[2] * cross[2][i]));
    const rotation = [0, 1].map((m) => [0, 1, 2].map((i) => (m === i) + cross[m][i] + square[m][i] / (1 + cosine)));
    const unit = rest.map((value) => value / length);
    const turned = rotation.map((row) => frame[0].map((value, i) => row[0] * value + row[1] * frame[1][i] + row[2] * unit[i]));
    const { frame: clean } = orthonormalize(turned);
    return { frame: clean, inside };
  }

  const slider = byId("tour-slider"), fromSelect = byId("tour-from"), toSelect = byId("tour-to"), columnSelect = byId("tour-column");
  const DRAGGED = "dragged view";
  let ends = { from: planes[tour.start], to: planes[tour.end] }, view = null, held = null;
  const fillPlanes = (select, chosen) => planes.forEach(({ name }, k) => select.appendChild(element("option", name, { value: k, ...(k === chosen ? { selected: "" } : {}) })));
  fillPlanes(fromSelect, tour.start);
  fillPlanes(toSelect, tour.end);
  names.forEach((name, j) => columnSelect.appendChild(element("option", shortText(name, 60), { value: j })));

  const xs = new Float64Array(rows.n).fill(NaN), ys = new Float64Array(rows.n).fill(NaN);
  let px = new Float64Array(members.length), py = new Float64Array(members.length), reach = [1, 1];
  function project() {
    const [cx, cy] = apply(view.frame, view.inside), z = columns();
    px.fill(0);
    py.fill(0);
    for (let j = 0; j < p; j++) {
      const [a, b, column] = [cx[j], cy[j], z[j]];
      if (Math.abs(a) + Math.abs(b) > 0) for (let i = 0; i < px.length; i++) { px[i] += a * column[i]; py[i] += b * column[i]; }
    }
    reach = [px, py].map(findReach);
    return [cx, cy];
  }

  // Half the width of the frame: the largest value, unless it is far beyond most of the others.
  function findReach(values) {
    const step = Math.max(1, Math.floor(values.length / 2000)), sizes = [];
    for (let i = 0; i < values.length; i += step) sizes.push(Math.abs(values[i]));
    sizes.sort((a, b) => a - b);
    return 1.12 * Math.min(sizes.at(-1), 2 * sizes[Math.floor(0.96 * (sizes.length - 1))]) || 1;
  }

  // Arrows of the columns with the largest coefficients, and of the selected one.
  function listArrows([cx, cy]) {
    const order = Array.from({ length: p }, (_, j) => j).sort((a, b) => Math.hypot(cx[b], cy[b]) - Math.hypot(cx[a], cy[a]));
    const largest = Math.hypot(cx[order[0]], cy[order[0]]) || 1, chosen = Number(columnSelect.value);
    const shown = order.slice(0, MAX_ARROWS).filter((j) => j === chosen || Math.hypot(cx[j], cy[j]) > 0.1 * largest);
    if (!shown.includes(chosen)) shown.push(chosen);
    return { shown, largest };
  }
  let arrows = [];
  function drawArrows(pen, s, coefficients) {
    if (!byId("tour-arrows").checked) { arrows = []; return; }
    const { shown, largest } = listArrows(coefficients), [cx, cy] = coefficients;
    const length = held?.length ?? (0.84 * Math.min(s.width, s.height)) / 2 / largest;
    const [ox, oy] = [s.x(0), s.y(0)], taken = [], chosen = Number(columnSelect.value);
    arrows = shown.map((j) => ({ j, x: ox + length * cx[j], y: oy - length * cy[j], length }));
    for (const { j, x, y } of arrows) taken.push([x - 5, y, 10]); // tips are not covered by labels
    for (const { j, x, y } of [...arrows].sort((a, b) => (b.j === chosen) - (a.j === chosen))) {
      const color = j === chosen ? style("--accent") : style("--ink"), angle = Math.atan2(y - oy, x - ox);
      if (Math.hypot(x - ox, y - oy) > 4) pen.path([[ox, oy], [x, y]], { stroke: color, width: j === chosen ? 2.4 : 1.3, opacity: 0.85 });
      pen.path([[x, y], [x - 9 * Math.cos(angle - 0.4), y - 9 * Math.sin(angle - 0.4)], [x - 9 * Math.cos(angle + 0.4), y - 9 * Math.sin(angle + 0.4)]], { fill: color, close: true });
      placeLabel(pen, s, taken, shortText(names[j], 22), x, y, angle, color, j === chosen);
    }
  }
  // Write a label next to the tip of an arrow, at the first place where it covers no other label and no tip. A line leads
  // to a label that is farther away. Labels without a place are omitted, except that of the selected column.
  const STEPS = [0, 14, -14, 28, -28, 42, -42, 56, -56];
  function placeLabel(pen, s, taken, text, x, y, angle, color, always) {
    const width = report.draw.measure(text, 12, 600) + 6, right = Math.cos(angle) >= 0;
    const places = [right, !right].flatMap((toRight) => STEPS.map((step) => [toRight ? x + 7 : x - width - 3, y + 9 * Math.sin(angle) + step]));
    const isInside = ([left, top]) => left > s.left && left + width < s.left + s.width && top > s.top + 8 && top < s.top + s.height - 8;
    const isFree = ([left, top]) => !taken.some(([l, t, w]) => left < l + w && l < left + width && Math.abs(top - t) < 14);
    const place = places.find((candidate) => isInside(candidate) && isFree(candidate)) ?? (always ? places.find(isInside) : null);
    if (!place) return;
    const [left, top] = place, near = left > x ? left : left + width;
    taken.push([left, top, width]);
    if (Math.abs(top - y) > 16) pen.path([[x, y], [near, top]], { stroke: color, width: 0.8, opacity: 0.6 });
    pen.text(left + 3, top, text, { color, anchor: "start", weight: 600, halo: style("--card") });
  }

  let coefficients = null;
  function locate(s) {
    for (let k = 0; k < members.length; k++) { xs[members[k]] = s.x(px[k]); ys[members[k]] = s.y(py[k]); }
  }
  const chart = report.makeChart(byId("tour-plot"), {
    equal: true, top: 4, left: 4, right: 4, bottom: 4, touch: "pan-y",
    home: () => { coefficients = project(); return [-reach[0], reach[0], -reach[1], reach[1]]; },
    paint(pen, s) {
      locate(s);
      rows.paint(pen, xs, ys);
      drawArrows(pen, s, coefficients);
    },
    colorbar: rows.colorbar,
    legend: rows.legendEntries,
    pick: (at) => rows.nearest(xs, ys, at),
    onHover(row, event, at) {
      const near = findArrow(at, 14) !== null;
      chart.canvas.style.cursor = near ? "grab" : "default";
      report.selection.showTip(near ? null : row, event);
    },
    onDrag(at, s) {
      const arrow = findArrow(at, 16);
      if (!arrow) return { move() {} };
      stop();
      columnSelect.value = arrow.j;
      held = { length: arrow.length };
      return {
        move: (to) => setDragged(steer(view, arrow.j, [(to[0] - s.x(0)) / arrow.length, (s.y(0) - to[1]) / arrow.length])),
        end: () => { held = null; chart.drawSoon(); },
      };
    },
    onKey(event) {
      const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      if (!(event.key in steps)) return false;
      const j = Number(columnSelect.value), [cx, cy] = coefficients, { largest } = listArrows(coefficients), step = 0.06 * largest;
      stop();
      setDragged(steer(view, j, [cx[j] + step * steps[event.key][0], cy[j] + step * steps[event.key][1]]));
      return true;
    },
  });

  function findArrow([x, y], reachPixels) {
    let best = reachPixels, found = null;
    for (const arrow of arrows) {
      const distance = Math.hypot(arrow.x - x, arrow.y - y);
      if (distance < best) { best = distance; found = arrow; }
    }
    return found;
  }

  function setDragged(next) {
    view = next;
    ends = { ...ends, from: { ...next, name: DRAGGED } };
    if (fromSelect.value !== "dragged") {
      if (!fromSelect.querySelector("[value=dragged]")) fromSelect.appendChild(element("option", DRAGGED, { value: "dragged" }));
      fromSelect.value = "dragged";
    }
    slider.value = 0;
    label();
    chart.drawSoon(true);
  }
  function label() {
    const percent = `${Math.round(100 * Number(slider.value))}%`;
    byId("tour-value").textContent = percent;
    slider.setAttribute("aria-valuetext", `${percent} of the way from ${ends.from.name} to ${ends.to.name}`);
    const { angles } = between(ends.from, ends.to, 0);
    byId("tour-angles").textContent = angles.map((angle) => `${Math.round((angle * 180) / Math.PI)}°`).join(" and ");
  }
  function update() {
    view = between(ends.from, ends.to, Number(slider.value));
    label();
    chart.drawSoon(true);
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
      return update();
    }
    const from = Number(slider.value) < 0.999 ? Number(slider.value) : 0;
    const animation = (playing = { begin: performance.now() });
    byId("play").textContent = "Stop";
    const step = (now) => {
      if (playing !== animation) return;
      slider.value = Math.min(1, from + Math.max(0, now - animation.begin) / 4000);
      update();
      if (Number(slider.value) < 1) requestAnimationFrame(step);
      else stop();
    };
    requestAnimationFrame(step);
  }
  slider.addEventListener("input", () => { stop(); update(); });
  fromSelect.addEventListener("change", () => {
    if (fromSelect.value !== "dragged") ends = { ...ends, from: planes[Number(fromSelect.value)] };
    slider.value = 0;
    update();
  });
  // A new target starts from the view on the screen.
  toSelect.addEventListener("change", () => {
    const to = planes[Number(toSelect.value)], whole = Number(slider.value);
    const from = whole === 1 ? ends.to : whole === 0 ? ends.from : { ...view, name: DRAGGED };
    if (from.name === DRAGGED) setDragged(view);
    else fromSelect.value = planes.indexOf(from);
    ends = { from, to };
    slider.value = 0;
    update();
    play();
  });
  columnSelect.addEventListener("change", chart.drawSoon);
  byId("tour-arrows").addEventListener("change", chart.drawSoon);
  byId("play").addEventListener("click", play);
  rows.onChange(chart.drawSoon);
  update();
  return { chart, apply, getView: () => view, points: () => { project(); return [px, py]; }, arrows: () => arrows };
})();
