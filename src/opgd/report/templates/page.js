"use strict";
// Shared by all scripts: the data, unpacking, safe text, the color theme.
const report = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const arrays = { float64: Float64Array, float32: Float32Array, int16: Int16Array, int32: Int32Array };

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
        const smallest = 1e-7 * Math.abs(packed.offset); // of the digits that the packed values have
        for (let i = 0; i < raw.length; i++) {
          const value = packed.offset + packed.step * raw[i];
          values[i] = Math.abs(value) < smallest ? 0 : value;
        }
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

  function element(tag, text, attributes = {}) {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  }

  function formatNumber(value, digits = 4) {
    if (Number.isNaN(value)) return "missing";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace("e+", "e").replaceAll("-", "−");
    const text = size >= 10 ** (digits - 1) ? value.toFixed(0) : String(Number(value.toPrecision(digits)));
    return text.replace("-", "−");
  }
  const formatProbability = (value) => (value > 0 && value < 0.0005 ? "< 0.001" : value.toFixed(3));

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function saveFile(name, blob) {
    const address = URL.createObjectURL(blob);
    const link = element("a", undefined, { href: address, download: name });
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  const listeners = [];
  const isDark = () => {
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  function showTheme() {
    if (byId("theme")) {
      byId("theme").textContent = isDark() ? "Light" : "Dark";
      byId("theme").setAttribute("aria-label", isDark() ? "Use light colors" : "Use dark colors");
    }
    for (const listener of listeners) listener();
  }
  function setTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    showTheme();
  }
  byId("theme")?.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
  // Mark the section on the screen in the contents: at the end of the page, the one that was chosen or the last.
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const topOf = (id) => byId(id).getBoundingClientRect().top;
  function markSection() {
    const ids = [...links.keys()], chosen = location.hash.slice(1);
    const isEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const isVisible = links.has(chosen) && topOf(chosen) >= 0 && topOf(chosen) < innerHeight;
    const current = isEnd ? (isVisible ? chosen : ids.at(-1)) : ids.findLast((id) => topOf(id) <= 0.2 * innerHeight) ?? ids[0];
    for (const [id, link] of links) {
      if (id === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
  if (links.size) {
    let waiting = false;
    const markSoon = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; markSection(); }); } };
    for (const event of ["scroll", "resize", "hashchange"]) addEventListener(event, markSoon, { passive: true });
    markSoon();
  }

  const contents = byId("contents"); // on small screens the contents open on request
  if (contents && matchMedia("(max-width: 40rem)").matches) {
    contents.open = false;
    contents.addEventListener("click", (event) => { if (event.target.closest("a")) contents.open = false; });
  }
  for (const button of document.querySelectorAll("[data-more]")) { // shows the lines of a table that are hidden at first
    button.addEventListener("click", () => {
      const table = byId(button.dataset.more), hidden = table.querySelector("tr.more");
      table.classList.add("all");
      button.remove();
      hidden?.querySelector("button")?.focus();
    });
  }
  let beforePrint;
  addEventListener("beforeprint", () => { beforePrint = document.documentElement.dataset.theme; setTheme("light"); });
  addEventListener("afterprint", () => setTheme(beforePrint));
  const onTheme = (listener) => listeners.push(listener);

  return {
    data, byId, unpack, lazyNumbers, shortText, element, formatNumber, formatProbability, style, onTheme, showTheme, isDark, saveFile,
  };
})();
