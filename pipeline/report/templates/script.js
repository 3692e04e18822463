// Lines that a legend hides, sentences that a reader chooses, and attention maps.
"use strict";

const FIRST = 4; // sentences shown, and how many more at a time

function element(name, about, ...children) {
  const made = Object.assign(document.createElement(name), about);
  made.append(...children);
  return made;
}

function fill(select, names, chosen = 0) {
  select.replaceChildren(...names.map((name, index) => new Option(name, index, index === chosen, index === chosen)));
}

for (const figure of document.querySelectorAll(".chart")) {
  const lines = figure.querySelectorAll(".line");
  figure.querySelectorAll(".legend button").forEach((button, index) => button.addEventListener("click", () => {
    button.ariaPressed = String(lines[index].classList.toggle("off") === false);
  }));
}

// The words of a text, each with the white space before it.
function words(text, language) {
  const found = [];
  let space = "";
  for (const { segment } of new Intl.Segmenter(language, { granularity: "word" }).segment(text)) {
    if (segment.trim()) found.push(space + segment);
    space = segment.trim() ? "" : segment;
  }
  return found;
}

// For each word of two sentences whether it is in both: "same" in a longest common subsequence, "moved" elsewhere, or "only" here.
function compare(first, second) {
  const sides = [first, second].map((side) => side.map((word) => word.trim()));
  const lengths = Array.from({ length: first.length + 1 }, () => new Array(second.length + 1).fill(0));
  for (let row = first.length - 1; row >= 0; row--) {
    for (let column = second.length - 1; column >= 0; column--) {
      lengths[row][column] = sides[0][row] === sides[1][column]
        ? lengths[row + 1][column + 1] + 1
        : Math.max(lengths[row + 1][column], lengths[row][column + 1]);
    }
  }
  const kinds = sides.map((side) => side.map(() => "only"));
  for (let row = 0, column = 0; row < first.length && column < second.length;) {
    if (sides[0][row] === sides[1][column]) kinds[0][row++] = kinds[1][column++] = "same";
    else if (lengths[row + 1][column] >= lengths[row][column + 1]) row++;
    else column++;
  }
  sides[0].forEach((word, row) => {
    const column = sides[1].findIndex((other, place) => other === word && kinds[1][place] === "only");
    if (kinds[0][row] === "only" && column >= 0) kinds[0][row] = kinds[1][column] = "moved";
  });
  return { kinds, distance: 1 - 2 * lengths[0][0] / Math.max(1, first.length + second.length) };
}

// A translation, with what its reference has and it lacks struck out in place.
function marked(reference, translation, language) {
  const [first, second] = [words(reference, language), words(translation, language)];
  const { kinds } = compare(first, second);
  const pieces = [];
  const add = (kind, word) => {
    if (pieces.at(-1)?.kind !== kind) pieces.push({ kind, text: "" });
    pieces.at(-1).text += word;
  };
  let row = 0;
  const addMissing = () => {
    for (; row < first.length && kinds[0][row] !== "same"; row++) if (kinds[0][row] === "only") add("del", first[row]);
  };
  second.forEach((word, column) => {
    addMissing();
    if (kinds[1][column] === "same") row++;
    add({ same: "", moved: "mark", only: "ins" }[kinds[1][column]], word);
  });
  addMissing();
  const shown = pieces.flatMap(({ kind, text }) => kind
    ? [text.trimStart() === text ? "" : " ", element(kind, {}, text.trim())] : [text]);
  return shown.length ? shown : [element("em", {}, "(empty)")];
}

class Sentences {
  constructor(box) {
    this.data = JSON.parse(box.querySelector("script").textContent);
    this.results = box.querySelector(".results");
    this.fields = box.querySelector("form").elements;
    fill(this.fields.part, this.data.parts.map((part) => part.name));
    fill(this.fields.a, this.data.systems);
    fill(this.fields.b, this.data.systems, Math.min(1, this.data.systems.length - 1));
    box.querySelector("form").addEventListener("change", () => this.show(FIRST));
    this.show(FIRST);
  }

