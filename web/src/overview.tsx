// The summary: the verdict, the best model of each benchmark, and the main metric of every model on every benchmark.
import type { Against, Case, Index, Metric } from "./data";
import { Legend, Term } from "./glossary";
import { nameOf } from "./group";
import { written } from "./route";
import { count, many, metricInterval, signed, Text, valueText } from "./text";

const SIGNS = { loss: ["▼", "wrong"], passed: ["✓", "right"], open: ["?", "mixed"], ranks: ["≷", "right"] };

export function Overview({ index }: { index: Index }) {
  const columns = columnsOf(index.cases);
  return (
    <>
      <h1 tabIndex={-1}>Summary</h1>
      <Verdict index={index} />
      <h2>Benchmarks</h2>
      <ul class="benchmarks">{splitsOf(columns).map((own) => <Benchmark key={own[0].split} index={index} columns={own} />)}</ul>
      <h2>Models</h2>
      <Matrix index={index} columns={columns} />
      <Legend only={{
        metrics: new Set(columns.map(({ metric }) => metric.name)), labels: new Set(columns.map(({ metric }) => metric.labels)),
        subsets: new Set(columns.map(({ metric }) => metric.subset)), protocols: new Set(index.cases.map(({ protocol }) => protocol)),
      }} />
      <Notes index={index} />
    </>
  );
}

function Verdict({ index: { verdict, since } }: { index: Index }) {
  const [sign, like] = SIGNS[verdict.kind];
  return (
    <section class={`gate ${verdict.kind}`} aria-label="Verdict">
      <p class="gate-line"><span class={like} aria-hidden="true">{sign}</span> <Text>{verdict.text}</Text>{since && <> <a href={written("changes")}>All changes</a></>}</p>
      {since?.slices && <p class="hint">Slices: <Text>{since.slices}</Text>.</p>}
      {verdict.detects && <p class="hint">{verdict.detects}</p>}
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

function splitsOf(columns: Column[]): Column[][] {
  return [...new Set(columns.map(({ split }) => split))].map((split) => columns.filter((column) => column.split === split));
}

// The cases with the best value, the best first. Without a direction there is no best one.
export function ranked({ cases, metric }: Column): Case[] {
  const sign = metric.better === false ? -1 : 1;
  const scored = cases.filter((one) => one.metric?.value !== null);
  return metric.better === null ? [] : scored.sort((one, other) => sign * (other.metric!.value! - one.metric!.value!));
}

function Benchmark({ index, columns }: { index: Index; columns: Column[] }) {
  const models = new Set(columns.flatMap(({ cases }) => cases.map(({ model }) => model)));
  const n = Math.max(...columns.flatMap(({ cases }) => cases.map((one) => one.n)));
  return (
    <li>
      <h3><Text>{columns[0].split}</Text></h3>
      <p class="hint">{many(n, "image")}{columns[0].cases[0].choice && <>, <Text>{columns[0].cases[0].choice}</Text></>}; {many(models.size, "model")}</p>
      {columns.map((column) => <Best key={column.key} index={index} column={column} alone={models.size === 1} />)}
    </li>
  );
}

function Best({ index, column, alone }: { index: Index; column: Column; alone: boolean }) {
  const [first, second] = ranked(column);
  if (!first) {
    return null;
  }
  const metric = first.metric!;
  return (
    <div class="best-model">
      <p class="figure"><b>{valueText(metric)}</b> <span class="hint">{metricInterval(metric)}</span></p>
      <p><Look index={index} row={first} />{alone || !second ? "" : <span class="hint"> {standing(column)}</span>}</p>
      {second?.against && <p class="hint"><Text>{second.model}</Text>: {comparison(second.against)}</p>}
      <p class="hint"><MetricName metric={metric} />, <Term kind="protocols" name={first.protocolName} of={first.protocol} /></p>
    </div>
  );
}

// How certainly the first case is the best one, by the paired tests over the same samples.
function standing(column: Column): string {
  const others = ranked(column).filter(({ rank }) => rank === 1).length - 1;
  const best = `highest of ${count(column.cases.length)}`;
  return others < 0 ? `${best}, not tested` : others === 0 ? `rank 1 of ${count(column.cases.length)}, alone` : `${best}; shares rank 1 with ${many(others, "other")}`;
}

// The change from the best model, such as "−6.00 points [−9.30, −2.70], 12 lost, 0 gained, p = 0.0005".
function comparison({ delta, ci, p, lost, gained, percent: inPercent }: Against): string {
  const text = (value: number) => (inPercent ? signed(value) : Number(value.toPrecision(3)).toString());
  return [
    `${text(delta)}${inPercent ? " points" : ""}${ci ? ` [${text(ci[0])}, ${text(ci[1])}]` : ""}`,
    lost === null ? "" : `${count(lost)} lost, ${count(gained!)} gained`,
    p === null ? "" : `p ${p < 1e-4 ? "< 0.0001" : `= ${Number(p.toPrecision(2))}`}`,
  ].filter(Boolean).join(", ");
}

export function MetricName({ metric }: { metric: Metric }) {
  return (
    <><Term kind="metrics" name={metric.name} />, <Term kind="labels" name={metric.labels} />
      {metric.subset === "A" || metric.subset === "" ? "" : <>, <Term kind="subsets" name={metric.subset} /></>}</>
  );
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

function Matrix({ index, columns }: { index: Index; columns: Column[] }) {
  const models = bestFirst(index.cases, columns);
  const best = new Map(columns.map((column) => [column, ranked(column)[0]?.metric!.value]));
  return (
    <section class="table">
      <div class="scroll" role="region" aria-label="Main metric of every model" tabIndex={0}>
        <table class="matrix">
          <caption class="visually-hidden">The main metric of every model on every benchmark, with its 95 % interval; the best value is bold</caption>
          <thead>
            <tr>
              <th scope="col" rowSpan={2}>Model</th>
              {splitsOf(columns).map((own) => <th key={own[0].split} scope="colgroup" colSpan={own.length}><Text>{own[0].split}</Text></th>)}
            </tr>
            <tr>{columns.map((column) => <th key={column.key} scope="col" class="metric-name"><MetricName metric={column.metric} /></th>)}</tr>
          </thead>
          <tbody>
            {models.map((model) => (
              <tr key={model}>
                <th scope="row"><Text>{model}</Text></th>
                {columns.map((column) => {
                  const own = column.cases.filter((one) => one.model === model);
                  return <td key={column.key}>{own.length ? own.map((one, place) => <Value key={place} index={index} row={one} protocols={column.protocols} best={own.length > 0 && column.cases.length > 1 && one.metric!.value === best.get(column)} />) : <span class="hint">–</span>}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Value({ index, row, protocols, best }: { index: Index; row: Case; protocols: number; best: boolean }) {
  const value = valueText(row.metric);
  return (
    <p class="value">
      <Look index={index} row={row} text={value} bold={best} /> <span class="hint">{metricInterval(row.metric)}</span>
      {protocols > 1 && <span class="hint"> <Term kind="protocols" name={row.protocolName} of={row.protocol} /></span>}
      {row.status === "failed" && <span class="wrong"> failed</span>}
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
