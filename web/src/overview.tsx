// The summary: the verdict, each benchmark as a chart with the rank or the change of each model, and all main metrics.
import { ADJUSTED, BEFORE, deltaOf, Decision, Link, textOf, VERDICT } from "./changes";
import type { Against, Case, Cell, Change, GroupSummary, Index, Metric } from "./data";
import { Bar, zoomed } from "./figures";
import { Legend, MetricName, metricText, Term } from "./glossary";
import { nameOf, open, rowsMoved } from "./group";
import { useLoaded } from "./loaded";
import { Picture } from "./picture";
import { written } from "./route";
import { Scroll } from "./scroll";
import { Table } from "./table";
import type { Field } from "./table";
import { count, many, metricInterval, percent, signed, Text, valueText } from "./text";

const SIGNS = { loss: ["▼", "wrong"], passed: ["✓", "right"], open: ["?", "mixed"], ranks: ["≷", "right"] };

export function Overview({ index }: { index: Index }) {
  const columns = columnsOf(index.cases);
  return (
    <>
      <h1 tabIndex={-1}>Summary</h1>
      <Verdict index={index} />
      <h2>Benchmarks</h2>
      <div class="benchmarks">{severalFirst(columns).map((column) => <Benchmark key={column.key} index={index} column={column} />)}</div>
      {index.cases.some(({ primary }) => !primary) && <><h2>Every protocol</h2><Matrix index={index} columns={columns} /></>}
      <Legend only={{
        metrics: new Set(columns.map(({ metric }) => metric.name)), labels: new Set(columns.map(({ metric }) => metric.labels)),
        subsets: new Set(columns.map(({ metric }) => metric.subset)), protocols: new Set(index.cases.map(({ protocol }) => protocol)),
      }} />
      <Notes index={index} />
    </>
  );
}

function Verdict({ index }: { index: Index }) {
  const { verdict, since } = index;
  const [sign, like] = SIGNS[verdict.kind];
  return (
    <section class={`gate ${verdict.kind}`} aria-label="Verdict">
      <p class="gate-line"><span class={like} aria-hidden="true">{sign}</span> <Text>{verdict.text}</Text>{since && <> <a href={written("changes")}>All changes</a></>}</p>
      <Lost index={index} />
      {since?.slices && <p class="hint">Slices: <Text>{since.slices}</Text>.</p>}
      {verdict.more.length > 0 && (
        <details>
          <summary>What this comparison can show</summary>
          {verdict.more.map((sentence) => <p key={sentence} class="hint"><Text>{sentence}</Text></p>)}
        </details>
      )}
    </section>
  );
}

// One metric of one split; a model has a case for each protocol.
interface Column { key: string; split: string; metric: Metric; cases: Case[]; protocols: number }

function columnsOf(cases: Case[]): Column[] {
  const columns = new Map<string, Column>();
  for (const one of cases.filter(({ metric }) => metric)) {
    const metric = one.metric!;
    const key = [one.split, metric.name, metric.labels, metric.subset].join("\n");
    const column = columns.get(key) ?? { key, split: one.split, metric, cases: [], protocols: 0 };
    column.cases.push(one);
    columns.set(key, column);
  }
  for (const column of columns.values()) {
    column.protocols = new Set(column.cases.map(({ protocolName }) => protocolName)).size;
  }
  return [...columns.values()];
}

// The cases with the best value, the best first. Without a direction there is no best one.
export function ranked({ cases, metric }: Column): Case[] {
  const sign = metric.better === false ? -1 : 1;
  const scored = cases.filter((one) => one.metric?.value !== null);
  return metric.better === null ? [] : scored.sort((one, other) => sign * (other.metric!.value! - one.metric!.value!));
}

const PICTURES = 3; // of lost images

// Some images that the first case with a regression lost, with a link to all of them.
function Lost({ index }: { index: Index }) {
  const row = index.cases.find((one) => one.primary && one.verdict?.decision === "regression" && one.change?.samples.of && one.change.samples.lost);
  const group = row && index.groups.find((one) => one.name === row.group);
  return row && group ? <LostPictures key={group.folder} index={index} row={row} about={group} /> : null;
}

