/* SPDX-License-Identifier: Apache-2.0 */
/* Drawn on a 16 by 16 grid with one stroke.  Each is beside a word, so all are hidden from
 * screen readers. */

const PATHS = {
  overview: "M2 13V9h3v4M6.5 13V3h3v10M11 13V6h3v7M1 13h14",
  devices: "M3 4h10v8H3zM6 7h4v2H6zM5 4V2M8 4V2M11 4V2M5 14v-2M8 14v-2M11 14v-2",
  partitions: "M2 3h12v10H2zM7 3v10M7 8h7",
  leases: "M8 2a4 4 0 0 1 4 4v1H4V6a4 4 0 0 1 4-4zM3 7h10v7H3zM8 10v1.5",
  services: "M2 2.5h5v5H2zM9 2.5h5v5H9zM2 9h5v5H2zM9 11.5h5M11.5 9v5",
  advice: "M8 1.8a4 4 0 0 1 2.3 7.3V11H5.7V9.1A4 4 0 0 1 8 1.8zM6.2 14h3.6",
  events: "M3 3h10M3 6.3h7M3 9.6h10M3 13h5",
  tenants: "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5a4.5 4.5 0 0 1 9 0z" +
    "M11 3a2.2 2.2 0 0 1 0 4.3M12 9.5a4 4 0 0 1 2.5 4",
  tokens: "M5 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 8h6.5v2.5M12 8v2",
  nodes: "M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.01M4.5 11h.01",
  ok: "M3 8.5l3.2 3L13 4.5",
  half: "M3 3h10v10H3zM8 3v10",
  lock: "M4 7.5h8V13H4zM5.5 7.5V5.5a2.5 2.5 0 0 1 5 0v2",
  stop: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM4 4l8 8",
  warn: "M8 2l6.5 11.5h-13zM8 6.5v3M8 11.5v.1",
  info: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 7.2v4M8 4.8v.1",
  user: "M8 7.5A2.7 2.7 0 1 0 8 2a2.7 2.7 0 0 0 0 5.5zM3 14a5 5 0 0 1 10 0z",
  wait: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 4.5V8l2.5 1.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15" +
    "M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9L13 13M3 13l1.1-1.1M11.9 4.1L13 3",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  screen: "M2 3h12v8H2zM5.5 13.5h5",
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
