// Line chart, for accuracy by coverage and metrics over runs. A table with the same numbers follows each chart.
import { Scroll } from "./scroll";
import { percent } from "./text";

export interface Line { name: string; points: [x: number, y: number][]; marks?: boolean[] }
interface Props { title: string; lines: Line[]; x: string; y: string; ticks?: string[] }

const WIDE = 640, HIGH = 320, LEFT = 48, BOTTOM = 40, TOP = 12, RIGHT = 12;
const STROKES = ["", "6 3", "2 3", "9 3 2 3"];

export function Plane({ title, lines, x, y, ticks }: Props) {
  const values = lines.flatMap((line) => line.points.map((point) => point[1]));
  const [low, high] = range(values);
  const ends = ticks ? [0, Math.max(1, ticks.length - 1)] : [0, 1];
  const across = (value: number) => LEFT + ((WIDE - LEFT - RIGHT) * (value - ends[0])) / (ends[1] - ends[0]);
  const up = (value: number) => HIGH - BOTTOM - ((HIGH - BOTTOM - TOP) * (value - low)) / (high - low);
  return (
    <figure class="plane">
      <Scroll label={title} plain>
        <svg viewBox={`0 0 ${WIDE} ${HIGH}`} role="img" aria-label={`${title}: ${lines.length} lines; the numbers are in the table below`}>
          {[0, 1, 2, 3, 4].map((step) => {
            const value = low + ((high - low) * step) / 4;
            return (
              <g key={step}>
                <line class="grid" x1={LEFT} x2={WIDE - RIGHT} y1={up(value)} y2={up(value)} />
                <text class="tick-text" x={LEFT - 6} y={up(value) + 4} text-anchor="end">{percent(value, high - low < 0.08 ? 1 : 0)}</text>
              </g>
            );
          })}
          {[0, 0.25, 0.5, 0.75, 1].map((share) => !ticks && (
            <text key={share} class="tick-text" x={across(share)} y={HIGH - BOTTOM + 18} text-anchor="middle">{percent(share, 0)}</text>
          ))}
          <text class="tick-text" x={(LEFT + WIDE) / 2} y={HIGH - 6} text-anchor="middle">{x}</text>
          {lines.map((line, place) => <Drawn key={place} line={line} place={place} across={across} up={up} />)}
        </svg>
      </Scroll>
      <figcaption>
        <span class="hint">{y}</span>
        <ul class="legend">{lines.map((line, place) => (
          <li key={place}><svg class="swatch" viewBox="0 0 24 8" aria-hidden="true"><line {...look(place)} x1="0" x2="24" y1="4" y2="4" /></svg> <bdi>{line.name}</bdi></li>
        ))}</ul>
      </figcaption>
    </figure>
  );
}

const look = (place: number) => ({ class: `line s${place % 8}`, "stroke-dasharray": STROKES[Math.floor(place / 8) % 4] });

interface DrawnProps { line: Line; place: number; across: (value: number) => number; up: (value: number) => number }

function Drawn({ line, place, across, up }: DrawnProps) {
  const path = line.points.map(([x, y]) => `${across(x).toFixed(1)},${up(y).toFixed(1)}`).join(" ");
  return (
    <g>
      <polyline {...look(place)} points={path} />
      {line.marks && line.points.map(([x, y], at) => (
        <circle key={at} class={`point s${place % 8}${line.marks![at] ? " other" : ""}`} cx={across(x)} cy={up(y)} r="4" />
      ))}
    </g>
  );
}

// Return the range of the values with a margin.
function range(values: number[]): [number, number] {
  if (!values.length) {
    return [0, 1];
  }
  const low = Math.min(...values), high = Math.max(...values);
  const air = Math.max(0.01, (high - low) * 0.08);
  return [Math.max(Math.min(0, low), low - air), Math.max(Math.min(1, high + air), high)];
}
