/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The budget for slow scans of mappings, during which the agent's loop waits.  A process
 * may have sixty thousand mappings, and a tenant any number of such processes: if each
 * were scanned as often as others, no request would be answered.  So the scans for leases
 * with a slow scan may take a hundredth of the time together, and so may the slow scans
 * for the other leases of their tenants.  All other scans are not limited. */

#define CLV_SCAN_PLACES 16

struct clv_scan_group {
	uint64_t next_ns; /* no slow scan begins before */
	uint64_t part; /* the next one waits this many times as long as the last one took
			*/
	struct clv_scan_place {
		char name[64];
		uint64_t until_ns; /* is taken to be slow until then */
	} places[CLV_SCAN_PLACES];
};

struct clv_scan_budget {
	struct clv_scan_group leases; /* by id; further leases by their tenants only */
	struct clv_scan_group
		tenants; /* while it is full, every tenant is treated as slow */
};

/* Whether the next scan for the lease of the tenant may take place now. */
bool clv_scan_budget_allow(const struct clv_scan_budget *slow, const char *lease,
	const char *tenant, uint64_t now_ns);

/* A scan for the lease was slow: the loop waited took_ns for it. */
void clv_scan_budget_note(struct clv_scan_budget *slow, const char *lease,
	const char *tenant, uint64_t took_ns, uint64_t now_ns);

/* Whether the process maps the report page, or any report page (NULL): as
 * clv_maps_file(), and -EAGAIN while the budget does not permit a scan. */
int clv_scan_budget_find_page(struct clv_scan_budget *slow, const char *lease,
	const char *tenant, pid_t pid, const struct stat *page);
