// The table of all metrics, and the published tables.
import { Fold, Pick } from "./controls";
import type { Option } from "./controls";
import { load } from "./data";
import type { Cell, Index } from "./data";
import type { Params } from "./filter";
import { Legend, Term } from "./glossary";
import { Loaded, useLoaded } from "./loaded";
import { written } from "./route";
import { go } from "./samples";
import { Table } from "./table";
import type { Field } from "./table";
import { count, metricInterval, Text, valueText } from "./text";

type Row = [
  split: string, model: string, protocolName: string, name: string, labels: string, subset: string, value: number | null, n: number,
  ci: [number, number] | null, how: string, better: boolean | null, percent: boolean, main: number, protocol: string,
];

const FACETS: [param: string, name: string, at: number][] = [
  ["benchmark", "Benchmark", 0], ["model", "Model", 1], ["protocol", "Protocol", 2], ["metric", "Metric", 3], ["labels", "Labels", 4], ["subset", "Subset", 5],
];
const TINY = 10; // rows of fewer samples are folded, unless they are over all samples

const shown = ([, , , , , , value, , ci, , , percent]: Row) => ({ value, ci, percent });
const FIELDS: Field<Row>[] = [
  { name: "Model", value: (row) => row[1] },
  { name: "Metric", value: (row) => row[3], show: (row) => <Term kind="metrics" name={row[3]} /> },
  { name: "Labels", value: (row) => row[4], show: (row) => <Term kind="labels" name={row[4]} /> },
  { name: "Subset", value: (row) => row[5], show: (row) => <Term kind="subsets" name={row[5]} /> },
  { name: "%", number: true, value: (row) => row[6], show: (row) => <>{valueText(shown(row))}{row[11] || row[6] === null ? "" : " (not %)"} <span class="hint">{metricInterval(shown(row))}</span></> },
  { name: "n", number: true, value: (row) => row[7], show: (row) => count(row[7]) },
  { name: "Benchmark, protocol", value: (row) => `${row[0]}, ${row[2]}`, show: (row) => <><Text>{row[0]}</Text>, <Term kind="protocols" name={row[2]} of={row[13]} /></> },
  { name: "Interval", value: (row) => (row[8] ? row[9] : null), show: (row) => (row[8] ? <Term kind="intervals" name={row[9]} /> : "—") },
];

export function Metrics({ params }: { params: Params }) {
  const state = useLoaded(() => load<Row[]>("numbers"), []);
  return (
    <>
      <h1 tabIndex={-1}>Metrics</h1>
      <Loaded state={state}>{(rows) => <Faceted rows={rows} params={params} />}</Loaded>
      <Legend />
    </>
  );
}

function Faceted({ rows, params }: { rows: Row[]; params: Params }) {
  const change = (changes: Params) => go(written("metrics", "", { ...params, ...changes }));
  const passes = (row: Row, but = "") => FACETS.every(([param, , at]) => param === but || !params[param] || String(row[at]) === params[param]);
  const found = rows.filter((row) => passes(row));
  const kept = params.all ? found : found.filter((row) => row[7] >= TINY || row[12]);
  return (
    <>
      <Fold name="Filter" count={FACETS.filter(([param]) => params[param]).length}>
        <search class="filter" aria-label="Filter of metrics">
          {FACETS.map(([param, name, at]) => {
            const options = counted(rows.filter((row) => passes(row, param)).map((row) => String(row[at])));
            return options.length > 1 || params[param] ? <Pick key={param} name={name} options={[["", "all"], ...options]} value={params[param] ?? ""} set={(value) => change({ [param]: value })} /> : null;
          })}
          {(found.length > kept.length || params.all) && (
            <label class="tick"><input type="checkbox" checked={Boolean(params.all)} onChange={(event) => change({ all: event.currentTarget.checked ? "1" : "" })} /> with the {count(found.filter((row) => row[7] < TINY && !row[12]).length)} rows of fewer than {TINY} samples</label>
          )}
          {FACETS.some(([param]) => params[param]) && <button type="button" onClick={() => go(written("metrics"))}>Clear</button>}
        </search>
      </Fold>
      <Table caption="Every metric, with its 95 % interval" fields={FIELDS} rows={kept} hidden />
    </>
  );
}

// The values of a facet with the number of rows of each.
function counted(values: string[]): Option[] {
  const counts = new Map<string, number>();
  values.forEach((value) => counts.set(value, (counts.get(value) ?? 0) + 1));
  return [...counts].map(([value, times]): Option => [value, `${value || "none"} (${count(times)})`]);
}

interface Published { title: string; columns: string[]; numeric: boolean[]; rows: Cell[][]; notes: string[] }

export function Tables({ index, name }: { index: Index; name: string }) {
  const known = index.tables.some((one) => one.name === name);
  return (
    <>
      <h1 tabIndex={-1}>Tables</h1>
      {index.tables.length === 0 && <p>These runs have nothing for a published table.</p>}
      <ul class="choices">
        {index.tables.map((one) => (
          <li key={one.name}>
            <a href={written("tables", one.name)} aria-current={one.name === name ? "page" : undefined}><Text>{one.name}</Text></a>
          </li>
        ))}
      </ul>
      {known ? <One key={name} name={name} /> : index.tables.length > 0 && <p class="hint">Choose a table.</p>}
    </>
  );
}

export function One({ name }: { name: string }) {
  const state = useLoaded(() => load<Published[]>(`tables/${name}`), [name]);
  return <Loaded state={state}>{(found) => <>{found.map((one, place) => <Shown key={place} table={one} />)}</>}</Loaded>;
}

function Shown({ table }: { table: Published }) {
  const fields = table.columns.map((name, place): Field<Cell[]> => ({
    name: name || "—",
    number: table.numeric[place],
    value: (row) => (typeof row[place] === "string" ? row[place] : row[place][0]),
    show: (row) => <Written cell={row[place]} />,
  }));
  return <Table caption={table.title} fields={fields} rows={table.rows} notes={table.notes} matrix />;
}

function Written({ cell }: { cell: Cell }) {
  const text = <Text>{typeof cell === "string" ? cell : cell[1]}</Text>;
  const standing = typeof cell === "string" ? undefined : cell[2];
  return standing === 1 ? <b>{text}</b> : standing === 2 ? <u>{text}</u> : text;
}
