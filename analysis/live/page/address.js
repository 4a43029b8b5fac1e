// The state of the page is its address: what is open, filtered and sorted can be shared as a link.

// Returns { page: "list" | "sweep" | "compare", key, parameters }.
export function readAddress() {
  const parts = location.pathname.split("/").filter(Boolean);
  const parameters = new URLSearchParams(location.search);
  if (parts[0] === "sweeps" && parts.length === 2) {
    return { page: "sweep", key: decodeURIComponent(parts[1]), parameters };
  }
  return { page: parts[0] === "compare" ? "compare" : "list", key: "", parameters };
}

export function sweepLink(key, parameters = "") {
  const query = String(parameters);
  return `/sweeps/${encodeURIComponent(key)}${query ? `?${query}` : ""}`;
}

export function compareLink(keys) {
  return `/compare?${keys.map((key) => `sweep=${encodeURIComponent(key)}`).join("&")}`;
}

// Changes some parameters of the address; null removes one. Tells everybody who listens to "address".
export function change(changes, replace = false) {
  const { parameters } = readAddress();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") parameters.delete(name);
    else parameters.set(name, value);
  }
  const query = parameters.toString().replaceAll("%2C", ",");
  go(location.pathname + (query ? `?${query}` : ""), replace);
}

export function go(link, replace = false) {
  if (link !== location.pathname + location.search) {
    history[replace ? "replaceState" : "pushState"](null, "", link);
  }
  dispatchEvent(new Event("address"));
}

addEventListener("popstate", () => dispatchEvent(new Event("address")));
// Links within the page do not load it again.
addEventListener("click", (event) => {
  const link = event.target.closest("a[data-link]");
  if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(link.getAttribute("href"));
  scrollTo(0, 0);
});
