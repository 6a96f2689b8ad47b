/* SPDX-License-Identifier: Apache-2.0 */
#include "../../gpu/client/faults.h"
#include "exports.h"
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The runtime's initialization: HSA, its agents, and those that HIP_VISIBLE_DEVICES
 * leaves. */

struct device dhi_devices[16];
int dhi_n_devices;
hsa_agent dhi_cpu;
hsa_pool dhi_host_pool, dhi_kernarg_pool;
_Thread_local struct thread dhi_thread;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int begin_result;

int dhi_error_of(int hsa)
{
	static const int errors[][2] = {
		{HSA_OK, HIP_OK},
		{HSA_CU_MASK_REDUCED, HIP_OK},
		{HSA_OUT_OF_RESOURCES, HIP_OUT_OF_MEMORY},
		{HSA_INVALID_ALLOCATION, HIP_OUT_OF_MEMORY},
		{HSA_INVALID_ARGUMENT, HIP_INVALID_VALUE},
		{HSA_NOT_INITIALIZED, HIP_NOT_INITIALIZED},
		{HSA_INVALID_CODE, HIP_INVALID_IMAGE},
		{HSA_INVALID_SYMBOL_NAME, HIP_NOT_FOUND},
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i][0] == hsa)
			return errors[i][1];
	return HIP_UNKNOWN;
}

/* --- Discovery --- */

static int see_pool(hsa_handle pool, void *user)
{
	struct device *device = user;
	uint32_t flags = 0;

	hsa_amd_memory_pool_get_info(pool, HSA_POOL_FLAGS, &flags);
	if (device && flags & HSA_POOL_COARSE) {
		device->coarse = pool;
		hsa_amd_memory_pool_get_info(pool, HSA_POOL_SIZE, &device->bytes);
	} else if (device) {
		device->fine = pool;
	} else if (flags & HSA_POOL_KERNARG) {
		dhi_kernarg_pool = pool;
	} else if (flags & HSA_POOL_FINE) {
		dhi_host_pool = pool;
	}
	return 0;
}

static int see_isa(hsa_handle isa, void *user)
{
	struct device *device = user;
	char name[80] = "";

	hsa_isa_get_info_alt(isa, 1, name);
	snprintf(device->arch, sizeof(device->arch), "%s",
		strstr(name, "gfx") ? strstr(name, "gfx") : "");
	return 0;
}

static void read_device(struct device *device, hsa_agent agent)
{
	device->agent = agent;
	hsa_agent_get_info(agent, HSA_AMD_PRODUCT, device->name);
	hsa_agent_get_info(agent, HSA_AMD_UUID, device->uuid);
	hsa_agent_get_info(agent, HSA_AMD_UNITS, &device->units);
	hsa_agent_get_info(agent, HSA_AGENT_WAVEFRONT, &device->warp);
	hsa_agent_get_info(agent, HSA_AMD_BDF, &device->bdf);
	hsa_agent_get_info(agent, HSA_AMD_DOMAIN, &device->domain);
	hsa_agent_iterate_isas(agent, see_isa, device);
	hsa_amd_agent_iterate_memory_pools(agent, see_pool, device);
	device->major = device->arch[3] == '9' ? 9 : 11;
	pthread_mutex_init(&device->lock, NULL);
}

struct agents {
	hsa_agent gpus[16];
	int n;
};

static int see_agent(hsa_handle agent, void *user)
{
	struct agents *agents = user;
	uint32_t kind = 0;

	hsa_agent_get_info(agent, HSA_AGENT_DEVICE, &kind);
	if (kind == HSA_DEVICE_CPU) {
		dhi_cpu = agent;
		hsa_amd_agent_iterate_memory_pools(agent, see_pool, NULL);
	} else if (agents->n < 16) {
		agents->gpus[agents->n++] = agent;
	}
	return 0;
}

static void add_device(hsa_agent agent)
{
	struct device *device = &dhi_devices[dhi_n_devices];

	device->ordinal = dhi_n_devices++;
	read_device(device, agent);
	device->null = dhi_stream_new(device, 0, 0, NULL, 0);
}

/* Numbers, or unique ids; the list ends at the first that matches no GPU, or one that is
 * listed already. */
static int find_agent(const struct agents *agents, const char *word)
{
	char *end, uuid[32];
	long number = strtol(word, &end, 10);

	for (int i = 0; i < agents->n; i++) {
		hsa_agent_get_info(agents->gpus[i], HSA_AMD_UUID, uuid);
		if (strcasecmp(uuid, word) == 0)
			return i;
	}
	return end == word || *end || number < 0 || number >= agents->n ? -1
									: (int)number;
}

static void choose_devices(const struct agents *agents)
{
	const char *list = getenv("HIP_VISIBLE_DEVICES");
	char copy[1024], *rest = NULL;
	bool chosen[16] = {false};

	list = list ? list : getenv("CUDA_VISIBLE_DEVICES");
	for (int i = 0; i < agents->n && !list; i++)
		add_device(agents->gpus[i]);
	snprintf(copy, sizeof(copy), "%s", list ? list : "");
	for (char *word = strtok_r(copy, ", ", &rest); word;
		word = strtok_r(NULL, ", ", &rest)) {
		int i = find_agent(agents, word);

		if (i < 0 || chosen[i])
			break;
		chosen[i] = true;
		add_device(agents->gpus[i]);
	}
}

static void begin(void)
{
	struct agents agents = {.n = 0};

	if (hsa_init()) {
		begin_result = HIP_NO_DEVICE;
		return;
	}
	hsa_iterate_agents(see_agent, &agents);
	choose_devices(&agents);
	if (!dhi_n_devices)
		begin_result = HIP_NO_DEVICE;
}

struct device *dhi_device_at(int ordinal)
{
	return ordinal >= 0 && ordinal < dhi_n_devices ? &dhi_devices[ordinal] : NULL;
}

struct device *dhi_current(void)
{
	return &dhi_devices[dhi_thread.device];
}

/* --- Each call --- */

/* These work without a GPU, and do not change the last error. */
static bool is_anytime(const char *name)
{
	static const char *const names[] = {"hipDriverGetVersion", "hipRuntimeGetVersion",
		"hipGetProcAddress", "hipDrvGetErrorName", "hipDrvGetErrorString"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

int dhi_begin(const char *name, bool is_own)
{
	int fault = dgp_fault_due(name);

	dhi_thread.per_thread += is_own;
	if (fault || is_anytime(name))
		return fault;
	pthread_once(&once, begin);
	return begin_result;
}

int dhi_end(int r, bool is_own)
{
	dhi_thread.per_thread -= is_own;
	if (r)
		dhi_thread.last_error = r;
	return r;
}

int dhi_missing(const char *name)
{
	return HIP_NOT_SUPPORTED;
}

int dhi_hipInit(unsigned flags)
{
	return flags ? HIP_INVALID_VALUE : 0;
}

hip_plain hipGetLastError(void)
{
	int error = dhi_thread.last_error;

	dhi_thread.last_error = 0;
	return error;
}

hip_plain hipPeekAtLastError(void)
{
	return dhi_thread.last_error;
}
