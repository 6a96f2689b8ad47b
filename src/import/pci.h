/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* What a layout selects a GPU of NVIDIA's by, given its PCI device id: the name of a MIG
 * table, or a part of what the driver calls it.  NULL: an id that the table lacks. */
const char *clv_import_model_of_pci_id(uint16_t device);
