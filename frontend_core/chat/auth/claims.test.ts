import { describe, expect, it } from "vitest";
import { readClaims, renewDelay } from "./claims";

const token = (payload: unknown): string => `h.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.s`;

describe("readClaims", () => {
  it("reads subject, roles and end", () => {
    expect(readClaims(token({ sub: "álice", roles: ["admin", 7], exp: 100 }))).toEqual({ sub: "álice", roles: ["admin"], expiresAt: 100_000 });
  });

  it("takes roles as a list in one string", () => {
    expect(readClaims(token({ sub: "bob", roles: "reader, contributor" }))?.roles).toEqual(["reader", "contributor"]);
  });

  it.each(["", "x", "a.b.c", "a.!!.c", token(null), token({}), token({ sub: "" }), token({ sub: 3 })])("reads nothing from %j", (text) => {
    expect(readClaims(text)).toBeUndefined();
  });
});

describe("renewDelay", () => {
  it("renews a minute before the end of a long token", () => {
    expect(renewDelay(600_000, 0)).toBe(540_000);
  });

  it("renews a short token at half its life", () => {
    expect(renewDelay(40_000, 0)).toBe(20_000);
  });

  it("renews a token that has ended at once, and one without an end never", () => {
    expect(renewDelay(10, 1_000)).toBe(0);
    expect(renewDelay(undefined, 0)).toBeUndefined();
  });
});
