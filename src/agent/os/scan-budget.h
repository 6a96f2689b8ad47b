/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The budget for scans of mappings that take long, in which the agent's loop waits.  A
 * process may have sixty thousand mappings, and a tenant may have any number of such
 * processes: were each scanned as often as others, no request would be answered.  So the
 * scans for leases that had a slow one take together a hundredth of the time, and so do
 * the slow ones among the scans for their tenants' other leases.  All other scans go
 * on. */

#define CLV_SCAN_PLACES 16

struct clv_scan_group {
	uint64_t next_ns; /* no slow scan before */
	uint64_t part;    /* of the time, for the last one */
	struct clv_scan_place {
		char name[64];
		uint64_t until_ns; /* taken for slow until then */
	} places[CLV_SCAN_PLACES];
};

struct clv_scan_budget {
	struct clv_scan_group leases; /* by id; others are known by their tenants only */
	struct clv_scan_group
		tenants; /* while it is full, every tenant is treated as slow */
};

/* Whether the next scan for the lease of the tenant may take place now. */
bool clv_scan_budget_allow(const struct clv_scan_budget *slow, const char *lease,
	const char *tenant, uint64_t now_ns);

/* A scan for the lease was slow: the loop waited took_ns for it. */
void clv_scan_budget_note(struct clv_scan_budget *slow, const char *lease,
	const char *tenant, uint64_t took_ns, uint64_t now_ns);

/* Whether the process maps the report page, or any one (NULL): as clv_maps_file(), and
 * -EAGAIN while it may not be scanned. */
int clv_scan_budget_find_page(struct clv_scan_budget *slow, const char *lease,
	const char *tenant, pid_t pid, const struct stat *page);
