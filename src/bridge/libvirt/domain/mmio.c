/* SPDX-License-Identifier: Apache-2.0 */
/* The 64-bit window that functions need, against that of the machine type.  A guest whose
 * window is too small leaves BARs without addresses, and the GPU's driver fails in it. */
#include "bridge/libvirt/domain/mmio.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "bridge/libvirt/domain/domain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GIB (UINT64_C(1) << 30)
#define HIGHEST (UINT64_C(1) << 62)
/* Flags of a resource in the kernel's include/linux/ioport.h. */
#define IS_MEMORY 0x200u
#define IS_MEMORY_64 0x100000u

/* QEMU's defaults, by the end of the machine type's name: "q35" stands for pc-q35-7.2. */
static const struct {
	const char *in_name;
	uint64_t window_bytes;
} machines[] = {
	{"q35", 32 * GIB},
	{"i440fx", 2 * GIB},
	{"pc", 2 * GIB},
};

static uint64_t round_up(uint64_t bytes)
{
	uint64_t power = 1;

	while (power < bytes && power < HIGHEST)
		power <<= 1;
	return power < bytes ? UINT64_MAX : power;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Placed from the largest down, sizes that are powers of two leave no gaps. */
uint64_t clv_vm_mmio_needed(const uint64_t *bar_bytes, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (bar_bytes[i] > 0)
			sum = add(sum, round_up(bar_bytes[i]));
	}
	return sum;
}

uint64_t clv_vm_mmio_window(const struct clv_vm_domain *domain)
{
	if (domain->has_memory_hole)
		return domain->memory_hole_bytes;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(machines); i++) {
		if (strstr(domain->machine, machines[i].in_name))
			return machines[i].window_bytes;
	}
	return 0;
}

uint64_t clv_vm_mmio_choose(uint64_t needed_bytes)
{
	uint64_t window = round_up(add(needed_bytes, needed_bytes));

	return window < 32 * GIB ? 32 * GIB : window;
}

size_t clv_vm_mmio_read_bars(const char *resource, uint64_t *ret, size_t max)
{
	const char *line = resource;
	size_t n = 0;

	while (line && *line && n < max) {
		uint64_t first, last, flags;

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64, &first, &last,
			    &flags) == 3 &&
			(flags & IS_MEMORY) && (flags & IS_MEMORY_64) && last > first)
			ret[n++] = last - first + 1;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return n;
}

int clv_vm_mmio_check(
	const struct clv_vm_domain *domain, uint64_t needed_bytes, struct clv_error *err)
{
	uint64_t window = clv_vm_mmio_window(domain);
	char has[32], needs[32];

	/* Nothing is known of the window of another machine type. */
	if ((window == 0 && !domain->has_memory_hole) || needed_bytes <= window)
		return 0;
	clv_units_format_bytes(window, has);
	clv_units_format_bytes(needed_bytes, needs);
	return clv_error_set(err, -ENOSPC,
		"the BARs of its partitions need %s of 64-bit addresses, and the virtual "
		"machine %.60s (%.40s) has %s: add --mmio auto",
		needs, domain->name ? domain->name : "", domain->machine, has);
}
