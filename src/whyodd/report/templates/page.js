// Sorts, filters and expands what is on the page already; without it everything is there all the same.
"use strict";
(() => {
  document.documentElement.classList.add("js");
  printsEverything();
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
    const target = rows.find((each) => `#${each.row.id}` === location.hash);
    if (target && target.details) target.details.open = true;
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
  expand.addEventListener("click", () => {
    const open = expand.getAttribute("aria-pressed") !== "true";
    for (const card of cards()) card.open = open;
    tellExpanded();
  });
  body.addEventListener("toggle", tellExpanded, true);
  window.addEventListener("hashchange", openTarget);
  filter.value = ""; // a reloaded page starts afresh
  openTarget();
  show();

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
