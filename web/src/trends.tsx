// Metrics over the runs of the page.
import { useState } from "preact/hooks";
import { load } from "./data";
import type { Run } from "./data";
import { Plane } from "./lines";
import { Loaded, useLoaded } from "./loaded";
import { Table } from "./table";
import type { Field } from "./table";
import { count, interval, many, percent, signed, Text } from "./text";

type Point = [run: number, value: number, ci: [number, number] | null, n: number, source: string];
interface Line { name: string; metric: string; labels: string; points: Point[] }
interface Chunk { runs: Run[]; lines: Line[] }

const SHOWN = 12; // lines of one chart

export function Trends() {
  const state = useLoaded(() => load<Chunk>("trends"), []);
  return (
    <>
      <h1 tabIndex={-1}>Trends</h1>
      <Loaded state={state}>{(chunk) => <Lines chunk={chunk} />}</Loaded>
    </>
  );
}

function Lines({ chunk }: { chunk: Chunk }) {
  const kinds = [...new Set(chunk.lines.map(kind))];
  const [picked, setPicked] = useState(kinds[0] ?? "");
  const [words, setWords] = useState("");
  const found = chunk.lines.filter((line) => kind(line) === picked && line.name.toLowerCase().includes(words.toLowerCase()));
  const shown = found.slice(0, SHOWN);
  const lines = shown.map((line) => ({ name: line.name, points: line.points.map(([run, value]): [number, number] => [run, value]), marks: line.points.map((point, at) => other(line, point, at)) }));
  return (
    <>
      {chunk.runs.length < 2 && <p>This page has one run. For trends, write it from several runs, earlier ones first.</p>}
      <p class="tools">
        <label>Metric <select value={picked} onChange={(event) => setPicked(event.currentTarget.value)}>{kinds.map((one) => <option key={one} value={one}>{one}</option>)}</select></label>
        <label>Cases <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} /></label>
        <span role="status">{many(found.length, "case")}{found.length > SHOWN && `, the first ${SHOWN} drawn`}</span>
      </p>
      {chunk.runs.length > 1 && lines.length > 0 && (
        <Plane title={picked} lines={lines} x="runs, the latest at the right" y={`${picked} (%). An open circle: other weights or data than before.`} ticks={chunk.runs.map((run) => run.started)} />
      )}
      <Table caption={`${picked} by run`} fields={fields(chunk)} rows={found.flatMap((line) => line.points.map((point, at) => ({ line, point, at })))} />
    </>
  );
}

interface Row { line: Line; point: Point; at: number }

function fields({ runs }: Chunk): Field<Row>[] {
  return [
    { name: "Case", value: ({ line }) => line.name },
    { name: "Started", value: ({ point }) => runs[point[0]].started },
    { name: "Run", value: ({ point }) => runs[point[0]].folder },
    { name: "%", number: true, value: ({ point }) => point[1], show: ({ point }) => <>{percent(point[1])} <span class="hint">{interval(point[2])}</span></> },
    { name: "Since the run before", number: true, value: since, show: (row) => signed(since(row)) },
    { name: "n", number: true, value: ({ point }) => point[3], show: ({ point }) => count(point[3]) },
    { name: "Data, weights", value: ({ point }) => point[4], show: ({ line, point, at }) => <><Text>{point[4]}</Text>{other(line, point, at) && " (other than before)"}</> },
  ];
}

const since = ({ line, point, at }: Row): number | null => (at ? point[1] - line.points[at - 1][1] : null);
const other = (line: Line, point: Point, at: number): boolean => at > 0 && line.points[at - 1][4] !== point[4];
const kind = (line: Line): string => `${line.metric}, ${line.labels}`;
