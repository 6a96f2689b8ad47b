/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <dlfcn.h>

/* A library in front of HSA sees HIP's calls: this program counts the allocations, the
 * queues and the doorbells. */

static _Atomic int allocations, frees, queues, stores;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int hsa_amd_memory_pool_allocate(hsa_pool pool, size_t bytes, uint32_t flags, void **ret)
{
	allocations++;
	return NEXT(hsa_amd_memory_pool_allocate)(pool, bytes, flags, ret);
}

int hsa_amd_memory_pool_free(void *p)
{
	frees++;
	return NEXT(hsa_amd_memory_pool_free)(p);
}

int hsa_queue_create(hsa_agent agent, uint32_t size, uint32_t type, hsa_queue_error error,
	void *user, uint32_t private_bytes, uint32_t group_bytes, struct hsa_queue **ret)
{
	queues++;
	return NEXT(hsa_queue_create)(
		agent, size, type, error, user, private_bytes, group_bytes, ret);
}

void hsa_signal_store_screlease(hsa_signal signal, int64_t value)
{
	stores++;
	NEXT(hsa_signal_store_screlease)(signal, value);
}

static void seen(void)
{
	struct stream *s;
	void *p, *q;
	int before;

	OK(hipMalloc(&p, 100));
	CHECK(allocations == 1);
	OK(hipMalloc(&q, 100));
	CHECK(allocations == 2 && queues == 0);
	OK(hipFree(q));
	CHECK(frees == 1);
	OK(hipStreamCreateWithFlags(&s, 1));
	launch(kernel("us20"), s, 0, 0);
	CHECK(queues == 1);
	before = stores;
	launch(kernel("us20"), s, 0, 0);
	CHECK(stores == before + 1);
	OK(hipMemsetAsync(p, 0, 100, s));
	CHECK(stores == before + 2);
	OK(hipStreamSynchronize(s));
}

const struct case_of_test front_cases[] = {
	{"seen", seen, NULL, NULL},
	{0},
};
