/** The knowledge base in numbers. Pure. */

import { fieldsIn, numberIn, readObject, textIn } from "../../chat/tools/results";

export interface Day {
  /** ISO date. */
  readonly day: string;
  readonly queries: number;
  readonly ingested: number;
}

export interface Metrics {
  readonly figures: readonly { readonly label: string; readonly value: number }[];
  readonly days: readonly Day[];
}

const FIGURES: readonly (readonly [key: string, label: string])[] = [
  ["sources", "Sources"],
  ["passages", "Passages"],
  ["queries_served", "Questions served"],
  ["jobs_running", "Jobs running"],
];

/** The result of `cockpit_metrics` or `get_stats`, or undefined when it is something else. */
export function readMetrics(result: string | undefined): Metrics | undefined {
  const data = readObject(result);
  if (data === undefined) return undefined;
  const figures = FIGURES.flatMap(([key, label]) => {
    const value = numberIn(data, key);
    return value === undefined ? [] : [{ label, value }];
  });
  const days = fieldsIn(data, "last_days").flatMap((one): Day[] => {
    const day = textIn(one, "day");
    return /^\d{4}-\d{2}-\d{2}$/.test(day) ? [{ day, queries: numberIn(one, "queries") ?? 0, ingested: numberIn(one, "ingested") ?? 0 }] : [];
  });
  return figures.length === 0 ? undefined : { figures, days };
}

/** The next round number that is not below the largest value: the top of the scale. */
export function topOf(values: readonly number[]): number {
  const most = Math.max(0, ...values);
  if (most <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 4, 5, 10].find((step) => step * power >= most) ?? 10) * power;
}

/** "27 Nov". Days are UTC, as the server counts them. */
export function dayLabel(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

/** The plot in a sentence, for who does not see it. */
export function inWords(days: readonly Day[]): string {
  const total = days.reduce((sum, { queries }) => sum + queries, 0);
  const added = days.reduce((sum, { ingested }) => sum + ingested, 0);
  const best = days.reduce<Day | undefined>((most, day) => (most === undefined || day.queries > most.queries ? day : most), undefined);
  const peak = best !== undefined && best.queries > 0 ? `, most of them on ${dayLabel(best.day)} (${best.queries})` : "";
  return `In ${days.length} days: ${total} questions${peak}; ${added} sources added.`;
}
