"use strict";
// Sorting and live updates; without this script the page reads as a report.
let chosen = {}; // by table: the column and the direction that the reader chose

function value(cell) {
  return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim().toLowerCase();
}

function sort(section, column, direction) {
  const table = section.querySelector("table.sortable");
  if (!table) return;
  const rows = [...table.tBodies[0].rows];
  rows.sort((one, other) => {
    const a = value(one.cells[column]), b = value(other.cells[column]);
    return (a < b ? -1 : a > b ? 1 : 0) * direction;
  });
  table.tBodies[0].append(...rows);
  for (const [place, head] of [...table.tHead.rows[0].cells].entries()) {
    if (place === column) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("thead button");
  if (!button) return;
  const head = button.closest("th"), section = button.closest("section");
  const down = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && head.cellIndex === 0);
  chosen[section.id] = [head.cellIndex, down ? 1 : -1];
  sort(section, ...chosen[section.id]);
});

async function refresh() {
  const answer = await fetch(location.href, { cache: "no-store" });
  if (!answer.ok) throw new Error(answer.statusText);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const old = document.getElementById("main"), main = fresh.getElementById("main");
  for (const known of old.querySelectorAll("details[id]")) {
    const same = main.querySelector("#" + CSS.escape(known.id));
    if (same) same.open = known.open;
    // What is being read stays as it is, with its place.
    if (same && known.open && known.classList.contains("call")) same.replaceWith(known);
  }
  old.replaceWith(document.adoptNode(main));
  for (const [id, order] of Object.entries(chosen)) {
    const section = document.getElementById(id);
    if (section) sort(section, ...order);
  }
}

if (document.body.hasAttribute("data-live")) {
  const state = document.getElementById("state");
  const events = new EventSource("events" + location.search);
  let opened = false, running = false, again = false;
  const show = (word, off) => { state.textContent = word; state.classList.toggle("off", off); };
  const update = async () => {
    again = true;
    if (running) return;
    for (running = true; again;) {
      again = false;
      await refresh().catch(() => show("not connected", true));
    }
    running = false;
  };
  events.onopen = () => {
    show("live", false);
    if (opened) update(); // calls may have come while the connection was lost
    opened = true;
  };
  events.onerror = () => show("not connected", true);
  events.addEventListener("changed", update);
}
