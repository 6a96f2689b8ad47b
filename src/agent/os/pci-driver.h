/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Whether the PCI function is bound to a driver of VFIO, as one is that a virtual machine
 * has: its own driver does not see it meanwhile. */
bool clv_pci_is_passed(const char *address);
