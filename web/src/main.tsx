import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { load } from "./data";
import type { Index } from "./data";
import { Figures } from "./figures";
import { Loaded, useLoaded } from "./loaded";
import { Metrics, Tables } from "./numbers";
import { Overview } from "./overview";
import { Cases } from "./cases";
import { Changes } from "./changes";
import { Words } from "./glossary";
import { read, written } from "./route";
import type { Route } from "./route";
import { Samples } from "./samples";
import { Trends } from "./trends";

const SCHEMA = 1;
const VIEWS: [string, string][] = [
  ["overview", "Summary"], ["changes", "Changes"], ["samples", "Samples"], ["metrics", "Metrics"], ["cases", "Cases"],
  ["figures", "Figures"], ["trends", "Trends"], ["tables", "Tables"],
];

function Page() {
  const [route, setRoute] = useState<Route>(() => read(location.hash));
  const state = useLoaded(() => load<Index>("index"), []);
  const main = useRef<HTMLElement>(null);
  const seen = useRef(`${route.view}/${route.rest}`);
  useEffect(() => {
    const moved = () => setRoute(read(location.hash));
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => { // move the focus to a new view, for screen readers; a filter is not a new view
    const now = `${route.view}/${route.rest}`;
    if (now !== seen.current) {
      seen.current = now;
      scrollTo(0, 0);
      main.current?.querySelector("h1")?.focus({ preventScroll: true });
    }
    document.title = `${VIEWS.find(([view]) => view === route.view)?.[1] ?? "eyechart"}${route.rest ? ` ${route.rest}` : ""} – eyechart`;
  }, [route]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to the content</a>
      <header>
        <p class="brand">eyechart</p>
        <nav aria-label="Views"><ul>{VIEWS.map(([view, name]) => (
          <li key={view}><a href={written(view)} aria-current={view === route.view ? "page" : undefined}>{name}</a></li>
        ))}</ul></nav>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <Loaded state={state}>{(index) => <Words.Provider value={index.glossary}><View index={index} route={route} /></Words.Provider>}</Loaded>
      </main>
    </>
  );
}

function View({ index, route }: { index: Index; route: Route }) {
  if (index.schema > SCHEMA) {
    return <p class="notice" role="alert">These data were written by a later version of eyechart. Write the page again.</p>;
  }
  switch (route.view) {
    case "samples": return <Samples index={index} name={route.rest} params={route.params} />;
    case "figures": return <Figures index={index} name={route.rest} />;
    case "trends": return <Trends />;
    case "tables": return <Tables index={index} name={route.rest} />;
    case "metrics": return <Metrics params={route.params} />;
    case "cases": return <Cases index={index} />;
    case "changes": return <Changes index={index} />;
    default: return <Overview index={index} />;
  }
}

// Print the content of closed details, too.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));

render(<Page />, document.getElementById("page")!);
