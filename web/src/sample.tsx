// One sample: its image, its labels under each label set, and the answer of every model.
import { useState } from "preact/hooks";
import { labelsOf, originalOf, OUT_OF_PROMPT, promptsOf, rowsMoved, textsOf, UNSCORED } from "./group";
import type { Group, GroupCase, Texts } from "./group";
import { beginning } from "./data";
import type { Prompt } from "./data";
import { chosen, shownLabelSet } from "./filter";
import type { Params } from "./filter";
import { Term } from "./glossary";
import { useKeys } from "./keys";
import { Loaded, useLoaded } from "./loaded";
import { outcome, OutcomeText } from "./marks";
import { Picture } from "./picture";
import { count, Marked, Raw, Text } from "./text";

interface Props {
  group: Group; row: number; rows: Int32Array; params: Params; link: (row: number) => string; list: string;
}

export function Sample({ group, row, rows, params, link, list }: Props) {
  const place = rows.indexOf(row);
  const before = place < 0 ? rows.filter((other) => other < row).length : place; // the number of rows before it
  const next = rows[place < 0 ? before : place + 1];
  const previous = rows[before - 1];
  const to = (other: number | undefined) => other !== undefined && (location.hash = link(other));
  useKeys({
    j: () => to(next), ArrowRight: () => to(next), k: () => to(previous), ArrowLeft: () => to(previous),
    Escape: () => (location.hash = list),
  });
  const [wide, setWide] = useState(false);
  const original = useLoaded(() => originalOf(group, row), [group, row]);
  return (
    <article class="sample">
      <div class="sample-head">
      <nav class="moves" aria-label="Samples">
        <a class="button" href={list}>List</a>
        <Move to={previous} link={link}>Previous</Move>
        <Move to={next} link={link}>Next</Move>
        <span role="status">{place < 0 ? "Not in the filter" : `${count(place + 1)} of ${count(rows.length)}`}<span class="visually-hidden">: {group.keys[row]}</span></span>
      </nav>
      <h2><Text>{group.keys[row]}</Text></h2>
      </div>
      {group.question(row) && <p class="question"><Text>{group.question(row)}</Text></p>}
      <div class={wide ? "parts wide" : "parts"}>
        <figure>
          <Picture group={group} row={row} alt={`Image of sample ${group.keys[row]}`}><p class="hint">No image here.</p></Picture>
          <figcaption>
            {group.hasPictures && <button type="button" aria-pressed={wide} onClick={() => setWide(!wide)}>Full width</button>}
            {original.value && <a class="button" href={original.value} target="_blank" rel="noreferrer">Original image</a>}
          </figcaption>
        </figure>
        <div>
          <Labels group={group} row={row} />
          <Answers group={group} row={row} params={params} />
        </div>
      </div>
    </article>
  );
}

function Move({ to, link, children }: { to: number | undefined; link: (row: number) => string; children: string }) {
  return to === undefined ? <span class="button off" aria-disabled="true">{children}</span> : <a class="button" href={link(to)}>{children}</a>;
}

function Labels({ group, row }: { group: Group; row: number }) {
  return (
    <dl class="facts">
      {group.labelSets.filter((labelSet, place) => !place || labelSet.values.length).map((labelSet) => {
        const labels = labelsOf(labelSet, row).map((label) => group.names[label]);
        const kind = labelSet.categoryNames[labelSet.categories[row]];
        return (
          <div key={labelSet.name}>
            <dt><Term kind="labels" name={labelSet.name} /></dt>
            <dd>{labels.length ? labels.map((label) => <span class="label" key={label}><Text>{label}</Text></span>) : <span class="hint">no label</span>}
              {kind && <span class="kind"><Term kind="subsets" name={kind} /></span>}</dd>
          </div>
        );
      })}
    </dl>
  );
}

function Answers({ group, row, params }: { group: Group; row: number; params: Params }) {
  const state = useLoaded(() => textsOf(group, row), [group, row]);
  const first = chosen(group, params);
  const cases = first.length < group.cases.length ? [...first, ...group.cases.filter((one) => !first.includes(one))] : first;
  return (
    <>
      <h3>Answers</h3>
      <Loaded state={state}>
        {({ texts, at }) => (
          <ul class="answers">
            {cases.map((groupCase) => (
              <Answer key={groupCase.name} group={group} groupCase={groupCase} row={row} at={at}
                texts={texts[group.cases.indexOf(groupCase)]} alone={first.length === 1 && first[0] === groupCase} first={shownLabelSet(group, params)} of={params.of} />
            ))}
          </ul>
        )}
      </Loaded>
    </>
  );
}

