/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to get more memory than the quota: each call of CUDA that allocates, repeated
 * until it is refused. */
#include "cuda.h"

int cuArrayCreate_v2(handle *array, const void *shape);
int cuMemAllocFromPoolAsync_ptsz(dptr *address, size_t bytes, handle pool, handle stream);
int cuMemAllocAsync_ptsz(dptr *address, size_t bytes, handle stream);
int cuMemAllocLaterAsync(dptr *address, size_t bytes, handle stream);
int cuCtxCreate_v4(handle *context, void *parameters, unsigned flags, int device);
int cuImportExternalMemory(handle *memory, const void *description);
int cuMemAllocHost_v2(void **memory, size_t bytes);
int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags);

struct shape {
	size_t width, height;
	int format;
	unsigned channels;
};

struct shape_3d {
	size_t width, height, depth;
	int format;
	unsigned channels, flags;
};

static const struct properties on_device = {1, 1, {1, 0}, NULL, {0}};

/* Sizes that a driver rounds up to a multiple of 2 MiB. */
static int odd_sizes(void)
{
	dptr piece;
	int r = 0;

	for (size_t n = 0; n < PIECE_BYTES / (2 * MIB) && !r; n++)
		r = cuMemAlloc_v2(&piece, 2 * MIB + 1);
	return r;
}

static int managed(void)
{
	dptr piece;

	return cuMemAllocManaged(&piece, PIECE_BYTES, 1);
}

static int pitched(void)
{
	size_t pitch;
	dptr piece;

	/* Each row is padded. */
	return cuMemAllocPitch_v2(&piece, &pitch, 257, PIECE_BYTES / 512, 4);
}

static int array(void)
{
	struct shape shape = {4096, 2048, 0x20, 2};
	handle piece;

	return cuArrayCreate_v2(&piece, &shape);
}

static int array_3d(void)
{
	struct shape_3d shape = {256, 256, 256, 0x20, 1, 0};
	handle piece;

	return cuArray3DCreate_v2(&piece, &shape);
}

static int mipmapped(void)
{
	struct shape_3d shape = {4096, 2048, 0, 0x20, 2, 0};
	handle piece;

	return cuMipmappedArrayCreate(&piece, &shape, 4);
}

static int from_pool_of_device(void)
{
	dptr piece;

	return cuMemAllocAsync(&piece, PIECE_BYTES, NULL);
}

/* The gate knows no such function. */
static int newer_linked(void)
{
	dptr piece;

	return cuMemAllocLaterAsync(&piece, PIECE_BYTES, NULL);
}

static int from_pool_of_thread(void)
{
	dptr piece;

	return cuMemAllocAsync_ptsz(&piece, PIECE_BYTES, NULL);
}

static handle make_pool(int handle_types)
{
	struct pool_properties properties = {
		.type = 1, .handle_types = handle_types, .location = {1, 0}};
	handle pool;

	OK(cuMemPoolCreate(&pool, &properties));
	return pool;
}

static int from_own_pool(void)
{
	static handle pool;
	dptr piece;

	if (!pool)
		pool = make_pool(0);
	return cuMemAllocFromPoolAsync(&piece, PIECE_BYTES, pool, NULL);
}

/* A pool for each allocation: a pool reserves more than is allocated from it. */
static int from_many_pools(void)
{
	dptr piece;

	return cuMemAllocFromPoolAsync(&piece, PIECE_BYTES, make_pool(0), NULL);
}

/* A destroyed pool exists as long as its allocations. */
static int from_destroyed_pool(void)
{
	handle pool = make_pool(0);
	dptr piece;
	int r = cuMemAllocFromPoolAsync(&piece, PIECE_BYTES, pool, NULL);

	OK(cuMemPoolDestroy(pool));
	return r;
}

/* A pool of this process, imported again as if it were another process's. */
static int from_imported_pool(void)
{
	static handle pool, imported;
	char data[64];
	dptr piece, again;
	int fd, r;

	if (!pool) {
		pool = make_pool(1);
		OK(cuMemPoolExportToShareableHandle(&fd, pool, 1, 0));
		OK(cuMemPoolImportFromShareableHandle(
			&imported, (handle)(intptr_t)fd, 1, 0));
	}
	r = cuMemAllocFromPoolAsync(&piece, PIECE_BYTES, pool, NULL);
	if (r)
		return r;
	OK(cuMemPoolExportPointer(data, piece));
	return cuMemPoolImportPointer(&again, imported, data);
}

static int physical(void)
{
	handle piece;

	return cuMemCreate(&piece, PIECE_BYTES, &on_device, 0);
}

/* The mapping keeps the memory after the handle is released. */
static int mapped(void)
{
	handle piece;
	dptr at;
	int r = cuMemCreate(&piece, PIECE_BYTES, &on_device, 0);

	if (r)
		return r;
	OK(cuMemAddressReserve(&at, PIECE_BYTES, 0, 0, 0));
	OK(cuMemMap(at, PIECE_BYTES, 0, piece, 0));
	return cuMemRelease(piece);
}

/* Exported and imported again: of two handles one is released. */
static int exported(void)
{
	handle piece, other;
	int fd, r = cuMemCreate(&piece, PIECE_BYTES, &on_device, 0);

	if (r)
		return r;
	OK(cuMemExportToShareableHandle(&fd, piece, 1, 0));
	OK(cuMemImportFromShareableHandle(&other, (handle)(intptr_t)fd, 1));
	return cuMemRelease(piece);
}