function LostPictures({ index, row, about }: { index: Index; row: Case; about: GroupSummary }) {
  const { value: group } = useLoaded(() => open(about), [about]);
  const change = row.change!;
  const rows = group ? [...rowsMoved(group.cases[row.position!], change.samples.of!, "lost") ?? []].slice(0, PICTURES) : [];
  const { lost: _, gained: __, unit: ___, ...filter } = change.samples;
  return (
    <p class="lost">
      {group?.hasPictures && rows.map((at) => (
        <a key={at} aria-label={group.keys[at]} href={written("samples", about.name, { model: nameOf(about, row.position!), ...filter, changed: "lost", at: group.keys[at] })}>
          <Picture group={group} row={at} alt={group.keys[at]}><Text>{group.keys[at]}</Text></Picture>
        </a>
      ))}
      <Link index={index} about={row} change={change} how="lost" unit={about.unit} />
    </p>
  );
}

// Those that compare models first.
function severalFirst(columns: Column[]): Column[] {
  const several = (column: Column) => main(column).length > 1;
  return [...columns.filter(several), ...columns.filter((column) => !several(column))];
}

// One metric of one split: a row for each model by its first protocol, the best first.
function Benchmark({ index, column }: { index: Index; column: Column }) {
  const rows = main(column);
  const n = Math.max(...rows.map((one) => one.n));
  const changed = rows.some((one) => one.change);
  const axis = zoomed(rows.flatMap((one) => [one.metric!.ci ?? point(one.metric!.value!), ...[was(one)].flatMap((old) => (old === null ? [] : [point(old)]))]));
  return rows.length ? (
    <section class="benchmark">
      <h3><Text>{column.split}</Text> <span class="hint"><MetricName metric={column.metric} />; {many(n, unitOf(index, rows[0]))}{rows[0].choice && <>, <Text>{rows[0].choice}</Text></>}</span></h3>
      <Scroll label={`${column.split}, ${column.metric.name}`} plain>
        <table class="ranks">
          <thead class="hint">
            <tr>
              {rows.length > 1 && <th scope="col" class="number rank">Rank</th>}
              <th scope="col">Model</th>
              <th scope="col" class="track">{column.metric.percent ? <span class="scale"><span>{percent(axis[0], 0)}</span><span>{percent(axis[1], 0)} %</span></span> : <span class="visually-hidden">Chart</span>}</th>
              <th scope="col" class="number">{changed ? "Before → now" : "Value"} [95 %]</th>
              <th scope="col">{changed ? "Change" : rows.length > 1 ? "Change from the best value" : <span class="visually-hidden">Change</span>}</th>
            </tr>
          </thead>
          <tbody>{rows.map((one, place) => <Model key={place} index={index} row={one} rows={rows} axis={axis} protocols={column.protocols} changed={changed} />)}</tbody>
        </table>
      </Scroll>
    </section>
  ) : null;
}

const unitOf = (index: Index, row: Case): string => index.groups.find((one) => one.name === row.group)?.unit ?? "image";

// The main case of each model, the best first; without a direction there is no best one.
function main(column: Column): Case[] {
  const own = { ...column, cases: column.cases.filter((one) => one.primary) };
  return column.metric.better === null ? own.cases : ranked(own);
}

const point = (value: number): [number, number] => [value, value];

interface ModelProps { index: Index; row: Case; rows: Case[]; axis: [number, number]; protocols: number; changed: boolean }

function Model({ index, row, rows, axis, protocols, changed }: ModelProps) {
  const change = row.change;
  return (
    <tr>
      {rows.length > 1 && <td class="number rank">{rankText(row)}</td>}
      <th scope="row"><Look index={index} row={row} />{protocols > 1 && <span class="hint"> <Term kind="protocols" name={row.protocolName} of={row.protocol} more={row.settings} /></span>}</th>
      <td class="track">{row.metric!.percent && <Bar share={{ value: row.metric!.value!, ci: row.metric!.ci }} axis={axis} place={0} was={was(row)} />}</td>
      <td class="number">{change && <><span class="hint">{textOf(change.cells[BEFORE])}</span> → </>}<b>{valueText(row.metric)}</b> <span class="hint">{metricInterval(row.metric)}</span></td>
      <td>
        {change ? <Changed index={index} row={row} change={change} /> : row.verdict && changed ? <Decision decision={row.verdict.decision} />
          : row.against ? <span class="hint">{comparison(row.against)}</span> : ""}
      </td>
    </tr>
  );
}

// The ranks that a model may have: those that no paired test excludes.
function rankText({ ranks }: Case): string {
  return ranks === undefined ? "–" : ranks[0] === ranks[1] ? String(ranks[0]) : ranks.join("–");
}

// The value before, null without one.
const was = ({ change }: Case): number | null => {
  const old = change?.cells[BEFORE] ?? "";
  return typeof old === "string" ? null : old[0];
};

