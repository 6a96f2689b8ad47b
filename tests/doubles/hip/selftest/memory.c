/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of the other kinds of memory, and of pools. */

static long long used(void)
{
	return stat_of("gpu 0", "used");
}

static void kinds(void)
{
	struct pointer_attributes a;
	void *device, *host, *managed, *word, *own;
	size_t bytes;
	char buffer[64];

	OK(hipMalloc(&device, MIB));
	OK(hipHostMalloc(&host, MIB, 0));
	OK(hipMallocManaged(&managed, MIB, 1));
	OK(hipExtMallocWithFlags(&word, 8, 2));
	CHECK(used() == (long long)MIB + 4096);
	memset(host, 1, MIB);
	memset(managed, 2, MIB);
	OK(hipPointerGetAttributes(&a, (char *)device + 10));
	CHECK(a.type == HIP_MEMORY_DEVICE && a.device == 0);
	OK(hipPointerGetAttributes(&a, host));
	CHECK(a.type == HIP_MEMORY_HOST && a.host_pointer == host);
	OK(hipPointerGetAttributes(&a, managed));
	CHECK(a.type == HIP_MEMORY_MANAGED && a.is_managed);
	OK(hipMemGetAddressRange(&own, &bytes, (char *)device + 99));
	CHECK(own == device && bytes == MIB);
	OK(hipHostRegister(buffer, sizeof(buffer), 0));
	IS(HIP_HOST_REGISTERED, hipHostRegister(buffer, sizeof(buffer), 0));
	OK(hipHostGetDevicePointer(&own, buffer, 0));
	CHECK(own == buffer);
	OK(hipHostUnregister(buffer));
	IS(HIP_HOST_NOT_REGISTERED, hipHostUnregister(buffer));
	IS(HIP_INVALID_VALUE, hipHostFree(device));
	IS(HIP_INVALID_VALUE, hipFree(host));
	OK(hipHostFree(host));
	OK(hipFree(managed));
	OK(hipFree(word));
	OK(hipFree(device));
	CHECK(used() == 0);
}

static void arrays(void)
{
	struct channels floats = {{32, 0, 0, 0}, 2};
	struct array_3d_desc desc = {16, 16, 4, 0x20, 1, 0};
	struct extent extent = {64, 64, 0};
	char from[64], to[64] = "";
	struct array *array, *cube, *level;
	struct mipmap *mipmap;

	for (int i = 0; i < 64; i++)
		from[i] = (char)i;
	OK(hipMallocArray(&array, &floats, 100, 10, 0));
	CHECK(used() == 512LL * 10 / 4096 * 4096 + 4096);
	OK(hipMemcpy2DToArray(array, 4, 1, from, 16, 16, 4, HIP_TO_DEVICE));
	OK(hipMemcpy2DFromArray(to, 16, array, 4, 1, 16, 4, HIP_TO_HOST));
	CHECK(memcmp(from, to, 64) == 0);
	OK(hipFreeArray(array));
	IS(HIP_INVALID_HANDLE, hipFreeArray(array));
	OK(hipArray3DCreate(&cube, &desc));
	CHECK(used() == 256 * 16 * 4);
	OK(hipArrayDestroy(cube));
	OK(hipMallocMipmappedArray(&mipmap, &floats, extent, 3, 0));
	CHECK(used() == 256 * 64 + 256 * 32 + 256 * 16);
	OK(hipGetMipmappedArrayLevel(&level, mipmap, 2));
	IS(HIP_INVALID_VALUE, hipGetMipmappedArrayLevel(&level, mipmap, 3));
	OK(hipFreeMipmappedArray(mipmap));
	CHECK(used() == 0);
}

static void cubes(void)
{
	char from[4 * 3 * 2], to[sizeof(from)] = "";
	struct copy_3d in = {0}, out = {0};
	struct extent extent = {4, 3, 2};
	struct pitched p;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)i;
	OK(hipMalloc3D(&p, extent));
	in.src = (struct pitched){from, 4, 4, 3};
	in.dst = p;
	in.extent = extent;
	in.kind = HIP_TO_DEVICE;
	OK(hipMemcpy3D(&in));
	out.src = p;
	out.dst = (struct pitched){to, 4, 4, 3};
	out.extent = extent;
	out.kind = HIP_TO_HOST;
	OK(hipMemcpy3D(&out));
	CHECK(memcmp(from, to, sizeof(to)) == 0);
}

static uint64_t attribute(struct pool *pool, int which)
{
	uint64_t value;

	OK(hipMemPoolGetAttribute(pool, which, &value));
	return value;
}

