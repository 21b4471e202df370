import { describe, expect, it } from "vitest";
import { bytes, date, number, percent, range, seconds, signed, whole } from "../src/format";

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
    [percent(0.1954), "19.5 %"],
    [percent(0), "0 %"],
    [percent(1e-7), "<0.001 %"],
    [percent(0.9999), ">99.9 %"],
    [seconds(0.21), "210 ms"],
    [seconds(0.000085), "85 µs"],
    [seconds(0.9999), "1 s"],
    [seconds(210), "3.5 min"],
    [bytes(1048576), "1 MiB"],
    [bytes(512), "512 B"],
    [range({ low: 359, high: 383 }), "359–383"],
    [range({ low: 5, high: 5 }), "5"],
    [range({ low: 0.181, high: 0.209 }, percent), "18.1–20.9 %"],
    [range({ low: -0.2, high: 0.1 }, percent), "−20 % to 10 %"],
    [signed(290, number), "+290"],
    [signed(-0.115, percent), "−11.5 %"],
    [signed(0, seconds), "0 s"],
    [date("2025-11-21T11:00:00Z"), "21 November 2025, 11:00 UTC"],
    [date("some day"), "some day"],
  ])("%s", (got, want) => expect(got).toBe(want));
});