// The change since the baseline, with p, lost and gained samples and the verdict.
function Changed({ index, row, change }: { index: Index; row: Case; change: Change }) {
  return (
    <span>
      <Decision decision={textOf(change.cells[VERDICT])} /> {textOf(deltaOf(change))}
      <span class="hint"> adjusted p {pText(change.cells[ADJUSTED])}{change.samples.lost === undefined ? "" : <>; <Link index={index} about={row} change={change} how="lost" />, <Link index={index} about={row} change={change} how="gained" /></>}</span>
    </span>
  );
}

const pText = (cell: Cell): string => textOf(cell).replace(/^(?=\d)/, "= ");

// The change from the model of the best value, such as "from b6: −6.00 points [−9.30, −2.70], 12 lost, 0 gained, adjusted p = 0.0005".
function comparison({ model, delta, ci, p, lost, gained, percent: inPercent }: Against): string {
  const text = (value: number) => (inPercent ? signed(value) : Number(value.toPrecision(3)).toString());
  return [
    `from ${model}: ${text(delta)}${inPercent ? " points" : ""}${ci ? ` [${text(ci[0])}, ${text(ci[1])}]` : ""}`,
    lost === null ? "" : `${count(lost)} lost, ${count(gained!)} gained`,
    p === null ? "" : `adjusted p ${p < 1e-4 ? "< 0.0001" : `= ${Number(p.toPrecision(2))}`}`,
  ].filter(Boolean).join(", ");
}

// The models, those first that are best on average over the metrics that they have.
function bestFirst(cases: Case[], columns: Column[]): string[] {
  const places = new Map<string, number[]>();
  for (const order of columns.map(ranked)) {
    order.forEach(({ model }, place) => places.set(model, [...(places.get(model) ?? []), place / order.length]));
  }
  const mean = (model: string) => {
    const own = places.get(model) ?? [1];
    return own.reduce((sum, place) => sum + place, 0) / own.length;
  };
  return [...new Set(cases.map(({ model }) => model))].sort((one, other) => mean(one) - mean(other));
}

// A row for each metric of each split, and a column for each model.
function Matrix({ index, columns }: { index: Index; columns: Column[] }) {
  const models = bestFirst(index.cases, columns);
  const fields: Field<Column>[] = [
    { name: "Benchmark", value: ({ split }) => split },
    { name: "Metric", value: ({ metric }) => metricText(metric), show: ({ metric }) => <MetricName metric={metric} /> },
    ...models.map((model): Field<Column> => ({
      name: model,
      value: (column) => ranked(column).find((one) => one.model === model)?.metric!.value ?? null,
      show: (column) => {
        const own = column.cases.filter((one) => one.model === model);
        const best = ranked(column)[0]?.metric!.value;
        return own.length ? own.map((one, at) => <Value key={at} index={index} row={one} protocols={column.protocols} best={column.cases.length > 1 && one.metric!.value === best} />) : <span class="hint">–</span>;
      },
    })),
  ];
  return <Table caption="The main metric of every model on every benchmark, with its 95 % interval; the best value is bold" fields={fields} rows={columns} hidden />;
}

function Value({ index, row, protocols, best }: { index: Index; row: Case; protocols: number; best: boolean }) {
  const value = valueText(row.metric);
  return (
    <p class="value">
      <Look index={index} row={row} text={value} bold={best} /> <span class="hint">{metricInterval(row.metric)}</span>
      {protocols > 1 && <span class="hint"> <Term kind="protocols" name={row.protocolName} of={row.protocol} more={row.settings} /></span>}
      {row.status === "failed" && <span class="wrong"> test failed</span>}
    </p>
  );
}

// The model of a case, or another text, with a link to its samples.
export function Look({ index, row, text, bold = false }: { index: Index; row: Case; text?: string; bold?: boolean }) {
  const group = index.groups.find((one) => one.name === row.group);
  const inner = bold ? <b><Text>{text ?? row.model}</Text></b> : <Text>{text ?? row.model}</Text>;
  return group ? <a href={written("samples", group.name, { model: nameOf(group, row.position!) })}>{inner}</a> : inner;
}

export function Notes({ index }: { index: Index }) {
  const notes = [...new Set([...index.notes, ...(index.since?.notes ?? []), ...index.cases.flatMap((one) => one.notes)])];
  return notes.length ? (
    <details class="reasons">
      <summary>Notes ({notes.length})</summary>
      <ul>{notes.map((note) => <li key={note}><Text>{note}</Text></li>)}</ul>
    </details>
  ) : null;
}
