/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_vm_domain;

/* The 64-bit window of a virtual machine, the range of addresses in which its firmware
 * and kernel place large BARs. */

/* The window that BARs of these sizes need, in bytes: each takes its size rounded up to a
 * power of two, aligned to it.  Saturates at UINT64_MAX. */
uint64_t clv_vm_mmio_needed(const uint64_t *bar_bytes, size_t n);

/* The window of the domain: its own, or that of its machine type.  0: the machine type is
 * not in the table. */
uint64_t clv_vm_mmio_window(const struct clv_vm_domain *domain);

/* The window to set for so many bytes: a power of two that leaves half of it to other
 * devices, and at least 32 GiB. */
uint64_t clv_vm_mmio_choose(uint64_t needed_bytes);

/* The sizes of the memory BARs in a `resource` file of sysfs, one line for each: first
 * address, last address, flags, in hexadecimal.  Other lines are left out.  Returns the
 * number of sizes. */
size_t clv_vm_mmio_read_bars(const char *resource, uint64_t *ret, size_t max);

/* -ENOSPC, with the option that sets it, if the domain's window is smaller than needed.
 */
int clv_vm_mmio_check(
	const struct clv_vm_domain *domain, uint64_t needed_bytes, struct clv_error *err);
