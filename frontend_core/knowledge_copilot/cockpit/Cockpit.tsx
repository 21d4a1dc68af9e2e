/** Numbers of the knowledge base: figures, and the days as bars; the same as a table for who wants the numbers. */

import { useId, useRef } from "react";
import { useWidth } from "../../chat/ui/useWidth";
import type { ToolCardProps } from "../../chat/tools/toolCard";
import styles from "./cockpit.module.css";
import { dayLabel, inWords, readMetrics, topOf, type Day } from "./metrics";
import { Skeleton } from "../../chat/tools/Skeleton";

export function Cockpit({ state, result }: ToolCardProps) {
  const metrics = readMetrics(result);
  if (state === "running") return <Skeleton rows={2} label="Reading the numbers" />;
  if (metrics === undefined) return null;
  const quiet = metrics.days.every(({ queries, ingested }) => queries === 0 && ingested === 0);
  return (
    <div className={styles.cockpit} data-testid="cockpit">
      <dl className={styles.figures}>
        {metrics.figures.map(({ label, value }) => (
          <div key={label} className={styles.figure}>
            <dt>{label}</dt>
            <dd>{value.toLocaleString("en")}</dd>
          </div>
        ))}
      </dl>
      {metrics.days.length > 0 && (quiet ? <p className={styles.quiet}>Nothing was asked or added in the last {metrics.days.length} days.</p> : <Days days={metrics.days} />)}
    </div>
  );
}

const FIRST_WIDTH = 560;
const HEIGHT = 138;
const LEFT = 30;
const RIGHT = 8;
const BOTTOM = 20;
const TOP = 8;
/** Room for the words of one day below the plot. */
const LABEL = 52;

function Days({ days }: { readonly days: readonly Day[] }) {
  const titleId = useId();
  const descId = useId();
  const frameRef = useRef<HTMLElement>(null);
  const width = useWidth(frameRef, FIRST_WIDTH);
  const top = topOf(days.flatMap(({ queries, ingested }) => [queries, ingested]));
  const plot = HEIGHT - TOP - BOTTOM;
  const slot = (width - LEFT - RIGHT) / days.length;
  const bar = Math.min(20, slot * 0.5);
  const y = (value: number): number => TOP + plot * (1 - value / top);
  const every = Math.max(1, Math.ceil(LABEL / slot));
  return (
    <figure ref={frameRef} className={styles.plot}>
      <figcaption className={styles.legend}>
        <span data-series="queries">Questions a day</span>
        <span data-series="ingested">Sources added</span>
      </figcaption>
      <svg role="img" aria-labelledby={`${titleId} ${descId}`} width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} data-testid="day-plot">
        <title id={titleId}>Questions and added sources, day by day</title>
        <desc id={descId}>{inWords(days)}</desc>
        {[0, 0.5, 1].map((part) => (
          <g key={part}>
            <line className={styles.grid} x1={LEFT} x2={width - RIGHT} y1={y(top * part)} y2={y(top * part)} />
            <text className={styles.tick} x={LEFT - 6} y={y(top * part) + 3.5} textAnchor="end">
              {(top * part).toLocaleString("en")}
            </text>
          </g>
        ))}
        {days.map(({ day, queries, ingested }, index) => {
          const middle = LEFT + slot * (index + 0.5);
          return (
            <g key={day}>
              <title>{`${dayLabel(day)}: ${queries} questions, ${ingested} sources added`}</title>
              {queries > 0 && <rect className={styles.queries} x={middle - bar / 2} y={y(queries)} width={bar} height={y(0) - y(queries)} rx={2.5} />}
              {ingested > 0 && <circle className={styles.ingested} cx={middle} cy={y(ingested)} r={4} />}
              {(days.length - 1 - index) % every === 0 && (
                <text className={styles.tick} x={Math.min(middle, width - LABEL / 2 + 4)} y={HEIGHT - 4} textAnchor="middle">
                  {dayLabel(day)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
      <details className={styles.table}>
        <summary>As a table</summary>
        <div className={styles.frame} tabIndex={0} role="group" aria-label="Day by day">
          <table>
            <thead>
              <tr>
                <th scope="col">Day</th>
                <th scope="col">Questions</th>
                <th scope="col">Sources added</th>
              </tr>
            </thead>
            <tbody>
              {days.map(({ day, queries, ingested }) => (
                <tr key={day}>
                  <th scope="row">{dayLabel(day)}</th>
                  <td>{queries}</td>
                  <td>{ingested}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
