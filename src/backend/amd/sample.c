/* SPDX-License-Identifier: Apache-2.0 */
/* Samples a GPU: hwmon, RAS errors (Documentation/gpu/amdgpu/ras), and the memory and
 * compute units of each process on each partition from KFD. */
#include "backend/amd/amd.h"

#include "backend/files.h"
#include "backend/pci-sample.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RAS "bus/pci/devices/%s/ras"
#define ERRORS "_err_count"

/* Reads "ue: 1\nce: 0" and returns the uncorrectable errors. */
static uint64_t read_errors(const char *address, const char *file)
{
	char text[CLV_FILE_TEXT_MAX];
	unsigned long long n;

	if (clv_file_read(text, sizeof(text), RAS "/%s", address, file) < 0 ||
		sscanf(text, "ue: %llu", &n) != 1)
		return 0;
	return n;
}

static void read_ras(const char *address, struct clv_reading *ret)
{
	_cleanup_names_ struct clv_names files = {0};

	if (clv_file_list(&files, RAS, address) < 0)
		return;
	for (size_t i = 0; i < files.n; i++) {
		const char *suffix = strstr(files.items[i], ERRORS);

		if (!suffix || strcmp(suffix, ERRORS) != 0)
			continue;
		/* UMC is the controller of the memory. */
		ret->signs[strncmp(files.items[i], "umc_", 4) == 0 ? CLV_SIGN_ECC
								   : CLV_SIGN_RAS] +=
			read_errors(address, files.items[i]);
	}
}

/* The file has one line for each page, which ends in R (retired), P (retired at the next
 * load of the driver) or F (cannot be retired). */
static void read_bad_pages(const char *address, struct clv_reading *ret)
{
	char text[CLV_FILE_TEXT_MAX];
	char *rest = text, *line;

	if (clv_file_read(text, sizeof(text), RAS "/gpu_vram_bad_pages", address) < 0)
		return;
	while ((line = strsep(&rest, "\n"))) {
		size_t n = strlen(line);
		char flag = n > 0 ? line[n - 1] : '\0';

		ret->signs[CLV_SIGN_PAGES_PENDING] += flag == 'P';
		ret->signs[CLV_SIGN_PAGES_FAILED] += flag == 'F';
	}
}

static int add_process(struct clv_reading *ret, const struct clv_kfd_node *node,
	const struct clv_kfd_use *use, const char *partition)
{
	int r = clv_reading_add_process(ret, use->pid, use->memory_bytes, partition);

	if (r == 0 && use->has_busy_units && node->compute_units > 0)
		clv_reading_set_utilization(ret, use->pid, partition,
			(double)use->busy_units / node->compute_units);
	return r;
}

static int read_processes(const struct clv_kfd *kfd, const struct clv_node_device *device,
	struct clv_reading *ret)
{
	const struct clv_kfd_node *node;
	int r = 0;

	ret->has_processes = kfd->has_processes;
	for (unsigned i = 0; r == 0 && (node = clv_kfd_find(kfd, device->pci_address, i));
		i++) {
		const char *partition =
			i < device->n_partitions ? device->partitions[i].name : "";

		for (size_t j = 0; r == 0 && j < kfd->n_uses; j++) {
			const struct clv_kfd_use *use = &kfd->uses[j];

			if (use->gpu_id == node->gpu_id && use->is_active)
				r = add_process(ret, node, use, partition);
		}
	}
	return r;
}

int clv_amd_sample(struct clv_backend *base, const struct clv_node_device *device,
	struct clv_reading *ret, struct clv_error *err)
{
	struct clv_amd_backend *backend = (struct clv_amd_backend *)base;
	int r = clv_pci_sample(device->pci_address, ret, err);

	if (r < 0)
		return r;
	read_ras(device->pci_address, ret);
	read_bad_pages(device->pci_address, ret);
	/* The nodes change only with the partitions, and amd_survey() and amd_read() then
	 * clear the cache. */
	if (backend->topology.n_nodes == 0) {
		clv_kfd_clear(&backend->topology);
		r = clv_kfd_read(&backend->topology);
	} else {
		r = clv_kfd_read_uses(&backend->topology);
	}
	if (r == 0)
		r = read_processes(&backend->topology, device, ret);
	return r < 0 ? clv_error_errno(err, -r, "cannot list the processes") : 0;
}
