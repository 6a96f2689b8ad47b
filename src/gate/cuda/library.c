/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/cuda/library.h"

#include "base/cleanup.h"
#include "gate/cuda/layer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define DRIVER "libcuda.so.1"
#define HASH_BITS 10

extern const uint16_t clv_cuda_hook_places[1 << HASH_BITS]
	__attribute__((visibility("hidden")));

static pthread_once_t load_once = PTHREAD_ONCE_INIT;

static int not_supported(void)
{
	return CLV_CUDA_NOT_SUPPORTED;
}

static void load(void)
{
	void *driver = dlopen(DRIVER, RTLD_LAZY | RTLD_LOCAL);

	for (uint32_t i = 0; i < clv_cuda_n_hooks; i++) {
		const struct clv_cuda_hook *hook = &clv_cuda_hooks[i];
		void *real = driver ? clv_real_dlsym(driver, hook->symbol) : NULL;

		*hook->real = real ? (clv_cuda_function)(uintptr_t)real
				   : (clv_cuda_function)not_supported;
	}
	clv_cuda_layer_begin();
}

void clv_cuda_load(void)
{
	pthread_once(&load_once, load);
}

/* As generate.py's. */
static uint32_t hash_of(const char *name)
{
	uint32_t value = 2166136261u;

	for (; *name; name++)
		value = (value ^ (unsigned char)*name) * 16777619u;
	return value >> (32 - HASH_BITS) ^ (value & ((1u << HASH_BITS) - 1));
}

const struct clv_cuda_hook *clv_cuda_find_symbol(const char *symbol)
{
	uint32_t place;

	if (symbol[0] != 'c' || symbol[1] != 'u' || symbol[2] < 'A' || symbol[2] > 'Z')
		return NULL;
	for (place = hash_of(symbol); clv_cuda_hook_places[place];
		place = (place + 1) % (1u << HASH_BITS)) {
		const struct clv_cuda_hook *hook =
			&clv_cuda_hooks[clv_cuda_hook_places[place] - 1];

		if (strcmp(hook->symbol, symbol) == 0)
			return hook;
	}
	return NULL;
}

const struct clv_cuda_hook *clv_cuda_find_version(
	const char *base, uint32_t version, bool is_per_thread)
{
	const struct clv_cuda_hook *best = NULL, *plain = NULL;

	for (uint32_t i = 0; i < clv_cuda_n_hooks && clv_cuda_hooks[i].wrapper; i++) {
		const struct clv_cuda_hook *hook = &clv_cuda_hooks[i];

		if (hook->since > version || strcmp(hook->base, base) != 0)
			continue;
		if (hook->is_per_thread)
			best = hook;
		else
			plain = hook;
	}
	return is_per_thread && best ? best : plain;
}
