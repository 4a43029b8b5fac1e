// Making and updating elements. Text is always set as text, so nothing that a run wrote can become part of the page.

// Makes an element: h("a", { href: "/", class: "x", onclick: f }, "text", child, ...). Null children are left out.
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Sets the text of an element if it is another one; gives whether it was.
export function setText(element, text) {
  if (element.textContent === text) return false;
  element.textContent = text;
  return true;
}

// Puts children in this order into a parent and moves only those that are elsewhere, so that the focus stays.
export function arrange(parent, children) {
  const wanted = new Set(children);
  for (const child of [...parent.children]) {
    if (!wanted.has(child)) child.remove();
  }
  children.forEach((child, i) => {
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] || null);
  });
}

// Says something to whoever listens instead of looking.
export function say(text) {
  document.getElementById("said").textContent = text;
}