interface AnswerProps { group: Group; groupCase: GroupCase; row: number; texts: Texts; at: number; first: number; alone: boolean; of?: string }

function Answer({ group, groupCase, row, texts, at, first, alone, of }: AnswerProps) {
  const answer = groupCase.answers[row];
  const labelSets = [...group.labelSets.keys()].filter((labelSet) => groupCase.outcomes[labelSet]);
  labelSets.sort((one, other) => Number(other === first) - Number(one === first));
  const scored = labelSets.filter((labelSet) => groupCase.outcomes[labelSet]![row] !== UNSCORED);
  const raw = texts.raw?.[at], error = texts.errors?.[at];
  return (
    <li>
      <h4><Text>{groupCase.name}</Text></h4>
      <p class="answer">{answer ? <Text>{group.names[answer]}</Text> : <span class="hint">no answer</span>}</p>
      <ul class="verdicts">
        {(scored.length ? scored : labelSets.slice(0, 1)).map((labelSet) => (
          <li key={labelSet}><Text>{group.labelSets[labelSet].name}</Text> <OutcomeText code={outcome(groupCase, row, labelSet)} /></li>
        ))}
        {(groupCase.flags[row] & OUT_OF_PROMPT) > 0 && <li class="oop">out of prompt: <Text>{texts.kinds?.[at] ?? ""}</Text></li>}
      </ul>
      {of && <Moves groupCase={groupCase} row={row} of={of} />}
      {error && <div class="failed"><p>Error</p><Raw text={error} /></div>}
      {raw && <Raw text={raw} />}
      <Details group={group} groupCase={groupCase} texts={texts} at={at} row={row} />
      <Prompts group={group} groupCase={groupCase} texts={texts} at={at} open={alone && Boolean(raw)} />
      <Before group={group} groupCase={groupCase} row={row} texts={texts} at={at} first={first} />
    </li>
  );
}

interface DetailsProps { group: Group; groupCase: GroupCase; texts: Texts; at: number; row: number }

function Details({ group, groupCase, texts, at, row }: DetailsProps) {
  const best = (texts.best ?? []).map((names, rank): [number, string] => [names[at], texts.scores![rank][at]]).filter(([name]) => name);
  const more = texts.more?.[at] ?? [];
  const score = groupCase.about.score || "score";
  const right = new Set(group.labelSets.flatMap((labelSet) => labelsOf(labelSet, row)));
  const known = best.some(([name]) => right.has(name));
  return (
    <>
      {best.length > 0 && (
        <table class="best">
          <caption>Five best classes</caption>
          <thead class="visually-hidden"><tr><th scope="col">Class</th><th scope="col">Drawn</th><th scope="col">{score}</th></tr></thead>
          <tbody>{best.map(([name, text], place) => (
            <tr key={place} class={right.has(name) ? "true-class" : ""}>
              <th scope="row"><Text>{group.names[name]}</Text>{right.has(name) && <span class="right"> ✓ {truths(group, row, name)}</span>}</th>
              <td class="track"><ScoreBar scores={best.map((other) => Number(other[1]))} value={Number(text)} score={score} /></td>
              <td class="number">{place === 0 && <span class="hint">{score} </span>}{text}</td>
            </tr>
          ))}</tbody>
        </table>
      )}
      {best.length > 0 && right.size > 0 && !known && <p class="hint">The true class is not among the five.</p>}
      {more.map(([name, text], place) => <p class="more" key={place}><span class="hint"><Marked>{beginning(name)}</Marked></span> <Marked>{beginning(text)}</Marked></p>)}
    </>
  );
}

// The label sets under which a class is right.
function truths(group: Group, row: number, name: number): string {
  return group.labelSets.filter((labelSet) => labelsOf(labelSet, row).includes(name)).map((labelSet) => labelSet.name).join(", ");
}

const LOGARITHMS = ["logit", "log p"]; // whose difference is a ratio of probabilities

