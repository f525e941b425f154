// One sample: its image, its labels under each label set, and what every model made of it.
import { labelsOf, OUT_OF_PROMPT, picture, rowsMoved, textsOf, UNSCORED } from "./album";
import type { Album, Exhibit, Texts } from "./album";
import { beginning } from "./data";
import { chosen, shownTruth } from "./filter";
import type { Params } from "./filter";
import { useKeys } from "./keys";
import { Loaded, useLoaded } from "./loaded";
import { outcome, Said } from "./marks";
import { count, Marked, Raw, Text } from "./text";

interface Props {
  album: Album; side: number; row: number; rows: Int32Array; params: Params; link: (row: number) => string; list: string;
}

export function Sample({ album, side, row, rows, params, link, list }: Props) {
  const place = rows.indexOf(row);
  const before = place < 0 ? rows.filter((other) => other < row).length : place; // how many stand before it
  const next = rows[place < 0 ? before : place + 1];
  const previous = rows[before - 1];
  const to = (other: number | undefined) => other !== undefined && (location.hash = link(other));
  useKeys({
    j: () => to(next), ArrowRight: () => to(next), k: () => to(previous), ArrowLeft: () => to(previous),
    Escape: () => (location.hash = list),
  });
  const source = picture(album, row, side);
  return (
    <article class="sample">
      <nav class="moves" aria-label="Samples">
        <a class="button" href={list}>List</a>
        <Move to={previous} link={link}>Previous</Move>
        <Move to={next} link={link}>Next</Move>
        <span role="status">{place < 0 ? "Not in the filter" : `${count(place + 1)} of ${count(rows.length)}`}<span class="unheard">: {album.keys[row]}</span></span>
      </nav>
      <h2><Text>{album.keys[row]}</Text></h2>
      {album.asked(row) && <p class="asked"><Text>{album.asked(row)}</Text></p>}
      <div class="parts">
        <figure>{source ? <img src={source} alt={`Image of sample ${album.keys[row]}`} /> : <p class="hint">No image here.</p>}</figure>
        <div>
          <Labels album={album} row={row} />
          <Answers album={album} row={row} params={params} />
        </div>
      </div>
    </article>
  );
}

function Move({ to, link, children }: { to: number | undefined; link: (row: number) => string; children: string }) {
  return to === undefined ? <span class="button off" aria-disabled="true">{children}</span> : <a class="button" href={link(to)}>{children}</a>;
}

function Labels({ album, row }: { album: Album; row: number }) {
  return (
    <dl class="facts">
      {album.truths.filter((truth, place) => !place || truth.values.length).map((truth) => {
        const labels = labelsOf(truth, row).map((label) => album.names[label]);
        const kind = truth.of[truth.kinds[row]];
        return (
          <div key={truth.name}>
            <dt><Text>{truth.name}</Text></dt>
            <dd>{labels.length ? labels.map((label) => <span class="label" key={label}><Text>{label}</Text></span>) : <span class="hint">no label</span>}
              {kind && <span class="kind"><Text>{kind}</Text></span>}</dd>
          </div>
        );
      })}
    </dl>
  );
}

function Answers({ album, row, params }: { album: Album; row: number; params: Params }) {
  const state = useLoaded(() => textsOf(album, row), [album, row]);
  const first = chosen(album, params);
  const exhibits = first.length < album.exhibits.length ? [...first, ...album.exhibits.filter((one) => !first.includes(one))] : first;
  return (
    <>
      <h3>Answers</h3>
      <Loaded state={state}>
        {({ texts, at }) => (
          <ul class="answers">
            {exhibits.map((exhibit) => (
              <Answer key={exhibit.name} album={album} exhibit={exhibit} row={row} at={at}
                texts={texts[album.exhibits.indexOf(exhibit)]} first={shownTruth(album, params)} of={params.of} />
            ))}
          </ul>
        )}
      </Loaded>
    </>
  );
}

interface AnswerProps { album: Album; exhibit: Exhibit; row: number; texts: Texts; at: number; first: number; of?: string }

function Answer({ album, exhibit, row, texts, at, first, of }: AnswerProps) {
  const answer = exhibit.answers[row];
  const truths = [...album.truths.keys()].filter((truth) => exhibit.outcomes[truth]);
  truths.sort((one, other) => Number(other === first) - Number(one === first));
  const scored = truths.filter((truth) => exhibit.outcomes[truth]![row] !== UNSCORED);
  const raw = texts.raw?.[at], error = texts.errors?.[at];
  return (
    <li>
      <h4><Text>{exhibit.name}</Text></h4>
      <p class="answer">{answer ? <Text>{album.names[answer]}</Text> : <span class="hint">no answer</span>}</p>
      <ul class="verdicts">
        {(scored.length ? scored : truths.slice(0, 1)).map((truth) => (
          <li key={truth}><Text>{album.truths[truth].name}</Text> <Said code={outcome(exhibit, row, truth)} /></li>
        ))}
        {(exhibit.flags[row] & OUT_OF_PROMPT) > 0 && <li class="oop">out of prompt: <Text>{texts.kinds?.[at] ?? ""}</Text></li>}
      </ul>
      {of && <Moves exhibit={exhibit} row={row} of={of} />}
      {error && <div class="failed"><p>Error</p><Raw text={error} /></div>}
      {raw && <Raw text={raw} />}
      <Details album={album} texts={texts} at={at} />
      <Before album={album} exhibit={exhibit} row={row} texts={texts} at={at} first={first} />
    </li>
  );
}

function Details({ album, texts, at }: { album: Album; texts: Texts; at: number }) {
  const best = texts.best?.[at] ?? [], more = texts.more?.[at] ?? [];
  return (
    <>
      {best.length > 0 && (
        <ol class="best" aria-label="Five best">{best.map(([name, score], place) => <li key={place}><Text>{album.names[name]}</Text> <span class="hint">{score}</span></li>)}</ol>
      )}
      {more.map(([name, text], place) => <p class="more" key={place}><span class="hint"><Marked>{beginning(name)}</Marked></span> <Marked>{beginning(text)}</Marked></p>)}
    </>
  );
}

// What became of a sample in the number whose samples are looked at.
function Moves({ exhibit, row, of }: { exhibit: Exhibit; row: number; of: string }) {
  const [lost, gained] = (["lost", "gained"] as const).map((how) => rowsMoved(exhibit, of, how)?.has(row));
  return lost || gained ? (
    <p class="moved"><Text>{of}</Text>: <Said code={lost ? "right" : "wrong"} /> before, <Said code={lost ? "wrong" : "right"} /> now</p>
  ) : null;
}

function Before({ album, exhibit, row, texts, at, first }: AnswerProps) {
  const { before } = exhibit;
  const answer = before?.answers?.[row];
  const same = before && (answer === undefined || answer === exhibit.answers[row]) &&
    before.outcomes.every((codes, truth) => codes?.[row] === exhibit.outcomes[truth]?.[row]);
  if (!before || same) {
    return null;
  }
  const raw = texts.rawBefore?.[at];
  return (
    <div class="before">
      <p>Before: {answer ? <Text>{album.names[answer]}</Text> : answer === 0 ? "no answer" : ""}{" "}
        <Said code={outcome(before, row, first)} /></p>
      {raw && <Raw text={raw} />}
    </div>
  );
}
