// The Markdown of a model card as elements: headings, paragraphs, lists, tables, code, emphasis, links to the web.

import { element } from "./elements.js";

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|(?<![\w*])[*_](?! )(.+?)[*_](?![\w*])|!?\[([^\]]*)\]\(([^)\s]+)\)|<(https?:\/\/[^>\s]+)>/;

/** The elements of a text; its front matter (between lines of `---`) comes first, folded. */
export function markdown(text) {
  const made = document.createDocumentFragment();
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  let at = 0;
  if (lines[0] === "---") {
    const end = lines.indexOf("---", 1);
    if (end > 0) {
      const front = element("pre", {}, lines.slice(1, end).join("\n"));
      made.append(element("details", {}, element("summary", {}, "Metadata for the Hugging Face hub"), front));
      at = end + 1;
    }
  }
  while (at < lines.length) at = block(lines, at, made);
  return made;
}

/** Append the block that begins at a line; the line after it. */
function block(lines, at, made) {
  const line = lines[at];
  if (!line.trim()) return at + 1;
  const fence = line.match(/^\s*(```+|~~~+)/);
  if (fence) {
    let end = at + 1;
    while (end < lines.length && !lines[end].trim().startsWith(fence[1])) end++;
    made.append(element("pre", { tabindex: "0" }, lines.slice(at + 1, end).join("\n")));
    return end + 1;
  }
  const heading = line.match(/^(#{1,6})\s+(.*?)\s*#*$/);
  if (heading) {
    // The dialog's own heading is level 2.
    made.append(element(`h${Math.min(6, heading[1].length + 2)}`, {}, ...inline(heading[2])));
    return at + 1;
  }
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
    made.append(element("hr"));
    return at + 1;
  }
  if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[at + 1] ?? "")) {
    return table(lines, at, made);
  }
  if (marker(line)) return list(lines, at, made);
  if (line.startsWith(">")) {
    let end = at;
    while (end < lines.length && lines[end].startsWith(">")) end++;
    const quote = element("blockquote");
    const inner = lines.slice(at, end).map((quoted) => quoted.replace(/^> ?/, ""));
    for (let inside = 0; inside < inner.length; ) inside = block(inner, inside, quote);
    made.append(quote);
    return end;
  }
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !/^(#{1,6}\s|\s*(```|~~~)|>)/.test(lines[end]) && !marker(lines[end]))
    end++;
  made.append(element("p", {}, ...inline(lines.slice(at, end).join(" "))));
  return end;
}

function marker(line) {
  return line.match(/^(\s*)([-*+]|\d+[.)])\s+(.*)$/);
}

function list(lines, at, made) {
  const [, indent, sign] = marker(lines[at]);
  const items = element(/\d/.test(sign) ? "ol" : "ul");
  while (at < lines.length) {
    const found = marker(lines[at]);
    if (!found || found[1].length < indent.length) break;
    if (found[1].length > indent.length + 1 && items.lastChild) {
      at = list(lines, at, items.lastChild);
      continue;
    }
    let text = found[3];
    at++;
    while (at < lines.length && /^\s+\S/.test(lines[at]) && !marker(lines[at])) text += ` ${lines[at++].trim()}`;
    items.append(element("li", {}, ...inline(text)));
    if (!lines[at]?.trim() && marker(lines[at + 1] ?? "")) at++;
  }
  made.append(items);
  return at;
}

function table(lines, at, made) {
  const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  const right = cells(lines[at + 1]).map((rule) => rule.endsWith(":"));
  const row = (name, line) =>
    element("tr", {}, ...cells(line).map((cell, n) => element(name, right[n] ? { class: "number" } : {}, ...inline(cell))));
  const head = element("thead", {}, row("th", lines[at]));
  const body = element("tbody");
  for (at += 2; at < lines.length && lines[at].includes("|"); at++) body.append(row("td", lines[at]));
  made.append(element("div", { class: "wide", tabindex: "0" }, element("table", {}, head, body)));
  return at;
}

/** Text, code, emphasis and links of a line; an address that is not of the web stays text. */
function inline(text) {
  const found = text.match(INLINE);
  if (!found) return text ? [text.replace(/\\([\\`*_{}[\]()#+.!|-])/g, "$1")] : [];
  const [all, ticks, code, strong, emphasis, label, address, bare] = found;
  let made;
  if (ticks) made = element("code", {}, code.trim());
  else if (strong) made = element("strong", {}, ...inline(strong));
  else if (emphasis) made = element("em", {}, ...inline(emphasis));
  else if (bare) made = link(bare, bare);
  else made = /^https?:\/\//.test(address) && !all.startsWith("!") ? link(address, label) : label;
  return [...inline(text.slice(0, found.index)), made, ...inline(text.slice(found.index + all.length))];
}

function link(address, label) {
  return element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, ...inline(label));
}
