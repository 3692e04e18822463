// Building elements. Text always goes in as text; only a model card, which the server renders, is HTML.

/** An element with properties (`class`, `on…`, `data-…` and `aria-…` as in HTML) and children. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

/** A number as a percentage, `92%`. */
export function percent(share) {
  return `${Math.round(100 * share)}%`;
}

/** Copy a text and say so on the button for a moment. */
export async function copy(text, button, say) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers offer the clipboard to https and this machine only; selecting and copying works everywhere.
    const area = element("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const label = (button.dataset.label ??= button.textContent);
  button.textContent = "Copied";
  say("Copied");
  clearTimeout(Number(button.dataset.timer));
  button.dataset.timer = String(setTimeout(() => (button.textContent = label), 1500));
}
