/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct sy_function;
struct sy_node;

/* /devices/pciDDDD:BB/BDF. Valid until the next call. */
const char *sy_pci_path(struct sy_function *f);

/* Builds the function's folder and the links to it. Returns the folder. */
struct sy_node *sy_pci_build(struct sy_function *f);

/* Builds a DRM device of a card and a render node, below the folder of its device; the
 * number counts from the function's first. Returns the card's folder. */
struct sy_node *sy_drm_build(struct sy_function *f, struct sy_node *dir, unsigned number);
