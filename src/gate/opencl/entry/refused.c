/* SPDX-License-Identifier: Apache-2.0 */
/* A call of unknown signature returns an error or an object.  So the returned value is
 * both: the address of an object, all of whose calls are refused, with an error code in
 * its lower half. */
#include "gate/opencl/entry/refused.h"

#include "base/cleanup.h"

#include <CL/cl.h>
#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define REFUSAL CL_INVALID_PROPERTY /* has the alignment of an object's address */
#define N_HALVES 64                 /* upper halves of the address to try */
#define N_CALLS 1024                /* more entries than any loader's table */

static_assert(REFUSAL % (int)sizeof(void *) == 0, "an object's address");

static intptr_t answer = REFUSAL;

static intptr_t CL_API_CALL refuse(void)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&is_said))
		fputs("cleave: a call is refused: it is newer than OpenCL 3.1, or of a "
		      "loader that lacks others, and this gate cannot enforce the lease "
		      "on it; a newer cleave, or loader, may support it\n",
			stderr);
	return answer;
}

/* Maps two pages, because the address is at the end of the first one.  NULL: the place is
 * in use. */
static void *map_at(uintptr_t address)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *wanted = (void *)(address & ~(uintptr_t)(page - 1));
	void *mapped = mmap(wanted, 2 * page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (mapped == MAP_FAILED)
		return NULL;
	if (mapped == wanted)
		return (void *)address;
	munmap(mapped, 2 * page);
	return NULL;
}

/* An object as loaders know it: it begins with a pointer to its table of calls. */
static void make_object(void)
{
	static void *table[N_CALLS];
	void **object = NULL;

	for (size_t i = 0; i < N_CALLS; i++)
		table[i] = (void *)(uintptr_t)refuse;
	for (uintptr_t half = 1; half <= N_HALVES && !object; half++)
		object = map_at(half << 32 | (uint32_t)REFUSAL);
	if (!object)
		return;
	*object = (void *)table;
	answer = (intptr_t)object;
}

void *clv_opencl_refusal_function(void)
{
	if (answer == REFUSAL)
		make_object();
	return (void *)(uintptr_t)refuse;
}
