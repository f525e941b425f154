// Changes of every metric since the baseline, with the verdicts of `compare` and links to the samples that changed.
import { nameOf } from "./group";
import { load } from "./data";
import { Legend, MetricName, metricText } from "./glossary";
import { Look } from "./overview";
import type { Case, Cell, Change, Index, Since } from "./data";
import { Loaded, useLoaded } from "./loaded";
import { written } from "./route";
import { Table } from "./table";
import type { Field } from "./table";
import { Broken, count, many, Text } from "./text";

type Row = Change & { case: number };
interface Rows { metrics: Row[]; slices: Row[] }
type How = "lost" | "gained";

export const [BEFORE, AFTER, DELTA, N, LOST, GAINED, P, ADJUSTED, TEST, VERDICT] = Array(10).keys();
const FEW = 10, MANY = 100;
const OPEN_REASONS = 5; // with at most this many reasons, the list is open
const MATTERS = ["regression", "tolerated", "improvement"];
// The sign of each verdict, and the class of its colour.
const SIGNS: Record<string, [sign: string, like: string]> = {
  "regression": ["▼", "wrong"], "tolerated": ["▽", "mixed"], "improvement": ["▲", "right"], "inconclusive": ["≈", "unscored"],
  "no regression": ["✓", "right"], "confidence regression": ["▼", "wrong"], "confidence improvement": ["▲", "right"],
  "confidence inconclusive": ["≈", "unscored"], "confidence unchanged": ["✓", "right"],
  "not tested": ["?", "mixed"], "no baseline": ["–", "mixed"], "not comparable": ["≠", "mixed"],
};

export function Changes({ index }: { index: Index }) {
  return (
    <>
      <h1 tabIndex={-1}>Changes</h1>
      {index.since ? <Compared index={index} since={index.since} /> : <p>{index.verdict.text} Write the page from two runs, or with --baseline.</p>}
    </>
  );
}

function Compared({ index, since }: { index: Index; since: Since }) {
  const state = useLoaded(() => load<Rows>("changes"), []);
  const numbers = Object.values(since.counts).reduce((sum, each) => sum + each, 0);
  const matter = MATTERS.reduce((sum, word) => sum + (since.counts[word] ?? 0), 0);
  return (
    <section class="since" aria-labelledby="since">
      <h2 id="since">Since <Text>{since.baseline}</Text></h2>
      <p class="sums">
        <span>{many(numbers, "number")} compared</span>
        {Object.entries(since.counts).map(([word, each]) => <span key={word}>{count(each)} <Decision decision={word} /></span>)}
      </p>
      <p class="hint">{since.rule}</p>
      <NotCompared reasons={since.notCompared} />
      {numbers > 0 && (
        <Loaded state={state}>
          {({ metrics, slices }) => (
            <>
              <Table caption="Every number and its change" fields={fields(index)} rows={metrics} few={Math.min(MANY, Math.max(FEW, matter))} hidden />
              <Slices index={index} sums={since.slices} rows={slices} />
            </>
          )}
        </Loaded>
      )}
      <Legend />
    </section>
  );
}

// Classes, taxa and other slices of the samples: how many were compared, and a row for each that changed.
function Slices({ index, sums, rows }: { index: Index; sums: string; rows: Row[] }) {
  return sums ? (
    <section class="slices" aria-labelledby="slices">
      <h3 id="slices">Slices</h3>
      <p><Text>{sums}</Text>.</p>
      <p class="hint">A slice is the samples with one value of a variable, such as class=dog. Adjusted p: false discovery rate over all slices.</p>
      {rows.length > 0 && <Table caption="Slices that changed" fields={fields(index, "Slice")} rows={rows} few={FEW} hidden />}
    </section>
  ) : null;
}

export function Decision({ decision }: { decision: string }) {
  const [sign, like] = SIGNS[decision] ?? ["", ""];
  return <span class={`decision ${like}`}><span aria-hidden="true">{sign}</span> {decision}</span>;
}

function NotCompared({ reasons }: { reasons: string[] }) {
  return reasons.length ? (
    <details class="reasons" open={reasons.length <= OPEN_REASONS}>
      <summary>Not compared ({count(reasons.length)})</summary>
      <ul>{reasons.map((reason) => <li key={reason}><Text>{reason}</Text></li>)}</ul>
    </details>
  ) : null;
}

function fields(index: Index, what = "Metric"): Field<Row>[] {
  const about = (row: Row): Case => index.cases[row.case];
  const number = (name: string, at: number): Field<Row> => ({
    name, number: true, value: ({ cells }) => valueOf(cells[at]), show: ({ cells }) => <Broken>{textOf(cells[at])}</Broken>,
  });
  const moved = (name: string, at: number, how: How): Field<Row> => ({
    ...number(name, at), show: (row) => <Moved index={index} about={about(row)} change={row} at={at} how={how} />,
  });
  return [
    { name: "Verdict", value: ({ cells }) => textOf(cells[VERDICT]), show: ({ cells }) => <Decision decision={textOf(cells[VERDICT])} /> },
    { name: "Model", value: (row) => about(row).model, show: (row) => <Look index={index} row={about(row)} />, head: true },
    { name: what, value: metricText, show: (row) => <MetricName metric={row} /> },
    number("Before, %", BEFORE),
    number("Now, %", AFTER),
    number("Change, points", DELTA),
    number("Adjusted p", ADJUSTED),
    number("n", N),
    moved("Lost", LOST, "lost"),
    moved("Gained", GAINED, "gained"),
    { name: "Benchmark, protocol", value: (row) => `${about(row).split}, ${about(row).protocolName}` },
    number("p", P),
    { name: "Test", value: ({ cells }) => textOf(cells[TEST]) },
  ];
}

const valueOf = (cell: Cell): number | null => (typeof cell === "string" ? null : cell[0]);
export const textOf = (cell: Cell): string => (typeof cell === "string" ? cell : cell[1]);
export const deltaOf = (change: Change): Cell => change.cells[DELTA];

// The number of lost or gained samples, with a link. Metrics that are no proportions have no samples of their own; their
// link leads to the samples of their label set and category.
function Moved({ index, about, change, at, how }: { index: Index; about: Case; change: Change; at: number; how: How }) {
  const text = textOf(change.cells[at]);
  const own = change.samples.of !== undefined;
  const word = how === "lost" ? "now wrong" : "now right";
  const link = <Link index={index} about={about} change={change} how={how} word={own ? "" : word} quiet />;
  return change.samples[how] ? <>{!own && `${text} `}{link}</> : <>{text}</>;
}

interface LinkProps { index: Index; about: Case; change: Change; how: How; unit?: string; word?: string; quiet?: boolean }

// A link to samples; `quiet` hides the direction if the column head names it.
export function Link({ index, about, change, how, unit = "", word = "", quiet = false }: LinkProps) {
  const group = index.groups.find((one) => one.name === about.group);
  const { lost, gained, unit: _, ...filter } = change.samples;
  const found = (how === "lost" ? lost : gained) ?? 0;
  const text = word ? `${count(found)} ${word}` : unit ? many(found, unit) : count(found);
  return group && found
    ? <a href={written("samples", group.name, { model: nameOf(group, about.position!), ...filter, changed: how })}>{text}<span class={quiet ? "visually-hidden" : ""}> {how}</span></a>
    : <>{text} {how}</>;
}