// A bar of a score beside the best one: the ratio of probabilities for logarithms, else the ratio of scores.
function ScoreBar({ scores, value, score }: { scores: number[]; value: number; score: string }) {
  const highest = Math.max(...scores);
  const share = LOGARITHMS.includes(score) ? Math.exp(value - highest) : highest > 0 ? value / highest : 0;
  return <span class="score-bar" aria-hidden="true"><span style={{ width: `${Math.min(100, Math.max(0, 100 * share))}%` }} /></span>;
}

interface PromptsProps { group: Group; groupCase: GroupCase; texts: Texts; at: number; open: boolean }

// The prompts of this sample, and the settings of the case.
function Prompts({ group, groupCase, texts, at, open }: PromptsProps) {
  const state = useLoaded(() => promptsOf(group, groupCase), [group, groupCase]);
  const [kind, slots] = texts.asked?.[at] ?? ["", {}];
  const prompts = (state.value ?? []).filter(({ asks }) => !asks || !kind || asks === kind);
  const { promptSettings } = groupCase.about;
  return prompts.length || promptSettings || state.error ? (
    <details class="prompts" open={open && prompts.length > 0}>
      <summary>Prompt and settings</summary>
      <Loaded state={state}>{() => prompts.map((prompt) => <PromptText key={prompt.name} prompt={prompt} slots={slots} />)}</Loaded>
      {promptSettings && <p class="hint"><Text>{promptSettings}</Text></p>}
    </details>
  ) : null;
}

// A prompt as it was asked for this sample. Values that are not known stay slots such as {said}.
function PromptText({ prompt: { name, text, slots: shared }, slots }: { prompt: Prompt; slots: Record<string, string> }) {
  const values: Record<string, string> = { ...shared, ...slots };
  const parts = shared ? text.split(SLOT) : [text]; // every second one is the name of a slot
  const open = parts.filter((part, place) => place % 2 && !(part in values));
  return (
    <div>
      <p class="hint"><Text>{name}</Text></p>
      <div class="raw" dir="auto">{parts.map((part, place) => (
        place % 2 === 0 ? <Marked key={place}>{part}</Marked>
          : part in values ? <Value key={place} text={values[part]} /> : <span class="slot" key={place}>{`{${part}}`}</span>
      ))}</div>
      {open.length > 0 && <p class="hint">Slots in braces differ per image; the run has not kept what stood there.</p>}
      {!shared && <p class="hint">The braces stand for the name of each class.</p>}
    </div>
  );
}

const SLOT = /\{([A-Za-z_]\w*)\}/;
const LINES = 12; // of a value that is shown whole
const FIRST = 3;

function Value({ text }: { text: string }) {
  const lines = text.split("\n");
  return lines.length <= LINES ? <Marked>{text}</Marked> : (
    <>
      <Marked>{lines.slice(0, FIRST).join("\n")}</Marked>
      <details class="more-lines"><summary>{count(lines.length - FIRST)} more lines</summary><Marked>{lines.slice(FIRST).join("\n")}</Marked></details>
    </>
  );
}

// The change of a sample in the selected metric.
function Moves({ groupCase, row, of }: { groupCase: GroupCase; row: number; of: string }) {
  const [lost, gained] = (["lost", "gained"] as const).map((how) => rowsMoved(groupCase, of, how)?.has(row));
  return lost || gained ? (
    <p class="moved"><Text>{of}</Text>: <OutcomeText code={lost ? "right" : "wrong"} /> before, <OutcomeText code={lost ? "wrong" : "right"} /> now</p>
  ) : null;
}

function Before({ group, groupCase, row, texts, at, first }: Omit<AnswerProps, "alone" | "of">) {
  const { before } = groupCase;
  const answer = before?.answers?.[row];
  const same = before && (answer === undefined || answer === groupCase.answers[row]) &&
    before.outcomes.every((codes, labelSet) => codes?.[row] === groupCase.outcomes[labelSet]?.[row]);
  if (!before || same) {
    return null;
  }
  const raw = texts.rawBefore?.[at];
  return (
    <div class="before">
      <p>Before: {answer ? <Text>{group.names[answer]}</Text> : answer === 0 ? "no answer" : ""}{" "}
        <OutcomeText code={outcome(before, row, first)} /></p>
      {raw && <Raw text={raw} />}
    </div>
  );
}
