// A table that can be sorted by any column and filtered by words. If it is wider than the window, each row is a block of
// its cells with the names of the columns, so that nothing is cut off.
import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Scroll } from "./scroll";
import { count } from "./text";

export interface Field<Row> {
  name: string;
  value: (row: Row) => string | number | null; // for sorting and filtering
  show?: (row: Row) => ComponentChildren; // the content of the cell, if it is not the value
  number?: boolean;
  head?: boolean; // the column that names the row, if it is not the first
}

const FEW = 100;
const NARROW = 768; // pixels: a window in which no table is wider than itself

interface Props<Row> {
  caption: string; fields: Field<Row>[]; rows: Row[]; notes?: string[]; hidden?: boolean; few?: number;
  matrix?: boolean; // its columns are compared with each other: it scrolls to the side, but for a narrow window
}

export function Table<Row>({ caption, fields, rows, notes = [], hidden = false, few = FEW, matrix = false }: Props<Row>) {
  const [section, stacked] = useStacked(matrix);
  const [words, setWords] = useState("");
  const [order, setOrder] = useState<Order | null>(null);
  const [all, setAll] = useState(false);
  const found = useMemo(() => sorted(matching(rows, fields, words), fields, order), [rows, fields, words, order]);
  const shown = all ? found : found.slice(0, few);
  const head = Math.max(0, fields.findIndex((field) => field.head));
  const sort = (by: number) => setOrder(order?.by !== by ? { by, down: false } : order.down ? null : { by, down: true });
  return (
    <section ref={section} class={stacked ? "table stacked" : "table"}>
      {rows.length > 7 && (
        <p class="tools">
          {stacked && <SortBy fields={fields} order={order} setOrder={setOrder} />}
          <label>Find <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
            <span class="visually-hidden"> of the table {caption}</span></label>
          <span role="status">{count(found.length)} of {count(rows.length)} rows</span>
        </p>
      )}
      <Scroll label={caption}>
        <table>
          <caption class={hidden ? "visually-hidden" : ""}><bdi>{caption}</bdi></caption>
          <thead><tr>{fields.map((field, by) => <Head key={by} field={field} at={order?.by === by ? order : null} sort={() => sort(by)} />)}</tr></thead>
          <tbody>
            {shown.map((row, position) => (
              <tr key={position}>{fields.map((field, by) => <Cell key={by} head={by === head} field={field} row={row} />)}</tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {found.length > shown.length && (
        <p><button type="button" onClick={() => setAll(true)}>Show all {count(found.length)} rows</button></p>
      )}
      {notes.length > 0 && <ul class="notes">{notes.map((note) => <li key={note}><bdi>{note}</bdi></li>)}</ul>}
    </section>
  );
}

// Return whether the rows of a table are blocks: its columns do not fit into the window. Measured whenever its room changes.
function useStacked(matrix: boolean): [RefObject<HTMLElement | null>, boolean] {
  const section = useRef<HTMLElement>(null);
  const [stacked, setStacked] = useState(false);
  useLayoutEffect(() => {
    const { current } = section;
    const part = current?.querySelector(".scroll");
    const table = part?.querySelector("table");
    if (!current || !part || !table) {
      return undefined;
    }
    let width = 0;
    const measure = () => {
      if (current.clientWidth === width && current.classList.contains("stacked")) {
        return; // what changed its size are the blocks
      }
      width = current.clientWidth;
      const before = current.className;
      current.className = "table";
      const fits = part.scrollWidth <= part.clientWidth + 1;
      current.className = before;
      setStacked(!fits && (!matrix || window.innerWidth < NARROW));
    };
    measure();
    const observer = new ResizeObserver(measure);
    [current, table].forEach((each) => observer.observe(each)); // the table changes alone if rows are added or it is unfolded
    return () => observer.disconnect();
  }, [matrix]);
  return [section, stacked];
}

interface Order { by: number; down: boolean }
interface SortByProps<Row> { fields: Field<Row>[]; order: Order | null; setOrder: (order: Order | null) => void }

function SortBy<Row>({ fields, order, setOrder }: SortByProps<Row>) {
  const choose = (value: string) => setOrder(value === "" ? null : { by: Number(value), down: false });
  return (
    <label>Sort by <select value={order ? String(order.by) : ""} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">the order of the page</option>
      {fields.map((field, by) => <option key={by} value={by}>{field.name}</option>)}
    </select></label>
  );
}

interface HeadProps<Row> { field: Field<Row>; at: { down: boolean } | null; sort: () => void }

function Head<Row>({ field, at, sort }: HeadProps<Row>) {
  return (
    <th scope="col" class={field.number ? "number" : ""} aria-sort={at ? (at.down ? "descending" : "ascending") : "none"}>
      <button type="button" class="sort" onClick={sort}>
        <bdi>{field.name}</bdi><span class="arrow" aria-hidden="true">{at ? (at.down ? "▼" : "▲") : "↕"}</span>
      </button>
    </th>
  );
}

function Cell<Row>({ field, row, head }: { field: Field<Row>; row: Row; head: boolean }) {
  const inner = field.show ? field.show(row) : <bdi>{field.value(row) ?? "—"}</bdi>;
  const how = field.number ? "number" : "";
  return head ? <th scope="row" class={how} data-name={field.name}>{inner}</th> : <td class={how} data-name={field.name}>{inner}</td>;
}

function matching<Row>(rows: Row[], fields: Field<Row>[], text: string): Row[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) {
    return rows;
  }
  return rows.filter((row) => {
    const line = fields.map((field) => field.value(row) ?? "").join("\n").toLowerCase();
    return words.every((word) => line.includes(word));
  });
}

const letters = new Intl.Collator("en", { numeric: true });

function sorted<Row>(rows: Row[], fields: Field<Row>[], order: Order | null): Row[] {
  if (!order) {
    return rows;
  }
  const { value } = fields[order.by];
  const known = rows.filter((row) => value(row) !== null);
  known.sort((one, other) => (order.down ? -1 : 1) * compare(value(one)!, value(other)!));
  return [...known, ...rows.filter((row) => value(row) === null)]; // missing values come last in both directions
}

function compare(one: string | number, other: string | number): number {
  return typeof one === "number" && typeof other === "number" ? one - other : letters.compare(String(one), String(other));
}
