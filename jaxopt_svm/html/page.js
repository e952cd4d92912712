"use strict";
(() => {
  // --- small helpers -------------------------------------------------------------------------
  const el = (name, attrs = {}, ...inside) => {
    const node = document.createElement(name);
    for (const [k, v] of Object.entries(attrs)) k in node && k !== "list" ? (node[k] = v) : node.setAttribute(k, v);
    node.append(...inside);
    return node;
  };
  const svg = (name, attrs = {}, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [k, v] of Object.entries(attrs)) node.setAttribute(k, v);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const finite = (v) => typeof v === "number" && Number.isFinite(v);
  const show = (v) => {
    if (typeof v !== "number") return String(v);
    const a = Math.abs(v);
    if (a === 0) return "0";
    if (Number.isInteger(v) && a < 1e7) return v.toLocaleString("en");
    return a < 1e-3 || a >= 1e5 ? v.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e") : String(+v.toPrecision(4));
  };

  const tick = (v) => (Math.abs(v) >= 1e5 ? v.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e") : show(v));

  // --- data: the csv texts of the page ---------------------------------------------------------
  const parse = (text) => {
    const lines = text.trim().split("\n").map((line) => {
      const cells = [];
      for (const m of line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g))
        cells.push(m[1] === undefined ? m[2] : m[1].replaceAll('""', '"'));
      return cells;
    });
    const head = lines.shift();
    const value = (c) => (c === "" || c === undefined ? null : c === "nan" ? null : c === "inf" ? Infinity
      : Number.isNaN(Number(c)) ? c : Number(c));
    return lines.map((cells) => Object.fromEntries(head.map((h, k) => [h, value(cells[k])])));
  };
  const tables = {};
  const rowsOf = (spec) => {
    const name = spec.source;
    tables[name] ??= parse(document.getElementById("csv-" + name).textContent);
    let rows = tables[name];
    if (spec.where) rows = rows.filter((r) => Object.entries(spec.where).every(([k, v]) => String(r[k]) === String(v)));
    if (spec.melt)
      rows = rows.flatMap((r) => spec.melt.cols.map((c) => ({ ...r, [spec.melt.name]: c, [spec.melt.value]: r[c] })));
    return rows;
  };
  const unique = (rows, col) => [...new Set(rows.map((r) => r[col]).filter((v) => v !== null))];

  // --- scales ----------------------------------------------------------------------------------
  const scale = (values, log, from, to, most = 7) => {
    let lo = Infinity, hi = -Infinity;
    for (const v of values) if (finite(v) && (!log || v > 0)) { if (v < lo) lo = v; if (v > hi) hi = v; }
    if (lo > hi) { lo = log ? 0.1 : 0; hi = 1; }
    const f = log ? Math.log10 : (v) => v;
    let a = f(lo), b = f(hi);
    if (a === b) { a -= log ? 0.5 : Math.abs(a) * 0.1 || 0.5; b += log ? 0.5 : Math.abs(b) * 0.1 || 0.5; }
    const pad = (b - a) * 0.03;
    a -= pad; b += pad;
    const at = (v) => (!finite(v) || (log && v <= 0) ? NaN : from + ((f(v) - a) / (b - a)) * (to - from));
    const ticks = [];
    if (log && b - a > 1) {
      const step = Math.max(1, Math.ceil((b - a) / most));
      for (let k = Math.floor(a); k <= b; k += step)
        for (const m of b - a < 2.2 ? [1, 2, 5] : [1])
          if (Math.log10(m) + k >= a && Math.log10(m) + k <= b) ticks.push(+(m * 10 ** k).toPrecision(3));
    } else {
      const l = log ? 10 ** a : a, h = log ? 10 ** b : b, raw = (h - l) / most, p = 10 ** Math.floor(Math.log10(raw));
      const step = [1, 2, 5, 10].map((m) => m * p).find((s) => s >= raw);
      for (let v = Math.ceil(l / step) * step; v <= h; v += step) ticks.push(+v.toPrecision(10));
    }
    return { at, ticks };
  };

  // --- one drawing -----------------------------------------------------------------------------
  // lines: [{name, colour, points: [{x, y, lo, hi, bounds: []}]}]
  const draw = (lines, o) => {
    const W = o.width, H = o.height, left = 62, right = 12, top = 10, bottom = o.categories ? 66 : 44;
    const root = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": o.label });
    const all = lines.flatMap((l) => l.points);
    const X = o.categories
      ? { at: (k) => left + ((k + 0.5) / o.categories.length) * (W - left - right), ticks: o.categories.map((_, k) => k) }
      : scale(all.map((p) => p.x), o.logx, left, W - right, Math.max(3, Math.min(8, (W - left) / 65)));
    const Y = scale([...all.flatMap((p) => [p.y, p.lo, p.hi, ...(p.bounds ?? [])]), o.guide?.[0]], o.logy, H - bottom, top);
    for (const v of X.ticks) {
      root.append(svg("line", { class: "grid", x1: X.at(v), x2: X.at(v), y1: top, y2: H - bottom }));
      const words = o.categories ? o.categories[v] : tick(v);
      const turn = o.categories ? { "text-anchor": "end", transform: `rotate(-22 ${X.at(v)} ${H - bottom + 14})` } : { "text-anchor": "middle" };
      root.append(svg("text", { x: X.at(v), y: H - bottom + 16, ...turn }, words));
    }
    for (const v of Y.ticks) {
      root.append(svg("line", { class: "grid", x1: left, x2: W - right, y1: Y.at(v), y2: Y.at(v) }));
      root.append(svg("text", { x: left - 6, y: Y.at(v) + 4, "text-anchor": "end" }, tick(v)));
    }
    root.append(svg("path", { class: "axis", d: `M${left} ${top}V${H - bottom}H${W - right}` }));
    root.append(svg("text", { x: (left + W - right) / 2, y: H - 6, "text-anchor": "middle" }, o.xlabel));
    root.append(svg("text", { x: 13, y: (top + H - bottom) / 2, "text-anchor": "middle",
      transform: `rotate(-90 13 ${(top + H - bottom) / 2})` }, o.ylabel));
    const path = (points, value) => {
      let d = "", pen = "M";
      for (const p of points) {
        const x = X.at(p.x), y = Y.at(value(p));
        if (Number.isNaN(x) || Number.isNaN(y)) { pen = "M"; continue; }
        d += pen + x.toFixed(1) + " " + y.toFixed(1);
        pen = "L";
      }
      return d;
    };
    if (o.guide)
      root.append(svg("line", { class: "trace bound", stroke: "currentColor", x1: left, x2: W - right, y1: Y.at(o.guide[0]), y2: Y.at(o.guide[0]) }));
    const spots = [];
    lines.forEach((line, k) => {
      const band = line.points.filter((p) => finite(p.lo) && finite(p.hi) && !Number.isNaN(Y.at(p.lo)) && !Number.isNaN(Y.at(p.hi)));
      if (band.length > 1)
        root.append(svg("path", { class: "band", fill: line.colour,
          d: path(band, (p) => p.lo) + path([...band].reverse(), (p) => p.hi).replace("M", "L") + "Z" }));
      (line.points[0]?.bounds ?? []).forEach((_, j) =>
        root.append(svg("path", { class: "trace bound", stroke: line.colour, d: path(line.points, (p) => p.bounds[j]) })));
      if (!o.points) root.append(svg("path", { class: "trace", stroke: line.colour, d: path(line.points, (p) => p.y) }));
      if (o.points || line.points.length < 30)
        for (const p of line.points)
          if (!Number.isNaN(X.at(p.x)) && !Number.isNaN(Y.at(p.y)))
            root.append(svg("circle", { cx: X.at(p.x), cy: Y.at(p.y), r: 3, fill: line.colour }));
      line.points.forEach((p, i) => {
        const x = X.at(p.x), y = Y.at(p.y);
        if (!Number.isNaN(x) && !Number.isNaN(y)) spots.push({ x, y, k, i, p, line });
      });
    });
    return { root, spots, X, Y, top, foot: H - bottom };
  };

  // hover and arrow keys: which point is looked at
  const inspect = (drawing, say) => {
    const { root, spots } = drawing;
    if (!spots.length) return;
    const ring = svg("circle", { class: "cursor", r: 6, visibility: "hidden" });
    root.append(ring);
    let current = -1;
    const look = (k) => {
      current = k;
      const s = spots[k];
      ring.setAttribute("cx", s.x); ring.setAttribute("cy", s.y); ring.setAttribute("visibility", "visible");
      say(s);
    };
    root.addEventListener("pointermove", (e) => {
      const box = root.getBoundingClientRect(), zoom = root.viewBox.baseVal.width / box.width;
      const x = (e.clientX - box.left) * zoom, y = (e.clientY - box.top) * zoom;
      let best = 0, least = Infinity;
      spots.forEach((s, k) => { const d = (s.x - x) ** 2 + (s.y - y) ** 2; if (d < least) { least = d; best = k; } });
      look(best);
    });
    root.setAttribute("tabindex", "0");
    root.addEventListener("keydown", (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key], jump = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (!step && !jump) return;
      e.preventDefault();
      if (current < 0) return look(0);
      if (step) return look((current + step + spots.length) % spots.length);
      const here = spots[current], names = [...new Set(spots.map((s) => s.k))];
      const next = names[(names.indexOf(here.k) + jump + names.length) % names.length];
      let best = current, least = Infinity;
      spots.forEach((s, k) => { if (s.k === next && Math.abs(s.x - here.x) < least) { least = Math.abs(s.x - here.x); best = k; } });
      look(best);
    });
  };

  // --- a figure with its controls --------------------------------------------------------------
  const COLOURS = 10;
  const plot = (figure) => {
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const rows = rowsOf(spec);
    const series = (spec.series ?? []), choose = (spec.choose ?? []);
    const state = { x: 0, y: 0, logx: (spec.log ?? "").includes("x"), logy: (spec.log ?? "").includes("y"), off: new Set(), pick: {} };
    const nameOf = (r) => series.filter((c) => r[c] !== "-").map((c) => (finite(r[c]) ? `${c} = ${show(r[c])}` : r[c])).join(", ") || spec.y[state.y].label;
    const names = [...new Set(rows.map(nameOf))];
    // many values of one number are an order, and get colours in order
    const ordered = series.length === 1 && names.length > COLOURS && rows.every((r) => finite(r[series[0]]));
    const colour = (name) => ordered ? `hsl(${Math.round(265 - (235 * names.indexOf(name)) / (names.length - 1))} 65% 48%)`
      : `var(--c${names.indexOf(name) % COLOURS})`;
    const controls = el("div", { className: "controls" });
    const stage = el("div"), legend = el("div", { className: "legend" });
    const readout = el("div", { className: "readout" });
    readout.setAttribute("aria-live", "polite");
    const select = (label, options, change, name) => {
      const box = el("select", {}, ...options.map((o, k) => el("option", { value: k }, o)));
      box.dataset.control = name;
      box.addEventListener("change", () => { change(Number(box.value)); paint(); });
      controls.append(el("label", {}, label + " ", box));
      return box;
    };
    // which values of a later choice exist depends on the earlier ones
    const left = (until) => rows.filter((r) => choose.slice(0, until).every((c) => r[c] === state.pick[c]));
    const boxes = [];
    const refill = (from) => {
      for (let k = from; k < choose.length; k++) {
        const values = unique(left(k), choose[k]);
        if (!values.includes(state.pick[choose[k]])) state.pick[choose[k]] = values[0];
        boxes[k].replaceChildren(...values.map((v, j) => el("option", { value: j, selected: v === state.pick[choose[k]] }, show(v))));
        boxes[k].parentNode.hidden = values.length < 2;
      }
    };
    choose.forEach((c, k) => {
      boxes[k] = select((spec.names ?? {})[c] ?? c, [], (j) => { state.pick[c] = unique(left(k), c)[j]; refill(k + 1); }, c);
    });
    refill(0);
    if (spec.y.length > 1) select("shown", spec.y.map((y) => y.label), (k) => { state.y = k; }, "y");
    if (spec.x.length > 1) select("against", spec.x.map((x) => x[1]), (k) => { state.x = k; }, "x");
    for (const axis of ["x", "y"]) {
      const box = el("input", { type: "checkbox", checked: state["log" + axis] });
      box.dataset.control = "log" + axis;
      box.addEventListener("change", () => { state["log" + axis] = box.checked; paint(); });
      controls.append(el("label", {}, box, ` log ${axis}`));
    }
    const csv = el("a", { download: spec.source + ".csv", href: "#" }, "csv");
    csv.addEventListener("click", () => {
      csv.href = URL.createObjectURL(new Blob([document.getElementById("csv-" + spec.source).textContent.trimStart()], { type: "text/csv" }));
    });
    controls.append(csv);

    const paint = () => {
      const [xcol, xlabel] = spec.x[state.x], y = spec.y[state.y];
      const kept = rows.filter((r) => choose.every((c) => r[c] === state.pick[c]));
      const texts = kept.some((r) => typeof r[xcol] === "string");
      const categories = texts ? unique(kept, xcol) : null;
      controls.querySelector('[data-control="logx"]').parentNode.hidden = texts;
      const groups = new Map();
      for (const r of kept) {
        if (!finite(r[y.col]) || (!texts && !finite(r[xcol]))) continue;
        const name = nameOf(r);
        if (!groups.has(name)) groups.set(name, []);
        groups.get(name).push({ x: texts ? categories.indexOf(r[xcol]) : r[xcol], y: r[y.col], row: r,
          lo: y.spread && r[y.spread[0]], hi: y.spread && r[y.spread[1]],
          bounds: (y.bounds ?? []).map((b) => r[b[0]]) });
      }
      for (const points of groups.values()) points.sort((a, b) => a.x - b.x);
      const lines = [...groups].filter(([n]) => !state.off.has(n)).map(([name, points]) => ({ name, points, colour: colour(name) }));
      const width = Math.max(320, Math.min(900, stage.clientWidth || 800));
      const drawing = draw(lines, { width, height: Math.max(300, Math.min(420, width * 0.52)), logx: state.logx, logy: state.logy,
        guide: spec.guide, categories, xlabel: categories ? "" : xlabel, ylabel: y.label, points: spec.points || !!categories,
        label: `${spec.title}: ${y.label} against ${xlabel}; arrow keys read the values` });
      stage.replaceChildren(drawing.root);
      inspect(drawing, (s) => {
        const parts = [s.line.name, `${xlabel}: ${show(s.p.row[xcol])}`, `${y.label}: ${show(s.p.y)}`];
        if (finite(s.p.lo)) parts.push(`from ${show(s.p.lo)} to ${show(s.p.hi)}`);
        (y.bounds ?? []).forEach((b, j) => finite(s.p.bounds[j]) && parts.push(`${b[1]}: ${show(s.p.bounds[j])}`));
        readout.textContent = parts.join(" · ");
      });
      const dotted = [...(y.bounds ?? []), ...(spec.guide ? [spec.guide] : [])];
      readout.textContent = dotted.length ? `dotted: ${dotted.map((b) => b[1]).join(", ")}` + (y.spread ? "; band: smallest to largest of the seeds" : "") : "";
      legend.replaceChildren(...(groups.size < 2 && !state.off.size ? [] : [...groups.keys()].map((name) => {
        const b = el("button", { type: "button" }, name);
        b.style.setProperty("--mine", colour(name));
        b.setAttribute("aria-pressed", String(!state.off.has(name)));
        b.addEventListener("click", () => {
          state.off.has(name) ? state.off.delete(name) : state.off.add(name);
          paint();
          [...legend.children].find((other) => other.textContent === name)?.focus();
        });
        return b;
      })));
    };
    figure.append(controls, stage, legend, readout);
    paint();
    return paint;
  };

  // --- the sweep explorer ----------------------------------------------------------------------
  const explore = (box) => {
    const spec = JSON.parse(box.querySelector("script").textContent);
    const rows = rowsOf(spec).sort((a, b) => a.lam - b.lam);
    const present = spec.show.filter(([c]) => rows.some((r) => finite(r[c])));
    const slider = el("input", { type: "range", min: 0, max: rows.length - 1, step: 1, value: Math.floor(rows.length / 2) });
    slider.setAttribute("aria-label", "lambda");
    const said = el("b"), panels = el("div", { className: "panels" });
    const parts = present.map(([col, label]) => {
      const value = el("b"), stage = el("div");
      value.dataset.value = col;
      panels.append(el("div", {}, el("div", {}, label + ": ", value), stage));
      return { col, value, stage };
    });
    const status = el("span", { className: "soft" });
    const update = () => {
      const r = rows[Number(slider.value)];
      said.textContent = "λ = " + show(r.lam);
      slider.setAttribute("aria-valuetext", said.textContent);
      status.textContent = `${r.status}, ${show(r.passes)} passes`;
      for (const { col, value, stage } of parts) {
        value.textContent = r[col] === null ? "–" : show(r[col]);
        const mark = stage.querySelector(".mark");
        if (mark) { const x = stage.X.at(r.lam); mark.setAttribute("x1", x); mark.setAttribute("x2", x); }
      }
    };
    const paint = () => {
      present.forEach(([col, label, log], k) => {
        const { stage } = parts[k];
        const points = rows.filter((r) => finite(r[col])).map((r) => ({ x: r.lam, y: r[col] }));
        const width = Math.max(240, stage.clientWidth || 300);
        const d = draw([{ name: label, points, colour: `var(--c${k})` }], { width, height: 190, logx: true, logy: !!log,
          xlabel: "λ", ylabel: "", label: `${label} against lambda` });
        d.root.append(svg("line", { class: "cursor mark", y1: d.top, y2: d.foot }));
        d.root.addEventListener("pointermove", (e) => {
          if (!e.buttons) return;
          const b = d.root.getBoundingClientRect(), x = ((e.clientX - b.left) / b.width) * width;
          let best = 0, least = Infinity;
          rows.forEach((r, j) => { const far = Math.abs(d.X.at(r.lam) - x); if (far < least) { least = far; best = j; } });
          slider.value = best;
          update();
        });
        stage.X = d.X;
        stage.replaceChildren(d.root);
      });
      update();
    };
    slider.addEventListener("input", update);
    box.append(el("div", { className: "slider" }, said, slider, status), panels);
    paint();
    return paint;
  };

  // --- tables, theme, contents, print -----------------------------------------------------------
  const key = (text) => {
    const number = Number(text.replaceAll(",", "").replace("−", "-"));
    return text !== "" && !Number.isNaN(number) ? number : text;
  };
  for (const table of document.querySelectorAll("table"))
    table.querySelectorAll("th button").forEach((button, k) =>
      button.addEventListener("click", () => {
        const th = button.parentNode, up = th.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0];
        for (const other of th.parentNode.children) other.removeAttribute("aria-sort");
        th.setAttribute("aria-sort", up ? "ascending" : "descending");
        const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b
          : typeof a !== typeof b ? (typeof a === "number" ? -1 : 1) : a.localeCompare(b, "en", { numeric: true }));
        body.append(...[...body.rows].map((r) => [key(r.cells[k].textContent.trim()), r])
          .sort((a, b) => (up ? 1 : -1) * compare(a[0], b[0])).map((pair) => pair[1]));
      }));

  const rootNode = document.documentElement;
  const kept = { get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
    set: (v) => { try { localStorage.setItem("theme", v); } catch { /* a page from a file may not keep anything */ } } };
  if (kept.get()) rootNode.dataset.theme = kept.get();
  document.getElementById("theme").addEventListener("click", () => {
    const dark = rootNode.dataset.theme ? rootNode.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    rootNode.dataset.theme = dark ? "light" : "dark";
    kept.set(rootNode.dataset.theme);
  });

  const painters = [...[...document.querySelectorAll("figure.plot")].map(plot), ...[...document.querySelectorAll(".explorer")].map(explore)];
  let width = innerWidth, timer;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(timer);
    timer = setTimeout(() => painters.forEach((paint) => paint()), 120);
  });
  // figures in closed sections have no width of their own until they are opened
  document.querySelectorAll("details").forEach((d) => d.addEventListener("toggle", () => painters.forEach((paint) => d.querySelector("svg") && paint())));
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));

  const links = new Map([...document.querySelectorAll("#contents a")].map((a) => [a.hash.slice(1), a]));
  if (links.size && "IntersectionObserver" in window) {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) {
        links.forEach((a) => a.removeAttribute("aria-current"));
        links.get(entry.target.id)?.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "0px 0px -75% 0px" });
    for (const id of links.keys()) { const target = document.getElementById(id); if (target) seen.observe(target); }
  }
})();
