// A sample group in memory: cases with the same items; columns are unpacked once.
import { beginning, load, loadImages, unpack } from "./data";
import type { GroupSummary, Column, Cut, CaseSummary, Packed, Prompt } from "./data";

export const WRONG = 0, RIGHT = 1, MIXED = 2, UNSCORED = 255;
export const OUT_OF_PROMPT = 1, FAILED = 2, UNPARSED = 4;

interface ColumnsChunk {
  answers: Packed | null; outcomes: Record<string, Packed>; flags: Packed; before?: ColumnsChunk | null;
  changes?: Record<string, RowChanges>; confidence?: Packed; loss?: Packed;
}
interface LabelSetChunk { name: string; labels: { ends: Packed; values: Packed }; categories: Packed; categoryNames: Cut[] }
interface ItemsChunk {
  keys: string[]; pictures: Packed; pictureFiles: string[]; picturePart: number; questionNumbers?: Packed; questionTexts?: Cut[];
}
// Columns of some rows; `best` and `scores` have a column for each rank.
export interface Texts {
  raw?: Cut[]; errors?: Cut[]; kinds?: string[]; best?: number[][]; scores?: string[][]; more?: [Cut, Cut][][];
  rawBefore?: (Cut | null)[]; asked?: [kind: string, slots: Record<string, string>][];
}

// A baseline has no answers, only their outcomes.
export interface Columns { answers: Column | null; outcomes: (Column | null)[]; flags: Column }
// `changes` has the rows that each metric lost and gained since the baseline, by its name.
export interface GroupCase extends Columns {
  answers: Column; about: CaseSummary; name: string; before: Columns | null; changes: Map<string, RowChanges>;
  confidence: Column | null; loss: Column | null;
}
export interface RowChanges { lost: Packed; gained: Packed }
export interface LabelSet { name: string; ends: Column; values: Column; categories: Column; categoryNames: string[] }
export interface Group {
  about: GroupSummary; keys: string[]; pictureOf: (row: number) => Promise<string | null>; hasPictures: boolean; question: (row: number) => string; names: string[];
  labelSets: LabelSet[]; cases: GroupCase[]; holding: (text: string) => Uint8Array;
}

const opened = new Map<string, Promise<Group>>();

export function open(about: GroupSummary): Promise<Group> {
  let found = opened.get(about.folder);
  if (!found) {
    opened.set(about.folder, (found = opening(about)));
    found.catch(() => opened.delete(about.folder));
  }
  return found;
}

async function opening(about: GroupSummary): Promise<Group> {
  const all = <T>(letter: string, count: number) =>
    Promise.all(Array.from({ length: count }, (_, place) => load<T>(`${about.folder}/${letter}${place}`)));
  const [items, texts, labelSets, cases] = await Promise.all([
    load<ItemsChunk>(`${about.folder}/items`),
    load<Cut[]>(`${about.folder}/names`),
    all<LabelSetChunk>("t", about.labelSets.length),
    all<ColumnsChunk>("e", about.cases.length),
  ]);
  const questions = items.questionTexts?.map(beginning) ?? [];
  const numbers = items.questionNumbers && unpack(items.questionNumbers);
  const question = (row: number) => (numbers ? questions[numbers[row]] : "");
  return {
    about,
    keys: items.keys,
    pictureOf: pictures(items),
    hasPictures: items.pictureFiles.length > 0,
    question,
    holding: searched(items.keys, question),
    names: texts.map(beginning),
    labelSets: labelSets.map(labelSet),
    cases: cases.map((chunk, place) => groupCase(about, place, chunk)),
  };
}

// Return a search for lower-case text in keys and questions; all of them are searched as one text.
function searched(keys: string[], question: (row: number) => string): (text: string) => Uint8Array {
  let all = "";
  let ends = new Int32Array(0);
  return (text) => {
    if (!ends.length) {
      ends = new Int32Array(keys.length);
      const lines = keys.map((key, row) => `${key} ${question(row)}`.toLowerCase());
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

function labelSet({ name, labels, categories, categoryNames }: LabelSetChunk): LabelSet {
  return { name, ends: unpack(labels.ends), values: unpack(labels.values), categories: unpack(categories), categoryNames: categoryNames.map(beginning) };
}

function columns(chunk: ColumnsChunk, labelSets: number): Columns {
  const outcomes = Array.from({ length: labelSets }, (_, place) => chunk.outcomes[place])
    .map((found) => (found ? unpack(found) : null));
  return { answers: chunk.answers && unpack(chunk.answers), outcomes, flags: unpack(chunk.flags) };
}

function groupCase(about: GroupSummary, place: number, chunk: ColumnsChunk): GroupCase {
  const before = chunk.before ? columns(chunk.before, about.labelSets.length) : null;
  const now = columns(chunk, about.labelSets.length);
  const changes = new Map(Object.entries(chunk.changes ?? {}));
  return { ...now, answers: now.answers!, about: about.cases[place], name: nameOf(about, place), before, changes, confidence: number(chunk.confidence), loss: number(chunk.loss) };
}

const number = (packed: Packed | undefined): Column | null => (packed ? unpack(packed) : null);

// Return the rows that a metric lost or gained, or null if it has no outcomes per sample.
export function rowsMoved(groupCase: GroupCase, name: string, how: keyof RowChanges): Set<number> | null {
  const changes = groupCase.changes.get(name);
  return changes ? new Set(unpack(changes[how])) : null;
}

// Return the name of a case in a group: its model, and its protocol if the group has several.
export function nameOf(group: GroupSummary, place: number): string {
  const { model, protocolName } = group.cases[place];
  return new Set(group.cases.map((each) => each.protocolName)).size > 1 ? `${model}, ${protocolName}` : model;
}

export function labelsOf(labelSet: LabelSet, row: number): number[] {
  return [...labelSet.values.subarray(row ? labelSet.ends[row - 1] : 0, labelSet.ends[row])];
}

export async function textsOf(group: Group, row: number): Promise<{ texts: Texts[]; at: number }> {
  const { folder, part } = group.about;
  const chunk = await load<{ cases: Texts[] }>(`${folder}/p${Math.floor(row / part)}`);
  return { texts: chunk.cases, at: row % part };
}

export async function promptsOf(group: Group, groupCase: GroupCase): Promise<Prompt[]> {
  return (await load<Prompt[][]>(`${group.about.folder}/prompts`))[group.cases.indexOf(groupCase)];
}

// Return the address of the original image, if this page lies on the disk that has the images.
export async function originalOf(group: Group, row: number): Promise<string> {
  const { root, paths } = await load<{ root?: string; paths?: string[] }>(`${group.about.folder}/originals`);
  const path = paths?.[row];
  const onDisk = location.protocol === "file:" && root?.startsWith("file:");
  return onDisk && path ? root + path.split("/").map(encodeURIComponent).join("/") : "";
}

const IMAGE = /^data:image\/jpeg;base64,[A-Za-z0-9+/=]+$/;

// Return a function from a row to the address of its thumbnail, null without one. Some images lie in each file.
function pictures({ pictures: numbers, pictureFiles, picturePart }: ItemsChunk): (row: number) => Promise<string | null> {
  const places = unpack(numbers);
  return async (row) => {
    const place = places[row];
    const file = place < 0 ? "" : pictureFiles[Math.floor(place / picturePart)];
    const address = file ? (await loadImages(file))[place % picturePart] : null;
    return address && IMAGE.test(address) ? address : null;
  };
}
