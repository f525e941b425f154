// Charts that the page draws, and the published figures.
import { useState } from "preact/hooks";
import { Confusion } from "./confusion";
import { nameOf } from "./group";
import { load } from "./data";
import type { GroupSummary, Index } from "./data";
import { Plane } from "./lines";
import { Loaded, useLoaded } from "./loaded";
import { written } from "./route";
import { go } from "./samples";
import { Scroll } from "./scroll";
import { Table } from "./table";
import type { Field } from "./table";
import { count, interval, percent, Text } from "./text";

const FEW = 12; // rows of a chart that are shown at first

interface Share { position: number; labels: string; value: number; ci: [number, number]; n: number }
interface Confused { position: number; labels: string; pairs: [string, string, number][] }
interface Charts { protocols: Share[]; confusions: Confused[] }
interface Curve { split: string; model: string; protocolName: string; labels: string; points: [number, number, number, number][] }

export function Figures({ index, name }: { index: Index; name: string }) {
  const group = index.groups.find((one) => one.name === name) ?? index.groups[0];
  return (
    <>
      <h1 tabIndex={-1}>Figures</h1>
      {group && (
        <>
          <p><label>Samples{" "}
            <select value={group.name} onChange={(event) => go(written("figures", event.currentTarget.value))}>
              {index.groups.map((one) => <option key={one.folder} value={one.name}>{one.title}</option>)}
            </select></label></p>
          <GroupCharts key={group.folder} group={group} />
        </>
      )}
      {index.curves && <Coverage index={index} group={group} />}
      {index.figures.length > 0 && <h2>Published figures</h2>}
      <ul class="gallery">{index.figures.map((one) => <Published key={one.name} one={one} />)}</ul>
    </>
  );
}

// A published figure, small at first.
function Published({ one }: { one: Index["figures"][number] }) {
  const [large, setLarge] = useState(false);
  return (
    <li class={large ? "published large" : "published"}>
      <figure>
        <button type="button" aria-expanded={large} onClick={() => setLarge(!large)}>
          <img src={one.file} alt={`${one.name}: ${one.title}`} loading="lazy" />
        </button>
        <figcaption><b><Text>{one.name}</Text></b> <Text>{one.title}</Text></figcaption>
      </figure>
      {large && one.table && <Numbers name={one.name} />}
    </li>
  );
}

function Numbers({ name }: { name: string }) {
  return <p><a href={written("tables", name)}>The numbers of {name} as a table</a></p>;
}

function GroupCharts({ group }: { group: GroupSummary }) {
  const state = useLoaded(() => load<Charts>(`${group.folder}/charts`), [group]);
  return (
    <Loaded state={state}>
      {({ protocols, confusions }) => (
        <>
          <h2>Right answers by protocol and label set</h2>
          <Shares group={group} shares={protocols} />
          <h2>Confused pairs</h2>
          <Confusions group={group} found={confusions} />
          <Confusion about={group} />
        </>
      )}
    </Loaded>
  );
}

function Shares({ group, shares }: { group: GroupSummary; shares: Share[] }) {
  const [whole, setWhole] = useState(false);
  const [all, setAll] = useState(false);
  if (!shares.length) {
    return <p>No answer is scored here.</p>;
  }
  const rows = all ? shares : shares.slice(0, FEW);
  const [low, high] = whole ? [0, 1] : zoomed(rows.map(({ ci }) => ci));
  return (
    <>
    <p class="tools"><label class="tick"><input type="checkbox" checked={whole} onChange={(event) => setWhole(event.currentTarget.checked)} /> axis from 0 to 100 %</label></p>
    <Scroll label="Right answers"><table class="shares">
      <caption class="visually-hidden">The share of right answers of every case under every label set, with its 95 % interval</caption>
      <thead><tr><th scope="col">Case</th><th scope="col">Labels</th><th scope="col"><span class="visually-hidden">Drawn</span><span class="scale" aria-hidden="true"><span>{percent(low, 0)}</span><span>{percent((low + high) / 2, 0)}</span><span>{percent(high, 0)} %</span></span></th><th scope="col" class="number">%</th><th scope="col" class="number">n</th></tr></thead>
      <tbody>
        {rows.map((one, place) => (
          <tr key={place} class={place && rows[place - 1].position !== one.position ? "first" : ""}>
            <th scope="row">{place && rows[place - 1].position === one.position ? <span class="visually-hidden">{nameOf(group, one.position)}</span> : <Text>{nameOf(group, one.position)}</Text>}</th>
            <td><Text>{one.labels}</Text></td>
            <td class="track"><Bar share={one} axis={[low, high]} place={group.labelSets.indexOf(one.labels)} /></td>
            <td class="number">{percent(one.value)} <span class="hint">{interval(one.ci)}</span></td>
            <td class="number">{count(one.n)}</td>
          </tr>
        ))}
      </tbody>
    </table></Scroll>
    {shares.length > rows.length && <p><button type="button" onClick={() => setAll(true)}>Show all {count(shares.length)} rows</button></p>}
    </>
  );
}

