// The sample browser: a filter, the list of samples that pass, and one sample with all its answers.
import { useMemo } from "preact/hooks";
import { labelsOf, nameOf, open } from "./group";
import type { Group, GroupCase } from "./group";
import type { GroupSummary, Index } from "./data";
import { Filter } from "./controls";
import { chosen, classNames, filtered, ordered, shownLabelSet as labelSetAt } from "./filter";
import type { Params } from "./filter";
import { useKeys } from "./keys";
import { Loaded, useLoaded } from "./loaded";
import { Mark, outcome, OutcomeText, summed } from "./marks";
import { Picture } from "./picture";
import { written } from "./route";
import { Sample } from "./sample";
import { Scroll } from "./scroll";
import { count, many, Text } from "./text";

const NAMED = 6; // models whose names stand on a card
const PAGE = 48; // samples per page

export function Samples({ index, name, params }: { index: Index; name: string; params: Params }) {
  const place = ofCase(index, name, params);
  const about = place?.about ?? index.groups.find((one) => one.name === name) ?? (index.groups.length === 1 ? index.groups[0] : undefined);
  return about ? <Opened key={about.folder} about={about} params={place?.params ?? params} /> : <Choice index={index} name={name} />;
}

// An address may name a case instead of a group, because the gate does not know the groups.
function ofCase(index: Index, name: string, { protocol, labels, ...params }: Params) {
  const found = index.cases.find((one) => one.case === name && (!protocol || one.protocol === protocol));
  const about = index.groups.find((one) => one.name === found?.group);
  const known: Params = about?.labelSets.includes(labels) ? { labels } : {};
  return about && { about, params: { model: nameOf(about, found!.position!), ...known, ...params } };
}

