// Filter items by the conditions in the address.
import { FAILED, MIXED, OUT_OF_PROMPT, RIGHT, rowsMoved, UNPARSED, UNSCORED, WRONG } from "./group";
import type { Group, GroupCase, LabelSet } from "./group";

export type Params = Record<string, string>;
type Test = (row: number) => boolean;

export const OUTCOMES: Record<string, string> = {
  right: "right", wrong: "wrong", mixed: "right in some rounds", unscored: "not scored", unparsed: "unparsed",
  error: "error",
};
export const CHANGES: Record<string, string> = {
  lost: "right → wrong", gained: "wrong → right", outcome: "outcome changed", answer: "answer changed",
};
const CODES: Record<string, number> = { right: RIGHT, wrong: WRONG, mixed: MIXED, unscored: UNSCORED };

export const shownLabelSet = (group: Group, params: Params): number =>
  Math.max(0, group.labelSets.findIndex((labelSet) => labelSet.name === params.labels));

export function chosen(group: Group, params: Params): GroupCase[] {
  const found = group.cases.filter((groupCase) => groupCase.name === params.model);
  return found.length ? found : group.cases;
}

export const SORTS: Record<string, string> = {
  sure: "confidence, highest first", unsure: "confidence, lowest first", loss: "loss, highest first",
};
// How cards are shown, which is no condition on samples.
export const LOOKS = ["sort", "size", "group"];

// Return the rows in the chosen order; of several models the mean counts. Rows without a number come last.
export function ordered(group: Group, params: Params, rows: Int32Array): Int32Array {
  const columns = chosen(group, params).flatMap(({ loss, confidence }) => (params.sort === "loss" ? loss : confidence) ?? []);
  const labels = params.group ? classNames(group, params) : null;
  if (!labels && (!(params.sort in SORTS) || !columns.length)) {
    return rows;
  }
  const sign = params.sort === "unsure" ? 1 : -1;
  const means = Float32Array.from({ length: group.about.n }, (_, row) => sign * mean(columns.map((column) => column[row])));
  const known = (row: number) => (Number.isNaN(means[row]) ? Infinity : means[row]);
  const byScore = (one: number, other: number) => (params.sort in SORTS && known(one) !== known(other) ? known(one) - known(other) : one - other);
  return Int32Array.from(rows).sort((one, other) => (labels ? letters.compare(labels(one), labels(other)) : 0) || byScore(one, other));
}

const letters = new Intl.Collator("en", { numeric: true });

function mean(values: number[]): number {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : NaN;
}

// Return a function from a row to its first label under the shown label set.
export function classNames(group: Group, params: Params): (row: number) => string {
  const { ends, values } = group.labelSets[shownLabelSet(group, params)];
  return (row) => {
    const start = row ? ends[row - 1] : 0;
    return start < ends[row] ? group.names[values[start]] : "no label";
  };
}

