/* SPDX-License-Identifier: Apache-2.0 */
/* Before the first paint, so that a chosen theme never flashes the other one. */
try {
  var theme = localStorage.getItem("cleave.theme");
  if (theme === "dark" || theme === "light")
    document.documentElement.dataset.theme = theme;
} catch (e) {
  /* Storage may be forbidden: then the system's theme it is. */
}
