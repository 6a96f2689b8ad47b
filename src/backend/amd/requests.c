/* SPDX-License-Identifier: Apache-2.0 */
/* Memory modes that were requested and wait for a reload of the driver.  amdgpu neither
 * shows nor cancels such a request, and the requesting process may end before the reload,
 * so requests are saved beside the file that CLEAVE_AMD_RELOAD names.  A saved request is
 * stale after a reboot, which drops it, and once the GPU's mode differs from the mode at
 * the time of the request. */
#include "backend/amd/amd.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static const char *scope_of(const struct clv_node_device *device)
{
	return device->hive[0] != '\0' ? device->hive : device->pci_address;
}

/* "" if requests are not saved. */
static void get_path(char ret[512])
{
	const char *mark = getenv("CLEAVE_AMD_RELOAD");

	snprintf(ret, 512, "%s%s", mark ? mark : "", mark ? ".asked" : "");
}

static void get_boot(char ret[64])
{
	FILE *file = fopen(BOOT_ID, "re");

	if (!file || fscanf(file, "%63s", ret) != 1)
		snprintf(ret, 64, "?");
	if (file)
		fclose(file);
}

/* Errors are ignored: this process still has the requests in memory. */
static void save(const struct clv_amd_backend *backend)
{
	_cleanup_free_ char *text = NULL;
	char path[512], boot[64];
	size_t size = 0;
	FILE *to;

	get_path(path);
	if (path[0] == '\0')
		return;
	if (backend->n_requests == 0) {
		unlink(path);
		return;
	}
	to = open_memstream(&text, &size);
	if (!to)
		return;
	get_boot(boot);
	fprintf(to, "%s\n", boot);
	for (size_t i = 0; i < backend->n_requests; i++)
		fprintf(to, "%s %" PRIu32 " %" PRIu32 "\n", backend->requests[i].scope,
			backend->requests[i].from, backend->requests[i].mode);
	if (fclose(to) == 0)
		clv_file_replace(path, text, NULL);
}

static void read_requests(FILE *file, struct clv_amd_backend *backend)
{
	struct clv_amd_request read;

	while (fscanf(file, "%23s %" SCNu32 " %" SCNu32, read.scope, &read.from,
		       &read.mode) == 3) {
		struct clv_amd_request *request =
			CLV_APPEND(backend->requests, backend->n_requests);

		if (!request)
			return;
		*request = read;
	}
}

void clv_amd_requests_load(struct clv_amd_backend *backend)
{
	char path[512], boot[64], then[64];
	FILE *file;

	get_path(path);
	get_boot(boot);
	file = path[0] != '\0' ? fopen(path, "re") : NULL;
	if (!file)
		return;
	if (fscanf(file, "%63s", then) == 1 && strcmp(boot, then) == 0)
		read_requests(file, backend);
	fclose(file);
}

static struct clv_amd_request *find_request(
	const struct clv_amd_backend *backend, const struct clv_node_device *device)
{
	for (size_t i = 0; i < backend->n_requests; i++) {
		if (strcmp(backend->requests[i].scope, scope_of(device)) == 0)
			return &backend->requests[i];
	}
	return NULL;
}

uint32_t clv_amd_requested(
	const struct clv_amd_backend *backend, const struct clv_node_device *device)
{
	const struct clv_amd_request *request = find_request(backend, device);
	bool is_open = request && request->from == device->xcp.memory &&
		       request->mode != device->xcp.memory;

	return is_open ? request->mode : 0;
}

int clv_amd_record_request(struct clv_amd_backend *backend,
	const struct clv_node_device *device, uint32_t mode)
{
	struct clv_amd_request *request = find_request(backend, device);

	if (!request)
		request = CLV_APPEND(backend->requests, backend->n_requests);
	if (!request)
		return -ENOMEM;
	snprintf(request->scope, sizeof(request->scope), "%s", scope_of(device));
	request->from = device->xcp.memory;
	request->mode = mode;
	save(backend);
	return 0;
}

void clv_amd_clear_requests(struct clv_amd_backend *backend)
{
	backend->n_requests = 0;
	free(backend->requests);
	backend->requests = NULL;
	save(backend);
}