int cuMemGetHandleForAddressRange(
	void *handle, dptr address, size_t bytes, int type, unsigned long long flags);

/* The memory is freed, and a dma-buf of it stays open; of an allocation, or a mapping. */
static int dma_buf(void)
{
	static int n;
	handle piece;
	dptr at;
	int fd, r;

	if (n++ % 2) {
		r = cuMemAlloc_v2(&at, PIECE_BYTES);
		if (r)
			return r;
		OK(cuMemGetHandleForAddressRange(&fd, at + MIB, MIB, 1, 0));
		return cuMemFree_v2(at);
	}
	r = cuMemCreate(&piece, PIECE_BYTES, &on_device, 0);
	if (r)
		return r;
	OK(cuMemAddressReserve(&at, PIECE_BYTES, 0, 0, 0));
	OK(cuMemMap(at, PIECE_BYTES, 0, piece, 0));
	OK(cuMemGetHandleForAddressRange(&fd, at, PIECE_BYTES, 1, 0));
	OK(cuMemRelease(piece));
	return cuMemUnmap(at, PIECE_BYTES);
}

/* Memory in a second context. */
static int in_second_context(void)
{
	static handle context;

	if (!context)
		OK(cuCtxCreate_v2(&context, 0, 0));
	return take_plain();
}

static int in_context_of_later_form(void)
{
	static handle context;

	if (!context)
		OK(cuCtxCreate_v4(&context, NULL, 0, 0));
	return take_plain();
}

struct resource {
	int type;
	unsigned char rest[140];
};

static handle make_green(void)
{
	struct resource all, part;
	unsigned n = 1;
	handle description, green;

	OK(cuDeviceGetDevResource(0, &all, 1));
	OK(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, 8));
	OK(cuDevResourceGenerateDesc(&description, &part, 1));
	OK(cuGreenCtxCreate(&green, description, 0, 1));
	return green;
}

static int in_green_context(void)
{
	static handle context;

	if (!context) {
		OK(cuCtxFromGreenCtx(&context, make_green()));
		OK(cuCtxSetCurrent(context));
	}
	return take_plain();
}

static int contexts(void)
{
	handle context;

	return cuCtxCreate_v2(&context, 0, 0);
}

#define HEAP 2

/* The heap from which kernels allocate. */
static int device_heap(void)
{
	static size_t n;

	return cuCtxSetLimit(HEAP, ++n * PIECE_BYTES);
}

static int module_image(void)
{
	char image[64];
	handle module;

	snprintf(image, sizeof(image), "cleave-double-module\nimage %zu\n", PIECE_BYTES);
	return cuModuleLoadData(&module, image);
}

static int library_image(void)
{
	char image[96];
	handle library, kernel;
	int r;

	snprintf(image, sizeof(image), "cleave-double-module\nimage %zu\nkernel k 1000\n",
		PIECE_BYTES);
	r = cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0);
	if (r)
		return r;
	OK(cuLibraryGetKernel(&kernel, library, "k"));
	return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

/* Code that is loaded by the first launch, as is the default. */
static int lazy_code(void)
{
	static int n;
	char line[64];
	handle kernel;

	snprintf(line, sizeof(line), "kernel large%d 1000 %zu\n", n++, PIECE_BYTES);
	kernel = load_kernel(line);
	return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

static int pinned(void)
{
	void *piece;

	return cuMemHostAlloc(&piece, PIECE_BYTES, 0);
}

static int pinned_old(void)
{
	void *piece;

	return cuMemAllocHost_v2(&piece, PIECE_BYTES);
}

static int registered(void)
{
	void *piece = NULL;

	if (posix_memalign(&piece, 4096, PIECE_BYTES) != 0)
		return OUT_OF_MEMORY;
	return cuMemHostRegister_v2(piece, PIECE_BYTES, 0);
}

static int by_version(void)
{
	static int (*allocate)(dptr * address, size_t bytes);
	dptr piece;

	if (!allocate)
		OK(cuGetProcAddress("cuMemAlloc", (void **)(void *)&allocate, 12000, 0));
	return allocate(&piece, PIECE_BYTES);
}

const struct taking way_pieces[] = {
	{"allocations", take_plain},
	{"by-version", by_version},
	{"odd-sizes", odd_sizes},
	{"managed", managed},
	{"pitched", pitched},
	{"arrays", array},
	{"arrays-3d", array_3d},
	{"mipmapped", mipmapped},
	{"pool-of-device", from_pool_of_device},
	{"newer-linked", newer_linked},
	{"pool-per-thread", from_pool_of_thread},
	{"pool-of-own", from_own_pool},
	{"pools-many", from_many_pools},
	{"pool-destroyed", from_destroyed_pool},
	{"pool-imported", from_imported_pool},
	{"physical", physical},
	{"mapped", mapped},
	{"exported", exported},
	{"dma-buf", dma_buf},
	{"second-context", in_second_context},
	{"context-v4", in_context_of_later_form},
	{"green-context", in_green_context},
	{"contexts", contexts},
	{"device-heap", device_heap},
	{"module-image", module_image},
	{"library-image", library_image},
	{"lazy-code", lazy_code},
	{"pinned", pinned},
	{"pinned-old", pinned_old},
	{"registered", registered},
	{NULL, NULL},
};
