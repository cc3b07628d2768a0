// Sorts, filters and expands what is on the page already; without it everything is there all the same.
"use strict";
(() => {
  document.documentElement.classList.add("js");
  printsEverything();
  zoomsTimeline();
  const list = document.getElementById("list");
  if (!list) return;

  const PAGE = 200; // rows that are added at a time
  const body = list.tBodies[0];
  const filter = document.getElementById("filter");
  const status = document.getElementById("status");
  const expand = document.getElementById("expand");
  const more = document.getElementById("more");
  const collator = new Intl.Collator("en", { numeric: true });
  let rows = Array.from(body.rows, entry);
  let matching = rows;
  let group = null;
  let room = PAGE;

  function entry(row) {
    return {
      row,
      details: row.querySelector("details"),
      rank: Number(row.id.slice(1)),
      score: Number(row.dataset.score),
      name: row.querySelector(".name .one").textContent,
      why: (row.querySelector("td.why .main") || row.querySelector("td.why")).textContent.replace(/^\W+/u, ""),
      group: row.dataset.group,
      text: Array.from(row.querySelectorAll(".find"), (part) => part.textContent).join(" ").toLowerCase(),
    };
  }

  function sortBy(button) {
    const heading = button.closest("th");
    const { key, way } = button.dataset;
    const other = way === "ascending" ? "descending" : "ascending";
    const chosen = heading.getAttribute("aria-sort") === way ? other : way;
    for (const each of list.tHead.querySelectorAll("th")) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", chosen);
    const sign = chosen === "ascending" ? 1 : -1;
    const isText = key === "name" || key === "why";
    const compare = isText ? (a, b) => collator.compare(a[key], b[key]) : (a, b) => a[key] - b[key];
    rows.sort((a, b) => sign * compare(a, b) || a.rank - b.rank);
    body.append(...rows.map((each) => each.row));
    show();
  }

  function show() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isWanted = (each) =>
      (group === null || each.group === group) && words.every((word) => each.text.includes(word));
    matching = rows.filter(isWanted);
    const wanted = new Set(matching.slice(0, room));
    const all = new Set(matching);
    for (const each of rows) {
      each.row.hidden = !all.has(each);
      each.row.classList.toggle("later", all.has(each) && !wanted.has(each));
    }
    more.hidden = matching.length <= room;
    more.textContent = `Show ${Math.min(PAGE, matching.length - room).toLocaleString("en")} more`;
    const total = rows.length.toLocaleString("en");
    status.textContent = matching.length === rows.length ? `${total} listed`
      : matching.length === 0 ? "None matches" : `${matching.length.toLocaleString("en")} of ${total} match`;
    tellExpanded();
  }

  function showAgain() {
    room = PAGE;
    show();
  }

  function cards() {
    return matching.map((each) => each.details).filter(Boolean);
  }

  function tellExpanded() {
    const all = cards();
    const isOpen = all.length > 0 && all.every((card) => card.open);
    expand.setAttribute("aria-pressed", String(isOpen));
    expand.textContent = isOpen ? "Collapse all" : "Expand all";
    expand.disabled = all.length === 0;
  }

  function choose(button) {
    const isChosen = button.getAttribute("aria-pressed") === "true";
    for (const each of document.querySelectorAll(".group")) each.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", String(!isChosen));
    group = isChosen ? null : button.dataset.group;
    showAgain();
  }

  function openTarget() {
    const place = document.getElementById(location.hash.slice(1));
    if (!place) return;
    const target = rows.find((each) => each.row === place);
    if (target && (place.hidden || place.classList.contains("later"))) showAll(target);
    const details = target ? target.details : place.closest("details");
    if (details) details.open = true;
    if (target || details) place.scrollIntoView();
  }

  // A link to a row that is filtered out, or further down, brings it back.
  function showAll(target) {
    filter.value = "";
    group = null;
    for (const each of document.querySelectorAll(".group")) each.setAttribute("aria-pressed", "false");
    room = Math.max(PAGE, PAGE * Math.ceil((rows.indexOf(target) + 1) / PAGE));
    show();
  }

  // What a spreadsheet would take for a formula is text.
  function cell(text) {
    const plain = /^\s*[=+\-@]|^[\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  }

  function whole(part) {
    const named = part && part.querySelector("bdi[title]");
    return named ? named.title : part ? part.textContent.replace(/\s+/g, " ").trim() : "";
  }

  function line(each) {
    const sentence = each.row.querySelector(".sentence") || each.row.querySelector("td.why");
    return [String(each.rank), whole(each.row.querySelector(".name .one")), whole(each.row.querySelector(".name small")),
      each.row.dataset.score, whole(sentence)];
  }

  function download() {
    const noun = list.querySelector("th.name").textContent.trim().toLowerCase();
    const table = [["rank", noun, "place", "outlierness", "why"], ...matching.map(line)];
    const text = table.map((cells) => cells.map(cell).join(",")).join("\r\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", text, "\r\n"], { type: "text/csv" }));
    link.download = "anomalies.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  for (const button of list.tHead.querySelectorAll("button")) {
    button.disabled = false;
    button.addEventListener("click", () => sortBy(button));
  }
  for (const button of document.querySelectorAll(".group")) {
    button.disabled = false;
    button.addEventListener("click", () => choose(button));
  }
  filter.addEventListener("input", showAgain);
  more.addEventListener("click", () => { room += PAGE; show(); });
  document.getElementById("download").addEventListener("click", download);
  expand.addEventListener("click", () => {
    const open = expand.getAttribute("aria-pressed") !== "true";
    for (const card of cards()) card.open = open;
    tellExpanded();
  });
  body.addEventListener("toggle", tellExpanded, true);
  window.addEventListener("hashchange", openTarget);
  filter.value = ""; // a reloaded page starts afresh
  show();
  openTarget();

  // The part of the whole, from 0 to 1, that all drawings of the timeline show.
  function zoomsTimeline() {
    const figure = document.querySelector(".timeline");
    if (!figure) return;
    const labels = figure.dataset.labels.split("|");
    const ends = figure.querySelectorAll(".times small");
    const range = document.getElementById("range");
    const events = document.getElementById("event");
    const LEAST = 0.002;
    let [start, stop] = [0, 1];

    function label(place) {
      return labels[Math.round(place * (labels.length - 1))];
    }

    function view(from, size) {
      const width = Math.min(1, Math.max(LEAST, size));
      start = Math.min(Math.max(0, from), 1 - width);
      stop = start + width;
      for (const each of figure.querySelectorAll("svg")) {
        each.setAttribute("viewBox", `${1000 * start} 0 ${1000 * width} 100`);
      }
      ends[0].textContent = label(start);
      ends[1].textContent = label(stop);
      range.textContent = width === 1 ? "All of it is shown" : `${label(start)} to ${label(stop)}`;
    }

    const size = () => stop - start;
    const moves = {
      in: () => view(start + size() / 4, size() / 2),
      out: () => view(start - size() / 2, size() * 2),
      earlier: () => view(start - size() / 2, size()),
      later: () => view(start + size() / 2, size()),
      all: () => view(0, 1),
    };
    const keys = { ArrowLeft: "earlier", ArrowRight: "later", "+": "in", "=": "in", "-": "out", 0: "all" };

    for (const button of document.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => moves[button.dataset.zoom]());
    }
    figure.addEventListener("keydown", (event) => {
      if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      moves[keys[event.key]]();
    });
    if (events) {
      events.addEventListener("change", () => {
        if (!events.value) return moves.all();
        const [from, to] = events.value.split(" ").map(Number);
        const width = Math.max(3 * (to - from), 10 * LEAST);
        return view((from + to - width) / 2, width);
      });
    }
    moves.all();
  }

  function printsEverything() {
    let opened = [];
    window.addEventListener("beforeprint", () => {
      opened = Array.from(document.querySelectorAll("details:not([open])"));
      for (const each of opened) each.open = true;
    });
    window.addEventListener("afterprint", () => {
      for (const each of opened) each.open = false;
    });
  }
})();
