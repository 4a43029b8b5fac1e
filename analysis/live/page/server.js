// What the page asks its server, and what the server tells it.

const AGAIN_AFTER = 3000;

// Asks for JSON. The result has `trouble`, a text, where there is no answer to use.
export async function ask(path, options = {}) {
  try {
    const answer = await fetch(path, options);
    if (answer.status === 304) return null;
    if (answer.status === 401) location.reload();
    const content = await answer.json();
    return answer.ok ? content : { trouble: content.error || `${answer.status} ${answer.statusText}` };
  } catch (error) {
    if (error.name === "AbortError") return null;
    return { trouble: "the server does not answer" };
  }
}

export function askSweep(key, rest = "", options = {}) {
  return ask(`/api/sweeps/${encodeURIComponent(key)}${rest}`, options);
}

// Listens for changes of some sweeps, or of all if none is named. Gives a function that ends it.
export function listen(keys, changed, connected) {
  const query = keys.map((key) => `sweep=${encodeURIComponent(key)}`).join("&");
  let source = null;
  let again = 0;
  const open = () => {
    source = new EventSource(`/api/events${query ? `?${query}` : ""}`);
    source.onopen = () => connected(true);
    source.onmessage = (event) => changed(JSON.parse(event.data));
    source.onerror = () => {
      connected(false);
      source.close();
      again = setTimeout(open, AGAIN_AFTER);
    };
  };
  open();
  return () => {
    clearTimeout(again);
    source.close();
  };
}
