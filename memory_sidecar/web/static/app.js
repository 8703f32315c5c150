// What HTML and htmx do not do by themselves: keys, live views, and forms that send themselves.
"use strict";

const at = (selector) => document.querySelector(selector);
const rows = () => [...document.querySelectorAll("[data-row]")];

// One stream, while the tab is visible: a browser opens at most six connections to a host.
let stream = null;

function listen() {
  const address = at("main").dataset.live;
  if (stream) stream.close();
  stream = null;
  if (!address || document.hidden) return;
  stream = new EventSource(address);
  stream.addEventListener("changed", lookAgain);
  stream.addEventListener("error", tellGone); // a view that is no longer live must not look live
  stream.addEventListener("open", () => at("#failed").textContent === GONE.replaceAll("`", "") && tell(""));
}

function lookAgain() {
  const live = at("#live");
  if (isSent) return; // the answer will replace the view, which may show what the form removed
  if (!live || live.querySelector("input:checked, input:focus, textarea:focus, select:focus")) return;
  const focused = document.activeElement; // found again by what it leads to: rows may have come above it
  const isSame = (each) => each.href === focused.href && each.textContent === focused.textContent;
  htmx.ajax("GET", location.href, { target: "#live", select: "#live", selectOOB: "#notes,#called", swap: "outerHTML" })
    .then(() => focused.isConnected || [...document.querySelectorAll("#live :is(a, summary)")].find(isSame)?.focus({ preventScroll: true }), () => {});
}

// A failed request leaves the view as it is; a message above it says so until one succeeds.
const tell = (text) => at("#failed").replaceChildren(...text.split("`").map(asCode));
const asCode = (part, index) => index % 2 ? Object.assign(document.createElement("code"), { textContent: part }) : part;
document.addEventListener("htmx:afterSwap", () => tell(""));
document.addEventListener("htmx:responseError", (event) => tell(event.detail.xhr.responseText));
const GONE = "The page is no longer served: `memory-sidecar web` opens it again";
const tellGone = () => tell(GONE);
document.addEventListener("htmx:sendError", tellGone);

// A form is sent only if the page is still served; otherwise the browser would lose what was written.
// A second click soon after the first is ignored: its answer would say that all is done already.
const ONE_CLICK_MS = 3000;
let isSent = false, passes = false, clickedAt = -ONE_CLICK_MS;
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || passes) return;
  event.preventDefault();
  if (event.timeStamp - clickedAt < ONE_CLICK_MS) return;
  clickedAt = event.timeStamp;
  const send = () => { isSent = passes = true; form.requestSubmit(event.submitter); passes = false; };
  const fail = () => { clickedAt = -ONE_CLICK_MS; tellGone(); };
  fetch("/static/icon.svg", { cache: "no-store" }).then((answer) => (answer.ok ? send() : fail()), fail);
});

addEventListener("pageshow", () => { isSent = false; clickedAt = -ONE_CLICK_MS; });

// Leaving an unsaved form asks first. What was refused, or overtaken by another change, is unsaved, too.
const isUnsaved = (field) => field.value !== field.defaultValue || "unsaved" in field.dataset;
addEventListener("beforeunload", (event) => {
  if (!isSent && [...document.querySelectorAll("form:has(textarea) :is(textarea, input)")].some(isUnsaved)) event.preventDefault();
});

document.addEventListener("visibilitychange", listen); // the stream tells what changed meanwhile
addEventListener("pagehide", () => stream && stream.close());
listen();

function step(by) {
  const all = rows();
  const now = all.indexOf(document.activeElement?.closest("[data-row]") || document.activeElement);
  all[Math.min(Math.max(now + by, 0), all.length - 1)]?.focus();
}

const keys = {
  "/": () => at("[data-search]")?.focus(),
  j: () => step(1),
  k: () => step(-1),
  x: () => document.activeElement?.closest("li, tr, article")?.querySelector("input[type=checkbox]")?.click(),
  "?": () => at("#keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && event.target.form?.id === "bulk" && event.target.matches("input")) {
    event.preventDefault(); // a browser would press the first button of the form, which archives
    event.target.parentElement.querySelector("button")?.click();
    return;
  }
  if (event.target.matches("input:not([type=checkbox]), textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const view = document.querySelectorAll("header nav ul a")[Number(event.key) - 1];
  const act = keys[event.key] || (view && (() => view.click()));
  if (!act) return;
  event.preventDefault();
  act();
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-keys]")) at("#keys").showModal();
  const row = event.target.closest("[data-row]")?.href;
  if (row) history.replaceState({ ...history.state, row }, "");
});

// After going back to a list, j and k step from the row that was opened.
addEventListener("pageshow", () => rows().find((each) => each.href === history.state?.row)?.focus());

// A changed filter sends its form, and the next view focuses the field that had the focus.
let isFiltering = false;
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-sends]");
  if (form) isFiltering = true;
  form?.requestSubmit();
  const all = event.target.closest("[data-all]");
  if (all) document.querySelectorAll(`input[name="${all.dataset.all}"]`).forEach((each) => (each.checked = all.checked));
  countSelected();
});

function countSelected() {
  if (!at(".bulk")) return;
  const chosen = [...document.querySelectorAll("input[name=chosen]")];
  const selected = chosen.filter((each) => each.checked).length;
  at(".bulk output").textContent = `${selected} selected`;
  at(".bulk [data-all]").checked = selected > 0 && selected === chosen.length;
}
addEventListener("pageshow", countSelected); // after going back, what was ticked still is

addEventListener("pagehide", () => isFiltering && (sessionStorage.focused = document.activeElement.name || ""));
at(`form[data-sends] [name="${sessionStorage.focused || " "}"]:not([type=hidden])`)?.focus();
delete sessionStorage.focused;

// What was folded or unfolded stays so when the view is refreshed. On a narrow screen the facets start folded.
const opened = new Map(); // whether it is open, by the text of its summary
document.addEventListener("click", (event) => {
  const summary = event.target.closest("summary");
  if (summary) opened.set(summary.textContent, !summary.parentElement.open);
});
function fold() {
  const isNarrow = matchMedia("(max-width: 52rem)").matches;
  document.querySelectorAll("#live details").forEach((each) => {
    const starts = each.open && !(isNarrow && each.matches(".folds"));
    each.open = opened.get(each.firstElementChild.textContent) ?? starts;
  });
}
document.addEventListener("htmx:afterSwap", fold);
fold();

// The address holds the state of a view; parameters without a value are left out of it.
document.addEventListener("formdata", ({ target, formData }) => {
  if (target.method !== "get") return;
  const all = [...formData];
  all.forEach(([name]) => formData.delete(name));
  all.forEach(([name, value]) => value && formData.append(name, value));
});
