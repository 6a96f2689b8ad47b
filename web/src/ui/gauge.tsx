/* SPDX-License-Identifier: Apache-2.0 */
import { Meter } from "./bar";

/* A used amount, compared with its promise or with the whole. */
export function Gauge({ name, used, promised, whole, text }: {
  name: string; used: number; promised?: number; whole?: number; text: string;
}) {
  return (
    <div class="gauge">
      <span class="gauge-name">{name}</span>
      <Meter whole={whole ?? Math.max(promised ?? 1, used)} promised={promised ?? used} used={used}
        label={`${name}: ${text}`} />
      <span class="number">{text}</span>
    </div>
  );
}
