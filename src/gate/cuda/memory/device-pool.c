/* SPDX-License-Identifier: Apache-2.0 */
/* The current pool of a device (device-pool.h).  The lock is held during the driver's
 * calls, so that an answer from before a change is not kept after it. */
#include "gate/cuda/memory/device-pool.h"

#include "gate/cuda/context/library.h"

#include <pthread.h>
#include <stddef.h>

/* Of the device that was last asked for; NULL: it is not known. */
static void *known_pool;
static int known_device;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int clv_cuda_device_pool(int device, void **ret)
{
	int r = CLV_CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!known_pool || known_device != device) {
		known_pool = NULL;
		r = clv_cuda.cuDeviceGetMemPool(&known_pool, device);
		known_device = device;
	}
	*ret = known_pool;
	pthread_mutex_unlock(&lock);
	return r;
}

void clv_cuda_device_pools_forget(void)
{
	pthread_mutex_lock(&lock);
	known_pool = NULL;
	pthread_mutex_unlock(&lock);
}

int clv_cuda_set_device_pool(int device, void *pool)
{
	int r;

	pthread_mutex_lock(&lock);
	known_pool = NULL;
	r = clv_cuda.cuDeviceSetMemPool(device, pool);
	pthread_mutex_unlock(&lock);
	return r;
}

int clv_own_cuDeviceSetMemPool(clv_fn_cuDeviceSetMemPool *real, int device, void *pool)
{
	(void)real;
	return clv_cuda_set_device_pool(device, pool);
}

int clv_own_cuMemSetMemPool(
	clv_fn_cuMemSetMemPool *real, void *location, int type, void *pool)
{
	int r;

	pthread_mutex_lock(&lock);
	known_pool = NULL;
	r = real(location, type, pool);
	pthread_mutex_unlock(&lock);
	return r;
}

void clv_cuda_device_pools_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
	known_pool = NULL;
}
