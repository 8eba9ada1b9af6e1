// Buttons that save a chart as PNG or SVG, for canvases and for the drawings of the page.
(() => {
  const { byId, saveFile, style, element } = report;
  const charts = { plot: report.scatter?.chart };
  const PROPERTIES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "font-family", "opacity", "text-anchor"];

  // A drawing of the page as SVG text with its styles inside.
  function copyDrawing(svg) {
    const copy = svg.cloneNode(true), [sources, targets] = [svg, copy].map((node) => [node, ...node.querySelectorAll("*")]);
    sources.forEach((source, k) => {
      const computed = getComputedStyle(source);
      for (const property of PROPERTIES) targets[k].setAttribute(property, computed.getPropertyValue(property));
      targets[k].removeAttribute("class");
    });
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    for (const [key, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height })) copy.setAttribute(key, value);
    const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [key, value] of Object.entries({ width: "100%", height: "100%", fill: style("--card") })) ground.setAttribute(key, value);
    copy.prepend(ground);
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  }
  async function toPNG(svg) {
    const { text, width, height } = copyDrawing(svg), image = new Image(), canvas = element("canvas");
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    [canvas.width, canvas.height] = [3 * width, 3 * height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }
  async function save(id, kind) {
    const chart = charts[id];
    if (kind === "svg") return saveFile(`${id}.svg`, new Blob([chart ? chart.toSVG() : copyDrawing(byId(id)).text], { type: "image/svg+xml" }));
    return saveFile(`${id}.png`, await (chart ? chart.toPNG() : toPNG(byId(id))));
  }
  for (const button of document.querySelectorAll("[data-save]")) button.addEventListener("click", () => save(button.dataset.save, button.dataset.kind));
})();

report.legend.fillAll();
report.showTheme();
requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.ready = "true"; }));
window.opgdReport = report;
