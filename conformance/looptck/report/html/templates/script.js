"use strict";
const buttons = [...document.querySelectorAll("[data-filter]")];
const show = (wanted) => {
  document.body.dataset.show = wanted;
  for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.filter === wanted));
};
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.closest(".clean")) show("all");
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  target.scrollIntoView();
};
for (const button of buttons) button.addEventListener("click", () => show(button.dataset.filter));
addEventListener("hashchange", reveal);
document.querySelector(".filters").hidden = false;
reveal();
