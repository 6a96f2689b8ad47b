/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a device's driver reports, and the lease of each. */
import type { Device, DriverProcess, Lease } from "../api/types";
import { bytes, percent } from "../lib/format";
import { needsLease } from "../lib/troubles";
import { Badge } from "../ui/badge";
import { href } from "../ui/hooks";
import { Table } from "../ui/table";

function Whose({ process, leases }: { process: DriverProcess; leases: Lease[] }) {
  const lease = leases.find((each) => each.id === process.lease);
  if (!process.lease && !needsLease(process)) return <Badge>No lease</Badge>;
  if (!process.lease) return <Badge icon="warn" tone="warn">No lease</Badge>;
  return (
    <span class="badges">
      <a href={href("leases", process.lease)}>{lease?.name ?? process.lease}</a>
      {!process.has_lease_here && <Badge icon="warn" tone="warn"
        title="The lease is for another device, or has ended">No lease here</Badge>}
    </span>
  );
}

export function DeviceProcesses({ device, leases }: { device: Device; leases: Lease[] }) {
  const processes = device.processes ?? [];

  if (processes.length === 0)
    return <p class="quiet-line">The driver reports no process; not every driver can.</p>;
  return (
    <Table caption={`Processes on ${device.name}, as the driver reports`} rows={processes}
      keyOf={(each) => each.pid} columns={[
        { head: "Process", isHead: true, sort: (each) => each.command,
          cell: (each) => each.command || "unknown" },
        { head: "Pid", isNumber: true, sort: (each) => each.pid, cell: (each) => each.pid },
        { head: "User", isNumber: true, isMinor: true, cell: (each) => each.uid ?? "–" },
        { head: "Lease", cell: (each) => <Whose process={each} leases={leases} /> },
        { head: "Computes", isNumber: true, sort: (each) => each.utilization ?? -1,
          cell: (each) => (typeof each.utilization === "number" ? percent(each.utilization) : "–") },
        { head: "Memory", isNumber: true, sort: (each) => each.memory_bytes ?? -1,
          cell: (each) => (each.memory_bytes === null ? "–" : bytes(each.memory_bytes)) },
      ]} />
  );
}
