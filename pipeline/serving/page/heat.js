// The heat map of one sentence: pieces read across, pieces written down, with a choice of layer and head.

import { element } from "./elements.js";
import { head } from "./words.js";

const KINDS = {
  // the first word of an attention's name: what it is, what its columns are, what its rows are
  attention: ["Attention", "source", "target"],
  cross: ["Cross-attention", "source", "target"],
  encoder: ["Encoder self-attention", "source", "source"],
  decoder: ["Decoder self-attention", "read", "target"],
};
let maps = 0;

/** The map of a record of `/attention`; null where it has no weights. */
export function heatMap(record) {
  const names = Object.keys(record.weights).sort((one, other) => rank(one) - rank(other) || one.localeCompare(other));
  if (!names.length) return null;
  maps++;
  const which = element("select", { id: `layer-${maps}` });
  for (const name of names) which.append(element("option", { value: name }, title(name)));
  const heads = element("select", { id: `head-${maps}` });
  const cell = element("output", { class: "cell" });
  const held = element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Heat map" });
  const headLabel = element("label", {}, "Head ", heads);
  which.value = names.filter((name) => rank(name) === rank(names[0])).at(-1);
  which.addEventListener("change", () => {
    offer();
    draw();
  });
  heads.addEventListener("change", draw);
  offer();
  draw();
  const choices = element("div", { class: "choices" }, element("label", {}, "Layer ", which), headLabel);
  return element("div", { class: "map" }, choices, held, cell);

  function offer() {
    const number = record.weights[which.value].length;
    heads.replaceChildren(element("option", { value: "mean" }, "mean of all"));
    for (let n = 0; n < number; n++) heads.append(element("option", { value: n }, String(n + 1)));
    headLabel.hidden = number === 1;
  }

  function draw() {
    const name = which.value;
    const [, columnKind, rowKind] = KINDS[kind(name)] ?? KINDS.attention;
    const matrix = head(record.weights[name], heads.value === "mean" ? "mean" : Number(heads.value));
    const target = record.target;
    const columns = columnKind === "source" ? record.source : ["<s>", ...target];
    const rows = rowKind === "source" ? record.source : target;
    cell.textContent = "";
    const top = element("tr", {}, element("td"));
    columns.slice(0, matrix[0].length).forEach((piece) => top.append(label(piece, "col")));
    const table = element("table", { class: "heat" }, element("caption", { class: "unseen" }, title(name)));
    table.append(element("thead", {}, top));
    const body = element("tbody");
    matrix.forEach((weights, t) => {
      const row = element("tr", {}, label(rows[t], "row"));
      weights.forEach((weight, s) => {
        const made = element("td", {}, element("span", { class: "unseen" }, weight.toFixed(2)));
        made.style.setProperty("--weight", String(Math.min(1, weight)));
        made.addEventListener("pointerenter", () => {
          cell.textContent = `${shown(rows[t])} ← ${shown(columns[s])}: ${weight.toFixed(2)}`;
        });
        row.append(made);
      });
      body.append(row);
    });
    table.append(body);
    held.replaceChildren(table);
  }
}

function kind(name) {
  return name.split(" ")[0];
}

function rank(name) {
  const place = Object.keys(KINDS).indexOf(kind(name));
  return place < 0 ? 9 : place;
}

function title(name) {
  const [first, layer] = name.split(" ");
  return (KINDS[first]?.[0] ?? first) + (layer ? `, layer ${layer}` : "");
}

function shown(piece) {
  return piece.replace("▁", "") || "␣";
}

function label(piece, scope) {
  const end = piece === "</s>" || piece === "<s>";
  return element("th", { scope, class: end ? "end" : null, title: piece }, element("span", {}, end ? "end" : shown(piece)));
}
