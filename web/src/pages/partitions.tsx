/* SPDX-License-Identifier: Apache-2.0 */
import { count } from "../lib/format";
import { hasEnded } from "../lib/disturbed";
import { DeviceBar } from "../ui/bar";
import { href, useData, useSession } from "../ui/hooks";
import { Progress } from "../ui/operation";
import { Page, Section } from "../ui/page";
import { Loaded, Note } from "../ui/states";
import { useViews } from "../ui/views";
import { PartitionTable } from "./partition-table";

function Underway() {
  const session = useSession();
  const operations = useData(session.operations, []).filter((each) => !hasEnded(each));

  if (operations.length === 0) return null;
  return (
    <Section title="Under way">
      {operations.map((operation) => <Progress key={operation.id} operation={operation} />)}
    </Section>
  );
}

export function Partitions() {
  const session = useSession();
  const state = useViews();

  return (
    <Page title="Partitions" actions={<a class="button primary" href={href("divide")}>Divide devices</a>}>
      <Underway />
      <Loaded state={state} rows={6} retry={() => session.wake()}>
        {({ views }) => {
          const divided = views.filter((view) => view.slots.length > 0);
          if (divided.length === 0)
            return <Note icon="partitions" title="No device is divided">
              <p>Whole devices can be shared as they are, or divided in hardware first.</p>
            </Note>;
          return (
            <>
              <div class="partition-bars">
                {divided.map((view) => (
                  <div key={view.name} class="partition-bar">
                    <a href={href("devices", view.name)}>{view.name}</a>
                    <DeviceBar view={view} />
                  </div>
                ))}
              </div>
              <Section title={count(divided.flatMap((view) => view.slots).length, "partition")}>
                <PartitionTable views={divided} />
              </Section>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