static void pools(void)
{
	struct stream *s, *other;
	uint64_t threshold = 8 * MIB;
	struct pool *pool;
	void *p, *q;

	OK(hipStreamCreateWithFlags(&s, 1));
	OK(hipStreamCreateWithFlags(&other, 1));
	OK(hipDeviceGetDefaultMemPool(&pool, 0));
	OK(hipMallocAsync(&p, 8 * MIB, s));
	CHECK(used() == (long long)(8 * MIB) && attribute(pool, 7) == 8 * MIB);
	launch(kernel("ms20"), s, 0, 0);
	OK(hipFreeAsync(p, s));
	CHECK(attribute(pool, 7) == 0 && attribute(pool, 5) == 8 * MIB);
	/* The same stream can reuse it at once, another one only when the free is
	 * complete. */
	OK(hipMallocAsync(&q, 8 * MIB, s));
	CHECK(q == p);
	OK(hipFreeAsync(q, s));
	OK(hipMallocAsync(&q, 8 * MIB, other));
	CHECK(q != p && used() == (long long)(16 * MIB));
	OK(hipStreamSynchronize(s));
	CHECK(used() == (long long)(8 * MIB));
	OK(hipMemPoolSetAttribute(pool, 4, &threshold));
	OK(hipFree(q));
	CHECK(used() == (long long)(8 * MIB));
	OK(hipMemPoolTrimTo(pool, 0));
	CHECK(used() == 0 && attribute(pool, 6) == 16 * MIB);
}

static void own_pool(void)
{
	struct pool_props props = {.type = 1, .location = {1, 0}};
	struct pool *pool, *current;
	void *p;

	OK(hipMemPoolCreate(&pool, &props));
	OK(hipDeviceSetMemPool(0, pool));
	OK(hipDeviceGetMemPool(&current, 0));
	CHECK(current == pool);
	OK(hipMallocAsync(&p, MIB, NULL));
	CHECK(attribute(pool, 7) == MIB);
	IS(HIP_OUT_OF_MEMORY, hipMallocFromPoolAsync(&p, 100 * GIB, pool, NULL));
	OK(hipMemPoolDestroy(pool));
}

/* A child has its own memory and none of its parent's. */
static void ipc(void)
{
	struct hip_ipc handle;
	uint32_t value = 0;
	int ways[2], back[2], status;
	void *p, *theirs;
	char c = 0;
	pid_t pid;

	CHECK(pipe(ways) == 0 && pipe(back) == 0);
	pid = fork();
	if (pid == 0) {
		CHECK(read(ways[0], &handle, sizeof(handle)) == sizeof(handle));
		OK(hipIpcOpenMemHandle(&theirs, handle, 1));
		CHECK(stat_of("process", "bytes") == (long long)MIB);
		OK(hipMemcpy(&value, theirs, 4, HIP_TO_HOST));
		CHECK(value == 0x51515151);
		launch(kernel("store"), NULL, (uintptr_t)theirs + 4, 99);
		OK(hipDeviceSynchronize());
		OK(hipIpcCloseMemHandle(theirs));
		IS(HIP_INVALID_VALUE, hipIpcCloseMemHandle(theirs));
		CHECK(write(back[1], &c, 1) == 1);
		_exit(0);
	}
	OK(hipMalloc(&p, MIB));
	OK(hipMemset(p, 0x51, MIB));
	OK(hipDeviceSynchronize());
	OK(hipIpcGetMemHandle(&handle, p));
	CHECK(write(ways[1], &handle, sizeof(handle)) == sizeof(handle));
	CHECK(read(back[0], &c, 1) == 1);
	waitpid(pid, &status, 0);
	CHECK(status == 0);
	OK(hipMemcpy(&value, (char *)p + 4, 4, HIP_TO_HOST));
	CHECK(value == 99);
	CHECK(used() == (long long)MIB);
}

static void peers(void)
{
	uint32_t value = 0;
	void *here, *there;

	OK(hipMalloc(&here, 64));
	OK(hipSetDevice(1));
	OK(hipMalloc(&there, 64));
	OK(hipMemset(there, 3, 64));
	OK(hipDeviceSynchronize());
	OK(hipMemcpyPeer(here, 0, there, 1, 64));
	OK(hipMemcpy(&value, here, 4, HIP_TO_HOST));
	CHECK(value == 0x03030303);
	CHECK(stat_of("gpu 1", "used") == 4096);
}

const struct case_of_test memory_cases[] = {
	{"kinds", kinds, NULL, NULL},
	{"arrays", arrays, NULL, NULL},
	{"cubes", cubes, NULL, NULL},
	{"hip-pools", pools, NULL, NULL},
	{"own-pool", own_pool, NULL, NULL},
	{"ipc", ipc, NULL, NULL},
	{"peers", peers, NULL, "gpu MI210\ngpu MI210\n"},
	{0},
};