function Choice({ index, name }: { index: Index; name: string }) {
  return (
    <>
      <h1 tabIndex={-1}>Samples</h1>
      {name && <p class="notice">There are no samples of <Text>{name}</Text> here.</p>}
      {index.groups.length === 0 && <p>These runs have no answers.</p>}
      <ul class="groups">
        {index.groups.map((one) => (
          <li key={one.folder}>
            <a href={written("samples", one.name)}><Text>{one.title}</Text></a>
            <span class="hint">{many(one.n, one.unit)}, {many(one.cases.length, "case")}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Opened({ about, params }: { about: GroupSummary; params: Params }) {
  const state = useLoaded(() => open(about), [about]);
  return (
    <>
      <h1 tabIndex={-1}><Text>{about.title}</Text></h1>
      <Loaded state={state}>{(group) => <Browser group={group} params={params} />}</Loaded>
    </>
  );
}

export type Change = (changes: Params, how?: "replace") => void;

function Browser({ group, params }: { group: Group; params: Params }) {
  const { at, ask, page, ...conditions } = params;
  const key = JSON.stringify(conditions);
  const rows = useMemo(() => ordered(group, conditions, filtered(group, conditions)), [group, key]);
  const here = written.bind(null, "samples", group.about.name);
  const change: Change = (changes, how) => go(here({ ...conditions, ...changes }), how);
  const row = at === undefined ? -1 : rowOf(group, at, ask);
  const links = (to: number) => here({ ...conditions, at: group.keys[to], ask: group.question(to) });
  const list = here({ ...conditions, page: String(Math.floor(Math.max(0, rows.indexOf(row)) / PAGE)) });
  return (
    <>
      <Filter group={group} params={conditions} change={change} found={rows.length} aside={row >= 0} />
      {at !== undefined && row < 0 && <p class="notice">There is no sample <Text>{at}</Text> here.</p>}
      {row >= 0
        ? <Sample group={group} row={row} rows={rows} params={conditions} link={links} list={list} />
        : <List group={group} rows={rows} params={conditions} link={links} page={Number(page) || 0} change={change} />}
    </>
  );
}

export function go(hash: string, how?: "replace"): void {
  if (how) {
    history.replaceState(null, "", hash);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = hash;
  }
}

function rowOf(group: Group, key: string, question = ""): number {
  for (let row = group.keys.indexOf(key); row >= 0; row = group.keys.indexOf(key, row + 1)) {
    if (!question || group.question(row) === question) {
      return row;
    }
  }
  return -1;
}

interface ListProps {
  group: Group; rows: Int32Array; params: Params; link: (row: number) => string; page: number; change: Change;
}

function List({ group, rows, params, link, page, change }: ListProps) {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const at = Math.min(Math.max(0, page), pages - 1);
  const turn = (to: number) => to >= 0 && to < pages && change({ page: String(to) });
  const shown = [...rows.subarray(at * PAGE, (at + 1) * PAGE)];
  useKeys({
    j: () => shown.length && (location.hash = link(shown[0])),
    ArrowRight: () => turn(at + 1),
    ArrowLeft: () => turn(at - 1),
  });
  return (
    <>
      {rows.length === 0 && <p>{compared(group, params) ? "No sample passes this filter." : "There is nothing to compare with: write the page with --baseline."}</p>}
      {params.size !== "table" && <Order names={chosen(group, params).map(({ name }) => name)} />}
      <div class={params.group ? "by-class" : ""}>{parts(shown, params.group ? classNames(group, params) : null).map(({ name, rows: own }) => (
        <section key={name} aria-label={name || "Samples"}>
          {name && <h2 class="class-name"><Text>{name}</Text></h2>}
          {params.size === "table" ? <Rows group={group} rows={own} params={params} link={link} /> : (
            <ul class={`cards ${params.size ?? ""}`}>
              {own.map((row) => <Card key={row} group={group} row={row} params={params} href={link(row)} />)}
            </ul>
          )}
        </section>
      ))}</div>
      {pages > 1 && <Pages at={at} pages={pages} turn={turn} />}
    </>
  );
}

// The cases of the signs of a card, if they are too many to be named on it.
function Order({ names }: { names: string[] }) {
  return names.length > NAMED ? (
    <details class="reasons">
      <summary>The {count(names.length)} signs of a sample, from left to right</summary>
      <ol>{names.map((name) => <li key={name}><Text>{name}</Text></li>)}</ol>
    </details>
  ) : null;
}

// The rows of a page by class, or all together.
function parts(rows: number[], label: ((row: number) => string) | null): { name: string; rows: number[] }[] {
  const found = new Map<string, number[]>();
  rows.forEach((row) => found.set(label?.(row) ?? "", [...(found.get(label?.(row) ?? "") ?? []), row]));
  return [...found].map(([name, own]) => ({ name, rows: own }));
}

function compared(group: Group, params: Params): boolean {
  return !params.changed || group.cases.some((groupCase) => groupCase.before || groupCase.changes.size);
}

function Pages({ at, pages, turn }: { at: number; pages: number; turn: (to: number) => void }) {
  return (
    <nav class="pages" aria-label="Pages of samples">
      <button type="button" disabled={at === 0} onClick={() => turn(0)}>First</button>
      <button type="button" disabled={at === 0} onClick={() => turn(at - 1)}>Previous</button>
      <span>Page {count(at + 1)} of {count(pages)}</span>
      <button type="button" disabled={at + 1 >= pages} onClick={() => turn(at + 1)}>Next</button>
      <button type="button" disabled={at + 1 >= pages} onClick={() => turn(pages - 1)}>Last</button>
    </nav>
  );
}

interface CardProps { group: Group; row: number; params: Params; href: string }

function Card({ group, row, params, href }: CardProps) {
  const at = labelSetAt(group, params);
  const labels = labelsOf(group.labelSets[at], row).map((label) => group.names[label]);
  const who = chosen(group, params);
  return (
    <li>
      <a href={href}>
        {group.hasPictures && <span class="thumb"><Picture group={group} row={row} alt="" /></span>}
        <span class="key"><Text>{group.keys[row]}</Text></span>
        {group.question(row) && <span class="question"><Text>{group.question(row)}</Text></span>}
      </a>
      <span class="labels"><span class="visually-hidden">{group.labelSets[at].name}: </span><Text>{labels.join("; ") || "no label"}</Text></span>
      <div class="outcomes">
        <Marks cases={who} row={row} at={at} />
        <Score cases={who} row={row} params={params} />
        {who.length === 1 && <span><span class="visually-hidden">, answered </span><Text>{group.names[who[0].answers[row]] || "no answer"}</Text></span>}
      </div>
    </li>
  );
}

// Samples as lines, with the answers of a few models.
function Rows({ group, rows, params, link }: { group: Group; rows: number[]; params: Params; link: (row: number) => string }) {
  const at = labelSetAt(group, params), all = chosen(group, params), who = all.slice(0, NAMED);
  return (
    <Scroll label="Answers">
      <table class="rows">
        <caption>{who.length < all.length ? `Answers of the first ${who.length} of ${all.length} cases; choose a model to see another` : "Answers"}</caption>
        <thead><tr><th scope="col">Sample</th><th scope="col"><Text>{group.labelSets[at].name}</Text></th>{who.map(({ name }) => <th scope="col" key={name}><Text>{name}</Text></th>)}</tr></thead>
        <tbody>{rows.map((row) => (
          <tr key={row}>
            <th scope="row"><a href={link(row)}><Text>{group.keys[row]}</Text></a>{group.question(row) && <span class="question"> <Text>{group.question(row)}</Text></span>}</th>
            <td><Text>{labelsOf(group.labelSets[at], row).map((label) => group.names[label]).join("; ") || "no label"}</Text></td>
            {who.map((one) => <td key={one.name}><OutcomeText code={outcome(one, row, at)} /> <Text>{group.names[one.answers[row]] || "no answer"}</Text></td>)}
          </tr>
        ))}</tbody>
      </table>
    </Scroll>
  );
}

// A sign for every selected case, and a summary for screen readers.
function Marks({ cases, row, at }: { cases: GroupCase[]; row: number; at: number }) {
  const found = cases.map((groupCase) => outcome(groupCase, row, at));
  const named = cases.length > 1 && cases.length <= NAMED;
  return (
    <>
      <span class="visually-hidden">{summed(found)}</span>
      <span class={named ? "marks named" : "marks"} aria-hidden="true">
        {found.map((code, place) => <span class="who" key={place}><Mark code={code} who={cases[place].name} />{named && <span class="name" title={cases[place].name}><bdi>{cases[place].name}</bdi></span>}</span>)}
      </span>
    </>
  );
}

// The number that samples are sorted by.
function Score({ cases, row, params }: { cases: GroupCase[]; row: number; params: Params }) {
  const of = params.sort === "loss" ? "loss" : "confidence";
  const [value] = cases.length === 1 && params.sort ? [cases[0][of]?.[row]] : [];
  return value === undefined || Number.isNaN(value) ? null : <span class="hint">{of === "loss" ? "loss" : cases[0].about.score} {value.toPrecision(3)}</span>;
}
