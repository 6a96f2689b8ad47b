/* SPDX-License-Identifier: Apache-2.0 */
import { useState } from "preact/hooks";
import type { Tenant } from "../api/types";
import { bytes, bytesOf, duration } from "../lib/format";
import { Meter } from "../ui/bar";
import { HistorySection } from "../ui/history";
import { useResource, useSession } from "../ui/hooks";
import { Page } from "../ui/page";
import { Loaded, Note } from "../ui/states";
import { type Column, Table } from "../ui/table";

/* Shares of several devices add up: 1.5 is one device and a half. */
const shares = (n: number) => n.toFixed(2);

function Against({ label, used, allowed, show, showOf }: {
  label: string; used: number; allowed: number | null | undefined; show: (n: number) => string;
  showOf?: (used: number, allowed: number) => string;
}) {
  if (allowed === null || allowed === undefined) return <>{show(used)}</>;
  const text = showOf ? showOf(used, allowed) : `${show(used)} of ${show(allowed)}`;
  return (
    <span class="with-meter">
      <Meter whole={Math.max(allowed, used)} promised={allowed} used={used} label={`${label}: ${text}`} />
      {text}
    </span>
  );
}

const listOf = (list: string[] | null | undefined) => (list ? list.join(", ") || "none" : "any");

function columns(show: (tenant: Tenant) => void): Column<Tenant>[] {
  return [
    { head: "Tenant", isHead: true, sort: (each) => each.name, cell: (each) => (
      <button type="button" class="link" onClick={() => show(each)}>{each.name}
        <span class="sr">: show history</span></button>) },
    { head: "Leases", isNumber: true, sort: (each) => each.leases, cell: (each) => (
      <Against label="Leases" used={each.leases} allowed={each.allowance?.leases} show={String} />) },
    { head: "Queued", isNumber: true, sort: (each) => each.queued, cell: (each) => each.queued },
    { head: "Devices' worth", isNumber: true, sort: (each) => each.share, cell: (each) => (
      <Against label="Compute" used={each.share} allowed={each.allowance?.share} show={shares} />) },
    { head: "Memory", isNumber: true, sort: (each) => each.memory_bytes, cell: (each) => (
      <Against label="Memory" used={each.memory_bytes} allowed={each.allowance?.memory_bytes}
        show={bytes} showOf={bytesOf} />) },
    { head: "Profiles", cell: (each) => listOf(each.allowance?.profiles) },
    { head: "Classes", cell: (each) => listOf(each.allowance?.classes) },
    { head: "Device time", isNumber: true, sort: (each) => each.gpu_seconds,
      cell: (each) => duration(each.gpu_seconds) },
  ];
}

export function Tenants() {
  const session = useSession();
  const resource = session.list<Tenant>("/v1/tenants");
  const state = useResource(resource);
  const [shown, setShown] = useState<string | null>(null);

  return (
    <Page title="Tenants">
      <Loaded state={state} rows={4} retry={() => void resource.refresh()}>
        {(tenants) => tenants.length === 0
          ? <Note icon="tenants" title="No tenants">There is no lease, and no allowance is set.</Note>
          : <Table caption="Tenants with their leases and allowances" rows={tenants}
            keyOf={(each) => each.name} columns={columns((each) => setShown(each.name))} />}
      </Loaded>
      {shown && <div aria-label={`History of ${shown}`} role="group">
        <p class="hint">History of {shown}</p>
        <HistorySection key={shown} of={`tenant:${shown}`} />
      </div>}
    </Page>
  );
}
