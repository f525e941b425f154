// The outcome of an answer as a sign and a word.
import { FAILED, MIXED, RIGHT, UNPARSED, WRONG } from "./group";
import type { Columns } from "./group";

export type Outcome = "right" | "wrong" | "mixed" | "unparsed" | "error" | "unscored";
const SIGNS: Record<Outcome, string> = { right: "✓", wrong: "✗", mixed: "±", unparsed: "?", error: "!", unscored: "·" };
const WORDS: Record<Outcome, string> = {
  right: "right", wrong: "wrong", mixed: "right in some rounds", unparsed: "unparsed", error: "error",
  unscored: "not scored",
};

export function outcome(columns: Columns, row: number, at: number): Outcome {
  const code = columns.outcomes[at]?.[row];
  if (columns.flags[row] & FAILED) {
    return "error";
  }
  if (code === RIGHT || code === MIXED) {
    return code === RIGHT ? "right" : "mixed";
  }
  return columns.flags[row] & UNPARSED ? "unparsed" : code === WRONG ? "wrong" : "unscored";
}

export function Mark({ code, who }: { code: Outcome; who: string }) {
  return <span class={`mark ${code}`} title={`${who}: ${WORDS[code]}`}>{SIGNS[code]}</span>;
}

// Return the number of outcomes of each kind as text.
export function summed(codes: Outcome[]): string {
  const kinds = [...new Set(codes)];
  return kinds.map((kind) => `${codes.filter((code) => code === kind).length} ${WORDS[kind]}`).join(", ");
}

export function OutcomeText({ code }: { code: Outcome }) {
  return <span class={`verdict ${code}`}><span aria-hidden="true">{SIGNS[code]}</span> {WORDS[code]}</span>;
}
