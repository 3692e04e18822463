// The page: what is typed goes to the chosen systems, one after the other; stale answers are dropped.

import { Refusal, call, hasKey, useKey } from "./api.js";
import { byId, copy, element } from "./elements.js";
import { Result, aboutScore } from "./result.js";
import { direction } from "./words.js";

const PAUSE = 250; // milliseconds without a key before a translation is asked for
const SLOW = 200; // milliseconds after which what is shown fades
const REMEMBERED = 200; // answers
const LONG = 220; // characters; longer texts are set smaller
const IN_ADDRESS = 2000; // characters; longer texts would make addresses that programs cut
const SHOWN = 0.05; // smaller weights of attention mark nothing
const TOUCH = matchMedia("(hover: none)").matches;
const HINT = `${TOUCH ? "Tap" : "Point at"} a word of a translation to see where it comes from.`;
const AXES = ["model", "size", "vocabulary", "corpus", "engine", "folder"]; // of a system, as /systems names them
const ALL = "all"; // in an address, in place of every system of the pair
const MOST_EXAMPLES = 6;

const source = byId("source");
const results = new Map(); // id of a chosen system -> its Result
const answers = new Map(); // text and system -> answer
const state = { systems: [], pair: "", chosen: [], limit: 0, timer: 0, run: null, ready: false, needsKey: false };

const page = {
  text: () => source.value,
  say(text) {
    byId("status").textContent = text;
  },
  trace,
  translate,
  showCard,
  retry(error) {
    if (error.wantsKey) askForKey();
    else translateAll();
  },
};

start();

