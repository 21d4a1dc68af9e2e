/** "just now", "5 min ago", "yesterday", "12 Mar": the age of a thread in the list. Pure. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** `then` and `now` in milliseconds since the epoch. A time in the future reads as "just now". */
export function relativeTime(then: number, now: number, locale?: string): string {
  const age = now - then;
  if (age < MINUTE) return "just now";
  if (age < HOUR) return `${Math.floor(age / MINUTE)} min ago`;
  const days = calendarDays(then, now);
  if (days === 0) return `${Math.floor(age / HOUR)} h ago`;
  if (days === 1) return "yesterday";
  if (days < 7) return new Intl.DateTimeFormat(locale, { weekday: "long" }).format(then);
  const sameYear = new Date(then).getFullYear() === new Date(now).getFullYear();
  return new Intl.DateTimeFormat(locale, {
    day: "numeric",
    month: "short",
    ...(sameYear ? {} : { year: "numeric" }),
  }).format(then);
}

/** Midnights between two moments, in local time. Rounded, because a day may have 23 or 25 hours. */
function calendarDays(then: number, now: number): number {
  const midnight = (at: number): number => new Date(at).setHours(0, 0, 0, 0);
  return Math.round((midnight(now) - midnight(then)) / (24 * HOUR));
}