  show(most) {
    const { part: { value }, a, b, order } = this.fields;
    const part = this.data.parts[value];
    const [one, other] = [part.chrf[a.value], part.chrf[b.value]];
    const rows = part.lines.map((_, row) => row);
    const gains = rows.map((row) => other[row] - one[row]);
    const language = this.data.languages[1];
    const differs = (row) => part.translations[a.value][row] !== part.references[row];
    const distance = order.value === "distance" && rows.map((row) => compare(
      words(part.translations[a.value][row], language), words(part.translations[b.value][row], language)).distance);
    const key = {
      worst: (row) => one[row],
      best: (row) => -one[row] + 1000 * !differs(row),
      distance: (row) => -distance[row],
      b_better: (row) => -gains[row],
      a_better: (row) => gains[row],
    }[order.value];
    const chosen = rows.toSorted((left, right) => key(left) - key(right) || left - right);
    const better = [rows.filter((row) => gains[row] < 0).length, rows.filter((row) => gains[row] > 0).length];
    const names = [a, b].map((field) => this.data.systems[field.value]);
    const count = rows.length === part.total ? `${part.total.toLocaleString("en")} sentences`
      : `${rows.length.toLocaleString("en")} of ${part.total.toLocaleString("en")} sentences, drawn by chance, and the worst and the best of each system`;
    const about = element("p", { className: "legend-line" }, `${count}. ${names[0]} has ${rows.filter((row) => !differs(row)).length} of them word for word`
      + (a.value === b.value ? "." : `; by chrF it is better on ${better[0]}, ${names[1]} on ${better[1]}.`));
    const shown = chosen.slice(0, most).map((row) => this.sentence(part, row, [...new Set([a.value, b.value])]));
    const more = element("button", { type: "button", className: "more" }, "Show more");
    more.addEventListener("click", () => this.show(most + 10));
    this.results.replaceChildren(about, ...shown, ...(rows.length > most ? [more] : []));
  }

  sentence(part, row, systems) {
    const [source, target] = this.data.languages;
    const line = (title, language, ...text) => [
      element("dt", {}, title), element("dd", { lang: language, dir: "auto" }, ...text)];
    const translated = systems.map((system) => line(
      `${this.data.systems[system]}, chrF ${part.chrf[system][row].toFixed(1)}`, target,
      ...marked(part.references[row], part.translations[system][row], target)));
    return element("article", { className: "sentence" },
      element("p", { className: "about" }, `line ${(part.lines[row] + 1).toLocaleString("en")}`),
      element("dl", {}, ...line("source", source, part.sources[row]),
        ...line("reference", target, part.references[row]), ...translated.flat()));
  }
}

class Attention {
  constructor(box) {
    this.data = JSON.parse(box.querySelector("script").textContent);
    [this.about, this.table] = [box.querySelector(".about"), box.querySelector("table")];
    this.fields = box.querySelector("form").elements;
    this.names = Object.keys(this.data);
    fill(this.fields.system, this.names);
    this.fields.system.parentElement.hidden = this.names.length < 2;
    box.querySelector("form").addEventListener("change", (event) => this.show(event.target.name));
    this.show("system");
  }

  // Menus below the changed one get the choices that are left, and keep theirs if it is among them.
  show(changed) {
    const levels = ["system", "sentence", "map", "head"];
    const sentences = this.data[this.names[this.fields.system.value]];
    const choices = {
      sentence: () => sentences.map((sentence) => sentence.title),
      map: () => this.sentence.maps.map((map) => map.title),
      head: () => Object.keys(this.map.heads),
    };
    for (const level of levels.slice(1)) {
      const field = this.fields[level];
      if (levels.indexOf(changed) < levels.indexOf(level)) {
        const names = choices[level]();
        fill(field, names, Math.max(0, names.indexOf(field.selectedOptions[0]?.textContent)));
        field.parentElement.hidden = names.length < 2;
      }
      if (level === "sentence") this.sentence = sentences[field.value];
      if (level === "map") this.map = this.sentence.maps[field.value];
    }
    this.draw(Object.values(this.map.heads)[this.fields.head.value]);
  }

  draw(encoded) {
    const weights = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
    const [rows, columns] = [this.sentence[this.map.rows], this.sentence[this.map.columns]];
    const cell = (row, column) => {
      const weight = weights[row * columns.length + column] / 255;
      const made = element("td", { title: `${rows[row]} → ${columns[column]}: ${weight.toFixed(2)}` });
      made.style.setProperty("--weight", weight);
      return made;
    };
    const head = element("tr", {}, element("td", {}), ...columns.map((name) => element("th", {}, element("span", {}, name))));
    this.table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows.map((name, row) => element(
      "tr", {}, element("th", {}, name), ...columns.map((_, column) => cell(row, column))))));
    this.about.textContent = this.sentence.text;
  }
}

for (const box of document.querySelectorAll(".sentences")) new Sentences(box);
for (const box of document.querySelectorAll(".attention")) new Attention(box);