// Return the rows that pass. All conditions on answers must hold for the same model: the selected one, or any.
export function filtered(group: Group, params: Params): Int32Array {
  const items = itemTests(group, params);
  const did = chosen(group, params).map((groupCase) => caseTests(group, params, groupCase));
  const all = did.every((tests) => !tests.length); // no condition on answers
  const { n } = group.about;
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

function itemTests(group: Group, params: Params): Test[] {
  const labelSet = group.labelSets[shownLabelSet(group, params)];
  const tests: Test[] = [];
  if (params.category) {
    const kinds = labelSet.categoryNames.map((kind) => kind.startsWith(params.category));
    tests.push((row) => kinds[labelSet.categories[row]]);
  }
  if (params.label) {
    const label = group.names.indexOf(params.label);
    tests.push((row) => has(labelSet, row, label));
  }
  if (params.disagree) {
    tests.push((row) => disagree(group.cases, row));
  }
  if (params.find) {
    tests.push(finding(group, params.find));
  }
  return tests;
}

function has(labelSet: LabelSet, row: number, label: number): boolean {
  for (let place = row ? labelSet.ends[row - 1] : 0; place < labelSet.ends[row]; place++) {
    if (labelSet.values[place] === label) {
      return true;
    }
  }
  return false;
}

// Return whether two models gave different answers; models without an answer are ignored.
function disagree(cases: GroupCase[], row: number): boolean {
  let first = 0;
  for (const groupCase of cases) {
    const answer = groupCase.answers[row];
    if (answer && first && answer !== first) {
      return true;
    }
    first ||= answer;
  }
  return false;
}

// Search a text in the key or question of a sample, or in the name of a label or answer.
function finding(group: Group, text: string): Test {
  const wanted = text.toLowerCase();
  const keyed = group.holding(wanted);
  const named = Uint8Array.from(group.names, (name) => Number(name.toLowerCase().includes(wanted)));
  if (!named.includes(1)) {
    return (row) => keyed[row] === 1;
  }
  return (row) => keyed[row] === 1 || group.cases.some((groupCase) => named[groupCase.answers[row]] === 1) ||
    group.labelSets.some((labelSet) => hasNamed(labelSet, row, named));
}

function hasNamed(labelSet: LabelSet, row: number, named: Uint8Array): boolean {
  for (let place = row ? labelSet.ends[row - 1] : 0; place < labelSet.ends[row]; place++) {
    if (named[labelSet.values[place]]) {
      return true;
    }
  }
  return false;
}

const NEVER: Test[] = [() => false];

// Conditions on the answers of one model; a condition on a column that is missing never holds.
function caseTests(group: Group, params: Params, groupCase: GroupCase): Test[] {
  const { answers, flags, outcomes } = groupCase;
  const at = shownLabelSet(group, params);
  const tests: Test[] = [];
  if (params.outcome in CODES) {
    const code = CODES[params.outcome], now = outcomes[at];
    tests.push(...(now ? [(row: number) => now[row] === code] : NEVER));
  } else if (params.outcome) {
    const bit = params.outcome === "error" ? FAILED : UNPARSED;
    tests.push((row) => (flags[row] & bit) > 0);
  }
  if (params.flip) {
    const [from, to] = flip(group, params.flip).map((labelSet) => outcomes[labelSet]);
    tests.push(...(from && to ? [(row: number) => from[row] === WRONG && to[row] === RIGHT] : NEVER));
  }
  if (params.prompt) {
    tests.push((row) => (flags[row] & OUT_OF_PROMPT) > 0);
  }
  if (params.of && isMove(params.changed)) {
    const rows = rowsMoved(groupCase, params.of, params.changed);
    tests.push(...(rows ? [(row: number) => rows.has(row)] : NEVER));
  } else if (params.changed) {
    tests.push(changedSince(groupCase, at, params.changed));
  }
  if (params.answer) {
    const answer = group.names.indexOf(params.answer);
    tests.push((row) => answers[row] === answer);
  }
  return tests;
}

// Two label sets as `ImGT>ReGT`: wrong under the first, right under the second.
export function flip(group: Group, text: string): [number, number] {
  const names = group.labelSets.map((labelSet) => labelSet.name);
  for (const [from, one] of names.entries()) {
    const to = names.findIndex((other) => `${one}>${other}` === text);
    if (to >= 0) {
      return [from, to];
    }
  }
  return [-1, -1];
}

// Changes that can be filtered by metric.
export const isMove = (how: string | undefined): how is "lost" | "gained" => how === "lost" || how === "gained";

function changedSince(groupCase: GroupCase, at: number, how: string): Test {
  const { before } = groupCase;
  const answers = before?.answers;
  if (answers && how === "answer") {
    return (row) => answers[row] !== groupCase.answers[row];
  }
  const was = before?.outcomes[at], is = groupCase.outcomes[at];
  if (!was || !is || how === "answer") {
    return () => false;
  }
  switch (how) {
    case "lost": return (row) => was[row] === RIGHT && is[row] === WRONG;
    case "gained": return (row) => was[row] === WRONG && is[row] === RIGHT;
    default: return (row) => was[row] !== is[row];
  }
}
