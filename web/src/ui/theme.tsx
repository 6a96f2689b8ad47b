/* SPDX-License-Identifier: Apache-2.0 */
import { useState } from "preact/hooks";
import { Icon, type IconName } from "./icons";

type Theme = "system" | "light" | "dark";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS: Record<Theme, IconName> = { system: "screen", light: "sun", dark: "moon" };

function stored(): Theme {
  const theme = document.documentElement.dataset.theme;
  return theme === "light" || theme === "dark" ? theme : "system";
}

export function setTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem("cleave.theme");
    else localStorage.setItem("cleave.theme", theme);
  } catch {
    /* Without storage the choice lasts until the page is closed. */
  }
  dispatchEvent(new Event("cleave-theme"));
}

export function ThemeButton() {
  const [theme, set] = useState<Theme>(stored);
  const next = () => {
    setTheme(NEXT[theme]);
    set(NEXT[theme]);
  };
  return (
    <button type="button" class="button quiet" onClick={next}
      aria-label={`Theme: ${theme}. Change to ${NEXT[theme]}`} title={`Theme: ${theme}`}>
      <Icon name={ICONS[theme]} />
    </button>
  );
}
