import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Auth } from "./auth";

const HOUR = 3_600_000;
const mint = (sub: string, expiresAt: number, mark = ""): string =>
  `h.${Buffer.from(JSON.stringify({ sub, roles: ["admin"], exp: expiresAt / 1000, mark })).toString("base64url")}.s`;

interface Door {
  readonly asked: string[];
  answer: () => Response;
}

function setUp(session = new Map<string, string>(), remembered = new Map<string, string>()): { auth: Auth; door: Door; session: Map<string, string> } {
  const door: Door = { asked: [], answer: () => Response.json({ token: mint("alice", Date.now() + HOUR) }) };
  const storage = (map: Map<string, string>) => ({
    getItem: (key: string) => map.get(key) ?? null,
    setItem: (key: string, value: string) => void map.set(key, value),
    removeItem: (key: string) => void map.delete(key),
  });
  const auth = new Auth({
    people: [
      { sub: "alice", name: "Alice", role: "admin", can: "" },
      { sub: "bob", name: "Bob", role: "reader", can: "" },
    ],
    fetch: async (_path, init) => {
      door.asked.push(typeof init?.body === "string" ? init.body : "");
      return door.answer();
    },
    session: () => storage(session),
    remembered: () => storage(remembered),
    now: () => Date.now(),
  });
  return { auth, door, session };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("Auth", () => {
  it("signs in as the last person and keeps the token for a reload of this tab", async () => {
    const { auth, door, session } = setUp(new Map(), new Map([["middle-core.person", "bob"]]));
    door.answer = () => Response.json({ token: mint("bob", Date.now() + HOUR) });
    await auth.start();
    expect(door.asked).toEqual(['{"sub":"bob"}']);
    expect(auth.state.get()).toMatchObject({ status: "signed-in", person: { name: "Bob" } });

    const reloaded = setUp(session);
    await reloaded.auth.start();
    expect(reloaded.door.asked).toEqual([]);
    expect(reloaded.auth.state.get().token).toBe(auth.state.get().token);
    auth.stop();
    reloaded.auth.stop();
  });

  it("tells why a sign-in failed, and forgets the token of before", async () => {
    const { auth, door, session } = setUp();
    await auth.start();
    door.answer = () => Response.json({ code: "not_found" }, { status: 404 });
    await auth.signIn("carol");
    expect(auth.state.get()).toMatchObject({ status: "failed", person: { sub: "carol" }, failure: { code: "not_found" } });
    expect(session.size).toBe(0);
  });

  it("renews the token before it ends, and tries again when that fails", async () => {
    const { auth, door } = setUp();
    await auth.start();
    const first = auth.state.get().token;
    door.answer = () => Response.json({}, { status: 503 });
    await vi.advanceTimersByTimeAsync(HOUR - 60_000);
    expect(auth.state.get().token).toBe(first);
    door.answer = () => Response.json({ token: mint("alice", Date.now() + HOUR, "2") });
    await vi.advanceTimersByTimeAsync(31_000);
    expect(auth.state.get().token).not.toBe(first);
    expect(door.asked.length).toBe(3);
    auth.stop();
  });

  it("expires only for the token that was refused, and signs in again without leaving the page", async () => {
    const { auth, door } = setUp();
    await auth.start();
    auth.refused("an older token");
    expect(auth.state.get().status).toBe("signed-in");
    auth.refused(auth.state.get().token);
    expect(auth.state.get()).toMatchObject({ status: "expired", again: "no" });
    door.answer = () => Response.json({}, { status: 503 });
    await auth.signInAgain();
    expect(auth.state.get()).toMatchObject({ status: "expired", again: { code: "unavailable" } });
    door.answer = () => Response.json({ token: mint("alice", Date.now() + HOUR) });
    await auth.signInAgain();
    expect(auth.state.get().status).toBe("signed-in");
    auth.stop();
  });

  it("takes only the last of two sign-ins", async () => {
    const { auth, door } = setUp();
    const answers = [mint("alice", Date.now() + HOUR), mint("bob", Date.now() + HOUR)];
    door.answer = () => Response.json({ token: answers.shift() });
    await Promise.all([auth.signIn("alice"), auth.signIn("bob")]);
    expect(auth.state.get()).toMatchObject({ status: "signed-in", person: { sub: "bob" } });
    auth.stop();
  });
});
