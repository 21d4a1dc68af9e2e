/**
 * Who is signed in, on this tab.
 *
 * The token lives in memory and in the tab's sessionStorage (a reload keeps the session, a closed tab ends it);
 * only the chosen person's name is remembered across tabs. In development the token comes from the dev issuer
 * and is renewed before it ends. This module verifies nothing: the server does.
 */

import { ask, type Fetch } from "../api";
import { failureOfThrown, type Failure } from "../errors/failure";
import { delayOf } from "../session/backoff";
import { Store } from "../ui/store";
import { readClaims, renewDelay } from "./claims";
import { personOf, type Person } from "./person";

export type AuthState =
  | { readonly status: "starting" | "signing-in"; readonly person: Person | undefined; readonly token: undefined }
  | { readonly status: "signed-in"; readonly person: Person; readonly token: string }
  | {
      readonly status: "expired";
      readonly person: Person;
      readonly token: undefined;
      /** Signing in again is under way, or has failed. */
      readonly again: "no" | "trying" | Failure;
    }
  | { readonly status: "failed"; readonly person: Person | undefined; readonly token: undefined; readonly failure: Failure };

export interface AuthDeps {
  readonly fetch: Fetch;
  /** Who can sign in; the first one is the default. */
  readonly people: readonly [Person, ...Person[]];
  /** Of this tab. Functions, because there is no storage while the server renders. */
  readonly session: () => Pick<Storage, "getItem" | "setItem" | "removeItem">;
  /** Of this browser. */
  readonly remembered: () => Pick<Storage, "getItem" | "setItem">;
  readonly now: () => number;
}

const TOKEN_KEY = "middle-core.token";
const PERSON_KEY = "middle-core.person";
const RENEW_BACKOFF = { firstMs: 1_000, maxMs: 15_000 };
/** Browsers turn longer timers into immediate ones. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Auth {
  readonly state = new Store<AuthState>({ status: "starting", person: undefined, token: undefined });
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn = 0;

  constructor(private readonly deps: AuthDeps) {}

  /** Take up the session of this tab, or sign in as the last person. */
  async start(): Promise<void> {
    const token = this.deps.session().getItem(TOKEN_KEY);
    const claims = token === null ? undefined : readClaims(token);
    if (token !== null && claims !== undefined) {
      this.#enter(token, personOf(this.deps.people, claims.sub, claims.roles));
      return;
    }
    await this.signIn(this.deps.remembered().getItem(PERSON_KEY) ?? this.deps.people[0].sub);
  }

  /** Sign in as a demo person. Ends in `signed-in` or `failed`. */
  async signIn(sub: string): Promise<void> {
    const turn = ++this.#turn;
    this.#forget();
    this.state.set({ status: "signing-in", person: personOf(this.deps.people, sub), token: undefined });
    try {
      const token = await this.#fetchToken(sub);
      if (turn !== this.#turn) return;
      this.deps.remembered().setItem(PERSON_KEY, sub);
      this.#enter(token, personOf(this.deps.people, sub, readClaims(token)?.roles));
    } catch (error) {
      if (turn !== this.#turn) return;
      this.state.set({ status: "failed", person: personOf(this.deps.people, sub), token: undefined, failure: failureOfThrown(error) });
    }
  }

  /** The server refused `token`. A newer one stays. */
  refused(token: string | undefined): void {
    const state = this.state.get();
    if (state.status !== "signed-in" || state.token !== token) return;
    this.#forget();
    this.state.set({ status: "expired", person: state.person, token: undefined, again: "no" });
  }

  /** Sign in as the person whose session has expired; the page stays as it is meanwhile. */
  async signInAgain(): Promise<void> {
    const state = this.state.get();
    if (state.status !== "expired" || state.again === "trying") return;
    const turn = ++this.#turn;
    const { person } = state;
    this.state.set({ ...state, again: "trying" });
    try {
      const token = await this.#fetchToken(person.sub);
      if (turn === this.#turn) this.#enter(token, person);
    } catch (error) {
      if (turn === this.#turn) this.state.set({ ...state, again: failureOfThrown(error) });
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #enter(token: string, person: Person): void {
    this.deps.session().setItem(TOKEN_KEY, token);
    this.state.set({ status: "signed-in", person, token });
    this.#renewLater(token, person, 0);
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.deps.session().removeItem(TOKEN_KEY);
  }

  #renewLater(token: string, person: Person, failures: number): void {
    clearTimeout(this.#timer);
    const delay = renewDelay(readClaims(token)?.expiresAt, this.deps.now());
    if (delay === undefined) return;
    const wait = Math.min(Math.max(delay, delayOf(failures, RENEW_BACKOFF)), LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => {
      void this.#renew(token, person, failures);
    }, wait);
  }

  /** A failed renewal changes nothing yet: the token may still be good, and the server has the last word. */
  async #renew(token: string, person: Person, failures: number): Promise<void> {
    const turn = this.#turn;
    let renewed: string;
    try {
      renewed = await this.#fetchToken(person.sub);
    } catch (error) {
      if (turn !== this.#turn) return;
      const refused = !["offline", "unavailable"].includes(failureOfThrown(error).code);
      if (!refused) this.#renewLater(token, person, failures + 1);
      return;
    }
    if (turn === this.#turn && this.state.get().token === token) this.#enter(renewed, person);
  }

  async #fetchToken(sub: string): Promise<string> {
    const { body } = await ask(this.deps.fetch, "/api/dev/token", { method: "POST", json: { sub } });
    if (typeof body === "object" && body !== null && "token" in body && typeof body.token === "string") return body.token;
    throw new Error("The sign-in door answered without a token.");
  }
}
