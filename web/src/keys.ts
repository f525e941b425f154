import { useLayoutEffect, useRef } from "preact/hooks";

// Single-key shortcuts. They can be turned off, because speech input software types letters.
const MEMORY = "eyechart page keys";

export function keysOn(): boolean {
  try {
    return localStorage.getItem(MEMORY) !== "off";
  } catch {
    return true; // a browser without storage
  }
}

export function turnKeys(on: boolean): void {
  try {
    localStorage.setItem(MEMORY, on ? "on" : "off");
  } catch {
    // the setting holds until the page is closed
  }
}

// Use the actions of the latest rendering, and listen in a layout effect: a key that is pressed right after another one,
// or before the browser has painted, is not lost.
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
