// The part of the address after #: it identifies one view, one filter and one sample.

export interface Route { view: string; rest: string; params: Record<string, string> }

export function read(hash: string): Route {
  const [path, query = ""] = split(hash.replace(/^#?\/?/, ""), "?");
  const [view, rest = ""] = split(path, "/");
  return { view: view || "overview", rest: decoded(rest), params: Object.fromEntries(new URLSearchParams(query)) };
}

export function written(view: string, rest = "", params: Record<string, string | undefined> = {}): string {
  const kept = Object.entries(params).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const query = new URLSearchParams(kept).toString();
  const path = rest ? `/${rest.split("/").map(encodeURIComponent).join("/")}` : "";
  return `#/${view}${path}${query ? `?${query}` : ""}`;
}

function split(text: string, mark: string): string[] {
  const place = text.indexOf(mark);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not an address of this page
  }
}
