// The confusion matrix of one case under one label set: the classes with the most errors, and all others together.
import { useState } from "preact/hooks";
import { Pick } from "./controls";
import type { GroupSummary } from "./data";
import { open } from "./group";
import type { Group, GroupCase, LabelSet } from "./group";
import { Loaded, useLoaded } from "./loaded";
import { written } from "./route";
import { Scroll } from "./scroll";
import { count, Text } from "./text";

const CLASSES = 12; // shown classes
const OTHERS = -1;

export function Confusion({ about }: { about: GroupSummary }) {
  const [open_, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(open_ || event.currentTarget.open)}>
      <summary>Confusion matrix</summary>
      {open_ && <Opened about={about} />}
    </details>
  );
}

function Opened({ about }: { about: GroupSummary }) {
  const state = useLoaded(() => open(about), [about]);
  return <Loaded state={state}>{(group) => <Chosen group={group} />}</Loaded>;
}

function Chosen({ group }: { group: Group }) {
  const [model, setModel] = useState(group.cases[0].name);
  const [labels, setLabels] = useState(group.labelSets[0]?.name ?? "");
  const groupCase = group.cases.find(({ name }) => name === model)!;
  const labelSet = group.labelSets.find(({ name }) => name === labels);
  return (
    <>
      <p class="filter">
        <Pick name="Case" options={group.cases.map(({ name }) => [name, name])} value={model} set={setModel} />
        <Pick name="Labelled by" options={group.labelSets.map(({ name }) => [name, name])} value={labels} set={setLabels} />
      </p>
      {labelSet && <Matrix group={group} groupCase={groupCase} labelSet={labelSet} />}
    </>
  );
}

interface Counts { classes: number[]; counts: Map<string, number>; more: number }

// Count pairs of label and answer of the samples with one label and an answer.
export function countPairs(groupCase: GroupCase, labelSet: LabelSet): Counts {
  const pairs = new Map<string, [number, number, number]>();
  const errors = new Map<number, number>(), totals = new Map<number, number>();
  for (let row = 0; row < labelSet.ends.length; row++) {
    const start = row ? labelSet.ends[row - 1] : 0, answer = groupCase.answers[row];
    if (labelSet.ends[row] - start !== 1 || !answer) {
      continue;
    }
    const label = labelSet.values[start], key = `${label} ${answer}`;
    pairs.set(key, [label, answer, (pairs.get(key)?.[2] ?? 0) + 1]);
    for (const one of new Set([label, answer])) {
      totals.set(one, (totals.get(one) ?? 0) + 1);
      errors.set(one, (errors.get(one) ?? 0) + Number(label !== answer));
    }
  }
  const worst = [...totals.keys()].sort((one, other) => errors.get(other)! - errors.get(one)! || totals.get(other)! - totals.get(one)!);
  const classes = worst.slice(0, CLASSES);
  const shown = new Set(classes), counts = new Map<string, number>();
  for (const [label, answer, times] of pairs.values()) {
    const key = `${shown.has(label) ? label : OTHERS} ${shown.has(answer) ? answer : OTHERS}`;
    counts.set(key, (counts.get(key) ?? 0) + times);
  }
  return { classes, counts, more: worst.length - classes.length };
}

function Matrix({ group, groupCase, labelSet }: { group: Group; groupCase: GroupCase; labelSet: LabelSet }) {
  const { classes, counts, more } = countPairs(groupCase, labelSet);
  const heads = more ? [...classes, OTHERS] : classes;
  const title = (one: number) => (one === OTHERS ? `${count(more)} others` : group.names[one]);
  const total = (label: number) => heads.reduce((sum, answer) => sum + (counts.get(`${label} ${answer}`) ?? 0), 0);
  if (!classes.length) {
    return <p>No sample has one label and an answer.</p>;
  }
  return (
    <Scroll label="Confusion matrix">
      <table class="confusion">
        <caption>Rows: the one right label. Columns: the answer. The classes with the most errors</caption>
        <thead><tr><td />{heads.map((answer) => <th key={answer} scope="col"><span><Text>{title(answer)}</Text></span></th>)}</tr></thead>
        <tbody>
          {heads.map((label) => (
            <tr key={label}>
              <th scope="row"><Text>{title(label)}</Text></th>
              {heads.map((answer) => {
                const times = counts.get(`${label} ${answer}`) ?? 0;
                const share = times / Math.max(1, total(label));
                const known = label !== OTHERS && answer !== OTHERS;
                const link = written("samples", group.about.name, { model: groupCase.name, labels: labelSet.name, label: group.names[label], answer: group.names[answer] });
                return (
                  <td key={answer} class={label === answer && known ? "number same" : "number"} style={{ "--share": share }}>
                    {times ? known ? <a href={link}>{count(times)}</a> : count(times) : ""}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
