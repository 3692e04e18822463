// One system's translation: its words, confidence, time, other wordings and attention.

import { Refusal, call } from "./api.js";
import { copy, element, percent } from "./elements.js";
import { heatMap } from "./heat.js";
import { attended, differing, direction, words } from "./words.js";

const OTHERS = 3; // other wordings to ask for
const SURE = 0.8; // index.html says what these limits mean, and for which corpus
const UNSURE = 0.65;
const NAMED = 0.05; // smaller weights are not named
const UNTRANSLATED = "A text without a letter stays as it is.";

export function aboutScore({ corpus }) {
  return `BLEU on the validation part of ${corpus}, which the systems are ordered by`;
}

/** A system's share of the page. `page` gives text, language, and what the other parts of the page show. */
export class Result {
  constructor(system, page) {
    this.system = system;
    this.page = page;
    this.answer = null;
    this.first = null; // the answer whose words the others are compared with
    this.sentences = []; // of the answer
    this.pinned = -1;
    this.build();
  }

  build() {
    const { system, page } = this;
    const button = (label, act, more = {}) =>
      element("button", { type: "button", class: "quiet", onclick: act, ...more }, label);
    this.name = element("h3", { id: `name-${system.system}` }, system.label);
    this.text = element("p", {
      class: "translation",
      lang: system.target_language,
      dir: direction(system.target_language),
      role: "group",
      "aria-label": `Translation by ${system.label}; the arrow keys go from word to word`,
    });
    this.error = element("p", { class: "error", hidden: true });
    this.sure = element("span", { class: "sure" });
    this.time = element("span", { class: "time", title: "How long the answer took to come here" });
    this.othersButton = button("Alternatives", () => this.toggle(this.others, () => this.showOthers()), {
      "aria-expanded": "false",
    });
    this.mapButton = button("Attention", () => this.toggle(this.map, () => this.showMap()), { "aria-expanded": "false" });
    this.copyButton = button("Copy", () => copy(this.answer.translatedText, this.copyButton, page.say));
    this.others = element("div", { class: "fold others", hidden: true });
    this.map = element("div", { class: "fold", hidden: true });
    this.others.opener = this.othersButton;
    this.map.opener = this.mapButton;
    this.under = element(
      "div",
      { class: "under" },
      element("p", { class: "facts" }, this.sure, this.time),
      element("div", { class: "actions" }, this.othersButton, this.mapButton, this.copyButton),
    );
    this.element = element(
      "article",
      { class: "result", "data-system": system.system, "aria-labelledby": `name-${system.system}` },
      element(
        "div",
        { class: "title" },
        this.name,
        system.score === null ? null : element("span", { class: "score", title: aboutScore(system) }, `validation BLEU ${system.score.toFixed(1)}`),
        button("Model card", () => page.showCard(system), { "aria-label": `Model card of ${system.label}` }),
      ),
      this.text,
      this.error,
      this.under,
      this.others,
      this.map,
    );
    this.text.addEventListener("pointerover", (event) => this.point(this.wordOf(event.target)));
    this.text.addEventListener("pointerleave", () => this.point(this.pinned));
    this.text.addEventListener("focusin", (event) => this.point(this.wordOf(event.target), true));
    this.text.addEventListener("focusout", () => this.point(this.pinned));
    this.text.addEventListener("click", (event) => this.pin(this.wordOf(event.target), event.pointerType));
    this.text.addEventListener("keydown", (event) => this.walk(event));
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      const open = [this.others, this.map].find((fold) => fold.contains(event.target) || fold.opener === event.target);
      if (open && !open.hidden) {
        this.close(open);
        open.opener.focus();
        event.stopPropagation();
      }
    });
    this.wait("");
  }

  /** Before an answer: what was there stays, faded, unless there is no text at all. */
  wait(text) {
    this.element.classList.toggle("empty", !text);
    this.element.classList.toggle("waiting", Boolean(text));
    this.element.setAttribute("aria-busy", String(Boolean(text)));
    this.error.hidden = true;
    this.unpoint();
    if (!text) {
      this.answer = null;
      this.spans = [];
      this.text.replaceChildren(element("span", { class: "placeholder" }, "The translation appears here"));
      this.refresh();
    }
  }

  show(answer) {
    this.element.classList.remove("empty", "waiting");
    this.element.removeAttribute("aria-busy");
    this.error.hidden = true;
    this.text.hidden = false;
    this.under.hidden = false;
    const same = answer === this.answer;
    this.answer = answer;
    const share = answer.confidence ?? null; // null of a text without a letter
    this.sure.hidden = share === null;
    if (share !== null) {
      const bar = element("span", { class: "bar", "aria-hidden": "true" }, element("span"));
      bar.firstChild.style.width = percent(share);
      const word = share >= SURE ? "confident" : share >= UNSURE ? "half sure" : "unsure";
      this.sure.replaceChildren(bar, `${word}, ${percent(share)}`);
      this.sure.className = `sure ${word.replace(" ", "-")}`;
      this.sure.title = "The probability that the system gives a piece of this translation: the geometric mean";
    }
    this.time.textContent = `${Math.max(1, Math.round(answer.milliseconds))} ms`;
    if (!same) {
      this.close(this.others);
      this.write();
      this.sentences = this.split();
      if (!this.map.hidden) this.showMap();
    }
    this.refresh();
  }

  fail(error) {
    this.wait("");
    this.element.classList.remove("empty");
    this.text.hidden = true;
    this.under.hidden = true;
    const again = element("button", { type: "button", class: "quiet", onclick: () => this.page.retry(error) });
    again.textContent = error.wantsKey ? "Enter a key" : "Try again";
    this.error.replaceChildren(element("span", {}, error.message), again);
    this.error.hidden = false;
    this.close(this.others);
    this.close(this.map);
  }

  /** Buttons have nothing to act on without an answer. */
  refresh() {
    this.text.hidden = false;
    this.under.hidden = !this.answer;
    if (!this.answer) {
      this.close(this.others);
      this.close(this.map);
    }
  }

  /** The words of the translation, each a place to point at; one of them is reached by Tab, the others by arrows. */
  write() {
    const { translatedText: text } = this.answer;
    this.words = words(text, this.system.target_language);
    this.pinned = -1;
    let last = 0;
    const parts = [];
    this.spans = this.words.map((word, index) => {
      const span = element("span", { class: "word", tabindex: index ? "-1" : "0", "data-word": index }, word.text);
      parts.push(text.slice(last, word.start), span);
      last = word.end;
      return span;
    });
    parts.push(text.slice(last));
    this.text.replaceChildren(...parts.filter(Boolean));
  }

  /** Mark the words that the first system's translation does not have. */
  compare(first) {
    this.first = first;
    if (!this.answer) return;
    const plain = !first || first === this.answer;
    const theirs = plain ? [] : words(first.translatedText, this.system.target_language).map((word) => word.text);
    const differs = plain ? null : differing(this.words.map((word) => word.text), theirs);
    this.spans.forEach((span, index) => span.classList.toggle("differs", Boolean(differs?.[index])));
  }

  wordOf(target) {
    return Number(target.closest?.("[data-word]")?.dataset.word ?? -1);
  }

  /** Show what the word at an index attends to; -1 shows nothing. `aloud` tells screen readers, too. */
  async point(index, aloud = false) {
    const { answer, page } = this;
    // What is typed may have changed since, and the answer be about to.
    if (index < 0 || !answer || answer.q !== page.text()) return this.unpoint();
    this.pointed = index;
    this.spans.forEach((span, place) => span.classList.toggle("pointed", place === index));
    let shown;
    try {
      shown = await this.origin(this.words[index]);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      shown = [[], [], error.message];
    }
    if (this.answer === answer && this.pointed === index && answer.q === page.text()) page.trace(...shown, aloud);
    return undefined;
  }

  unpoint() {
    if (this.pointed === undefined) return;
    this.pointed = undefined;
    this.spans.forEach((span) => span.classList.remove("pointed"));
    this.page.trace(null);
  }

  /** Keep a word's origin on show, or no longer; -1 is no word. */
  pin(index, pointer = "") {
    this.pinned = index === this.pinned ? -1 : index;
    this.spans.forEach((span, place) => span.classList.toggle("pinned", place === this.pinned));
    this.point(pointer === "touch" ? this.pinned : index); // a mouse is still there
  }

  /** Keys on a word: arrows go on, Enter and the space bar pin, Escape lets go. */
  walk(event) {
    const here = this.wordOf(event.target);
    if (here < 0) return;
    const last = this.spans.length - 1;
    const next = { ArrowRight: Math.min(last, here + 1), ArrowLeft: Math.max(0, here - 1), Home: 0, End: last }[event.key];
    if (next !== undefined) {
      this.spans[here].tabIndex = -1;
      this.spans[next].tabIndex = 0;
      this.spans[next].focus();
    } else if (event.key === "Enter" || event.key === " ") this.pin(here);
    else if (event.key === "Escape") {
      this.pinned = -1;
      this.spans.forEach((span) => span.classList.remove("pinned"));
      this.unpoint();
    } else return;
    event.preventDefault();
  }

  /** Where a word of the translation comes from: weights, the words of the source that they belong to, and a line. */
  async origin(word) {
    const sentence = this.sentences.findLast(({ target }) => target.start <= word.start) ?? this.sentences[0];
    if (!sentence) return [[], [], UNTRANSLATED];
    const record = await this.attention(sentence);
    if (!Object.keys(record.weights).length) return [[], [], none(this.system)];
    const found = (sentence.attended ??= attended(record, sentence.source, sentence.target));
    const weights = found?.[sentence.target.words.indexOf(word)] ?? [];
    const named = weights
      .map((weight, place) => ({ weight, text: sentence.source.words[place].text }))
      .filter(({ weight, text }) => weight >= NAMED && /[\p{L}\p{N}]/u.test(text))
      .sort((one, other) => other.weight - one.weight)
      .slice(0, 3)
      .map(({ weight, text }) => `${text} ${percent(weight)}`);
    return [weights, sentence.source.words, `${word.text} ← ${named.join(", ") || "no word in particular"}`];
  }

  /** The sentences of the text and of its translation. */
  split() {
    const { q, translatedText, sentences } = this.answer;
    const sources = parts(q, sentences.map(([source]) => source), words(q, this.system.source_language));
    const targets = parts(translatedText, sentences.map(([, target]) => target), this.words);
    return sources.map((source, n) => ({ source, target: targets[n] }));
  }

  /** The attention of one sentence; asked for once. */
  attention(sentence) {
    const asked = { q: sentence.source.sentence, system: this.system.system };
    sentence.record ??= call("attention", asked).catch((error) => {
      sentence.record = null;
      throw error;
    });
    return sentence.record;
  }

  toggle(fold, fill) {
    if (!fold.hidden) return this.close(fold);
    fold.hidden = false;
    fold.opener.setAttribute("aria-expanded", "true");
    return fill();
  }

  close(fold) {
    fold.hidden = true;
    fold.opener.setAttribute("aria-expanded", "false");
    fold.replaceChildren();
  }

  async showOthers() {
    const { answer, others } = this;
    others.replaceChildren(element("p", { class: "hint" }, "Looking for other wordings…"));
    let shown;
    try {
      answer.others ??= (await this.page.translate(this.system, answer.q, OTHERS)).alternatives ?? [];
      const different = [...new Set(answer.others)].filter((text) => text !== answer.translatedText);
      const best = this.words.map((word) => word.text);
      shown = different.length
        ? [element("ol", {}, ...different.map((text) => this.wording(text, best)))]
        : [element("p", { class: "hint" }, "This search found no other wording.")];
    } catch (error) {
      shown = [failed(error)];
    }
    if (this.answer !== answer || others.hidden) return;
    others.replaceChildren(...shown);
    this.page.say(others.textContent);
  }

  /** Another wording, what differs from the best one marked; a click copies it. */
  wording(text, best) {
    const language = this.system.target_language;
    const found = words(text, language);
    const differs = differing(found.map((word) => word.text), best);
    let last = 0;
    const parts = [];
    found.forEach((word, index) => {
      parts.push(text.slice(last, word.start));
      parts.push(differs[index] ? element("span", { class: "differs" }, word.text) : word.text);
      last = word.end;
    });
    const button = element("button", { type: "button", class: "quiet", "aria-label": `Copy: ${text}` }, "Copy");
    button.addEventListener("click", () => copy(text, button, this.page.say));
    return element("li", {}, element("span", { lang: language, dir: direction(language) }, ...parts, text.slice(last)), button);
  }

  async showMap() {
    const { answer, map } = this;
    map.replaceChildren(element("p", { class: "hint" }, "Reading the attention…"));
    const held = element("div");
    let wanted;
    const draw = async (sentence) => {
      wanted = sentence;
      let drawn;
      try {
        drawn = heatMap(await this.attention(sentence)) ?? element("p", { class: "hint" }, none(this.system));
      } catch (error) {
        drawn = failed(error);
      }
      if (wanted === sentence) held.replaceChildren(drawn); // else another was chosen meanwhile
    };
    let shown;
    try {
      const among = this.sentences;
      if (among.length) await draw(among[0]);
      else held.append(element("p", { class: "hint" }, UNTRANSLATED));
      shown = among.length > 1 ? [this.chooser(among, draw), held] : [held];
    } catch (error) {
      shown = [failed(error)];
    }
    if (this.answer === answer && !map.hidden) map.replaceChildren(...shown);
  }

  /** A choice among the sentences of a longer text. */
  chooser(among, draw) {
    const select = element("select");
    among.forEach(({ source }, n) => {
      const text = source.sentence.trim();
      select.append(element("option", { value: n }, `${n + 1}: ${text.length > 40 ? `${text.slice(0, 40)}…` : text}`));
    });
    select.addEventListener("change", () => draw(among[Number(select.value)]));
    return element("div", { class: "choices" }, element("label", {}, "Sentence ", select));
  }
}

function none({ label }) {
  return `${label} has no attention: it reads the whole sentence into one vector, so no word stands out.`;
}

/** What the page says in place of something that could not be had. */
function failed(error) {
  if (!(error instanceof Refusal)) throw error;
  return element("p", { class: "hint" }, error.message);
}

/** Where the sentences of a text start, and their words among all words of the text. */
function parts(text, sentences, among) {
  let [from, next] = [0, 0];
  return sentences.map((sentence) => {
    const found = text.indexOf(sentence, from);
    const start = found < 0 ? from : found;
    from = Math.min(text.length, start + sentence.length);
    while (next < among.length && among[next].start < start) next++;
    const first = next;
    while (next < among.length && among[next].start < from) next++;
    return { sentence, start, words: among.slice(first, next) };
  });
}
