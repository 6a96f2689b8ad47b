/* SPDX-License-Identifier: Apache-2.0 */
/* Reads hwmon, amdgpu's utilization files and devcoredump. */
#include "backend/pci-sample.h"

#include "backend/files.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define DEVICE "bus/pci/devices/%s"
#define HWMON DEVICE "/hwmon/%s"
#define SENSORS_MAX 4

/* Files of hwmon; of several for one value the preferred one is first. */
static const struct {
	const char *file;
	size_t offset; /* of a double in a reading */
	double scale;
} figures[] = {
	{"power1_average", offsetof(struct clv_reading, power_watts), 1e-6},
	{"power1_input", offsetof(struct clv_reading, power_watts), 1e-6},
	{"energy1_input", offsetof(struct clv_reading, energy_joules), 1e-6},
};

/* Labels of the on-chip sensors, the hottest first. */
static const char *const chips[] = {"junction", "pkg", "edge"};

static void read_figures(const char *address, const char *hwmon, struct clv_reading *ret)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(figures); i++) {
		double *into = (double *)((char *)ret + figures[i].offset);
		uint64_t value;

		if (isnan(*into) && clv_file_read_number(&value, HWMON "/%s", address,
					    hwmon, figures[i].file) == 0)
			*into = (double)value * figures[i].scale;
	}
}

static size_t rank_of(const char *label)
{
	size_t rank = 0;

	while (rank < CLV_ARRAY_SIZE(chips) && strcmp(chips[rank], label) != 0)
		rank++;
	return rank;
}

static void read_temperature(
	const char *address, const char *hwmon, struct clv_reading *ret)
{
	size_t best = SIZE_MAX;

	for (int i = 1; i <= SENSORS_MAX; i++) {
		char label[64] = "";
		uint64_t value;

		if (clv_file_read_number(
			    &value, HWMON "/temp%d_input", address, hwmon, i) < 0)
			continue;
		if (clv_file_read(label, sizeof(label), HWMON "/temp%d_label", address,
			    hwmon, i) < 0)
			label[0] = '\0';
		if (rank_of(label) >= best)
			continue;
		best = rank_of(label);
		ret->temperature_celsius = (double)value * 1e-3;
	}
}

int clv_pci_sample(const char *address, struct clv_reading *ret, struct clv_error *err)
{
	_cleanup_names_ struct clv_names hwmons = {0};
	uint64_t value;

	if (!clv_file_exists(DEVICE, address))
		return clv_error_set(err, -ENODEV,
			"there is no device at %s any more: see the kernel's log",
			address);
	if (clv_file_list(&hwmons, DEVICE "/hwmon", address) == 0 && hwmons.n > 0) {
		read_figures(address, hwmons.items[0], ret);
		read_temperature(address, hwmons.items[0], ret);
	}
	if (clv_file_read_number(&value, DEVICE "/gpu_busy_percent", address) == 0)
		ret->utilization = (double)value / 100;
	if (clv_file_read_number(&value, DEVICE "/mem_info_vram_used", address) == 0)
		ret->memory_used_bytes = value;
	ret->signs[CLV_SIGN_DUMP] = clv_file_exists(DEVICE "/devcoredump", address);
	return 0;
}