async function start() {
  listen();
  setTheme(remembered("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  await load();
}

/** Ask what is loaded; the whole page depends on it. */
async function load() {
  byId("notice").hidden = true;
  try {
    const { systems, characters, keys } = await call("systems");
    state.limit = characters;
    byId("key-button").hidden = !keys;
    state.systems = systems.map((system) => ({ ...system, label: label(system, systems) }));
    state.needsKey = keys;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    notice(error.message, "Try again", load);
    return;
  }
  state.ready = true;
  if (state.needsKey && !hasKey()) {
    notice("This server answers those who have an API key.", "Enter a key", askForKey, false);
  }
  offerPairs();
  readFragment();
}

function notice(text, label, act, wrong = true) {
  const button = element("button", { type: "button", class: "quiet", onclick: act }, label);
  byId("notice").replaceChildren(element("span", {}, text), button);
  byId("notice").classList.toggle("wrong", wrong);
  byId("notice").hidden = false;
}

/** A system's model, and whatever else tells it from the others of its pair. */
function label(system, systems) {
  const others = systems.filter((other) => pairOf(other) === pairOf(system));
  const axes = AXES.filter((axis) => axis === "model" || new Set(others.map((other) => other[axis])).size > 1);
  return axes.map((axis) => system[axis]).filter(Boolean).join(" · ") || system.system;
}

// Languages and systems

function pairOf(system) {
  return `${system.source_language}-${system.target_language}`;
}

function language(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}

function offerPairs() {
  const pairs = [...new Set(state.systems.map(pairOf))];
  const select = byId("pair");
  select.replaceChildren(
    ...pairs.map((pair) => {
      const { source_language, target_language } = state.systems.find((system) => pairOf(system) === pair);
      return element("option", { value: pair }, `${language(source_language)} → ${language(target_language)}`);
    }),
  );
  byId("pair-label").hidden = pairs.length < 2;
  byId("choice").hidden = false;
  state.pair = pairs[0]; // of the best system
}

function loaded() {
  return state.systems.filter((system) => pairOf(system) === state.pair);
}

function choosePair(pair) {
  state.pair = pair;
  byId("pair").value = pair;
  const [{ source_language, target_language }] = loaded();
  byId("source-language").textContent = language(source_language);
  byId("target-language").textContent = language(target_language);
  source.lang = source_language;
  source.parentElement.dir = direction(source_language);
  const back = `${target_language}-${source_language}`;
  byId("swap").hidden = !state.systems.some((system) => pairOf(system) === back);
  source.placeholder = `Type or paste ${language(source_language)} text`;
  const examples = [...new Set(loaded().flatMap((system) => system.examples))].slice(0, MOST_EXAMPLES);
  byId("examples").hidden = !examples.length;
  byId("examples").lastElementChild.replaceChildren(
    ...examples.map((text) =>
      element("button", { type: "button", class: "example", lang: source_language, onclick: () => put(text, true) }, text),
    ),
  );
  byId("systems").replaceChildren(
    ...loaded().map((system) =>
      element(
        "button",
        { type: "button", class: "chip", "data-system": system.system, "aria-pressed": "false", onclick: () => flip(system) },
        element("span", {}, system.label),
        system.score === null ? null : element("span", { class: "score", title: aboutScore(system) }, `BLEU ${system.score.toFixed(1)}`),
      ),
    ),
  );
  choose(state.chosen.filter((id) => loaded().some(({ system }) => system === id)));
}

function flip({ system }) {
  const chosen = state.chosen.includes(system) ? state.chosen.filter((id) => id !== system) : [...state.chosen, system];
  choose(chosen.length ? chosen : [system]);
}

/** Show these systems, in the order of their scores; the best one if there are none. */
function choose(ids) {
  const all = loaded().map(({ system }) => system);
  state.chosen = ids.length ? all.filter((id) => ids.includes(id)) : all.slice(0, 1);
  for (const id of [...results.keys()]) {
    if (!state.chosen.includes(id)) {
      results.get(id).unpoint();
      results.delete(id);
    }
  }
  for (const id of state.chosen) {
    if (!results.has(id)) results.set(id, new Result(state.systems.find(({ system }) => system === id), page));
  }
  byId("results").replaceChildren(...state.chosen.map((id) => results.get(id).element));
  for (const chip of byId("systems").children) {
    chip.setAttribute("aria-pressed", String(state.chosen.includes(chip.dataset.system)));
  }
  const everyone = state.chosen.length === all.length;
  byId("all").hidden = all.length < 2;
  byId("all").textContent = everyone ? "Only the best" : `Compare all ${all.length}`;
  byId("sheet").classList.toggle("several", state.chosen.length > 1);
  translateAll();
}

// Text and translations

/** The text changed: count it, and translate after a pause. */
function typed(now = false) {
  const text = source.value;
  trace(null);
  byId("sheet").classList.toggle("long", text.length > LONG);
  byId("clear").hidden = !text;
  byId("link").hidden = !text || text.length > IN_ADDRESS;
  const length = [...text].length;
  const tooLong = state.limit > 0 && length > state.limit;
  const number = (value) => value.toLocaleString("en");
  byId("count").textContent = state.limit ? `${number(length)} / ${number(state.limit)}` : text ? number(length) : "";
  byId("count").classList.toggle("over", tooLong);
  source.setAttribute("aria-invalid", String(tooLong));
  clearTimeout(state.timer);
  state.run?.abort();
  if (now) translateAll();
  else state.timer = setTimeout(translateAll, text.trim() ? PAUSE : 0);
}

function put(text, focus = false) {
  source.value = text;
  typed(true);
  if (focus) source.focus();
}

/** The chosen systems translate, one after the other, so that their times can be compared. */
async function translateAll() {
  clearTimeout(state.timer);
  if (!state.ready || (state.needsKey && !hasKey())) return;
  state.run?.abort();
  const run = (state.run = new AbortController());
  const text = source.value;
  writeFragment();
  const chosen = state.chosen.map((id) => results.get(id));
  if (!text.trim()) {
    for (const result of chosen) result.wait("");
    compare();
    page.say("");
    return;
  }
  if (state.limit && [...text].length > state.limit) {
    const error = new Refusal(413, `The text is longer than this server accepts: ${state.limit.toLocaleString("en")} characters.`);
    for (const result of chosen) result.fail(error);
    page.say(error.message);
    return;
  }
  const fade = setTimeout(() => {
    for (const result of chosen) if (result.answer?.q !== text) result.wait(text);
  }, SLOW);
  const said = [];
  for (const result of chosen) {
    try {
      const answer = await translate(result.system, text, 0, run.signal);
      if (run.signal.aborted) break;
      result.show(answer);
      said.push(chosen.length > 1 ? `${result.system.label}: ${answer.translatedText}` : answer.translatedText);
    } catch (error) {
      if (run.signal.aborted || error.name === "AbortError") break;
      if (!(error instanceof Refusal)) throw error;
      result.fail(error);
      said.push(error.message);
      if (error.seconds) state.timer = setTimeout(translateAll, 1000 * error.seconds); // busy: it said when
      if (!error.status || error.wantsKey || error.seconds) {
        for (const other of chosen) if (other.answer?.q !== text) other.fail(error); // they would fare the same
        break;
      }
    }
    compare();
  }
  clearTimeout(fade);
  if (!run.signal.aborted) page.say(said.join(". "));
}

/** A system's answer to a text, remembered. */
async function translate({ system, source_language, target_language }, text, alternatives = 0, signal = undefined) {
  const name = JSON.stringify([system, alternatives, text]);
  if (answers.has(name)) return answers.get(name);
  const asked = { q: text, source: source_language, target: target_language, alternatives, system };
  const begun = performance.now();
  const answer = await call("translate", asked, signal);
  const found = { ...answer, q: text, milliseconds: performance.now() - begun };
  answers.set(name, found);
  if (answers.size > REMEMBERED) answers.delete(answers.keys().next().value);
  return found;
}

/** With several systems, mark what differs from the first one's translation. */
function compare() {
  const shown = state.chosen.map((id) => results.get(id));
  const several = shown.length > 1;
  const first = several ? shown[0].answer : null;
  for (const result of shown) result.compare(first);
  offerHint();
  byId("legend").hidden = !shown.some((result) => result.element.querySelector(".translation .differs"));
}

// Attention: the words of the source, marked behind the text

/** Mark the words by weight and say what is shown; null clears. */
function trace(weights, marked = [], said = "", aloud = false) {
  const mirror = byId("mirror");
  const text = source.value;
  const parts = [];
  let last = 0;
  marked.forEach(({ start, end }, index) => {
    if (!(weights?.[index] >= SHOWN)) return;
    const mark = element("mark", {}, text.slice(start, end));
    // A weight of 0.1 should be seen, and 1 be clearly more.
    mark.style.setProperty("--weight", (0.12 + 0.88 * Math.min(1, weights[index]) ** 0.8).toFixed(3));
    mark.dataset.weight = weights[index].toFixed(2);
    parts.push(text.slice(last, start), mark);
    last = end;
  });
  // The last line of a text that ends in a line feed has no height without something on it.
  mirror.replaceChildren(...parts, `${text.slice(last)}\n`);
  byId("trace").textContent = said;
  byId("trace").classList.toggle("hint", !said);
  if (!said) offerHint();
  if (aloud) page.say(said);
}

/** Once there is a translation to point at, say that one can. */
function offerHint() {
  const isOffered = state.chosen.some((id) => results.get(id)?.answer);
  if (byId("trace").classList.contains("hint")) byId("trace").textContent = isOffered ? HINT : "";
}

// Cards, keys, links, theme

async function showCard({ system, label }) {
  const text = byId("card-text");
  byId("card-title").textContent = `Model card: ${label}`;
  text.replaceChildren();
  byId("card").showModal();
  try {
    text.innerHTML = (await call(`card/${encodeURIComponent(system)}`)).html || "This model came without a card.";
    for (const link of text.querySelectorAll("a")) Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    text.textContent = error.message;
  }
  text.scrollTop = 0;
}

function askForKey() {
  byId("key").value = "";
  byId("key-dialog").showModal();
}

/** Take text, pair and systems from the address. */
function readFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  const ids = (given.get("systems") ?? "").split(",");
  const named = state.systems.filter(({ system }) => ids.includes(system));
  const wanted = given.get("pair") ?? (named.length ? pairOf(named[0]) : state.pair);
  state.chosen = (ids.includes(ALL) ? state.systems : named).map(({ system }) => system);
  source.value = given.get("q") ?? source.value;
  choosePair(state.systems.some((system) => pairOf(system) === wanted) ? wanted : state.pair);
  typed(true);
}

/** The address names text, pair and systems, so that it can be sent to somebody. */
function writeFragment() {
  const named = new URLSearchParams();
  if (source.value && source.value.length <= IN_ADDRESS) named.set("q", source.value);
  if (new Set(state.systems.map(pairOf)).size > 1) named.set("pair", state.pair);
  const all = loaded().map(({ system }) => system);
  const byDefault = state.chosen.length === 1 && state.chosen[0] === all[0];
  if (!byDefault) named.set("systems", state.chosen.length === all.length ? ALL : state.chosen.join(","));
  const fragment = named.toString().replaceAll("%2C", ",");
  history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
}

function remembered(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(name);
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // Storage is refused in some private windows: the choice then lasts as long as the page.
  }
  return null;
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
}

