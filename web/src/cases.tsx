// The table of all cases, and the runs.
import type { Case, CaseVerdict, Index, Run } from "./data";
import { deltaOf, Link, textOf, Decision } from "./changes";
import { Legend, MetricName, metricText, Term } from "./glossary";
import { Look, Notes } from "./overview";
import { Table } from "./table";
import type { Field } from "./table";
import { Broken, count, metricInterval, percent, Text, valueText } from "./text";

export function Cases({ index }: { index: Index }) {
  return (
    <>
      <h1 tabIndex={-1}>Cases</h1>
      <Table caption="Results of every case" fields={fields(index)} rows={index.cases} hidden />
      <Legend />
      <Notes index={index} />
      <h2>Runs</h2>
      <ul class="runs">{index.runs.map((run) => <About key={run.folder} run={run} />)}</ul>
    </>
  );
}

function fields(index: Index): Field<Case>[] {
  const others = ["unparsed", "truncated", "in error"];
  const other = ({ counts: [, , ...rest] }: Case) => rest.reduce((sum, each) => sum + each, 0);
  const changed: Field<Case>[] = [
    { name: "Change", number: true, value: ({ change }) => (change ? Number(deltaOf(change)[0]) : null), show: (row) => <Change index={index} row={row} /> },
    { name: "Verdict", value: ({ verdict }) => verdict?.decision ?? null, show: ({ verdict }) => (verdict ? <Verdict verdict={verdict} /> : <>—</>) },
  ];
  const reported: Field<Case> = {
    name: "Reported %", number: true, value: (row) => row.reported?.value ?? null,
    show: (row) => (row.reported ? <span title={row.reported.source}>{percent(row.reported.value)}</span> : "—"),
  };
  return [
    { name: "Model", value: (row) => row.model, show: (row) => <Look index={index} row={row} /> },
    { name: "Benchmark, protocol", value: (row) => `${row.split}, ${row.protocolName}`, show: (row) => <><Text>{row.split}</Text>, <Term kind="protocols" name={row.protocolName} of={row.protocol} more={row.settings} /></> },
    { name: "Metric", value: (row) => row.metric && metricText(row.metric), show: (row) => (row.metric ? <MetricName metric={row.metric} /> : "—") },
    { name: "%", number: true, value: (row) => row.metric?.value ?? null, show: (row) => <Value row={row} /> },
    ...(index.since ? changed : []),
    ...(index.cases.some((row) => row.reported) ? [reported] : []),
    { name: "n", number: true, value: (row) => row.metric?.n ?? row.n, show: (row) => count(row.metric?.n ?? row.n) },
    ...["Right", "Wrong"].map((name, at): Field<Case> => ({ name, number: true, value: (row) => row.counts[at], show: (row) => count(row.counts[at]) })),
    { name: "No answer", number: true, value: other, show: ({ counts: [, , ...rest] }) => others.flatMap((name, at) => (rest[at] ? [`${count(rest[at])} ${name}`] : [])).join(", ") || "0" },
    { name: "Seconds", number: true, value: (row) => row.seconds, show: (row) => row.seconds.toFixed(1) },
  ];
}

function Value({ row }: { row: Case }) {
  const found = row.metric;
  return <>{valueText(found)} <span class="hint">{metricInterval(found)}</span></>;
}

function Change({ index, row }: { index: Index; row: Case }) {
  if (!row.change) {
    return <>—</>;
  }
  const { lost, gained } = row.change.samples;
  return (
    <>
      <Broken>{textOf(deltaOf(row.change))}</Broken>
      {lost !== undefined && <> <Link index={index} about={row} change={row.change} how="lost" />,</>}
      {gained !== undefined && <> <Link index={index} about={row} change={row.change} how="gained" /></>}
    </>
  );
}

// The most important decision of a case, and how many of its metrics have it.
function Verdict({ verdict }: { verdict: CaseVerdict }) {
  return <><Decision decision={verdict.decision} />{verdict.of > 1 && <span class="hint"> {count(verdict.count)} of {count(verdict.of)}</span>}</>;
}

function About({ run }: { run: Run }) {
  return (
    <li>
      <b><Text>{run.folder}</Text></b>: eyechart <Text>{run.eyechart}</Text>, <Text>{run.started}</Text>,{" "}
      {run.seconds.toFixed(0)} s, exit status {run.status}, {run.work}<br />
      <code><Text>{run.command}</Text></code>
    </li>
  );
}
