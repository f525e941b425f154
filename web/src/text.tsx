// Texts from outside. They are always text nodes, and isolated from the text direction of their surroundings.
import { Fragment } from "preact";
import type { ComponentChildren } from "preact";
import { beginning } from "./data";
import type { Cut } from "./data";

export function Text({ children }: { children: string }) {
  return <bdi>{children}</bdi>;
}

// Invisible letters, and letters that change the text direction: control characters except tabs and line ends, direction
// marks and overrides, zero-width blanks, tags. Joiners are kept: letters and emoji need them.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]+/gu;
const SHOWN = 12; // letters of one run

// A short text; invisible letters are shown as their code points.
export function Marked({ children }: { children: string }) {
  return <bdi>{marked(children).map((part, place) => <Fragment key={place}>{part}</Fragment>)}</bdi>;
}

function marked(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const found of text.matchAll(UNSEEN)) {
    parts.push(text.slice(end, found.index), <Unseen run={found[0]} />);
    end = found.index + found[0].length;
  }
  return [...parts, text.slice(end)];
}

function Unseen({ run }: { run: string }) {
  const codes = [...run].map((letter) => `U+${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`);
  const more = codes.length > SHOWN ? ` and ${codes.length - SHOWN} more` : "";
  return <span class="unseen">{codes.slice(0, SHOWN).join(" ") + more}</span>;
}

// The unchanged completion of a model.
export function Raw({ text }: { text: Cut }) {
  const shown = beginning(text);
  return (
    <>
      <pre class="raw" dir="auto">{marked(shown).map((part, place) => <Fragment key={place}>{part}</Fragment>)}</pre>
      {typeof text !== "string" && (
        <p class="hint">Cut after {count(shown.length)} of {count(text[1])} letters.</p>
      )}
    </>
  );
}

// A number and its interval, which stands on a line of its own where both do not fit on one.
export function Broken({ children }: { children: string }) {
  const at = children.indexOf(" [");
  return at < 0 ? <>{children}</> : <>{children.slice(0, at)} <span class="whole">{children.slice(at + 1)}</span></>;
}

export const count = (value: number): string => value.toLocaleString("en");
export const many = (value: number, what: string): string => `${count(value)} ${what}${value === 1 ? "" : "s"}`;
export const percent = (value: number | null | undefined, digits = 2): string =>
  value === null || value === undefined ? "—" : (100 * value).toFixed(digits);
export const signed = (value: number | null | undefined): string =>
  value === null || value === undefined ? "—" : `${value > 0 ? "+" : ""}${(100 * value).toFixed(2).replace(/^-0\.00$/, "0.00")}`;

// The value of a metric: in percent, or as a number if it is none.
export const valueText = (metric: Shown | null | undefined): string =>
  metric && !metric.percent && metric.value !== null ? number(metric.value) : percent(metric?.value);
export const metricInterval = (metric: Shown | null | undefined): string =>
  metric?.ci && !metric.percent ? `[${number(metric.ci[0])}, ${number(metric.ci[1])}]` : interval(metric?.ci);
const number = (value: number): string => Number(value.toPrecision(3)).toString();

interface Shown { value: number | null; ci: [number, number] | null; percent: boolean }

export function interval(ci: [number, number] | null | undefined): string {
  return ci ? `[${percent(ci[0])}, ${percent(ci[1])}]` : "";
}
