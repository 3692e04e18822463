// Two systems side by side: the reader chooses them. `differences.py` is the same in Python, and a test holds them equal.
"use strict";

const FIRST = 10; // sentences shown, and how many more at a time

function common(first, second) {
  const lengths = Array.from({ length: first.length + 1 }, () => new Array(second.length + 1).fill(0));
  for (let row = first.length - 1; row >= 0; row--) {
    for (let column = second.length - 1; column >= 0; column--) {
      lengths[row][column] = first[row] === second[column]
        ? lengths[row + 1][column + 1] + 1
        : Math.max(lengths[row + 1][column], lengths[row][column + 1]);
    }
  }
  const pairs = [];
  for (let row = 0, column = 0; row < first.length && column < second.length;) {
    if (first[row] === second[column]) pairs.push([row++, column++]);
    else if (lengths[row + 1][column] >= lengths[row][column + 1]) row++;
    else column++;
  }
  return pairs;
}

function difference(first, second) {
  const sides = [first, second];
  const kinds = sides.map((words) => words.map(() => "only"));
  for (const [row, column] of common(first, second)) kinds[0][row] = kinds[1][column] = "same";
  const counts = sides.map((words, side) => {
    const found = new Map();
    words.forEach((word, place) => {
      if (kinds[side][place] === "only") found.set(word, (found.get(word) || 0) + 1);
    });
    return found;
  });
  sides.forEach((words, side) => {
    const moved = new Map();
    for (const [word, count] of counts[0]) moved.set(word, Math.min(count, counts[1].get(word) || 0));
    words.forEach((word, place) => {
      if (kinds[side][place] === "only" && moved.get(word)) {
        kinds[side][place] = "moved";
        moved.set(word, moved.get(word) - 1);
      }
    });
  });
  const same = kinds.flat().filter((kind) => kind === "same").length;
  return { kinds, distance: first.length + second.length ? 1 - same / (first.length + second.length) : 0 };
}

function element(name, about, ...children) {
  const made = Object.assign(document.createElement(name), about);
  made.append(...children);
  return made;
}

function marked(words, kinds, language) {
  const place = element("p", { lang: language, dir: "auto" });
  for (let start = 0, end; start < words.length; start = end) {
    for (end = start + 1; end < words.length && kinds[end] === kinds[start]; end++);
    const text = words.slice(start, end).join("");
    if (kinds[start] === "same") {
      place.append(text);
      continue;
    }
    const sign = element("span", { className: "sign" }, kinds[start] === "moved" ? "↔" : "≠");
    if (text.startsWith(" ")) place.append(" ");
    place.append(element("mark", { className: kinds[start] }, sign, text.trimStart()));
  }
  if (!words.length) place.append(element("em", {}, "(empty)"));
  return place;
}

class Comparison {
  constructor(box) {
    this.data = JSON.parse(box.querySelector("script").textContent);
    this.results = box.querySelector(".results");
    const form = box.querySelector("form");
    this.form = form;
    form.hidden = false;
    form.addEventListener("change", () => this.show(FIRST));
    form.addEventListener("submit", (event) => event.preventDefault());
    this.show(FIRST);
  }

  show(most) {
    const part = this.data.parts[this.form.elements.part.value];
    const [a, b] = ["a", "b"].map((side) => Number(this.form.elements[side].value));
    const rows = part.lines.map((line, row) => ({
      line, row, gain: part.chrf[b][row] - part.chrf[a][row],
      ...difference(...[a, b].map((system) => part.words[system][row].map((word) => word.trim()))),
    }));
    const orders = {
      distance: (one, other) => other.distance - one.distance,
      b: (one, other) => other.gain - one.gain,
      a: (one, other) => one.gain - other.gain,
    };
    const order = orders[this.form.elements.order.value];
    rows.sort((one, other) => order(one, other) || one.row - other.row);
    const wins = [rows.filter((row) => row.gain < 0).length, rows.filter((row) => row.gain > 0).length];
    const names = [a, b].map((system) => this.data.systems[system]);
    const equal = rows.filter((row) => !row.distance).length;
    const balance = element("p", { className: "balance" },
      `By chrF, ${names[0]} is better on ${wins[0]} and ${names[1]} on ${wins[1]} of ${rows.length} sentences; `
      + `they say the same on ${equal}.`);
    const shown = rows.slice(0, most).map((row) => this.sentence(part, row, [a, b], names));
    const more = element("button", { type: "button" }, "Show more");
    more.addEventListener("click", () => {
      this.show(most + FIRST);
      this.results.querySelectorAll(".sentence")[most]?.focus();
    });
    this.results.replaceChildren(balance, ...shown, ...(rows.length > most ? [more] : []));
  }

  sentence(part, row, systems, names) {
    const { source, target } = this.data.languages;
    const text = (title, language, words) => [
      element("dt", {}, title), element("dd", { lang: language, dir: "auto" }, words)];
    const columns = systems.map((system, side) => element("div", {},
      element("p", { className: "about" }, element("b", {}, names[side]), ` chrF ${part.chrf[system][row.row].toFixed(1)}`),
      marked(part.words[system][row.row], row.kinds[side], target)));
    return element("article", { className: "sentence", tabIndex: -1 },
      element("p", { className: "about" }, `line ${row.line.toLocaleString("en")}`),
      element("dl", {}, ...text("source", source, part.sources[row.row]),
        ...text("reference", target, part.references[row.row])),
      element("div", { className: "two" }, ...columns));
  }
}

addEventListener("DOMContentLoaded", () => document.querySelectorAll(".compare").forEach((box) => new Comparison(box)));