const STEP = 0.05;

// The ends of an axis that holds all intervals, at whole steps.
export function zoomed(intervals: [number, number][]): [number, number] {
  const low = Math.floor(Math.min(...intervals.map(([end]) => end)) / STEP) * STEP;
  const high = Math.ceil(Math.max(...intervals.map(([, end]) => end)) / STEP) * STEP;
  return [Math.max(0, low), Math.min(1, Math.max(high, low + STEP))];
}

interface BarProps { share: { value: number; ci: [number, number] | null }; axis: [number, number]; place: number; was?: number | null }

// A value with its interval on an axis, and the value before as an open dot.
export function Bar({ share, axis, place, was = null }: BarProps) {
  const at = (number: number) => `${(100 * (number - axis[0])) / (axis[1] - axis[0])}%`;
  return (
    <span class={`bar s${place % 8}`} aria-hidden="true">
      {share.ci && <span class="whisker" style={{ left: at(share.ci[0]), width: at(axis[0] + share.ci[1] - share.ci[0]) }} />}
      {was !== null && <span class="dot was" style={{ left: at(was) }} />}
      <span class="dot" style={{ left: at(share.value) }} />
    </span>
  );
}

interface Pair { position: number; labels: string; right: string; answer: string; count: number }

function Confusions({ group, found }: { group: GroupSummary; found: Confused[] }) {
  const rows = found.flatMap(({ position, labels, pairs }) => pairs.map(([right, answer, times]): Pair => ({ position, labels, right, answer, count: times })));
  rows.sort((one, other) => other.count - one.count);
  const fields: Field<Pair>[] = [
    { name: "Labelled", value: (row) => row.right },
    { name: "Answered", value: (row) => row.answer },
    { name: "Times", number: true, value: (row) => row.count, show: (row) => <a href={samples(group, row)}>{count(row.count)}<span class="visually-hidden">{row.count === 1 ? " sample" : " samples"}</span></a> },
    { name: "Case", value: (row) => nameOf(group, row.position) },
    { name: "Labels", value: (row) => row.labels },
  ];
  return rows.length ? <Table caption="Wrong answers by the one right label, the most frequent first" fields={fields} rows={rows} few={12} hidden /> : <p>There are none.</p>;
}

function samples(group: GroupSummary, { position, labels, right, answer }: Pair): string {
  return written("samples", group.name, { labels, model: nameOf(group, position), outcome: "wrong", label: right, answer });
}

function Coverage({ index, group }: { index: Index; group: GroupSummary | undefined }) {
  const state = useLoaded(() => load<Curve[]>("coverage"), [index]);
  return <Loaded state={state}>{(curves) => <Curves curves={curves} split={group?.title ?? ""} />}</Loaded>;
}

type Point = { name: string; coverage: number; risk: number; low: number; high: number };
const POINTS: Field<Point>[] = [
  { name: "Case", value: (row) => row.name },
  { name: "Coverage %", number: true, value: (row) => row.coverage, show: (row) => percent(row.coverage) },
  { name: "Risk %", number: true, value: (row) => row.risk, show: (row) => <>{percent(row.risk)} <span class="hint">{interval([row.low, row.high])}</span></> },
];

// Risk is the share of wrong answers among those kept; coverage is the share that is kept.
function Curves({ curves, split }: { curves: Curve[]; split: string }) {
  const own = curves.filter((curve) => curve.split === split);
  const found = own.map((curve) => ({ name: `${curve.model}, ${curve.protocolName}, ${curve.labels}`, points: curve.points }));
  if (!found.length) {
    return null;
  }
  const rows = found.flatMap(({ name, points }) => points.map(([coverage, right, low, high]) => ({ name, coverage, risk: 1 - right, low: 1 - high, high: 1 - low })));
  const lines = found.map(({ name, points }) => ({ name, points: points.map(([x, y]): [number, number] => [x, 1 - y]) }));
  return (
    <>
      <h2>Risk by coverage</h2>
      <Plane title="Risk by coverage" lines={lines} x="coverage (%): the answers kept, most confident first" y="Risk (%): how many of the answers kept are wrong." />
      <details><summary>The points as a table</summary><Table caption="Risk by coverage, point by point" fields={POINTS} rows={rows} /></details>
    </>
  );
}

