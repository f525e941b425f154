// A table that can be sorted by any column and filtered by words.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { count } from "./text";

export interface Field<Row> {
  name: string;
  value: (row: Row) => string | number | null; // for sorting and filtering
  show?: (row: Row) => ComponentChildren; // the content of the cell, if it is not the value
  number?: boolean;
  head?: boolean; // the column that names the row, if it is not the first
}

const FEW = 100;

interface Props<Row> {
  caption: string; fields: Field<Row>[]; rows: Row[]; notes?: string[]; hidden?: boolean; few?: number;
}

export function Table<Row>({ caption, fields, rows, notes = [], hidden = false, few = FEW }: Props<Row>) {
  const [words, setWords] = useState("");
  const [order, setOrder] = useState<{ by: number; down: boolean } | null>(null);
  const [all, setAll] = useState(false);
  const found = useMemo(() => sorted(matching(rows, fields, words), fields, order), [rows, fields, words, order]);
  const shown = all ? found : found.slice(0, few);
  const head = Math.max(0, fields.findIndex((field) => field.head));
  const sort = (by: number) => setOrder(order?.by !== by ? { by, down: false } : order.down ? null : { by, down: true });
  return (
    <section class="table">
      {rows.length > 7 && (
        <p class="tools">
          <label>Find <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
            <span class="visually-hidden"> of the table {caption}</span></label>
          <span role="status">{count(found.length)} of {count(rows.length)} rows</span>
        </p>
      )}
      <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
        <table>
          <caption class={hidden ? "visually-hidden" : ""}><bdi>{caption}</bdi></caption>
          <thead><tr>{fields.map((field, by) => <Head key={by} field={field} at={order?.by === by ? order : null} sort={() => sort(by)} />)}</tr></thead>
          <tbody>
            {shown.map((row, place) => (
              <tr key={place}>{fields.map((field, by) => <Cell key={by} head={by === head} field={field} row={row} />)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      {found.length > shown.length && (
        <p><button type="button" onClick={() => setAll(true)}>Show all {count(found.length)} rows</button></p>
      )}
      {notes.length > 0 && <ul class="notes">{notes.map((note) => <li key={note}><bdi>{note}</bdi></li>)}</ul>}
    </section>
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
  return head ? <th scope="row" class={how}>{inner}</th> : <td class={how}>{inner}</td>;
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

function sorted<Row>(rows: Row[], fields: Field<Row>[], order: { by: number; down: boolean } | null): Row[] {
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
