/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses HSA without HIP. Prints the results of a queue on a GPU, of a copy
 * that waits for another and of one that does not wait, and the value of its signal
 * afterwards. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef int (*visit)(uint64_t thing, void *userdata);
int hsa_init(void);
int hsa_iterate_agents(visit visit, void *userdata);
int hsa_agent_get_info(uint64_t agent, int what, void *ret);
int hsa_amd_agent_iterate_memory_pools(uint64_t agent, visit visit, void *userdata);
int hsa_amd_memory_pool_allocate(uint64_t pool, size_t bytes, uint32_t flags, void **p);
int hsa_queue_create(uint64_t agent, uint32_t size, uint32_t type, void *error,
	void *userdata, uint32_t private_bytes, uint32_t group_bytes, void **ret);
int hsa_amd_memory_async_copy(void *to, uint64_t to_agent, const void *from,
	uint64_t from_agent, size_t bytes, uint32_t n_deps, const uint64_t *deps,
	uint64_t completion);
int hsa_memory_copy(void *to, const void *from, size_t bytes);
int hsa_signal_create(int64_t value, uint32_t n, const uint64_t *agents, uint64_t *ret);
int64_t hsa_signal_load_scacquire(uint64_t signal);

static uint64_t gpu, pool;

static int see_pool(uint64_t handle, void *userdata)
{
	pool = handle;
	return 0;
}

static int see_agent(uint64_t agent, void *userdata)
{
	uint32_t device = 0;

	hsa_agent_get_info(agent, 17, &device);
	if (device == 1)
		gpu = agent;
	return 0;
}

int main(void)
{
	void *queue = NULL, *a = NULL, *b = NULL;
	uint64_t signal, other;
	int r = hsa_init();

	if (r) {
		printf("%x\n", (unsigned)r);
		return 0;
	}
	hsa_iterate_agents(see_agent, NULL);
	hsa_amd_agent_iterate_memory_pools(gpu, see_pool, NULL);
	hsa_amd_memory_pool_allocate(pool, 1 << 20, 0, &a);
	hsa_amd_memory_pool_allocate(pool, 1 << 20, 0, &b);
	hsa_signal_create(1, 0, NULL, &signal);
	hsa_signal_create(1, 0, NULL, &other);
	printf("%x", (unsigned)hsa_queue_create(
			     gpu, 64, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
	printf(" %x", (unsigned)hsa_amd_memory_async_copy(
			      a, gpu, b, gpu, 1 << 20, 1, &other, signal));
	printf(" %x", (unsigned)hsa_amd_memory_async_copy(
			      a, gpu, b, gpu, 1 << 20, 0, NULL, signal));
	printf(" %x", (unsigned)hsa_memory_copy(a, b, 1 << 20));
	printf(" %d\n", (int)hsa_signal_load_scacquire(signal));
	return 0;
}
