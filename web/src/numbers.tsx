// The table of all metrics, and the published tables.
import { load } from "./data";
import type { Cell, Index } from "./data";
import { Loaded, useLoaded } from "./loaded";
import { written } from "./route";
import { Table } from "./table";
import type { Field } from "./table";
import { count, interval, percent, Text } from "./text";

type Row = [string, string, string, string, string, string, number | null, number, [number, number] | null, string];

const FIELDS: Field<Row>[] = [
  { name: "Model", value: (row) => row[1] },
  { name: "Split", value: (row) => row[0] },
  { name: "Task", value: (row) => row[2] },
  { name: "Metric", value: (row) => row[3] },
  { name: "Labels", value: (row) => row[4] },
  { name: "Subset", value: (row) => row[5] },
  { name: "%", number: true, value: (row) => row[6], show: (row) => <>{percent(row[6])} <span class="hint">{interval(row[8])}</span></> },
  { name: "n", number: true, value: (row) => row[7], show: (row) => count(row[7]) },
  { name: "Interval", value: (row) => (row[8] ? row[9] : null) },
];

export function Numbers() {
  const state = useLoaded(() => load<Row[]>("numbers"), []);
  return (
    <>
      <h1 tabIndex={-1}>Numbers</h1>
      <Loaded state={state}>{(rows) => <Table caption="Every number, with its 95 % interval" fields={FIELDS} rows={rows} />}</Loaded>
    </>
  );
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
  return <Table caption={table.title} fields={fields} rows={table.rows} notes={table.notes} />;
}

function Written({ cell }: { cell: Cell }) {
  const text = <Text>{typeof cell === "string" ? cell : cell[1]}</Text>;
  const standing = typeof cell === "string" ? undefined : cell[2];
  return standing === 1 ? <b>{text}</b> : standing === 2 ? <u>{text}</u> : text;
}
