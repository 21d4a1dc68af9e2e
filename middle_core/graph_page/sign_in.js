// @ts-check
/**
 * Who looks at the page, and requests with their token. The token stays in memory: a reload forgets it.
 *
 * It knows the dialog of graph.html and the two endpoints that a sign-in needs: the list of agents, which tries a token out,
 * and in dev the one that gives the people of the demo their tokens.
 */

import { byId, html, setText } from "./dom.js";
import { wordsFor } from "./failures.js";
import { isObject, objectsIn, textIn } from "./json.js";
import { Problem } from "./problem.js";
/** @import { Json } from "./json.js" */

/** The people of the demo. */
const PEOPLE = [
  { sub: "alice", name: "Alice", can: "admin" },
  { sub: "carol", name: "Carol", can: "contributor" },
  { sub: "bob", name: "Bob", can: "reader" },
];

/** @typedef {{ method?: string, headers?: Record<string, string>, body?: string, signal?: AbortSignal }} RequestOptions */

export class SignIn {
  #base = new URL(".", document.baseURI);
  #isDev = document.querySelector('meta[name="sign-in"]')?.getAttribute("content") === "dev";
  #token = "";
  /** The person of the demo who is signed in; "" for a pasted token. */
  #sub = "";
  /** @type {Promise<void> | undefined} What all wait for whose token was refused. */
  #renewal;
  /** @type {(() => void) | undefined} */
  #renewed;
  /** The agents that the person may talk to. @type {readonly Json[]} */
  agents = [];

  /** @param {() => void} onEntered called when somebody has signed in */
  constructor(onEntered) {
    this.onEntered = onEntered;
    byId("with-token").addEventListener("submit", (event) => {
      event.preventDefault();
      const field = /** @type {HTMLInputElement} */ (byId("token"));
      const token = field.value.trim();
      field.value = "";
      void this.#enter(token, "");
    });
    byId("sign-in").addEventListener("cancel", (event) => event.preventDefault()); // Without a token there is nothing to do here.
  }

  get isSignedIn() {
    return this.#token !== "";
  }

  /** In dev the first person of the demo is signed in at once. */
  async begin() {
    const isEntered = this.#isDev && (await this.#enterAs("alice"));
    if (!isEntered) this.#ask("");
  }

  leave() {
    [this.#token, this.#sub, this.agents] = ["", "", []];
    this.#ask("You are signed out.");
  }

  /**
   * A request with the token; where the token is refused, the same request again with a new one.
   * @param {string} path relative to the page's folder
   * @param {RequestOptions} [options]
   * @returns {Promise<Response>}
   */
  async request(path, options = {}) {
    for (;;) {
      const token = this.#token;
      const response = await fetch(new URL(path, this.#base), { ...options, cache: "no-store", headers: { ...options.headers, Authorization: `Bearer ${token}` } });
      if (response.status !== 401) return response;
      await this.#renew(token);
    }
  }

  /** Open the dialog. @param {string} why "" for the first time */
  #ask(why) {
    setText(byId("why"), why || (this.#isDev ? "Choose somebody of the demo, or paste a token." : "Paste an access token for this server."));
    byId("people").hidden = !this.#isDev;
    byId("people").replaceChildren(
      ...PEOPLE.map(({ sub, name, can }) => {
        const button = html("button", { type: "button" }, name, html("small", {}, can));
        button.addEventListener("click", () => void this.#enterAs(sub));
        return button;
      }),
    );
    const dialog = /** @type {HTMLDialogElement} */ (byId("sign-in"));
    if (!dialog.open) dialog.showModal();
  }

  /** @param {string} sub @returns {Promise<boolean>} whether it succeeded */
  async #enterAs(sub) {
    try {
      const response = await fetch(new URL("dev/token", this.#base), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sub }) });
      if (!response.ok) throw await Problem.of(response);
      return await this.#enter(textIn(await response.json(), "token"), sub);
    } catch (error) {
      this.#showFailure(error);
      return false;
    }
  }

  /** Try the token before it is used. @param {string} token @param {string} sub @returns {Promise<boolean>} whether it succeeded */
  async #enter(token, sub) {
    try {
      const response = await fetch(new URL("copilotkit/info", this.#base), { headers: { Authorization: `Bearer ${token}` } });
      if (!response.ok) throw await Problem.of(response);
      this.agents = objectsIn(await response.json(), "agents");
    } catch (error) {
      this.#showFailure(error);
      return false;
    }
    [this.#token, this.#sub] = [token, sub];
    byId("wrong").hidden = true;
    /** @type {HTMLDialogElement} */ (byId("sign-in")).close();
    setText(byId("name"), PEOPLE.find((person) => person.sub === sub)?.name ?? nameIn(token));
    this.#renewed?.();
    this.onEntered();
    return true;
  }

  /** @param {unknown} error */
  #showFailure(error) {
    byId("wrong").hidden = false;
    setText(byId("wrong"), error instanceof Problem && error.status === 401 ? `This token is not accepted: ${error.message}` : wordsFor(error));
  }

  /** Resolves when there is another token than the refused one. @param {string} refused @returns {Promise<void>} */
  async #renew(refused) {
    if (this.#token !== refused) return;
    if (this.#sub !== "" && (await this.#enterAs(this.#sub))) return;
    this.#renewal ??= new Promise((resolve) => {
      this.#renewed = () => {
        [this.#renewal, this.#renewed] = [undefined, undefined];
        resolve();
      };
    });
    this.#ask("Your session has ended. Sign in to go on; nothing on this page is lost.");
    await this.#renewal;
  }
}

/** Who a token is for. For display only: the server verifies it. @param {string} token */
function nameIn(token) {
  try {
    const part = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (char) => char.charCodeAt(0))));
    return isObject(claims) ? textIn(claims, "name") || textIn(claims, "sub") || "Signed in" : "Signed in";
  } catch {
    return "Signed in"; // The token is no JWT whose inside can be read.
  }
}
