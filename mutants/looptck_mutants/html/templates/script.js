"use strict";
(() => {
  const source = document.getElementById("source");
  const title = document.title;
  const rows = [...document.querySelectorAll("[data-mutant]")];
  const filters = [...document.querySelectorAll("[data-filter]")];
  const search = document.getElementById("search");
  let app;

  // The elements look at the fragment of the address from the moment they exist, so they are made when they are wanted.
  function elements() {
    if (app) return;
    app = document.createElement("mutation-test-report-app");
    app.titlePostfix = document.querySelector("h1").textContent;
    const match = () => { source.style.backgroundColor = app.themeBackgroundColor; };
    app.addEventListener("theme-changed", match);
    app.report = JSON.parse(document.getElementById("stryker").textContent);
    source.append(app);
    match();
  }

  function route() {
    const view = /^#(mutant|test)(\/|$)/.exec(location.hash)?.[1] ?? "matrix";
    if (view !== "matrix") elements();
    document.body.dataset.view = view;
    for (const link of document.querySelectorAll("nav a")) {
      link.toggleAttribute("aria-current", link.hash === `#${view}`);
    }
    if (view !== "matrix") return;
    document.title = title;
    const target = document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) {
      target.hidden = false;
      target.open = true;
      target.scrollIntoView();
    }
  }

  function filter() {
    const away = document.body.dataset.only === "away";
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.dataset.mutant.toLowerCase();
      row.hidden = (away && "good" in row.dataset) || !words.every((word) => text.includes(word));
    }
    document.getElementById("none").hidden = rows.some((row) => !row.hidden);
  }

  for (const button of filters) {
    button.addEventListener("click", () => {
      document.body.dataset.only = button.dataset.filter;
      for (const other of filters) other.setAttribute("aria-pressed", String(other === button));
      filter();
    });
  }
  search.addEventListener("input", filter);
  window.addEventListener("hashchange", route);
  document.body.classList.add("scripted");
  route();
})();
