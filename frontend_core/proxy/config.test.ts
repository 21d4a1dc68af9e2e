import { describe, expect, it } from "vitest";

import { readConfig, silenceTelemetry } from "./config";

describe("readConfig", () => {
  it("finds middle-core on this machine unless told otherwise", () => {
    expect(readConfig({}).middleCoreUrl).toBe("http://127.0.0.1:8000");
    expect(readConfig({ MIDDLE_CORE_URL: "https://core.example/base/" }).middleCoreUrl).toBe("https://core.example/base");
  });

  it.each(["core:8000", "ftp://core", "http://user:secret@core", "http://core/?x=1", "http://core/#x", ""])("refuses the address %j without repeating it", (text) => {
    expect(() => readConfig({ MIDDLE_CORE_URL: text })).toThrow(/^MIDDLE_CORE_URL must be an http\(s\) address without credentials, query or fragment\.$/);
  });

  it("reads times in seconds and refuses what is no time", () => {
    expect(readConfig({ FRONTEND_CORE_AWAY_S: "1.5" }).timing.awayMs).toBe(1500);
    for (const text of ["0", "-1", "soon", "Infinity"]) expect(() => readConfig({ FRONTEND_CORE_AWAY_S: text })).toThrow("FRONTEND_CORE_AWAY_S");
  });

  it("has no diagnostic doors unless told so exactly", () => {
    expect(readConfig({ FRONTEND_CORE_DIAG: "1" }).diag).toBe(true);
    for (const text of ["", "0", "true", "off"]) expect(readConfig({ FRONTEND_CORE_DIAG: text }).diag).toBe(false);
    expect(readConfig({}).diag).toBe(false);
  });

  it("waits for more than two of middle-core's heartbeats", () => {
    expect(readConfig({}).timing.silenceMs).toBeGreaterThan(20_000);
  });
});

describe("silenceTelemetry", () => {
  it("is quiet unless told otherwise", () => {
    const quiet: NodeJS.ProcessEnv = { NODE_ENV: "test" };
    silenceTelemetry(quiet);
    expect(quiet).toMatchObject({ COPILOTKIT_TELEMETRY_DISABLED: "true", DO_NOT_TRACK: "1" });
    const loud: NodeJS.ProcessEnv = { NODE_ENV: "test", COPILOTKIT_TELEMETRY_DISABLED: "false" };
    silenceTelemetry(loud);
    expect(loud).toEqual({ NODE_ENV: "test", COPILOTKIT_TELEMETRY_DISABLED: "false" });
  });
});
