// Drawing on a canvas or into SVG text with the same calls, marker shapes, tick marks and color scales.
report.draw = (() => {
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif";
  const SMALL = 1.9; // pixels
  const ring = (n, radius = 1, turn = 0) =>
    Array.from({ length: n }, (_, k) => {
      const angle = -Math.PI / 2 + turn + (2 * Math.PI * k) / n;
      return [radius * Math.cos(angle), radius * Math.sin(angle)];
    });
  const star = (n, outer, inner) => ring(2 * n).map(([x, y], k) => (k % 2 ? [inner * x, inner * y] : [outer * x, outer * y]));
  const rotate = (points, angle) =>
    points.map(([x, y]) => [x * Math.cos(angle) - y * Math.sin(angle), x * Math.sin(angle) + y * Math.cos(angle)]);
  const plus = [[-0.34, -1], [0.34, -1], [0.34, -0.34], [1, -0.34], [1, 0.34], [0.34, 0.34], [0.34, 1], [-0.34, 1], [-0.34, 0.34], [-1, 0.34], [-1, -0.34], [-0.34, -0.34]];
  const triangle = [[0, -1.05], [1.05, 0.8], [-1.05, 0.8]];
  // Polygons of about the same area; the names are those of inspection/palette.py.
  const SHAPES = {
    circle: ring(24, 0.92), square: ring(4, 1.16, Math.PI / 4), diamond: ring(4, 1.16),
    "triangle-up": triangle, "triangle-right": rotate(triangle, Math.PI / 2),
    "triangle-down": rotate(triangle, Math.PI), "triangle-left": rotate(triangle, -Math.PI / 2),
    cross: plus, x: rotate(plus, Math.PI / 4), star: star(5, 1.3, 0.55),
  };
  const shapeOf = (symbol) => SHAPES[symbol.replace(/-open$/, "")] ?? SHAPES.circle;
  const isOpen = (symbol) => symbol.endsWith("-open");
  const shapePath = (symbol, radius) => `M${shapeOf(symbol).map(([x, y]) => `${(x * radius).toFixed(2)} ${(y * radius).toFixed(2)}`).join("L")}Z`;

  const ruler = document.createElement("canvas").getContext("2d");
  function measure(text, size = 12, weight = 400) {
    ruler.font = `${weight} ${size}px ${FONT}`;
    return ruler.measureText(text).width;
  }

  // Draws on a canvas whose unit is a CSS pixel.
  function canvasPen(context, ratio) {
    const sprites = new Map();
    function sprite({ symbol, color, radius, edge }) {
      const key = `${symbol}/${color}/${radius}/${edge}`;
      if (!sprites.has(key)) {
        const half = Math.ceil(1.5 * radius + 1.5), canvas = document.createElement("canvas");
        canvas.width = canvas.height = 2 * half * ratio;
        const target = canvas.getContext("2d");
        target.setTransform(ratio, 0, 0, ratio, half * ratio, half * ratio);
        const path = new Path2D(shapePath(symbol, isOpen(symbol) ? 0.78 * radius : radius));
        if (isOpen(symbol)) { target.strokeStyle = color; target.lineWidth = Math.max(1, 0.38 * radius); target.stroke(path); } else {
          target.fillStyle = color; target.fill(path);
          if (edge) { target.strokeStyle = edge; target.lineWidth = 0.6; target.stroke(path); }
        }
        sprites.set(key, { canvas, half });
      }
      return sprites.get(key);
    }
    const trace = (points, close) => {
      context.beginPath();
      points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
      if (close) context.closePath();
    };
    return {
      path(points, { stroke, width = 1, fill, dash, opacity = 1, close = false }) {
        context.globalAlpha = opacity;
        trace(points, close);
        if (fill) { context.fillStyle = fill; context.fill(); }
        if (stroke) { context.strokeStyle = stroke; context.lineWidth = width; context.setLineDash(dash ?? []); context.lineJoin = "round"; context.stroke(); context.setLineDash([]); }
        context.globalAlpha = 1;
      },
      text(x, y, text, { size = 12, color, anchor = "middle", baseline = "middle", turn = 0, weight = 400, halo }) {
        context.save();
        context.translate(x, y);
        context.rotate(turn);
        context.font = `${weight} ${size}px ${FONT}`;
        context.textAlign = { start: "left", middle: "center", end: "right" }[anchor];
        context.textBaseline = baseline;
        if (halo) { context.strokeStyle = halo; context.lineWidth = 3.5; context.lineJoin = "round"; context.strokeText(text, 0, 0); }
        context.fillStyle = color;
        context.fillText(text, 0, 0);
        context.restore();
      },
      markers(xs, ys, rows, style) {
        context.globalAlpha = style.opacity ?? 1;
        if (style.radius < SMALL) { // shapes cannot be seen, and squares are faster
          const width = 1.8 * style.radius;
          context.fillStyle = style.color;
          for (const i of rows) context.fillRect(xs[i] - width / 2, ys[i] - width / 2, width, width);
        } else {
          const { canvas, half } = sprite(style), size = 2 * half;
          for (const i of rows) context.drawImage(canvas, xs[i] - half, ys[i] - half, size, size);
        }
        context.globalAlpha = 1;
      },
      clip(x, y, width, height, paint) {
        context.save();
        context.beginPath();
        context.rect(x, y, width, height);
        context.clip();
        paint();
        context.restore();
      },
    };
  }

  const escapeXml = (text) => String(text).replace(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`);
  // Collects the elements of an SVG image.
  function svgPen(width, height, background) {
    const parts = [], definitions = [], symbols = new Map();
    let clips = 0;
    const two = (value) => Number(value.toFixed(2));
    return {
      path(points, { stroke, width = 1, fill, dash, opacity = 1, close = false }) {
        const d = `M${points.map(([x, y]) => `${two(x)} ${two(y)}`).join("L")}${close ? "Z" : ""}`;
        parts.push(`<path d="${d}" fill="${fill ?? "none"}" stroke="${stroke ?? "none"}" stroke-width="${width}" stroke-linejoin="round"${dash ? ` stroke-dasharray="${dash.join(" ")}"` : ""}${opacity < 1 ? ` opacity="${opacity}"` : ""}/>`);
      },
      text(x, y, text, { size = 12, color, anchor = "middle", baseline = "middle", turn = 0, weight = 400, halo }) {
        const shift = { middle: 0.35, top: 0.8, bottom: -0.2, alphabetic: 0 }[baseline] * size;
        const move = `translate(${two(x)} ${two(y)})${turn ? ` rotate(${two((180 * turn) / Math.PI)})` : ""}`;
        const outline = halo ? ` paint-order="stroke" stroke="${halo}" stroke-width="3.5" stroke-linejoin="round"` : "";
        parts.push(`<text transform="${move}" y="${two(shift)}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}" fill="${color}"${outline}>${escapeXml(text)}</text>`);
      },
      markers(xs, ys, rows, { symbol, color, radius, edge, opacity = 1 }) {
        const key = `${symbol}/${color}/${radius}`;
        if (!symbols.has(key)) {
          symbols.set(key, `m${symbols.size}`);
          const paint = isOpen(symbol) ? `fill="none" stroke="${color}" stroke-width="${Math.max(1, 0.38 * radius)}"` : `fill="${color}"${edge ? ` stroke="${edge}" stroke-width="0.6"` : ""}`;
          definitions.push(`<path id="${symbols.get(key)}" d="${shapePath(symbol, isOpen(symbol) ? 0.78 * radius : radius)}" ${paint}/>`);
        }
        const id = symbols.get(key);
        parts.push(`<g opacity="${opacity}">${Array.from(rows).filter((i) => Number.isFinite(xs[i] + ys[i])).map((i) => `<use href="#${id}" x="${two(xs[i])}" y="${two(ys[i])}"/>`).join("")}</g>`);
      },
      clip(x, y, width, height, paint) {
        clips += 1;
        definitions.push(`<clipPath id="c${clips}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath>`);
        parts.push(`<g clip-path="url(#c${clips})">`);
        paint();
        parts.push("</g>");
      },
      finish: () =>
        `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escapeXml(FONT)}"><defs>${definitions.join("")}</defs><rect width="100%" height="100%" fill="${background}"/>${parts.join("")}</svg>`,
    };
  }

  // Multiples of 1, 2 or 5 times a power of ten between two numbers, about `count` of them, with labels.
  function ticks(low, high, count) {
    const raw = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((factor) => factor * power >= 0.6 * raw) * power;
    if (!Number.isFinite(step) || step <= 0) return [];
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && found.length < 60; k++) found.push(k * step);
    const size = Math.max(Math.abs(low), Math.abs(high));
    const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
    const label = (value) => {
      if (value === 0 || Math.abs(value) < step / 1e6) return "0";
      return (size >= 1e6 || size < 1e-3 ? value.toExponential(Math.max(0, Math.min(6, Math.floor(Math.log10(size / step)) + 1))) : value.toFixed(digits)).replace("-", "−");
    };
    return found.map((value) => [value, label(value)]);
  }

  const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
  const channels = VIRIDIS.map((color) => [1, 3, 5].map((k) => parseInt(color.slice(k, k + 2), 16)));
  function viridis(share) {
    const place = Math.max(0, Math.min(1, share)) * (VIRIDIS.length - 1), k = Math.min(VIRIDIS.length - 2, Math.floor(place));
    return `rgb(${channels[k].map((value, c) => Math.round(value + (place - k) * (channels[k + 1][c] - value))).join(",")})`;
  }

  function swatch({ color, symbol }) {
    const make = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
    const [svg, path] = [make("svg"), make("path")];
    for (const [key, value] of Object.entries({ viewBox: "-1.4 -1.4 2.8 2.8", width: 14, height: 14, "aria-hidden": "true" })) svg.setAttribute(key, value);
    path.setAttribute("d", shapePath(symbol, 1));
    path.setAttribute("fill", isOpen(symbol) ? "none" : color);
    if (isOpen(symbol)) { path.setAttribute("stroke", color); path.setAttribute("stroke-width", ".4"); }
    svg.appendChild(path);
    return svg;
  }

  return { SHAPES, canvasPen, svgPen, measure, ticks, viridis, swatch };
})();
