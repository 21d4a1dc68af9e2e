import { describe, expect, it } from "vitest";
import { Delivery } from "../../middle_core/graph_page/delivery.js";

describe("Delivery", () => {
  const of = (pairs: readonly (readonly [number, number])[]) => {
    const delivery = new Delivery();
    for (const [at, arrivedAt] of pairs) delivery.add(at, arrivedAt);
    return delivery;
  };

  it("is content when events come as they happen, however the clocks differ", () => {
    expect(of([[0, 500_010], [1_000, 501_030], [9_000, 509_005]]).held).toBeUndefined();
    expect(of([[0, 0], [3_000, 3_400]]).held).toBeUndefined();
    expect(of([[5, 900]]).held).toBeUndefined();
    expect(of([]).held).toBeUndefined();
  });

  it("says so when all came at once", () => {
    expect(of([[0, 4_000], [1_000, 4_001], [2_000, 4_002], [4_000, 4_003]]).held).toEqual({ heldMs: 3_997, oneBlock: true });
  });

  it("says so when they came in blocks", () => {
    expect(of([[0, 2_000], [1_900, 2_001], [2_100, 4_000], [3_950, 4_001]]).held).toEqual({ heldMs: 1_949, oneBlock: false });
  });

  it("does not take a fast turn for a held one", () => {
    expect(of([[0, 300], [290, 301]]).held).toBeUndefined();
  });

  it("knows how far the clocks are apart", () => {
    expect(of([[0, 70], [100, 160]]).skewMs).toBe(60);
    expect(of([]).skewMs).toBe(0);
  });
});
