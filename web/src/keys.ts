import { useLayoutEffect, useRef } from "preact/hooks";

// Keys that do something by themselves; they can be turned off, for people whose software types letters for them.
const MEMORY = "eyechart page keys";

export function keysOn(): boolean {
  try {
    return localStorage.getItem(MEMORY) !== "off";
  } catch {
    return true; // a browser that keeps nothing
  }
}

export function turnKeys(on: boolean): void {
  try {
    localStorage.setItem(MEMORY, on ? "on" : "off");
  } catch {
    // it holds until the page is left
  }
}

// What keys do is taken from the latest drawing, and they are heard as soon as it is there: a key pressed right after
// another, or before the browser has painted, is not lost.
export function useKeys(acts: Record<string, () => unknown>): void {
  const latest = useRef(acts);
  latest.current = acts;
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const inside = event.target instanceof Element ? event.target.closest("input, select, textarea, .scroll") : null;
      const act = latest.current[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey || !keysOn() || (inside && event.key !== "Escape")) {
        return;
      }
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
}
