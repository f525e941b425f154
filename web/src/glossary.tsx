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
export function Term({ kind, name, of = name }: { kind: Kind; name: string; of?: string }) {
  const text = useContext(Words)[kind][of];
  return text ? <span class="term" title={text}><Text>{name}</Text></span> : <Text>{name}</Text>;
}

export function Legend({ only }: { only?: Partial<Record<Kind, Set<string>>> }) {
  const words = useContext(Words);
  const parts = TITLES.map(([kind, title]) => {
    const names = Object.keys(words[kind]).filter((name) => !only || only[kind]?.has(name));
    return { kind, title, names };
  }).filter(({ names }) => names.length);
  return parts.length ? (
    <details class="legend-terms">
      <summary>What the names mean</summary>
      <div class="glossary">{parts.map(({ kind, title, names }) => (
        <section key={kind}>
          <h3>{title}</h3>
          <dl>{names.map((name) => <div key={name}><dt><Text>{name}</Text></dt><dd><Text>{words[kind][name]}</Text></dd></div>)}</dl>
        </section>
      ))}</div>
    </details>
  ) : null;
}
