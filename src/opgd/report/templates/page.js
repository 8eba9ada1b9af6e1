"use strict";
// Shared by all scripts: the data, unpacking, safe text, the color theme.
const report = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const arrays = { float32: Float32Array, int16: Int16Array, int32: Int32Array };

  function unpack(packed) {
    const text = atob(packed.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new arrays[packed.type](bytes.buffer); // little-endian, as on all machines that browsers support
  }

  // Return a function that unpacks the values of one quantity on the first call.
  function lazyNumbers(packed) {
    let values = null;
    return () => {
      if (values === null) {
        const raw = unpack(packed);
        values = new Float64Array(raw.length);
        const missing = packed.type === "int16" ? -32768 : null; // float32 has NaN
        for (let i = 0; i < raw.length; i++) values[i] = raw[i] === missing ? NaN : packed.offset + packed.step * raw[i];
      }
      return values;
    };
  }

  // Shorten text in the middle, since names often differ at the ends. Surrogate pairs are kept whole;
  // control characters and directional marks become spaces.
  function shortText(text, longest = 40) {
    const marks = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
    const characters = [...String(text).replace(marks, " ")];
    if (characters.length <= longest) return characters.join("");
    const tail = Math.floor((longest - 1) / 2);
    return characters.slice(0, longest - 1 - tail).join("") + "…" + characters.slice(-tail).join("");
  }

  // Escape text for plotly, which interprets a subset of HTML.
  const plotlyText = (text, longest = 40) =>
    shortText(text, longest).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  function element(tag, text, attributes = {}) {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  }

  function formatNumber(value) {
    if (Number.isNaN(value)) return "missing";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace("-", "−");
    return String(Number(value.toPrecision(4))).replace("-", "−");
  }

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function layout() {
    const axis = { gridcolor: style("--grid"), zerolinecolor: style("--grid"), linecolor: style("--grid"), automargin: true };
    const ink = style("--soft");
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "closest",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: ink },
      margin: { l: 56, r: 12, t: 12, b: 48 }, hoverdistance: 12,
      xaxis: { ...axis }, yaxis: { ...axis },
      newselection: { line: { color: style("--accent"), width: 1.5 } }, activeselection: { opacity: 0.1 },
    };
  }
  const config = { displayModeBar: false, responsive: true, doubleClick: "reset", showTips: false };

  function hasWebGL() {
    try {
      return Boolean(document.createElement("canvas").getContext("webgl"));
    } catch {
      return false;
    }
  }

  const listeners = [];
  const isDark = () => {
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  function showTheme() {
    byId("theme").textContent = isDark() ? "Light" : "Dark";
    byId("theme").setAttribute("aria-label", isDark() ? "Use light colors" : "Use dark colors");
    for (const listener of listeners) listener();
  }
  function setTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    showTheme();
  }
  byId("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
  let beforePrint;
  addEventListener("beforeprint", () => { beforePrint = document.documentElement.dataset.theme; setTheme("light"); });
  addEventListener("afterprint", () => setTheme(beforePrint));
  const onTheme = (listener) => listeners.push(listener);

  return {
    data, byId, unpack, lazyNumbers, shortText, plotlyText, element, formatNumber, style, layout, config, onTheme,
    showTheme, pointType: hasWebGL() ? "scattergl" : "scatter",
  };
})();
