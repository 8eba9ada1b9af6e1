// A chart on a canvas: axes, zoom, pan, box and lasso selection, keyboard, and export as PNG and SVG.
report.makeChart = (node, options) => {
  const { draw, style, element } = report;
  const canvas = node.appendChild(element("canvas"));
  const context = canvas.getContext("2d");
  let view = null, scale = null, drag = null, outline = null, pen = null, penRatio = 0;
  const { mode } = options;

  function makeScale(width, height) {
    const xAxis = options.xAxis(), yAxis = options.yAxis(), top = 10, bottom = 46;
    const range = view ?? options.home();
    const innerHeight = Math.max(20, height - top - bottom);
    const yTicks = yAxis.ticks ?? draw.ticks(range[2], range[3], Math.max(4, innerHeight / 64));
    const widest = Math.min(0.3 * width, Math.max(0, ...yTicks.map(([, label]) => draw.measure(label))));
    const left = Math.ceil(widest) + (yAxis.title ? 32 : 14), right = 14 + (options.colorbar() ? 62 : 0);
    const innerWidth = Math.max(20, width - left - right);
    const [x0, x1, y0, y1] = range;
    return {
      left, top, width: innerWidth, height: innerHeight, range, xAxis, yAxis,
      xTicks: draw.ticks(x0, x1, Math.max(4, innerWidth / 110)), yTicks,
      x: (value) => left + ((value - x0) / (x1 - x0)) * innerWidth,
      y: (value) => top + ((y1 - value) / (y1 - y0)) * innerHeight,
      fromX: (px) => x0 + ((px - left) / innerWidth) * (x1 - x0),
      fromY: (py) => y1 - ((py - top) / innerHeight) * (y1 - y0),
    };
  }

  function drawAxes(pen, s, height) {
    const grid = style("--grid"), soft = style("--soft");
    for (const [value, label] of s.xTicks) {
      const x = s.x(value);
      if (x < s.left - 0.5 || x > s.left + s.width + 0.5) continue;
      pen.path([[x, s.top], [x, s.top + s.height]], { stroke: grid });
      pen.text(x, s.top + s.height + 15, label, { color: soft });
    }
    const longest = Math.max(40, s.left - (s.yAxis.title ? 32 : 14));
    for (const [value, label] of s.yTicks) {
      const y = s.y(value);
      if (y < s.top - 0.5 || y > s.top + s.height + 0.5) continue;
      pen.path([[s.left, y], [s.left + s.width, y]], { stroke: grid });
      pen.text(s.left - 7, y, fit(label, longest, 12), { color: soft, anchor: "end" });
    }
    pen.text(s.left + s.width / 2, height - 11, fit(s.xAxis.title, s.width), { color: soft, size: 13 });
    if (s.yAxis.title) pen.text(13, s.top + s.height / 2, fit(s.yAxis.title, s.height), { color: soft, size: 13, turn: -Math.PI / 2 });
  }

  function fit(text, width, size = 13) {
    let longest = [...text].length;
    while (longest > 4 && draw.measure(report.shortText(text, longest), size) > width + 1) longest -= 2;
    return report.shortText(text, longest);
  }

  function drawColorbar(pen, s) {
    const bar = options.colorbar();
    if (!bar) return;
    const x = s.left + s.width + 14, steps = 40, step = s.height / steps;
    for (let k = 0; k < steps; k++) {
      const y = s.top + s.height - (k + 1) * step;
      pen.path([[x, y], [x + 11, y], [x + 11, y + step + 0.6], [x, y + step + 0.6]], { fill: draw.viridis((k + 0.5) / steps), close: true });
    }
    for (const [value, label] of draw.ticks(bar.low, bar.high, s.height / 60)) {
      const y = s.top + s.height * (1 - (value - bar.low) / (bar.high - bar.low || 1));
      pen.text(x + 16, y, label, { color: style("--soft"), anchor: "start", size: 11 });
    }
  }

  function render(pen, width, height) {
    const s = makeScale(width, height);
    drawAxes(pen, s, height);
    pen.clip(s.left, s.top, s.width, s.height, () => options.paint(pen, s));
    drawColorbar(pen, s);
    return s;
  }

  function redraw(ratio = Math.max(1, devicePixelRatio || 1)) {
    const width = node.clientWidth, height = node.clientHeight;
    if (!width || !height) return;
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!pen || penRatio !== ratio) { pen = draw.canvasPen(context, ratio); penRatio = ratio; }
    scale = render(pen, width, height);
    if (outline) pen.path(outline, { stroke: style("--accent"), width: 1.5, fill: style("--veil"), close: true });
  }

  // Draw before the next frame. While something moves, some of many rows are drawn, and all of them when it stops.
  let scheduled = false, quick = false, rest = null;
  function drawSoon(moving = false) {
    quick = moving === true;
    clearTimeout(rest);
    if (quick) rest = setTimeout(drawSoon, 200);
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      report.isQuick = quick;
      redraw();
      report.isQuick = false;
    });
  }

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const inside = ([x, y]) => scale && x >= scale.left && x <= scale.left + scale.width && y >= scale.top && y <= scale.top + scale.height;

  function setView(range, moving = false) {
    view = range && range[1] > range[0] && range[3] > range[2] ? range : null;
    drawSoon(moving);
  }
  function zoom(factor, [px, py] = [scale.left + scale.width / 2, scale.top + scale.height / 2]) {
    const [x0, x1, y0, y1] = scale.range, cx = scale.fromX(px), cy = scale.fromY(py);
    setView([cx + (x0 - cx) * factor, cx + (x1 - cx) * factor, cy + (y0 - cy) * factor, cy + (y1 - cy) * factor], true);
  }
  function shift(range, dx, dy) {
    const ux = ((range[1] - range[0]) * dx) / scale.width, uy = ((range[3] - range[2]) * dy) / scale.height;
    setView([range[0] - ux, range[1] - ux, range[2] + uy, range[3] + uy], true);
  }

  function contains(polygon) {
    return (x, y) => {
      let odd = false;
      for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
        const [xi, yi] = polygon[i], [xj, yj] = polygon[j];
        if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) odd = !odd;
      }
      return odd;
    };
  }

  const makeBox = ([x0, y0], [x1, y1]) => [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
  function moveDrag(at) {
    if (drag.kind === "pan") shift(drag.range, at[0] - drag.from[0], at[1] - drag.from[1]);
    else {
      drag.trail.push(at);
      outline = drag.kind === "lasso" ? drag.trail : makeBox(drag.from, at);
      drawSoon(true);
    }
  }
  function endDrag(at) {
    const polygon = outline;
    outline = null;
    if (!drag.moved) return options.onClick(options.pick(at));
    if (drag.kind === "zoom") {
      const xs = [drag.from[0], at[0]].sort((a, b) => a - b), ys = [drag.from[1], at[1]].sort((a, b) => a - b);
      if (xs[1] - xs[0] > 8 && ys[1] - ys[0] > 8) return setView([scale.fromX(xs[0]), scale.fromX(xs[1]), scale.fromY(ys[1]), scale.fromY(ys[0])]);
    } else if (drag.kind !== "pan") options.onRegion(contains(polygon));
    drawSoon();
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button || !scale) return;
    const at = place(event);
    if (!inside(at)) return;
    drag = { kind: mode(), range: scale.range, trail: [at], from: at, moved: false };
    canvas.setPointerCapture(event.pointerId);
    if (event.pointerType !== "touch") event.preventDefault();
    node.focus({ preventScroll: true });
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (!drag) return options.onHover(inside(at) ? options.pick(at) : null, event);
    if (!drag.moved && Math.hypot(at[0] - drag.from[0], at[1] - drag.from[1]) < 4) return;
    drag.moved = true;
    options.onHover(null, event);
    moveDrag(at);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!drag) return;
    endDrag(place(event));
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => { drag = outline = null; drawSoon(); });
  canvas.addEventListener("pointerleave", (event) => { if (!drag) options.onHover(null, event); });
  canvas.addEventListener("dblclick", () => setView(null));
  // The wheel scrolls the page, and zooms with Ctrl or Command, as a hint in the plot says.
  let hint = null;
  canvas.addEventListener("wheel", (event) => {
    if (!scale) return;
    if (!(event.ctrlKey || event.metaKey)) {
      clearTimeout(hint);
      node.dataset.hint = "Hold Ctrl or ⌘ while scrolling to zoom";
      hint = setTimeout(() => delete node.dataset.hint, 1200);
      return;
    }
    delete node.dataset.hint;
    event.preventDefault();
    zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 400))), place(event));
  }, { passive: false });
  node.addEventListener("keydown", (event) => {
    if (event.target !== node || event.ctrlKey || event.metaKey || event.altKey || !scale) return;
    const arrows = { ArrowLeft: [-40, 0], ArrowRight: [40, 0], ArrowUp: [0, -40], ArrowDown: [0, 40] };
    if (event.key in arrows) { shift(scale.range, -arrows[event.key][0], -arrows[event.key][1]); event.preventDefault(); }
    else if ("+=-_0".includes(event.key)) { event.key === "0" ? setView(null) : zoom("+=".includes(event.key) ? 0.8 : 1.25); event.preventDefault(); }
  });
  const updateTouch = () => { canvas.style.touchAction = mode() === "zoom" ? "pan-y" : "none"; };
  updateTouch();
  new ResizeObserver(drawSoon).observe(node);
  report.onTheme(drawSoon);
  addEventListener("beforeprint", () => redraw(3));

  // The picture in a size for papers and slides, with the legend on the right.
  function paintExport(pen, width, height) {
    const entries = options.legend().slice(0, 40), rowHeight = 22;
    const side = entries.length ? Math.min(240, 46 + Math.max(...entries.map(({ name }) => draw.measure(report.shortText(name, 28), 13)))) : 0;
    render(pen, width - side, height);
    entries.forEach(({ color, symbol, name }, k) => {
      const y = 24 + k * Math.min(rowHeight, (height - 30) / entries.length);
      pen.markers([width - side + 16], [y], [0], { color, symbol, radius: 5 });
      pen.text(width - side + 30, y, report.shortText(name, 28), { color: style("--ink"), anchor: "start", size: 13 });
    });
  }
  function toSVG(width = 960, height = 720) {
    const image = draw.svgPen(width, height, style("--card"));
    paintExport(image, width, height);
    return image.finish();
  }
  function toPNG(width = 960, height = 720, ratio = 2) {
    const sheet = element("canvas");
    [sheet.width, sheet.height] = [width * ratio, height * ratio];
    const target = sheet.getContext("2d");
    target.setTransform(ratio, 0, 0, ratio, 0, 0);
    target.fillStyle = style("--card");
    target.fillRect(0, 0, width, height);
    paintExport(draw.canvasPen(target, ratio), width, height);
    return new Promise((done) => sheet.toBlob(done, "image/png"));
  }
  return { canvas, redraw, drawSoon, setView, toSVG, toPNG, updateTouch, getScale: () => scale };
};
