// Words of a text, the places of pieces in it, and what an attention matrix says about words.

const ELISION = new Set(["fr", "it", "ca"]); // languages in which an apostrophe ends a word: l'eau
const LEFTWARDS = new Set(["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"]);
const NEAR = 60; // characters within which a piece is looked for after others that were not found
const MARK = /<\/?[A-Za-z][^<>]*>|[$%#]?\{\{?[^{}\s]*\}?\}|%[a-z]\b/gu;
const EOS = "</s>";

/** Which way a language is written. Chromium takes seconds to find out by itself (`auto`) for thousands of words. */
export function direction(language) {
  return LEFTWARDS.has(language.split("-")[0]) ? "rtl" : "ltr";
}

/** Tags and placeholders, which no system reads, as {start, end, text}. */
function marks(text) {
  return [...text.matchAll(MARK)].map(({ 0: mark, index }) => ({ start: index, end: index + mark.length, text: mark }));
}

function isAmong(places, index) {
  return places.some(({ start, end }) => start <= index && index < end);
}

/** The words and signs of a text as {start, end, text}, without spaces; a tag or placeholder is one. */
export function words(text, language = "en") {
  const whole = marks(text);
  const found = [...whole];
  for (const { segment, index } of new Intl.Segmenter(language, { granularity: "word" }).segment(text)) {
    if (!segment.trim() || isAmong(whole, index)) continue;
    let start = index;
    const parts = ELISION.has(language) ? segment.split(/(?<=\p{L}['’])(?=\p{L})/u) : [segment];
    for (const part of parts) {
      found.push({ start, end: start + part.length, text: part });
      start += part.length;
    }
  }
  return found.sort((one, other) => one.start - other.start);
}

/** The characters of a text that pieces are made of, each with its place: as SentencePiece normalises, no spaces. */
function characters(text) {
  const left = marks(text);
  const found = [];
  for (const { segment, index } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(text)) {
    if (isAmong(left, index)) continue;
    const place = { start: index, end: index + segment.length };
    for (const character of segment.normalize("NFKC")) if (character.trim()) found.push({ character, ...place });
  }
  return found;
}

/** Where each piece stands in a text, as [start, end]; null where it stands nowhere. */
export function locate(pieces, text) {
  const given = characters(text);
  const spelled = given.map(({ character }) => character).join("");
  // One unit of `spelled` may be half a character outside the basic plane.
  const owner = given.flatMap(({ character }, place) => Array.from({ length: character.length }, () => place));
  const spans = pieces.map(() => null);
  let cursor = 0;
  let lost = []; // unknown pieces since the last one that was found: together they stand for what lies between
  pieces.forEach((piece, place) => {
    const letters = piece.replaceAll("▁", "").normalize("NFKC");
    if (!letters || piece === EOS) return;
    const found = spelled.startsWith(letters, cursor) ? cursor : lost.length ? spelled.indexOf(letters, cursor) : -1;
    if (found < 0 || found - cursor > NEAR) {
      lost.push(place);
      return;
    }
    if (found > cursor) for (const other of lost) spans[other] = span(cursor, found);
    lost = [];
    spans[place] = span(found, found + letters.length);
    cursor = found + letters.length;
  });
  if (lost.length === 1 && pieces.at(-1) === EOS && cursor < spelled.length) spans[lost[0]] = span(cursor, cursor + 1);
  return spans;

  function span(first, after) {
    return [given[owner[first]].start, given[owner[after - 1]].end];
  }
}

/** The share of a piece that each word holds, as a list of [index of the word, share]; `from` is where the text starts. */
function shares(span, inWords, from) {
  if (!span) return [];
  const [start, end] = [span[0] + from, span[1] + from];
  return inWords.flatMap((word, index) => {
    const common = Math.min(end, word.end) - Math.max(start, word.start);
    return common > 0 ? [[index, common / (end - start)]] : [];
  });
}

/** The mean of a matrix's heads, or one of them. */
export function head(heads, which = "mean") {
  if (which !== "mean") return heads[which];
  return heads[0].map((row, t) => row.map((_, s) => heads.reduce((sum, one) => sum + one[t][s], 0) / heads.length));
}

/** Names of the attentions whose columns are the source's pieces. */
export function overSource(weights) {
  return Object.keys(weights).filter((name) => /^(cross|attention)\b/.test(name));
}

/**
 * What each word of a sentence's translation attends to: for every target word a list of weights, one a source word.
 *
 * `source` and `target` are {sentence, start, words}: a sentence, where it starts in the text, and its words.
 * A target word's weights are the mean over its pieces, a source word's the sum over its pieces; of several layers and
 * heads the mean is taken. Null where the record has no attention over the source.
 */
export function attended(record, source, target) {
  const names = overSource(record.weights);
  if (!names.length) return null;
  const matrix = head(names.map((name) => head(record.weights[name])));
  const columns = locate(record.source, source.sentence).map((span) => shares(span, source.words, source.start));
  const rows = locate(record.target, target.sentence).map((span) => shares(span, target.words, target.start));
  const sums = target.words.map(() => ({ weights: source.words.map(() => 0), share: 0 }));
  matrix.forEach((row, t) => {
    for (const [word, share] of rows[t]) {
      sums[word].share += share;
      row.forEach((weight, s) => {
        for (const [index, part] of columns[s]) sums[word].weights[index] += share * part * weight;
      });
    }
  });
  return sums.map(({ weights, share }) => weights.map((weight) => (share ? weight / share : 0)));
}

/** Which of the words `mine` are not in a longest common subsequence with `other`: a list of booleans. */
export function differing(mine, other) {
  const [rows, columns] = [mine.length, other.length];
  if (rows * columns > 1e6) return mine.map(() => false); // too long to be worth the wait
  const lengths = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      const same = mine[i] === other[j];
      lengths[i][j] = same ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const differs = mine.map(() => true);
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (mine[i] === other[j]) {
      differs[i++] = false;
      j++;
    } else if (lengths[i + 1][j] >= lengths[i][j + 1]) i++;
    else j++;
  }
  return differs;
}
