// Which items are shown: every condition that the address names.
import { FAILED, MIXED, OUT_OF_PROMPT, RIGHT, SILENT, UNSCORED, WRONG } from "./album";
import type { Album, Exhibit, Truth } from "./album";

export type Params = Record<string, string>;
type ItemTest = (row: number) => boolean;
type ExhibitTest = (exhibit: Exhibit, row: number) => boolean;

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
  const tests = exhibitTests(album, params);
  const exhibits = chosen(album, params);
  const { n } = album.about;
  const found = new Int32Array(n);
  let count = 0;
  for (let row = 0; row < n; row++) {
    if (items.every((test) => test(row)) && (!tests.length || someDid(exhibits, tests, row))) {
      found[count++] = row;
    }
  }
  return found.subarray(0, count);
}

function someDid(exhibits: Exhibit[], tests: ExhibitTest[], row: number): boolean {
  return exhibits.some((exhibit) => tests.every((test) => test(exhibit, row)));
}

function itemTests(album: Album, params: Params): ItemTest[] {
  const truth = album.truths[shownTruth(album, params)];
  const tests: ItemTest[] = [];
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
export function disagree(exhibits: Exhibit[], row: number): boolean {
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
function finding(album: Album, text: string): ItemTest {
  const wanted = text.toLowerCase();
  const named = Uint8Array.from(album.names, (name) => Number(name.toLowerCase().includes(wanted)));
  const anyName = named.includes(1);
  return (row) =>
    album.keys[row].toLowerCase().includes(wanted) ||
    album.asked(row).toLowerCase().includes(wanted) ||
    (anyName && (album.exhibits.some((exhibit) => named[exhibit.answers[row]]) ||
      album.truths.some((truth) => hasNamed(truth, row, named))));
}

function hasNamed(truth: Truth, row: number, named: Uint8Array): boolean {
  for (let place = row ? truth.ends[row - 1] : 0; place < truth.ends[row]; place++) {
    if (named[truth.values[place]]) {
      return true;
    }
  }
  return false;
}

function exhibitTests(album: Album, params: Params): ExhibitTest[] {
  const at = shownTruth(album, params);
  const tests: ExhibitTest[] = [];
  if (params.outcome in CODES) {
    const code = CODES[params.outcome];
    tests.push((exhibit, row) => exhibit.outcomes[at]?.[row] === code);
  } else if (params.outcome) {
    const bit = params.outcome === "error" ? FAILED : SILENT;
    tests.push((exhibit, row) => (exhibit.flags[row] & bit) > 0);
  }
  if (params.flip) {
    const [from, to] = flip(album, params.flip);
    tests.push((e, row) => e.outcomes[from]?.[row] === WRONG && e.outcomes[to]?.[row] === RIGHT);
  }
  if (params.prompt) {
    tests.push((exhibit, row) => (exhibit.flags[row] & OUT_OF_PROMPT) > 0);
  }
  if (params.changed) {
    tests.push((exhibit, row) => changed(exhibit, row, at, params.changed));
  }
  if (params.said) {
    const answer = album.names.indexOf(params.said);
    tests.push((exhibit, row) => exhibit.answers[row] === answer);
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

export function changed(exhibit: Exhibit, row: number, at: number, how: string): boolean {
  const { before } = exhibit;
  if (!before) {
    return false;
  }
  const was = before.outcomes[at]?.[row], is = exhibit.outcomes[at]?.[row];
  switch (how) {
    case "lost": return was === RIGHT && is === WRONG;
    case "gained": return was === WRONG && is === RIGHT;
    case "answer": return before.answers[row] !== exhibit.answers[row];
    default: return was !== is;
  }
}
