/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"
#include "mps.h"
#include "visible.h"

struct device dcu_devices[DGP_GPUS_MAX];
int dcu_n_devices;
uint32_t dcu_version = 12090;
_Atomic bool dcu_initialized;

static int find_devices(void)
{
	struct dgp_gpu_info all[DGP_GPUS_MAX];
	uint32_t chosen[DGP_GPUS_MAX], n = 0;

	while (n < DGP_GPUS_MAX) {
		struct dgp_message message = {.request = DGP_GPU, .a = n};

		if (dgp_request(&message))
			break;
		all[n++] = message.gpu;
	}
	dcu_n_devices = dcu_visible(all, n, chosen);
	for (int i = 0; i < dcu_n_devices; i++) {
		dcu_devices[i].gpu = chosen[i];
		dcu_devices[i].info = all[chosen[i]];
		pthread_mutex_init(&dcu_devices[i].lock, NULL);
	}
	return dcu_n_devices ? 0 : DCU_NO_DEVICE;
}

static int begin(void)
{
	int r = dgp_connected ? 0 : dgp_connect();

	if (r)
		return r;
	dcu_version = dgp_hello.driver_version;
	dcu_mps_connect();
	return find_devices();
}

int dcu_process_init(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int r = 0;

	if (dgp_forked)
		return DCU_NOT_INITIALIZED;
	pthread_mutex_lock(&lock);
	if (!dcu_initialized) {
		r = begin();
		dcu_initialized = !r;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

struct device *dcu_device_at(int ordinal)
{
	return ordinal >= 0 && ordinal < dcu_n_devices ? &dcu_devices[ordinal] : NULL;
}
