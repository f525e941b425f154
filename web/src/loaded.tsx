// Content that is loaded when it is shown.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

type State<T> = { value?: T; error?: string };

export function useLoaded<T>(start: () => Promise<T>, on: unknown[]): State<T> {
  const [state, setState] = useState<State<T>>({});
  useEffect(() => {
    let current = true;
    setState({});
    start().then(
      (value) => current && setState({ value }),
      (error: Error) => current && setState({ error: error.message }),
    );
    return () => { current = false; };
  }, on);
  return state;
}

export function Loaded<T>({ state, children }: { state: State<T>; children: (value: T) => ComponentChildren }) {
  if (state.error) {
    return <p class="notice" role="alert">{state.error}</p>;
  }
  return <>{state.value === undefined ? <p class="hint">Loading…</p> : children(state.value)}</>;
}
