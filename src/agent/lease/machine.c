/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of virtual machines. */
#include "agent/lease/machine.h"

#include "agent/device/devices.h"
#include "agent/lease/lease.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>

int clv_machine_check(const struct clv_agent_device *device, struct clv_error *err)
{
	for (size_t i = 0; i < device->n_leases; i++) {
		const struct clv_lease_record *record = &device->leases[i]->record;

		if (record->vm[0] != '\0')
			return clv_error_set(err, -EBUSY,
				"the virtual machine %.100s has %s: take it back with "
				"cleave unassign, or use another partition",
				record->command, device->info.name);
	}
	return 0;
}

bool clv_machine_has_whole(const struct clv_lease *lease)
{
	const struct clv_lease_record *record = &lease->record;

	return record->is_kept && !record->is_queued &&
	       (record->vm[0] != '\0' || record->share.compute_ppm == CLV_PPM);
}

int clv_machine_check_memory(const struct clv_agent_device *device, struct clv_error *err)
{
	if (device->info.memory_bytes > 0)
		return 0;
	return clv_error_set(err, -ENODEV,
		"the memory of %s is not known, so programs cannot share it: assign it "
		"to "
		"a virtual machine with cleave assign",
		device->info.name);
}
