// Opens the page that the address names, and keeps it fresh.

import { readAddress } from "./address.js";
import { comparePage } from "./compare.js";
import { h, setText } from "./dom.js";
import { listPage } from "./list.js";
import { listen } from "./server.js";
import { sweepPage } from "./sweep.js";

const PAGES = { list: listPage, sweep: sweepPage, compare: comparePage };
const main = document.getElementById("main");
const fresh = document.getElementById("fresh");

// The open page: { element, keys, path, fits(address), show(address), refresh(marks) }.
let page = null;
let stop = () => {};

function showPath(path) {
  const parts = path.map(([text, link]) => link ? h("a", { href: link, "data-link": true }, text) : h("b", {}, text));
  document.getElementById("path").replaceChildren(...parts);
}

function setFresh(connected) {
  fresh.classList.toggle("lost", !connected);
  setText(fresh, connected ? "live" : "no connection, trying again");
}

function open() {
  const address = readAddress();
  if (!page || !page.fits(address)) {
    stop();
    page = PAGES[address.page](address);
    main.replaceChildren(page.element);
    showPath(page.path);
    stop = listen(page.keys, (marks) => page.refresh(marks), setFresh);
  }
  page.show(address);
}

addEventListener("address", open);
open();
