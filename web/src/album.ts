// An album in memory: its columns, unpacked once.
import { beginning, load, unpack } from "./data";
import type { AlbumAbout, Column, Cut, ExhibitAbout, Packed } from "./data";

export const WRONG = 0, RIGHT = 1, MIXED = 2, UNSCORED = 255;
export const OUT_OF_PROMPT = 1, FAILED = 2, SILENT = 4;

interface ColumnsChunk {
  answers: Packed; outcomes: Record<string, Packed>; flags: Packed; before?: ColumnsChunk | null;
}
interface TruthChunk { name: string; labels: { ends: Packed; values: Packed }; kinds: Packed; of: Cut[] }
interface ItemsChunk { keys: string[]; pictures: string[]; asked?: Packed; questions?: Cut[] }
export interface Texts {
  raw?: Cut[]; errors?: Cut[]; kinds?: string[]; best?: [number, string][][]; more?: [Cut, Cut][][];
  rawBefore?: (Cut | null)[];
}

export interface Columns { answers: Column; outcomes: (Column | null)[]; flags: Column }
export interface Exhibit extends Columns { about: ExhibitAbout; name: string; before: Columns | null }
export interface Truth { name: string; ends: Column; values: Column; kinds: Column; of: string[] }
export interface Album {
  about: AlbumAbout; keys: string[]; pictures: string[]; asked: (row: number) => string; names: string[];
  texts: Cut[]; truths: Truth[]; exhibits: Exhibit[];
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
  const asked = items.asked && unpack(items.asked);
  return {
    about,
    keys: items.keys,
    pictures: items.pictures,
    asked: (row) => (asked ? questions[asked[row]] : ""),
    names: texts.map(beginning),
    texts,
    truths: truths.map(truth),
    exhibits: exhibits.map((chunk, place) => exhibit(about, place, chunk)),
  };
}

function truth({ name, labels, kinds, of }: TruthChunk): Truth {
  return { name, ends: unpack(labels.ends), values: unpack(labels.values), kinds: unpack(kinds), of: of.map(beginning) };
}

function columns(chunk: ColumnsChunk, truths: number): Columns {
  const outcomes = Array.from({ length: truths }, (_, place) => chunk.outcomes[place])
    .map((found) => (found ? unpack(found) : null));
  return { answers: unpack(chunk.answers), outcomes, flags: unpack(chunk.flags) };
}

function exhibit(about: AlbumAbout, place: number, chunk: ColumnsChunk): Exhibit {
  const before = chunk.before ? columns(chunk.before, about.truths.length) : null;
  return { ...columns(chunk, about.truths.length), about: about.exhibits[place], name: nameOf(about, place), before };
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
