// Which items are shown: every condition that the address names.
import { FAILED, MIXED, OUT_OF_PROMPT, RIGHT, rowsMoved, SILENT, UNSCORED, WRONG } from "./album";
import type { Album, Exhibit, Truth } from "./album";

export type Params = Record<string, string>;
type Test = (row: number) => boolean;

export const OUTCOMES: Record<string, string> = {
  right: "right", wrong: "wrong", mixed: "right in some rounds", unscored: "not scored", unread: "answer not readable",
  error: "error",
};
export const CHANGES: Record<string, string> = {
  lost: "right → wrong", gained: "wrong → right", outcome: "outcome changed", answer: "answer changed",
};
const CODES: Record<string, number> = { right: RIGHT, wrong: WRONG, mixed: MIXED, unscored: UNSCORED };

export const shownTruth = (album: Album, params: Params): number =>
  Math.max(0, album.truths.findIndex((truth) => truth.name === params.labels));

export function chosen(album: Album, params: Params): Exhibit[] {
  const found = album.exhibits.filter((exhibit) => exhibit.name === params.who);
  return found.length ? found : album.exhibits;
}

// The rows that pass. Conditions on what a model did hold together for one model: the chosen one, or any.
export function filtered(album: Album, params: Params): Int32Array {
  const items = itemTests(album, params);
  const did = chosen(album, params).map((exhibit) => exhibitTests(album, params, exhibit));
  const all = did.every((tests) => !tests.length); // nothing is asked about what they did
  const { n } = album.about;
  const found = new Int32Array(n);
  let count = 0;
  for (let row = 0; row < n; row++) {
    if (every(items, row) && (all || did.some((tests) => every(tests, row)))) {
      found[count++] = row;
    }
  }
  return found.subarray(0, count);
}

function every(tests: Test[], row: number): boolean {
  for (const test of tests) {
    if (!test(row)) {
      return false;
    }
  }
  return true;
}

function itemTests(album: Album, params: Params): Test[] {
  const truth = album.truths[shownTruth(album, params)];
  const tests: Test[] = [];
  if (params.category) {
    const kinds = truth.of.map((kind) => kind.startsWith(params.category));
    tests.push((row) => kinds[truth.kinds[row]]);
  }
  if (params.right) {
    const label = album.names.indexOf(params.right);
    tests.push((row) => has(truth, row, label));
  }
  if (params.disagree) {
    tests.push((row) => disagree(album.exhibits, row));
  }
  if (params.find) {
    tests.push(finding(album, params.find));
  }
  return tests;
}

function has(truth: Truth, row: number, label: number): boolean {
  for (let place = row ? truth.ends[row - 1] : 0; place < truth.ends[row]; place++) {
    if (truth.values[place] === label) {
      return true;
    }
  }
  return false;
}

// Whether two models gave different answers; one without an answer disagrees with nobody.
function disagree(exhibits: Exhibit[], row: number): boolean {
  let first = 0;
  for (const exhibit of exhibits) {
    const answer = exhibit.answers[row];
    if (answer && first && answer !== first) {
      return true;
    }
    first ||= answer;
  }
  return false;
}

// A text in a sample's key or question, or in the name of a label or an answer.
function finding(album: Album, text: string): Test {
  const wanted = text.toLowerCase();
  const keyed = album.holding(wanted);
  const named = Uint8Array.from(album.names, (name) => Number(name.toLowerCase().includes(wanted)));
  if (!named.includes(1)) {
    return (row) => keyed[row] === 1;
  }
  return (row) => keyed[row] === 1 || album.exhibits.some((exhibit) => named[exhibit.answers[row]] === 1) ||
    album.truths.some((truth) => hasNamed(truth, row, named));
}

function hasNamed(truth: Truth, row: number, named: Uint8Array): boolean {
  for (let place = row ? truth.ends[row - 1] : 0; place < truth.ends[row]; place++) {
    if (named[truth.values[place]]) {
      return true;
    }
  }
  return false;
}

const NEVER: Test[] = [() => false];

// What one model must have done; it never did what a column says that it does not have.
function exhibitTests(album: Album, params: Params, exhibit: Exhibit): Test[] {
  const { answers, flags, outcomes } = exhibit;
  const at = shownTruth(album, params);
  const tests: Test[] = [];
  if (params.outcome in CODES) {
    const code = CODES[params.outcome], now = outcomes[at];
    tests.push(...(now ? [(row: number) => now[row] === code] : NEVER));
  } else if (params.outcome) {
    const bit = params.outcome === "error" ? FAILED : SILENT;
    tests.push((row) => (flags[row] & bit) > 0);
  }
  if (params.flip) {
    const [from, to] = flip(album, params.flip).map((truth) => outcomes[truth]);
    tests.push(...(from && to ? [(row: number) => from[row] === WRONG && to[row] === RIGHT] : NEVER));
  }
  if (params.prompt) {
    tests.push((row) => (flags[row] & OUT_OF_PROMPT) > 0);
  }
  if (params.of && isMove(params.changed)) {
    const rows = rowsMoved(exhibit, params.of, params.changed);
    tests.push(...(rows ? [(row: number) => rows.has(row)] : NEVER));
  } else if (params.changed) {
    tests.push(changedSince(exhibit, at, params.changed));
  }
  if (params.said) {
    const answer = album.names.indexOf(params.said);
    tests.push((row) => answers[row] === answer);
  }
  return tests;
}

// Two ground truths as `ImGT>ReGT`: wrong under the first, right under the second.
export function flip(album: Album, text: string): [number, number] {
  const names = album.truths.map((truth) => truth.name);
  for (const [from, one] of names.entries()) {
    const to = names.findIndex((other) => `${one}>${other}` === text);
    if (to >= 0) {
      return [from, to];
    }
  }
  return [-1, -1];
}

// Changes that a number can be asked for.
export const isMove = (how: string | undefined): how is "lost" | "gained" => how === "lost" || how === "gained";

function changedSince(exhibit: Exhibit, at: number, how: string): Test {
  const { before } = exhibit;
  const answers = before?.answers;
  if (answers && how === "answer") {
    return (row) => answers[row] !== exhibit.answers[row];
  }
  const was = before?.outcomes[at], is = exhibit.outcomes[at];
  if (!was || !is || how === "answer") {
    return () => false;
  }
  switch (how) {
    case "lost": return (row) => was[row] === RIGHT && is[row] === WRONG;
    case "gained": return (row) => was[row] === WRONG && is[row] === RIGHT;
    default: return (row) => was[row] !== is[row];
  }
}
