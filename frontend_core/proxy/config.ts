/**
 * The only reader of the environment. Frozen; read once by `proxy/instance.ts`, or made by a test, and passed on.
 * `PORT` is read by `next start` itself. Times carry their unit in the name.
 */

export interface Config {
  /** Where middle-core answers, without a slash at the end. */
  readonly middleCoreUrl: string;
  /** A larger request body is refused with 413. The default is middle-core's own limit. */
  readonly maxBodyBytes: number;
  /** One event of a stream may be this large; a snapshot of a long conversation is the largest. */
  readonly maxFrameChars: number;
  /** Whether `/api/diag` exists: middle-core's timed events, for the probe. middle-core decides who may have them. */
  readonly diag: boolean;
  readonly timing: Timing;
}

export interface Timing {
  /** A comment goes to the browser after this much silence. */
  readonly heartbeatMs: number;
  /** A stream from middle-core that is silent for longer is dead: more than two of its heartbeats. */
  readonly silenceMs: number;
  /** How long a new request keeps trying while middle-core is away. */
  readonly startMs: number;
  /** How long a running answer keeps trying to re-attach while middle-core is away. */
  readonly awayMs: number;
  /** First and largest pause between two tries; each is spread by half of itself. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** How long the browser's response waits for middle-core's answer, so that a refusal becomes a real status. */
  readonly verdictMs: number;
  /** A browser that takes nothing for this long is let go; the page attaches again by itself. */
  readonly stallMs: number;
  /** The bound of every request that is not a stream. */
  readonly requestMs: number;
}

const DEFAULTS = {
  heartbeatMs: 10_000,
  silenceMs: 25_000,
  startMs: 10_000,
  awayMs: 30_000,
  backoffMs: 200,
  maxBackoffMs: 3_000,
  verdictMs: 2_000,
  stallMs: 120_000,
  requestMs: 10_000,
} as const satisfies Timing;

type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of this process. Throws a sentence that says which variable is wrong. */
export function readConfig(env: Environment = process.env): Config {
  return {
    middleCoreUrl: address(env, "MIDDLE_CORE_URL", "http://127.0.0.1:8000"),
    maxBodyBytes: number(env, "FRONTEND_CORE_MAX_BODY_BYTES", 4 * 1024 * 1024),
    maxFrameChars: number(env, "FRONTEND_CORE_MAX_FRAME_CHARS", 32 * 1024 * 1024),
    diag: env.FRONTEND_CORE_DIAG === "1",
    timing: {
      ...DEFAULTS,
      heartbeatMs: seconds(env, "FRONTEND_CORE_HEARTBEAT_S", DEFAULTS.heartbeatMs),
      silenceMs: seconds(env, "FRONTEND_CORE_SILENCE_S", DEFAULTS.silenceMs),
      startMs: seconds(env, "FRONTEND_CORE_START_S", DEFAULTS.startMs),
      awayMs: seconds(env, "FRONTEND_CORE_AWAY_S", DEFAULTS.awayMs),
    },
  };
}

/**
 * CopilotKit's runtime posts to its vendor at each run unless told not to, and reads that from the environment when it
 * is loaded: this runs before. A team that wants it says `COPILOTKIT_TELEMETRY_DISABLED=false`.
 */
export function silenceTelemetry(env: NodeJS.ProcessEnv = process.env): void {
  env.COPILOTKIT_TELEMETRY_DISABLED ??= "true";
  if (env.COPILOTKIT_TELEMETRY_DISABLED !== "false") env.DO_NOT_TRACK ??= "1";
}

function address(env: Environment, name: string, fallback: string): string {
  const text = env[name] ?? fallback;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new Error(`${name} must be an http(s) address without credentials, query or fragment.`);
  }
  return url.href.replace(/\/+$/, "");
}

function number(env: Environment, name: string, fallback: number): number {
  const text = env[name];
  if (text === undefined || text === "") return fallback;
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new Error(`${name} must be a number above 0.`);
  return value;
}

function seconds(env: Environment, name: string, fallbackMs: number): number {
  return number(env, name, fallbackMs / 1000) * 1000;
}
