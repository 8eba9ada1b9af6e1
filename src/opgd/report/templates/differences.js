// What separates two groups: differences of the means of columns and of axes, in standard deviations within groups.
report.differences = (() => {
  const { byId, data, element, nameElement, shortText, formatNumber } = report;
  const profile = data.profile;
  if (!profile || !byId("first-group")) return null;
  const MAX_BARS = 12, LEAST = 0.05, selects = ["first-group", "second-group"].map(byId);
  selects.forEach((select, k) => {
    profile.groups.forEach((name, code) => select.appendChild(element("option", shortText(name, 60), { value: code })));
    select.value = profile.pair[k];
    select.addEventListener("change", show);
  });

  function compute(a, b) {
    const list = ({ names, means, deviations }) => names.map((name, j) => {
      const [first, second] = [means[a][j], means[b][j]];
      return { name, first, second, difference: first === null || second === null ? 0 : (first - second) / (deviations[j] || 1) };
    }).filter(({ difference }) => Math.abs(difference) >= LEAST) // others would be shown as zeros
      .sort((u, v) => Math.abs(v.difference) - Math.abs(u.difference)).slice(0, MAX_BARS);
    return { columns: list(profile.columns), axes: list(profile.axes) };
  }

  function makeBars(node, entries, withMeans) {
    const largest = Math.max(1e-12, ...entries.map(({ difference }) => Math.abs(difference)));
    node.replaceChildren(...entries.map(({ name, first, second, difference }) => {
      const bar = element("div", undefined, { class: "bar" }), label = bar.appendChild(element("span"));
      label.appendChild(nameElement(name, 28, shortText(name, 400)));
      const track = bar.appendChild(element("span", undefined, { class: "track" }));
      track.style.setProperty("--v", (difference / largest).toFixed(4));
      track.appendChild(element("i"));
      bar.appendChild(element("span", `${difference < 0 ? "−" : "+"}${Math.abs(difference).toFixed(1)}`, { class: "num" }));
      if (withMeans) bar.title = `means: ${formatNumber(first)} and ${formatNumber(second)}`;
      return bar;
    }));
  }

  function show() {
    const [a, b] = selects.map((select) => Number(select.value)), { columns, axes } = compute(a, b);
    makeBars(byId("column-differences"), columns, true);
    makeBars(byId("axis-differences"), axes, false);
    byId("axis-differences").parentNode.hidden = profile.axes.names.length < 2; // one axis adds nothing to see
    const kind = data.groupings[0].name === "class" ? "class " : "";
    const [first, second] = [a, b].map((code) => `${kind}“${shortText(profile.groups[code], 40)}”`);
    const best = columns.slice(0, 3).filter(({ difference }) => Math.abs(difference) >= 0.2);
    const words = best.map(({ name, first, second, difference }) => `${difference > 0 ? "higher" : "lower"} ${shortText(name, 40)} (mean ${formatNumber(first, 3)} instead of ${formatNumber(second, 3)})`);
    byId("difference-words").textContent = a === b ? "Choose two different groups." : words.length ? `Rows of ${first} have, compared with ${second}: ${words.join(", ")}.` : `No column has clearly different means in ${first} and ${second}.`;
  }
  show();
  return { compute };
})();
