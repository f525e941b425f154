// The form of the sample filter.
import { useId, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Group, RowChanges } from "./group";
import { CHANGES, chosen, isMove, LOOKS, OUTCOMES, shownLabelSet, SORTS } from "./filter";
import type { Params } from "./filter";
import { keysOn, turnKeys, useKeys } from "./keys";
import type { Change } from "./samples";
import { count, Text } from "./text";

interface Props { group: Group; params: Params; change: Change; found: number; aside: boolean }
const FEW = 3; // with at most this many label sets, all pairs are offered
export type Option = [value: string, name: string];

export function Filter({ group, params, change, found, aside }: Props) {
  const search = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => search.current?.focus() });
  const pick = (name: string, label: string, options: Option[], none: string) =>
    options.length > 0 && <Pick name={label} options={none ? [["", none], ...options] : options} value={params[name] ?? (none ? "" : options[0][0])} set={(value) => change({ [name]: value })} />;
  const tick = (name: string, label: string) => (
    <label class="tick"><input type="checkbox" checked={Boolean(params[name])} onChange={(event) => change({ [name]: event.currentTarget.checked ? "1" : "" })} /> {label}</label>
  );
  return (
    <>
    <div class={aside ? "aside" : ""}><Fold key={String(aside)} folded={aside} name="Filter" count={Object.entries(params).filter(([name, value]) => value && !LOOKS.includes(name)).length}>
    <search class="filter" aria-label="Filter of samples">
      <label>Find <input ref={search} type="search" value={params.find ?? ""} onInput={(event) => change({ find: event.currentTarget.value }, "replace")} placeholder="key, label or answer" /></label>
      {pick("labels", "Labels", group.labelSets.map(({ name }) => [name, name]), "")}
      {pick("model", "Model", group.cases.map(({ name }) => [name, name]), "any")}
      {pick("outcome", "Outcome", Object.entries(OUTCOMES), "any")}
      {pick("category", "Category", categories(group, params), "any")}
      {pick("flip", "Label sets", flips(group, shownLabelSet(group, params)), "any")}
      {group.cases.some((groupCase) => groupCase.before || groupCase.changes.size) && pick("changed", "Since baseline", changes(group), "any")}
      {isMove(params.changed) && pick("of", "Number", numbers(group, params, params.changed), "any")}
      {group.about.cases.some((groupCase) => groupCase.outOfPrompt) && tick("prompt", "out of prompt")}
      {group.cases.length > 1 && tick("disagree", "models disagree")}
      {group.cases.some(({ confidence }) => confidence) && pick("sort", "Sort by", Object.entries(SORTS), "order of the data set")}
      {pick("size", "Size", [["small", "small"], ["large", "large"], ["table", "table"]], "medium")}
      {tick("group", "group by class")}
      <Chosen params={params} change={change} />
      <Keys />
    </search></Fold></div>
    <p class={aside ? "found aside" : "found"}>
      <span role="status">{count(found)} of {count(group.about.n)} {group.about.unit}s</span>
      <span class="on-paper">{Object.entries(params).filter(([, value]) => value).map(([name, value]) => `; ${name}: ${value}`)}</span>
    </p>
    </>
  );
}

// A filter that is folded on a small screen; `count` conditions hold.
export function Fold({ name, count: held, folded = false, children }: { name: string; count: number; folded?: boolean; children: ComponentChildren }) {
  const [open] = useState(() => !folded && matchMedia("(min-width: 48rem)").matches);
  return (
    <details class="fold" open={open}>
      <summary>{name}{held > 0 && <span class="hint"> ({count(held)})</span>}</summary>
      {children}
    </details>
  );
}

export function Pick({ name, options, value, set }: { name: string; options: Option[]; value: string; set: (value: string) => void }) {
  const id = useId();
  return (
    <span class="pick">
      <label for={id}>{name}</label>
      <select id={id} value={value} onChange={(event) => set(event.currentTarget.value)}>
        {options.map(([key, text]) => <option key={key} value={key}>{text}</option>)}
      </select>
    </span>
  );
}

// The label and answer that a link of a confused pair selects.
function Chosen({ params, change }: { params: Params; change: Change }) {
  const told = Object.entries({ label: "labelled", answer: "answered" }).filter(([name]) => params[name]);
  return (
    <>
      {told.map(([name, word]) => (
        <button key={name} type="button" onClick={() => change({ [name]: "" })}>
          {word} <Text>{params[name]}</Text> <span aria-hidden="true">✕</span><span class="visually-hidden">: remove</span>
        </button>
      ))}
    </>
  );
}

function categories(group: Group, params: Params): Option[] {
  const { categoryNames: of } = group.labelSets[shownLabelSet(group, params)];
  const coarse = ["single_label", "multi_label"].filter((kind) => of.some((name) => name.startsWith(`${kind}_`)));
  return [...coarse, ...of.filter(Boolean)].sort().map((kind) => [kind, kind]);
}

function changes(group: Group): Option[] {
  const answers = group.cases.some((groupCase) => groupCase.before?.answers);
  return Object.entries(CHANGES).filter(([how]) => how !== "answer" || answers);
}

// The metrics with lost or gained samples, and the selected one.
function numbers(group: Group, params: Params, how: keyof RowChanges): Option[] {
  const moved = chosen(group, params).flatMap((groupCase) => [...groupCase.changes]).filter(([, rows]) => rows[how].d);
  const names = new Set([...moved.map(([name]) => name), ...(params.of ? [params.of] : [])]);
  return [...names].map((name) => [name, name]);
}

// All pairs of label sets; if there are many, only those with the one that is shown.
function flips(group: Group, shown: number): Option[] {
  const names = group.labelSets.map(({ name }) => name);
  const every = names.flatMap((one) => names.filter((other) => other !== one).map((other): [string, string] => [one, other]));
  return every.filter((pair) => names.length <= FEW || pair.includes(names[shown]))
    .map(([one, other]) => [`${one}>${other}`, `wrong under ${one}, right under ${other}`]);
}

const KEYS: [string, string][] = [
  ["J or →", "next sample, or page"], ["K or ←", "previous sample, or page"], ["Esc", "back to the list"], ["/", "find"],
];

function Keys() {
  const [on, setOn] = useState(keysOn);
  const turn = (now: boolean) => { turnKeys(now); setOn(now); };
  return (
    <details class="keys">
      <summary>Keys</summary>
      <dl>{KEYS.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <label class="tick"><input type="checkbox" checked={on} onChange={(event) => turn(event.currentTarget.checked)} /> enable these keys</label>
    </details>
  );
}
