// The sample browser: a filter, a list of what passes, and one sample with everything that was said about it.
import { useMemo } from "preact/hooks";
import { labelsOf, nameOf, open, picture } from "./album";
import type { Album, Exhibit } from "./album";
import type { AlbumAbout, Index } from "./data";
import { Filter } from "./controls";
import { chosen, filtered, shownTruth as truthAt } from "./filter";
import type { Params } from "./filter";
import { useKeys } from "./keys";
import { Loaded, useLoaded } from "./loaded";
import { Mark, outcome, summed } from "./marks";
import { written } from "./route";
import { Sample } from "./sample";
import { count, many, Text } from "./text";

const PAGE = 48; // samples on a page

export function Samples({ index, name, params }: { index: Index; name: string; params: Params }) {
  const place = ofCase(index, name, params);
  const about = place?.about ?? index.albums.find((one) => one.name === name) ?? (index.albums.length === 1 ? index.albums[0] : undefined);
  return about ? <Opened key={about.home} about={about} index={index} params={place?.params ?? params} /> : <Choice index={index} name={name} />;
}

// An address may name a case in place of an album, as those do that are written where nothing is known of albums.
function ofCase(index: Index, name: string, { protocol, labels, ...params }: Params) {
  const found = index.cases.find((one) => one.case === name && (!protocol || one.protocol === protocol));
  const about = index.albums.find((one) => one.name === found?.album);
  const known: Params = about?.truths.includes(labels) ? { labels } : {};
  return about && { about, params: { who: nameOf(about, found!.exhibit!), ...known, ...params } };
}

function Choice({ index, name }: { index: Index; name: string }) {
  return (
    <>
      <h1 tabIndex={-1}>Samples</h1>
      {name && <p class="notice">There are no samples of <Text>{name}</Text> here.</p>}
      {index.albums.length === 0 && <p>These runs hold no answers.</p>}
      <ul class="albums">
        {index.albums.map((one) => (
          <li key={one.home}>
            <a href={written("samples", one.name)}><Text>{one.title}</Text></a>
            <span class="hint">{many(one.n, one.unit)}, {many(one.exhibits.length, "case")}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Opened({ about, index, params }: { about: AlbumAbout; index: Index; params: Params }) {
  const state = useLoaded(() => open(about), [about]);
  return (
    <>
      <h1 tabIndex={-1}><Text>{about.title}</Text></h1>
      <Loaded state={state}>{(album) => <Browser album={album} index={index} params={params} />}</Loaded>
    </>
  );
}

export type Change = (changes: Params, how?: "replace") => void;

function Browser({ album, index, params }: { album: Album; index: Index; params: Params }) {
  const { at, ask, page, ...conditions } = params;
  const key = JSON.stringify(conditions);
  const rows = useMemo(() => filtered(album, conditions), [album, key]);
  const here = written.bind(null, "samples", album.about.name);
  const change: Change = (changes, how) => go(here({ ...conditions, ...changes }), how);
  const row = at === undefined ? -1 : rowOf(album, at, ask);
  const links = (to: number) => here({ ...conditions, at: album.keys[to], ask: album.asked(to) });
  const list = here({ ...conditions, page: String(Math.floor(Math.max(0, rows.indexOf(row)) / PAGE)) });
  return (
    <>
      <Filter album={album} params={conditions} change={change} found={rows.length} aside={row >= 0} />
      {at !== undefined && row < 0 && <p class="notice">There is no sample <Text>{at}</Text> here.</p>}
      {row >= 0
        ? <Sample album={album} side={index.side} row={row} rows={rows} params={conditions} link={links} list={list} />
        : <List album={album} side={index.side} rows={rows} params={conditions} link={links} page={Number(page) || 0} change={change} />}
    </>
  );
}

export function go(hash: string, how?: "replace"): void {
  if (how) {
    history.replaceState(null, "", hash);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = hash;
  }
}

function rowOf(album: Album, key: string, question = ""): number {
  for (let row = album.keys.indexOf(key); row >= 0; row = album.keys.indexOf(key, row + 1)) {
    if (!question || album.asked(row) === question) {
      return row;
    }
  }
  return -1;
}

interface ListProps {
  album: Album; side: number; rows: Int32Array; params: Params; link: (row: number) => string; page: number; change: Change;
}

function List({ album, side, rows, params, link, page, change }: ListProps) {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const at = Math.min(Math.max(0, page), pages - 1);
  const turn = (to: number) => to >= 0 && to < pages && change({ page: String(to) });
  const shown = [...rows.subarray(at * PAGE, (at + 1) * PAGE)];
  useKeys({
    j: () => shown.length && (location.hash = link(shown[0])),
    ArrowRight: () => turn(at + 1),
    ArrowLeft: () => turn(at - 1),
  });
  return (
    <>
      {rows.length === 0 && <p>{compared(album, params) ? "No sample passes this filter." : "Nothing to compare with was given: write the page with --baseline."}</p>}
      <ul class="cards">
        {shown.map((row) => <Card key={row} album={album} side={side} row={row} params={params} href={link(row)} />)}
      </ul>
      {pages > 1 && <Pages at={at} pages={pages} turn={turn} />}
    </>
  );
}

function compared(album: Album, params: Params): boolean {
  return !params.changed || album.exhibits.some((exhibit) => exhibit.before || exhibit.moved.size);
}

function Pages({ at, pages, turn }: { at: number; pages: number; turn: (to: number) => void }) {
  return (
    <nav class="pages" aria-label="Pages of samples">
      <button type="button" disabled={at === 0} onClick={() => turn(0)}>First</button>
      <button type="button" disabled={at === 0} onClick={() => turn(at - 1)}>Previous</button>
      <span>Page {count(at + 1)} of {count(pages)}</span>
      <button type="button" disabled={at + 1 >= pages} onClick={() => turn(at + 1)}>Next</button>
      <button type="button" disabled={at + 1 >= pages} onClick={() => turn(pages - 1)}>Last</button>
    </nav>
  );
}

interface CardProps { album: Album; side: number; row: number; params: Params; href: string }

function Card({ album, side, row, params, href }: CardProps) {
  const at = truthAt(album, params);
  const labels = labelsOf(album.truths[at], row).map((label) => album.names[label]);
  const source = picture(album, row, side);
  const who = chosen(album, params);
  return (
    <li>
      <a href={href}>
        {album.about.images && side > 0 && <span class="thumb">{source && <img src={source} alt="" loading="lazy" decoding="async" />}</span>}
        <span class="key"><Text>{album.keys[row]}</Text></span>
        {album.asked(row) && <span class="asked"><Text>{album.asked(row)}</Text></span>}
      </a>
      <span class="labels"><span class="unheard">{album.truths[at].name}: </span><Text>{labels.join("; ") || "no label"}</Text></span>
      <div class="came">
        <Marks exhibits={who} row={row} at={at} />
        {who.length === 1 && <span><span class="unheard">, answered </span><Text>{album.names[who[0].answers[row]] || "no answer"}</Text></span>}
      </div>
    </li>
  );
}

// A sign for every chosen case; who does not see them hears how many there are of each.
function Marks({ exhibits, row, at }: { exhibits: Exhibit[]; row: number; at: number }) {
  const found = exhibits.map((exhibit) => outcome(exhibit, row, at));
  return (
    <>
      <span class="unheard">{summed(found)}</span>
      <span class="marks" aria-hidden="true">
        {found.map((code, place) => <Mark key={place} code={code} who={exhibits[place].name} />)}
      </span>
    </>
  );
}
