// One sentence for each metric, label set, subset, protocol and interval: beside names, and in a legend.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Glossary } from "./data";
import { Text } from "./text";

export type Kind = keyof Glossary;
const TITLES: [Kind, string][] = [
  ["metrics", "Metrics"], ["labels", "Label sets"], ["subsets", "Subsets"], ["protocols", "Protocols"], ["intervals", "Intervals"],
];
export const Words = createContext<Glossary>({ metrics: {}, labels: {}, subsets: {}, protocols: {}, intervals: {} });

// A name with its sentence as a tooltip; the legend has the same sentence for touch screens and screen readers.
export function Term({ kind, name, of = name, more = "" }: { kind: Kind; name: string; of?: string; more?: string }) {
  const text = [useContext(Words)[kind][of], more].filter(Boolean).join(" ");
  return text ? <span class="term" title={text}><Text>{name}</Text></span> : <Text>{name}</Text>;
}

interface Named { name: string; labels: string; subset: string }
const WHOLE = "all"; // the subset of all samples, which is not named

// The label set and the subset of a metric, as far as there are any.
function among({ labels, subset }: Named): [Kind, string][] {
  const every: [Kind, string][] = [["labels", labels], ["subsets", subset === WHOLE ? "" : subset]];
  return every.filter(([, text]) => text);
}

// A metric as everywhere: "acc1 (original)", of a subset "acc1 (original, single_label)".
export function metricText(metric: Named): string {
  const texts = among(metric).map(([, text]) => text);
  return texts.length ? `${metric.name} (${texts.join(", ")})` : metric.name;
}

export function MetricName({ metric }: { metric: Named }) {
  const terms = among(metric).map(([kind, text], place) => <>{place ? ", " : ""}<Term kind={kind} name={text} /></>);
  return <><Term kind="metrics" name={metric.name} />{terms.length ? <> ({terms})</> : ""}</>;
}

export function Legend({ only }: { only?: Partial<Record<Kind, Set<string>>> }) {
  const words = useContext(Words);
  const sections = TITLES.map(([kind, title]) => {
    const names = Object.keys(words[kind]).filter((name) => !only || only[kind]?.has(name));
    return { kind, title, names };
  }).filter(({ names }) => names.length);
  return sections.length ? (
    <details class="legend-terms">
      <summary>What the names mean</summary>
      <div class="glossary">{sections.map(({ kind, title, names }) => (
        <section key={kind}>
          <h3>{title}</h3>
          <dl>{names.map((name) => <div key={name}><dt><Text>{name}</Text></dt><dd><Text>{words[kind][name]}</Text></dd></div>)}</dl>
        </section>
      ))}</div>
    </details>
  ) : null;
}
