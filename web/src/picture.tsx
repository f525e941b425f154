// The thumbnail of a sample; its children stand in its place if there is none.
import type { ComponentChildren } from "preact";
import type { Group } from "./group";
import { useLoaded } from "./loaded";

export function Picture({ group, row, alt, children }: { group: Group; row: number; alt: string; children?: ComponentChildren }) {
  const { value, error } = useLoaded(() => group.pictureOf(row), [group, row]);
  return value ? <img src={value} alt={alt} decoding="async" /> : <>{error || value === null ? children : null}</>;
}
