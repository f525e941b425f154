// An album in memory: its columns, unpacked once.
import { beginning, load, unpack } from "./data";
import type { AlbumAbout, Column, Cut, ExhibitAbout, Packed } from "./data";

export const WRONG = 0, RIGHT = 1, MIXED = 2, UNSCORED = 255;
export const OUT_OF_PROMPT = 1, FAILED = 2, SILENT = 4;

interface ColumnsChunk {
  answers: Packed | null; outcomes: Record<string, Packed>; flags: Packed; before?: ColumnsChunk | null;
  moved?: Record<string, Moved>;
}
interface TruthChunk { name: string; labels: { ends: Packed; values: Packed }; kinds: Packed; of: Cut[] }
interface ItemsChunk { keys: string[]; pictures: string[]; asked?: Packed; questions?: Cut[] }
export interface Texts {
  raw?: Cut[]; errors?: Cut[]; kinds?: string[]; best?: [number, string][][]; more?: [Cut, Cut][][];
  rawBefore?: (Cut | null)[];
}

// A baseline keeps no answers, only what became of them.
export interface Columns { answers: Column | null; outcomes: (Column | null)[]; flags: Column }
// `moved` tells of numbers, by name, which rows they lost and gained since the baseline.
export interface Exhibit extends Columns {
  answers: Column; about: ExhibitAbout; name: string; before: Columns | null; moved: Map<string, Moved>;
}
export interface Moved { lost: Packed; gained: Packed }
export interface Truth { name: string; ends: Column; values: Column; kinds: Column; of: string[] }
export interface Album {
  about: AlbumAbout; keys: string[]; pictures: string[]; asked: (row: number) => string; names: string[];
  truths: Truth[]; exhibits: Exhibit[]; holding: (text: string) => Uint8Array;
}

const opened = new Map<string, Promise<Album>>();

export function open(about: AlbumAbout): Promise<Album> {
  let found = opened.get(about.home);
  if (!found) {
    opened.set(about.home, (found = opening(about)));
    found.catch(() => opened.delete(about.home));
  }
  return found;
}

async function opening(about: AlbumAbout): Promise<Album> {
  const all = <T>(letter: string, count: number) =>
    Promise.all(Array.from({ length: count }, (_, place) => load<T>(`${about.home}/${letter}${place}`)));
  const [items, texts, truths, exhibits] = await Promise.all([
    load<ItemsChunk>(`${about.home}/items`),
    load<Cut[]>(`${about.home}/names`),
    all<TruthChunk>("t", about.truths.length),
    all<ColumnsChunk>("e", about.exhibits.length),
  ]);
  const questions = items.questions?.map(beginning) ?? [];
  const numbers = items.asked && unpack(items.asked);
  const asked = (row: number) => (numbers ? questions[numbers[row]] : "");
  return {
    about,
    keys: items.keys,
    pictures: items.pictures,
    asked,
    holding: searched(items.keys, asked),
    names: texts.map(beginning),
    truths: truths.map(truth),
    exhibits: exhibits.map((chunk, place) => exhibit(about, place, chunk)),
  };
}

// Which rows have a small letters' text in their key or question: all of them are looked through as one text.
function searched(keys: string[], asked: (row: number) => string): (text: string) => Uint8Array {
  let all = "";
  let ends = new Int32Array(0);
  return (text) => {
    if (!ends.length) {
      ends = new Int32Array(keys.length);
      const lines = keys.map((key, row) => `${key} ${asked(row)}`.toLowerCase());
      lines.forEach((line, row) => { ends[row] = line.length + 1 + (row ? ends[row - 1] : 0); });
      all = lines.join("\n");
    }
    const found = new Uint8Array(keys.length);
    let row = 0;
    for (let place = all.indexOf(text); place >= 0 && row < keys.length; place = all.indexOf(text, ends[row])) {
      while (ends[row] <= place) {
        row++;
      }
      found[row] = 1;
    }
    return found;
  };
}

function truth({ name, labels, kinds, of }: TruthChunk): Truth {
  return { name, ends: unpack(labels.ends), values: unpack(labels.values), kinds: unpack(kinds), of: of.map(beginning) };
}

function columns(chunk: ColumnsChunk, truths: number): Columns {
  const outcomes = Array.from({ length: truths }, (_, place) => chunk.outcomes[place])
    .map((found) => (found ? unpack(found) : null));
  return { answers: chunk.answers && unpack(chunk.answers), outcomes, flags: unpack(chunk.flags) };
}

function exhibit(about: AlbumAbout, place: number, chunk: ColumnsChunk): Exhibit {
  const before = chunk.before ? columns(chunk.before, about.truths.length) : null;
  const now = columns(chunk, about.truths.length);
  const moved = new Map(Object.entries(chunk.moved ?? {}));
  return { ...now, answers: now.answers!, about: about.exhibits[place], name: nameOf(about, place), before, moved };
}

// The rows that a number lost or gained, where it is told row by row.
export function rowsMoved(exhibit: Exhibit, name: string, how: keyof Moved): Set<number> | null {
  const moved = exhibit.moved.get(name);
  return moved ? new Set(unpack(moved[how])) : null;
}

// What a case is called in an album: its model, and its task where the model has several or another has another.
export function nameOf(album: AlbumAbout, place: number): string {
  const { model, task } = album.exhibits[place];
  return new Set(album.exhibits.map((each) => each.task)).size > 1 ? `${model}, ${task}` : model;
}

export function labelsOf(truth: Truth, row: number): number[] {
  return [...truth.values.subarray(row ? truth.ends[row - 1] : 0, truth.ends[row])];
}

export async function textsOf(album: Album, row: number): Promise<{ texts: Texts[]; at: number }> {
  const { home, part } = album.about;
  const chunk = await load<{ exhibits: Texts[] }>(`${home}/p${Math.floor(row / part)}`);
  return { texts: chunk.exhibits, at: row % part };
}

export function picture(album: Album, row: number, side: number): string | null {
  const sha = album.pictures[row];
  return side && /^[0-9a-f]{64}$/.test(sha) ? `images/${side}/${sha.slice(0, 2)}/${sha.slice(0, 16)}.webp` : null;
}
