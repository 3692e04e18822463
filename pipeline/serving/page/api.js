// The server's answers, and its refusals as messages that a person can read.

export class Refusal extends Error {
  constructor(status, message, seconds = 0) {
    super(message);
    this.status = status; // 0: no answer at all
    this.seconds = seconds; // after which the server asks to try again
  }

  get wantsKey() {
    return this.status === 401 || (this.status === 403 && /key/i.test(this.message));
  }
}

let key = ""; // in memory only

export function useKey(value) {
  key = value;
}

export function hasKey() {
  return key !== "";
}

/** The JSON that a GET answers, or a POST if there is a body. A Refusal is thrown for anything else. */
export async function call(path, body = null, signal = undefined) {
  const { answer, text } = await request(path, body, signal);
  const found = parsed(text);
  if (answer.ok && found !== null) return found;
  throw new Refusal(answer.status, readable(answer.status, found), Number(answer.headers.get("Retry-After")) || 0);
}

async function request(path, body, signal) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  if (key) headers.Authorization = `Bearer ${key}`;
  const options = { headers, signal, cache: "no-store", method: body ? "POST" : "GET", body: body && JSON.stringify(body) };
  try {
    const answer = await fetch(path, options);
    return { answer, text: await answer.text() };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The server does not answer. Is `nmt serve` still running?");
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function readable(status, found) {
  if (found && typeof found.error === "string") return found.error;
  return `The server answered with status ${status} and no reason.`;
}
