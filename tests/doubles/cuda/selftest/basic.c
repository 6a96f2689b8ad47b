/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of devices, contexts, handles and names. */

static void before_init(void)
{
	int n, version;
	size_t bytes;
	const char *name;

	IS(3, cuDeviceGetCount(&n));
	IS(3, cuMemGetInfo_v2(&bytes, &bytes));
	OK(cuDriverGetVersion(&version));
	CHECK(version == 13000);
	OK(cuGetErrorName(2, &name));
	CHECK(strcmp(name, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
	IS(1, cuInit(1));
	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	CHECK(n == 1);
	IS(201, cuMemGetInfo_v2(&bytes, &bytes));
}

static void no_machine(void)
{
	setenv("CLV_CUDA_DOUBLE", "/nonexistent", 1);
	IS(100, cuInit(0));
}

static void devices(void)
{
	char text[64];
	unsigned char uuid[16];
	size_t bytes;
	int sms;

	OK(cuInit(0));
	OK(cuDeviceGetName(text, sizeof(text), 0));
	CHECK(strcmp(text, "NVIDIA H100 80GB HBM3") == 0);
	OK(cuDeviceGetPCIBusId(text, sizeof(text), 1));
	CHECK(strcmp(text, "0000:3B:00.0") == 0);
	OK(cuDeviceGetUuid_v2(uuid, 1));
	CHECK(uuid[0] == 0x11 && uuid[15] == 0xff);
	OK(cuDeviceTotalMem_v2(&bytes, 1));
	CHECK(bytes == T4_BYTES);
	OK(cuDeviceGetAttribute(&sms, 16, 0));
	CHECK(sms == 132);
	IS(101, cuDeviceTotalMem_v2(&bytes, 2));
}

static void visible(void)
{
	char text[64];
	int n;

	setenv("CUDA_VISIBLE_DEVICES", "GPU-11,0,7,0", 1);
	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	CHECK(n == 2);
	OK(cuDeviceGetName(text, sizeof(text), 0));
	CHECK(strcmp(text, "Tesla T4") == 0);
}

static void none_visible(void)
{
	setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
	IS(100, cuInit(0));
}

static void contexts(void)
{
	handle primary, again, own, current;
	unsigned flags;
	int active;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(!active);
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	CHECK(primary == again);
	CHECK(stat_of("gpu 0", "used") == 300LL << 20);
	OK(cuCtxCreate_v2(&own, 0, 0));
	CHECK(stat_of("gpu 0", "used") == 600LL << 20);
	OK(cuCtxGetCurrent(&current));
	CHECK(current == own);
	OK(cuCtxPushCurrent_v2(primary));
	OK(cuCtxPopCurrent_v2(&current));
	CHECK(current == primary);
	OK(cuCtxDestroy_v2(own));
	OK(cuCtxGetCurrent(&current));
	CHECK(!current);
	IS(201, cuCtxDestroy_v2(own));
	IS(201, cuCtxSetCurrent(own));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	IS(201, cuDevicePrimaryCtxRelease_v2(0));
	CHECK(stat_of("gpu 0", "used") == 0);
}

static void *proc(const char *name, int version, uint64_t flags, int expected)
{
	void *f;
	int status;

	OK(cuGetProcAddress_v2(name, &f, version, flags, &status));
	CHECK(status == expected && !f == (expected != 0));
	return f;
}

static void names(void)
{
	void *self = dlopen(NULL, RTLD_NOW), *f;
	int status;

#define SAME(name, version, flags, symbol) \
	CHECK(proc(name, version, flags, 0) == dlsym(self, symbol))
	SAME("cuMemAlloc", 12000, 0, "cuMemAlloc_v2");
	SAME("cuCtxCreate", 11000, 0, "cuCtxCreate_v2");
	SAME("cuCtxCreate", 11040, 0, "cuCtxCreate_v3");
	SAME("cuCtxCreate", 12090, 0, "cuCtxCreate_v4");
	SAME("cuGraphInstantiate", 12000, 0, "cuGraphInstantiate_v2");
	SAME("cuLaunchKernel", 12000, 1, "cuLaunchKernel");
	SAME("cuLaunchKernel", 12000, 2, "cuLaunchKernel_ptsz");
	SAME("cuMemcpyHtoD", 12000, 2, "cuMemcpyHtoD_v2_ptds");
	SAME("cuGetProcAddress", 11030, 0, "cuGetProcAddress");
	SAME("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2");
#undef SAME
	proc("cuMemAlloc_v2", 12000, 0, 1);
	proc("cuNothing", 12000, 0, 1);
	proc("cuLaunchKernelEx", 11000, 0, 2);
	IS(500, cuGetProcAddress("cuNothing", &f, 12000, 0));
	IS(1, cuGetProcAddress_v2("cuInit", &f, 12000, 3, &status));
	IS(1, cuGetProcAddress_v2("cuInit", &f, 99000, 0, &status));
}

static void private_table(void)
{
	static const unsigned char id[16] = {0xc1, 0xea, 0x7e, 0xd0, 0x0b, 0x1e, 0x4a,
		0x11, 0x9c, 0x0d, 0xca, 0xfe, 0xba, 0xbe, 0x00, 0x01};
	struct {
		size_t bytes;
		int (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned,
			unsigned, unsigned, handle, void **, void **);
	} const *table;

	IS(500, cuGetExportTable((const void **)&table, "a uuid of 16 by"));
	OK(cuGetExportTable((const void **)&table, id));
	begin();
	OK(table->launch(kernel("us20"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuCtxSynchronize());
	CHECK(stat_of("process", "launches") == 1);
}

static void leave(int signal_number)
{
	_exit(0);
}

static void forked(void)
{
	int n, status;
	pid_t pid;

	begin();
	pid = fork();
	if (pid == 0) {
		IS(3, cuInit(0));
		IS(3, cuDeviceGetCount(&n));
		IS(3, cuCtxSynchronize());
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK(status == 0);
	launch(kernel("us20"), NULL, 0, 0);
	OK(cuCtxSynchronize());
}

static void fault(const char *text)
{
	char path[256];
	FILE *to;

	snprintf(path, sizeof(path), "%s/cuda-faults", test_folder);
	to = fopen(path, "w");
	fputs(text, to);
	fclose(to);
}

static void faults(void)
{
	size_t bytes;
	pid_t pid;
	dptr p;

	fault("cuInit 1 999\n");
	IS(999, cuInit(0));
	begin();
	fault("cuMemAlloc_v2 2 2\ncuMemGetInfo_v2 * 46\n");
	IS(2, cuMemAlloc_v2(&p, 4));
	IS(2, cuMemAlloc_v2(&p, 4));
	OK(cuMemAlloc_v2(&p, 4));
	IS(46, cuMemGetInfo_v2(&bytes, &bytes));
	IS(46, cuMemGetInfo_v2(&bytes, &bytes));
	sleep_ms(5);
	fault("cuMemAlloc_v2 1+1 2\n* 3+1 719\n");
	OK(cuMemAlloc_v2(&p, 4));
	IS(2, cuMemAlloc_v2(&p, 4));
	OK(cuMemGetInfo_v2(&bytes, &bytes));
	OK(cuMemAlloc_v2(&p, 4));
	IS(719, cuMemGetInfo_v2(&bytes, &bytes));
	OK(cuMemGetInfo_v2(&bytes, &bytes));
	sleep_ms(5);
	fault("cuDeviceGetCount 1 hang\n");
	pid = fork();
	if (pid == 0) {
		alarm(1);
		CHECK(cuCtxSynchronize() == 3);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	alarm(1);
	signal(SIGALRM, leave);
	cuDeviceGetCount((int *)&bytes);
	CHECK(!"it came back");
}

/* An older driver lacks some symbols, also for lookups by name. */
static void older(void)
{
	void *cuda = dlopen(getenv("DOUBLE_CUDA_11"), RTLD_NOW | RTLD_LOCAL), *f;
	int (*get)(const char *, void **, int, uint64_t);
	int (*get_version)(int *), version;

	CHECK(cuda && dlsym(cuda, "cuMemAlloc_v2") && dlsym(cuda, "cuGraphLaunch_ptsz"));
	CHECK(!dlsym(cuda, "cuMemAllocAsync") && !dlsym(cuda, "cuMemCreate"));
	CHECK(!dlsym(cuda, "cuGraphAddMemAllocNode"));
	CHECK(!dlsym(cuda, "cuGetProcAddress_v2"));
	*(void **)&get = dlsym(cuda, "cuGetProcAddress");
	*(void **)&get_version = dlsym(cuda, "cuDriverGetVersion");
	IS(0, get("cuMemAlloc", &f, 11030, 0));
	CHECK(f == dlsym(cuda, "cuMemAlloc_v2"));
	IS(500, get("cuMemAllocAsync", &f, 12000, 0));
	IS(0, get_version(&version));
	CHECK(version == 11030);
}

#define TWO                                                                    \
	"gpu H100-80GB\ngpu T4 uuid=GPU-11223344-5566-7788-99aa-bbccddeeeeff " \
	"pci=00000000:3B:00.0\n"

const struct case_of_test basic_cases[] = {
	{"before-init", before_init, "version 13000\n", NULL},
	{"no-machine", no_machine, NULL, NULL},
	{"devices", devices, NULL, TWO},
	{"visible", visible, NULL, TWO},
	{"none-visible", none_visible, NULL, NULL},
	{"contexts", contexts, NULL, NULL},
	{"names", names, NULL, NULL},
	{"private-table", private_table, NULL, NULL},
	{"forked", forked, NULL, NULL},
	{"faults", faults, NULL, NULL},
	{"older", older, NULL, NULL},
	{0},
};
