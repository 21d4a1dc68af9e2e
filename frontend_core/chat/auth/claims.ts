/**
 * What a token says about its owner, read without verifying it.
 *
 * For display and for timing only: the server verifies, this page never decides anything by it.
 */

export interface Claims {
  readonly sub: string;
  readonly roles: readonly string[];
  /** Milliseconds since the epoch; undefined when the token names no end. */
  readonly expiresAt: number | undefined;
}

/** The claims of a compact JWT, or undefined when it is not one. */
export function readClaims(token: string): Claims | undefined {
  const payload = token.split(".")[1];
  if (payload === undefined) return undefined;
  let claims: unknown;
  try {
    claims = JSON.parse(decodeBase64Url(payload));
  } catch {
    return undefined; // Not base64url or not JSON: not a token we can show anything of.
  }
  if (typeof claims !== "object" || claims === null || !("sub" in claims)) return undefined;
  if (typeof claims.sub !== "string" || claims.sub === "") return undefined;
  const exp = "exp" in claims && typeof claims.exp === "number" ? claims.exp * 1000 : undefined;
  return { sub: claims.sub, roles: readRoles("roles" in claims ? claims.roles : undefined), expiresAt: exp };
}

function readRoles(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.filter((role): role is string => typeof role === "string");
  if (typeof value === "string") return value.split(/[\s,]+/).filter(Boolean);
  return [];
}

function decodeBase64Url(text: string): string {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(binary, (char) => char.charCodeAt(0)));
}

/** A token is renewed this long before its end, or at half its remaining life if that is shorter. */
const RENEW_BEFORE_MS = 60_000;

/** Milliseconds from `now` until the token should be renewed; undefined when it never ends. */
export function renewDelay(expiresAt: number | undefined, now: number): number | undefined {
  if (expiresAt === undefined) return undefined;
  const left = expiresAt - now;
  return Math.max(0, left - Math.min(RENEW_BEFORE_MS, left / 2));
}
