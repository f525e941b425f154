// Chunks of data. A page opened from disk may not fetch files, but it may load scripts: each calls `eyechart` with its
// name and JSON as text. A chunk contains no code, and the policy of the page allows no other script. A page that is one
// file has its chunks in itself.

export interface Packed { t: "u1" | "i2" | "i4" | "f4"; d: string }
export type Cut = string | [string, number]; // a text, or its beginning and its length
export type Column = Uint8Array | Int16Array | Int32Array | Float32Array;

export interface Metric {
  name: string; labels: string; subset: string; value: number | null; n: number; ci: [number, number] | null; how: string;
  better: boolean | null; percent: boolean;
}
// A text, or a number with its text; 1 marks the best value of its kind, 2 the second best.
export type Cell = string | [number | null, string] | [number | null, string, number];
// The filter of the samples that a metric lost and gained: by the metric itself, or by its label set and category.
export interface Moves {
  labels?: string; of?: string; category?: string; find?: string; lost?: number; gained?: number; unit?: string;
}
export interface Change { name: string; labels: string; subset: string; cells: Cell[]; samples: Moves }
// The paired comparison of a case with the one of the best value; `lost` and `gained` count samples.
export interface Against {
  model: string; delta: number; ci: [number, number] | null; p: number | null; lost: number | null; gained: number | null; percent: boolean;
}
export interface CaseVerdict { decision: string; count: number; of: number }
export interface Since {
  baseline: string; rule: string; counts: Record<string, number>; slices: string; notCompared: string[]; notes: string[];
}
export interface Case {
  case: string; protocol: string; split: string; choice: string; model: string; protocolName: string; settings: string; n: number; counts: [number, number, number, number, number];
  answered: number | null; metric: Metric | null; reported: { value: number; source: string } | null; seconds: number;
  weights: string; status: string; notes: string[]; group?: string; position?: number; verdict?: CaseVerdict; change?: Change;
  primary?: boolean; ranks?: [number, number]; against?: Against | null;
}
export interface Run {
  folder: string; started: string; seconds: number; status: number; work: string; command: string;
  eyechart: string;
}
export interface CaseSummary {
  model: string; protocolName: string; promptSettings: string; case: string; before: boolean; outOfPrompt: boolean; score: string;
}
// A prompt of a case; `asks` is the kind of question that it is for, and `slots` has the values for all images.
export interface Prompt { name: string; asks: string; text: string; slots: Record<string, string> | null }
export interface GroupSummary {
  name: string; title: string; folder: string; n: number; part: number; unit: string; labelSets: string[]; images: boolean;
  cases: CaseSummary[];
}
export type Glossary = Record<"metrics" | "labels" | "subsets" | "protocols" | "intervals", Record<string, string>>;
export interface Index {
  schema: number; verdict: { kind: "loss" | "passed" | "open" | "ranks"; text: string; more: string[] }; glossary: Glossary; runs: Run[]; notes: string[]; since: Since | null; cases: Case[]; groups: GroupSummary[];
  tables: { name: string; title: string }[]; figures: { name: string; file: string; title: string; table: boolean }[];
  curves: boolean;
}

declare global {
  interface Window {
    eyechart?: (name: string, text: string) => void;
    trustedTypes?: { createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy };
  }
}
interface Policy { createScriptURL(url: string): unknown }

const CHUNK = /^(data\/[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)?|images\/[0-9]+\/[0-9a-f]{32}x?)\.js$/;

function allowed(url: string): string {
  if (!CHUNK.test(url)) {
    throw new Error(`${url} is no chunk of this page`);
  }
  return url;
}

const policy: Policy = window.trustedTypes?.createPolicy("eyechart", { createScriptURL: allowed }) ?? {
  createScriptURL: allowed,
};
const IMAGES = "images/";
const INDEX = "data/index.js"; // a page that is one file has its data as blocks with these ids
const waiting = new Map<string, (value: unknown) => void>();
const known = new Map<string, Promise<unknown>>();

window.eyechart = (name, text) => {
  waiting.get(name)?.(JSON.parse(text));
  waiting.delete(name);
};

// Load a chunk once and return the same promise for further calls.
export function load<T>(name: string): Promise<T> {
  let found = known.get(name);
  const file = name.startsWith(IMAGES) ? `${name}.js` : `data/${name}.js`;
  if (!found && document.getElementById(INDEX)) {
    const block = document.getElementById(file);
    known.set(name, found = block
      ? Promise.resolve(JSON.parse(block.textContent!))
      : Promise.reject(new Error("This file leaves these data out, by its size. The page in a folder has them.")));
  }
  if (!found) {
    found = new Promise((resolve, reject) => {
      waiting.set(name, resolve);
      const script = document.createElement("script");
      script.onload = () => script.remove();
      script.onerror = () => {
        known.delete(name);
        reject(new Error(`${file} cannot be read. Make the page again, and keep its folder together.`));
      };
      script.src = policy.createScriptURL(file) as string;
      document.head.append(script);
    });
    known.set(name, found);
  }
  return found as Promise<T>;
}

const KEPT = 96; // files of images in memory
const recent: string[] = [];

// Load a file of images, and forget the one that was not needed for the longest time.
export function loadImages(name: string): Promise<(string | null)[]> {
  const place = recent.indexOf(name);
  recent.splice(place < 0 ? 0 : place, place < 0 ? 0 : 1);
  recent.push(name);
  if (recent.length > KEPT) {
    known.delete(recent.shift()!);
  }
  return load(name);
}

const KINDS = { u1: Uint8Array, i2: Int16Array, i4: Int32Array, f4: Float32Array };

export function unpack({ t, d }: Packed): Column {
  const text = atob(d);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place++) {
    bytes[place] = text.charCodeAt(place);
  }
  return new KINDS[t](bytes.buffer);
}

export const beginning = (text: Cut): string => (typeof text === "string" ? text : text[0]);
