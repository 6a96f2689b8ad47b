/* SPDX-License-Identifier: Apache-2.0 */
/* A state as an icon and a word; the colour only repeats it. */
import { eventTone, eventWords } from "../lib/events";
import { STATUS_WORDS, type Status } from "../lib/model";
import { Icon, type IconName } from "./icons";

const LOOKS: Record<Status, [IconName, string]> = {
  ready: ["ok", "good"],
  divided: ["half", "accent"],
  leased: ["user", "accent"],
  held: ["user", "warn"],
  cordoned: ["lock", "warn"],
  degraded: ["warn", "warn"],
  lost: ["stop", "bad"],
  off: ["info", "warn"],
  fixed: ["info", "plain"],
};

export function Badge({ icon, tone = "plain", title, children }: {
  icon?: IconName; tone?: string; title?: string; children: string;
}) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {icon && <Icon name={icon} size={12} />}
      {children}
    </span>
  );
}

export function StatusBadge({ status }: { status: Status }) {
  const [icon, tone] = LOOKS[status];
  return <Badge icon={icon} tone={tone}>{STATUS_WORDS[status]}</Badge>;
}

export function EventName({ type }: { type: string }) {
  const tone = eventTone(type);
  return (
    <span class={`event-type ${tone}`}>
      {tone === "trouble" && <span class="sr">Trouble: </span>}
      {tone === "warning" && <span class="sr">Warning: </span>}
      {(tone === "trouble" || tone === "warning") && <Icon name="warn" size={12} />}
      {eventWords(type)}
    </span>
  );
}