function listen() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", ({ matches }) => remembered("theme") ?? setTheme(matches ? "dark" : "light"));
  byId("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    setTheme(theme);
    remembered("theme", theme === (system.matches ? "dark" : "light") ? null : theme); // back to the system's: follow it
  });
  source.addEventListener("input", () => typed());
  source.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) translateAll();
  });
  byId("clear").addEventListener("click", () => put("", true));
  byId("link").addEventListener("click", (event) => {
    writeFragment();
    copy(location.href, event.currentTarget, page.say);
  });
  byId("all").addEventListener("click", () => {
    const all = loaded().map(({ system }) => system);
    choose(state.chosen.length === all.length ? [] : all);
  });
  byId("pair").addEventListener("change", (event) => {
    choosePair(event.target.value);
    typed(true);
  });
  byId("swap").addEventListener("click", () => {
    const [from, to] = [loaded()[0].source_language, loaded()[0].target_language];
    const text = results.get(state.chosen[0])?.answer?.translatedText ?? source.value;
    choosePair(`${to}-${from}`);
    put(text, true);
  });
  byId("key-button").addEventListener("click", askForKey);
  byId("key-cancel").addEventListener("click", () => byId("key-dialog").close());
  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    useKey(byId("key").value);
    byId("key-dialog").close();
    byId("notice").hidden = true;
    if (state.ready) translateAll();
    else load();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest(".word, .fold")) return;
    for (const result of results.values()) if (result.pinned >= 0) result.pin(-1);
  });
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
  addEventListener("hashchange", () => state.ready && readFragment());
}
