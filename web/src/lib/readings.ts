/* SPDX-License-Identifier: Apache-2.0 */
/* The readings of a device's driver as texts; null where the driver reports nothing. */
import type { Device, Engines } from "../api/types";
import { percent } from "./format";
import type { DeviceView } from "./model";

type Value = number | null | undefined;

const isKnown = (value: Value): value is number => value !== null && value !== undefined;

export function watts(value: Value): string | null {
  if (!isKnown(value)) return null;
  return value >= 1000 ? `${(value / 1000).toFixed(1)} kW` : `${Math.round(value)} W`;
}

export const celsius = (value: Value) => (isKnown(value) ? `${Math.round(value)} °C` : null);

export const busy = (value: Value) => (isKnown(value) ? percent(value) : null);

export function energy(joules: Value): string | null {
  if (!isKnown(joules)) return null;
  if (joules >= 3.6e6) return `${(joules / 3.6e6).toFixed(1)} kWh`;
  return joules >= 1000 ? `${(joules / 1000).toFixed(1)} kJ` : `${Math.round(joules)} J`;
}

/* All readings in one line, for small screens; "" without any.  The driver counts all work, the
 * agent that of leases: each figure says whose it is. */
export function readingsLine(device: Device | null): string {
  const use = busy(device?.utilization);
  const all = [celsius(device?.temperature_celsius), watts(device?.power_watts), use && `${use} busy`]
    .filter((each) => each !== null).join(" · ");
  return all && `Driver: ${all}`;
}

const ENGINES: [keyof Engines, string][] = [
  ["encode", "encode"], ["decode", "decode"], ["jpeg", "JPEG"], ["optical_flow", "optical flow"],
  ["copy", "copy"],
];

/* "5 decode, 1 JPEG"; engines whose number is 0 or unknown are left out. */
export function enginesLine(engines: Engines | null | undefined): string {
  if (!engines) return "not said";
  const known = ENGINES.filter(([key]) => isKnown(engines[key]));
  const some = known.filter(([key]) => engines[key]! > 0).map(([key, word]) => `${engines[key]} ${word}`);
  if (known.length === 0) return "not said";
  return some.length > 0 ? some.join(", ") : "none";
}

/* "0 / 5": encoders and decoders. */
export function codecs(engines: Engines | null | undefined): string {
  return engines ? `${engines.encode ?? "–"} / ${engines.decode ?? "–"}` : "–";
}

export interface Heat {
  watts: number | null;
  hottest: { name: string; celsius: number } | null;
}

/* For a node: the power of all its devices, and the hottest device. */
export function heatOf(views: DeviceView[]): Heat {
  const powers = views.map((view) => view.device?.power_watts).filter(isKnown);
  const heats = views.flatMap((view) => (isKnown(view.device?.temperature_celsius)
    ? [{ name: view.name, celsius: view.device!.temperature_celsius! }] : []));

  return {
    watts: powers.length > 0 ? powers.reduce((a, b) => a + b) : null,
    hottest: heats.length > 0 ? heats.reduce((a, b) => (b.celsius > a.celsius ? b : a)) : null,
  };
}
