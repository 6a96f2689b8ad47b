/* SPDX-License-Identifier: Apache-2.0 */
/* The health of a device, and its driver's readings. */
import { bytes, bytesOf, percent, since } from "../lib/format";
import { type DeviceView, memoryPromisedOf } from "../lib/model";
import { Gauge } from "../ui/gauge";
import { Note } from "../ui/states";

const FOLLOWS = {
  ok: "",
  degraded: "New leases go elsewhere, unless they name it.",
  lost: "It takes no new leases.",
};

const TITLES = { ok: "", degraded: "Degraded", lost: "Lost" };

export function HealthNote({ view }: { view: DeviceView }) {
  const health = view.health;
  if (!health || health.state === "ok") return null;
  const age = health.since ? ` for ${since(health.since)}` : "";

  return (
    <Note icon="warn" tone={health.state === "lost" ? "bad" : "warn"}
      title={`${TITLES[health.state]}${age}`}>
      <ul>{health.reasons.map((reason) => <li key={reason}>{reason}</li>)}</ul>
      <p>{FOLLOWS[health.state]}</p>
    </Note>
  );
}

export function DriverGauges({ view }: { view: DeviceView }) {
  const device = view.device;
  const parts: [string, number | null | undefined][] = [
    ["Busy", device?.utilization],
    ["Encoders", device?.encoder_utilization],
    ["Decoders", device?.decoder_utilization],
  ];
  const known = parts.filter((part): part is [string, number] => typeof part[1] === "number");
  const memory = device?.driver_memory_used_bytes;

  if (known.length === 0 && typeof memory !== "number")
    return <p class="quiet-line">The driver reports no figures of its use.</p>;
  return (
    <div class="gauges">
      {known.map(([name, value]) => (
        <Gauge key={name} name={name} used={value} text={`${percent(value)} of the time`} />
      ))}
      {typeof memory === "number" && <Gauge name="Memory" used={memory} whole={view.memory_bytes}
        promised={memoryPromisedOf(view)}
        text={`${bytesOf(memory, view.memory_bytes)}, ${bytes(memoryPromisedOf(view))} promised`} />}
    </div>
  );
}
