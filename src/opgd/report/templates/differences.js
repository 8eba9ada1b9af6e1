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

  // Differences in standard deviations; those of columns that are constant in both groups are limited to 99.
  function compute(a, b) {
    const list = ({ names, means, deviations, shares }) => names.map((name, j) => {
      const [first, second] = [means[a][j], means[b][j]], gap = first === null || second === null ? 0 : first - second;
      const difference = gap ? Math.max(-99, Math.min(99, gap / deviations[j])) : 0;
      return { name, first, second, difference, share: shares.includes(j), origin: profile.dates[name] };
    }).filter(({ difference }) => Math.abs(difference) >= LEAST) // others would be shown as zeros
      .sort((u, v) => Math.abs(v.difference) - Math.abs(u.difference)).slice(0, MAX_BARS);
    return { columns: list(profile.columns), axes: list(profile.axes) };
  }

  const DAY = 86400000;
  const formatShare = (share) => `${share > 0 && share < 0.005 ? "< 1" : share < 1 && share >= 0.995 ? "> 99" : Math.round(100 * share)}%`;
  function formatMean(value, { share, origin }) {
    if (share) return formatShare(value);
    const date = origin === undefined ? null : new Date(DAY * Math.round(origin + value));
    return date && !Number.isNaN(date.getTime()) ? date.toISOString().slice(0, 10) : formatNumber(value, 3);
  }
  function formatDifference({ first, second, difference, share }) {
    const sign = difference < 0 ? "−" : "+", size = Math.abs(difference);
    if (share) return `${sign}${Math.abs(100 * (first - second)).toFixed(0)} pp`;
    return size >= 99 ? `${sign}> 99` : `${sign}${size.toFixed(1)}`;
  }
  // Such as "higher age (mean 41 instead of 32)", "never plan=basic, instead of always" or "earlier signup (mean ...)".
  function describe(entry) {
    const { name, first, second, difference, share, origin } = entry, short = shortText(name, 40);
    if (share && first + second === 1 && first * second === 0) return first ? `always ${short} (100% instead of 0%)` : `never ${short} (0% instead of 100%)`;
    const means = `${formatMean(first, entry)} instead of ${formatMean(second, entry)}`;
    if (share) return `${short} ${difference > 0 ? "more" : "less"} often (in ${means} of the rows)`;
    if (origin !== undefined) return `${difference > 0 ? "later" : "earlier"} ${shortText(name.replace(/:days$/, ""), 40)} (mean ${means})`;
    return `${difference > 0 ? "higher" : "lower"} ${short} (mean ${means})`;
  }

  function makeBars(node, entries, withMeans) {
    const sizes = entries.map(({ difference }) => Math.abs(difference)), finite = Math.max(0, ...sizes.filter((size) => size < 99));
    const largest = Math.min(Math.max(1e-12, ...sizes), finite || Infinity); // bars of columns without variance would hide the others
    const limit = (value) => Math.max(-largest, Math.min(largest, value));
    node.replaceChildren(...entries.map((entry) => {
      const bar = element("div", undefined, { class: "bar" }), label = bar.appendChild(element("span"));
      label.appendChild(nameElement(entry.name, 28, shortText(entry.name, 400)));
      const track = bar.appendChild(element("span", undefined, { class: "track" }));
      track.style.setProperty("--v", (limit(entry.difference) / largest).toFixed(4));
      track.appendChild(element("i"));
      bar.appendChild(element("span", formatDifference(entry), { class: "num" }));
      if (withMeans) bar.title = `means: ${formatMean(entry.first, entry)} and ${formatMean(entry.second, entry)}`;
      return bar;
    }));
  }

  // A sentence on the axis that separates the groups best, if it is not the first one.
  function describeAxis(axes) {
    if (!axes.length || profile.axes.names.length < 2 || axes[0].name === profile.axes.names[0]) return "";
    const { name, difference } = axes[0];
    return ` Of the axes, ${name} separates them most (by ${Math.abs(difference).toFixed(1)} standard deviations), although the first axis contributes most overall.`;
  }

  function show() {
    const [a, b] = selects.map((select) => Number(select.value)), { columns, axes } = compute(a, b);
    byId("difference-bars").hidden = a === b;
    makeBars(byId("column-differences"), columns, true);
    makeBars(byId("axis-differences"), axes, false);
    byId("axis-differences").parentNode.hidden = profile.axes.names.length < 2; // one axis adds nothing to see
    const kind = data.groupings[0].name === "class" ? "class " : "";
    const [first, second] = [a, b].map((code) => `${kind}“${shortText(profile.groups[code], 40)}”`);
    const best = columns.slice(0, 3).filter(({ difference }) => Math.abs(difference) >= 0.2);
    const text = best.length ? `Rows of ${first} have, compared with ${second}: ${best.map(describe).join(", ")}.` : `No column has clearly different means in ${first} and ${second}.`;
    byId("difference-words").textContent = a === b ? `Both are ${first}: choose two different ${data.groupings[0].name === "class" ? "classes" : "clusters"} to see what separates them.` : text + describeAxis(axes);
  }
  show();
  return { compute, describe };
})();
