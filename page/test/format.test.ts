import { describe, expect, it } from "vitest";
import { number, seconds, whole } from "../src/format";

describe("numbers", () => {
  it.each([
    [number(0), "0"],
    [number(0.012345), "0.0123"],
    [number(4.5678), "4.57"],
    [number(4), "4"],
    [number(99.96), "100"],
    [number(12345.6), "12,300"],
    [number(-1234), "-1,230"],
    [number(Number.NaN), "n/a"],
    [whole(1918.6), "1,919"],
    [whole(-0.2), "0"],
    [seconds(0.21), "210 ms"],
    [seconds(0.000085), "85 µs"],
    [seconds(0.9999), "1 s"],
    [seconds(210), "3.5 min"],
  ])("%s", (got, want) => expect(got).toBe(want));
});
