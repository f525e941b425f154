// A part that can be wider than the window, and a line that says so as long as something of it is hidden.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export function Scroll({ label, plain = false, children }: { label: string; plain?: boolean; children: ComponentChildren }) {
  const part = useRef<HTMLDivElement>(null);
  const [hidden, setHidden] = useState(false);
  useEffect(() => {
    const { current } = part;
    if (!current) {
      return undefined;
    }
    const observer = new ResizeObserver(() => setHidden(current.scrollWidth > current.clientWidth + 1));
    [current, ...current.children].forEach((each) => observer.observe(each));
    return () => observer.disconnect();
  }, []);
  return (
    <>
      {hidden && <p class="wider hint">Wider than the window: scroll to the side <span aria-hidden="true">→</span></p>}
      <div ref={part} class={`scroll${plain ? " plain" : ""}${hidden ? " hides" : ""}`} role="region" aria-label={label} tabIndex={0}>{children}</div>
    </>
  );
}
