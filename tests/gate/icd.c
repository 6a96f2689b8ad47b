/* SPDX-License-Identifier: Apache-2.0 */
/* The gate as an ICD in the place of the vendors and as a layer, under loaders of all
 * kinds: loaders without layers, and with more or fewer calls than the gate knows. One
 * vendor is of cl_khr_icd 2.0.0, one is older. Each test runs in its own process.
 *
 * usage: test-icd GATE OLD-VENDOR NEW-VENDOR */
#include "icd.h"

#include "lease.h"

#include "arbiter/attach.h"

#include <CL/cl_gl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define QUOTA ((uint64_t)16 << 20)
#define N_OLD_LOADER 108 /* of OpenCL 1.2 */
#define N_NEW_LOADER 170
#define N_WORKERS 3
#define ENTRY(function) (offsetof(cl_icd_dispatch, function) / sizeof(void *))

typedef cl_int(CL_API_CALL *init_layer_function)(
	cl_uint, const cl_icd_dispatch *, cl_uint *, const cl_icd_dispatch **);

static const char *gate, *vendors[2];
void *library;
static char folder[] = "/tmp/cleave-icd-XXXXXX";

static char *in_folder(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void name_vendor(const char *file, const char *path)
{
	FILE *icd = fopen(in_folder(file), "w");

	assert_non_null(icd);
	fprintf(icd, "%s\n", path);
	fclose(icd);
}

/* The gate looks for the vendors in its own folder. */
static int set_up(void **state)
{
	char gate_here[256];

	assert_non_null(mkdtemp(folder));
	snprintf(gate_here, sizeof(gate_here), "%s/libcleave-opencl.so", folder);
	assert_int_equal(symlink(gate, gate_here), 0);
	assert_int_equal(mkdir(in_folder("vendors.real"), 0700), 0);
	return 0;
}

static int tear_down(void **state)
{
	unlink(in_folder("vendors.real/a.icd"));
	unlink(in_folder("vendors.real/b.icd"));
	rmdir(in_folder("vendors.real"));
	unlink(in_folder("libcleave-opencl.so"));
	unlink(in_folder("lease.sock"));
	return rmdir(folder);
}

static void *function(const char *name)
{
	void *(*by_name)(const char *) = dlsym(library, "clGetExtensionFunctionAddress");
	void *address = dlsym(library, name);

	CHECK(address && by_name(name) == address);
	return address;
}

void in_process(void (*test)(void), bool has_lease, int first, int last)
{
	int status;
	pid_t pid;

	unlink(in_folder("vendors.real/a.icd"));
	unlink(in_folder("vendors.real/b.icd"));
	if (first == 0)
		name_vendor("vendors.real/a.icd", vendors[0]);
	if (last == 1)
		name_vendor("vendors.real/b.icd", vendors[1]);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL); /* cmocka would run the next test */
		alarm(60);
		setenv("CLEAVE_LEASE", in_folder("lease.sock"), 1);
		if (has_lease)
			lease_open(in_folder("lease.sock"), QUOTA);
		library = dlopen(in_folder("libcleave-opencl.so"), RTLD_NOW);
		CHECK(library);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static cl_uint find_platforms(struct object *ret[4])
{
	cl_int (*get)(cl_uint, cl_platform_id *, cl_uint *) =
		function("clIcdGetPlatformIDsKHR");
	cl_uint n = 0;
	cl_int r = get(4, (cl_platform_id *)ret, &n);

	CHECK(r == (n > 0 ? CL_SUCCESS : -1001));
	return n;
}

struct object *the_platform(void)
{
	struct object *platforms[4];

	CHECK(find_platforms(platforms) == 1);
	return platforms[0];
}

/* Whether an address is in the gate's library. */
static bool is_gates(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) && strstr(info.dli_fname, "libcleave-opencl.so");
}

#define IS_GATED(call) is_gates((const void *)(uintptr_t)(call))

/* Uses the table alone, as a loader without layers does. */
static void check_quota(const cl_icd_dispatch *table, struct object *context)
{
	size_t piece = (size_t)1 << 20;
	cl_int r = CL_SUCCESS;
	unsigned n = 0;

	/* More than CL_DEVICE_MAX_MEM_ALLOC_SIZE, which has an error of its own. */
	CHECK(!table->clCreateBuffer((cl_context)context, 0, QUOTA + 1, NULL, &r));
	CHECK(r == CL_INVALID_BUFFER_SIZE);
	while (n < 64 && table->clCreateBuffer((cl_context)context, 0, piece, NULL, &r))
		n++;
	CHECK(n == 16 && r == CL_MEM_OBJECT_ALLOCATION_FAILURE);
	CHECK(lease_used_bytes() == QUOTA);
}

static void ages(void)
{
	void *(*get_function)(cl_platform_id, const char *) =
		function("clIcdGetFunctionAddressForPlatformKHR");
	cl_int (*set_data)(cl_platform_id, void *) =
		function("clIcdSetPlatformDispatchDataKHR");
	struct object *platforms[4], nobodys = {0};
	int data;

	CHECK(find_platforms(platforms) == 2);
	CHECK(!get_function((cl_platform_id)platforms[0], "clGetDeviceIDs"));
	CHECK(set_data((cl_platform_id)platforms[0], &data) == CL_INVALID_PLATFORM);
	CHECK(!platforms[0]->data);
	CHECK(get_function((cl_platform_id)platforms[1], "clGetDeviceIDs"));
	CHECK(!get_function((cl_platform_id)platforms[1], "clNoSuch"));
	CHECK(set_data((cl_platform_id)platforms[1], &data) == CL_SUCCESS);
	CHECK(platforms[1]->data == &data);
	CHECK(set_data((cl_platform_id)&nobodys, &data) == CL_INVALID_PLATFORM);
	CHECK(!IS_GATED(platforms[0]->table->clCreateBuffer));
}

static void test_both_ages_ungated(void **state)
{
	setenv("CLEAVE_IF_NO_AGENT", "open", 1);
	in_process(ages, false, 0, 1);
	unsetenv("CLEAVE_IF_NO_AGENT");
}

static void nothing(void)
{
	struct object *platforms[4];

	CHECK(find_platforms(platforms) == 0);
}

static void test_no_lease(void **state)
{
	in_process(nothing, false, 0, 1);
}

static void test_unknown_version(void **state)
{
	setenv("VENDOR_VERSION", "4.0", 1);
	in_process(nothing, true, 0, 0);
	unsetenv("VENDOR_VERSION");
}

/* The calls that the gate itself makes, through the table or by name. */
static void test_driver_that_lacks_a_call(void **state)
{
	static const char *const calls[] = {"clEnqueueMarkerWithWaitList",
		"clSetMemObjectDestructorCallback", "clGetEventInfo", "clFlush"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		setenv("VENDOR_LACKS", calls[i], 1);
		in_process(nothing, true, 0, 0);
		in_process(nothing, true, 1, 1);
	}
	unsetenv("VENDOR_LACKS");
}

/* The gate replaces the table's entries that exist by version or vendor, and leaves the
 * memory behind the table unchanged. */
static void table_in_place(void)
{
	struct object *platform = the_platform();
	const cl_icd_dispatch *table = platform->table;
	void *vendor = dlopen(vendors[0], RTLD_NOW | RTLD_NOLOAD);
	void *const *(*behind)(void) = dlsym(vendor, "vendor_behind");
	void *const *words = behind(), *untouched = words[59];

	CHECK(IS_GATED(table->clCreateBuffer) && IS_GATED(table->clGetDeviceIDs));
	CHECK(table->clGetPlatformInfo && !IS_GATED(table->clGetPlatformInfo));
	CHECK(!table->clEnqueueTask);
	for (size_t i = 0; i < 60; i++) {
		if (i + 108 == ENTRY(clSVMAlloc))
			CHECK(is_gates(words[i]));
		else
			CHECK(words[i] == untouched);
	}
	check_quota(table, platform);
}

static void test_table_in_place(void **state)
{
	in_process(table_in_place, true, 0, 0);
}

static void table_at_the_edge(void)
{
	const cl_icd_dispatch *table = the_platform()->table;

	CHECK(IS_GATED(table->clCreateBuffer) && IS_GATED(table->clGetDeviceIDs));
	if (strcmp(getenv("VENDOR_EDGE"), "read-only") == 0)
		CHECK(IS_GATED(table->clSVMAlloc));
	check_quota(table, the_platform());
}

/* Behind the table there may be no memory, or entries that cannot be written either. */
static void test_table_at_the_edge(void **state)
{
	static const char *const edges[] = {"unmapped", "read-only"};

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		setenv("VENDOR_EDGE", edges[i], 1);
		in_process(table_at_the_edge, true, 0, 0);
	}
	unsetenv("VENDOR_EDGE");
}

/* A function of a later version that the driver has only as an extension. */
static void function_of_an_extension(void)
{
	void *(*by_name)(const char *) = dlsym(library, "clGetExtensionFunctionAddress");
	struct object *platform = the_platform();
	cl_command_queue (*create)(cl_context, cl_device_id, const cl_queue_properties *,
		cl_int *) = by_name("clCreateCommandQueueWithPropertiesKHR");
	cl_int r = CL_SUCCESS;

	CHECK(IS_GATED(create));
	CHECK(!create((cl_context)platform, NULL, NULL, &r));
	CHECK(r == CL_INVALID_QUEUE_PROPERTIES);
}

static void test_function_of_an_extension(void **state)
{
	in_process(function_of_an_extension, true, 0, 0);
}

/* A function that the gate does not know, and whose name says that it allocates. */
static void function_of_the_future(void)
{
	void *(*by_name)(const char *) = dlsym(library, "clGetExtensionFunctionAddress");
	char said[512] = "";
	int ends[2];

	(void)the_platform();
	CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0);
	CHECK(!by_name("clCreateFutureEXT"));
	CHECK(!by_name("clCreateFutureEXT"));
	CHECK(read(ends[0], said, sizeof(said) - 1) > 0);
	CHECK(strstr(said, "cleave: clCreateFutureEXT is not found: "));
	CHECK(strchr(said, '\n') == said + strlen(said) - 1);
}

static void test_function_of_the_future(void **state)
{
	in_process(function_of_the_future, true, 0, 0);
}

/* As cleave run hands over the drivers of OCL_ICD_FILENAMES. */
static void test_drivers_of_the_environment(void **state)
{
	char names[512];

	snprintf(names, sizeof(names), ":/no/such/driver:%s", vendors[0]);
	setenv("CLEAVE_ICD_FILENAMES", names, 1);
	in_process(table_in_place, true, 2, 0);
	in_process(table_in_place, true, 0, 0);
	unsetenv("CLEAVE_ICD_FILENAMES");
}

/* A program may ask for devices long after its lease began. */
static void late(void)
{
	usleep(50000);
	check_quota(the_platform()->table, the_platform());
}

static void test_late(void **state)
{
	in_process(late, true, 0, 0);
}

/* Threads that the program starts while the vendor starts its own are not workers. */
static sem_t is_wanted, is_there;
static cl_device_type first_type;

static void *wait_for_ever(void *userdata)
{
	sem_post(&is_there);
	for (;;)
		pause();
	return userdata;
}

static void *start_another(void *userdata)
{
	pthread_t thread;

	sem_wait(&is_wanted);
	CHECK(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
	return wait_for_ever(userdata);
}

static void have_another_started(void)
{
	sem_post(&is_wanted);
	sem_wait(&is_there);
	sem_wait(&is_there);
}

static bool is_among(pid_t tid, const pid_t *tids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (tids[i] == tid)
			return true;
	}
	return false;
}

/* Compares the names of this thread and of the n others. */
static void check_names(const char *name, const int32_t *tids, size_t n)
{
	char path[64], found[32];
	FILE *file;

	for (size_t i = 0; i <= n; i++) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/comm",
			i < n ? tids[i] : getpid());
		file = fopen(path, "re");
		CHECK(file && fgets(found, sizeof(found), file));
		CHECK(strcmp(found, name) == 0);
		fclose(file);
	}
}

static void workers(void)
{
	struct object *platform = the_platform();
	void *vendor = dlopen(vendors[0], RTLD_NOW | RTLD_NOLOAD);
	void (**meanwhile)(void) = dlsym(vendor, "vendor_meanwhile");
	const pid_t *threads = dlsym(vendor, "vendor_threads");
	struct clv_attach_threads told;
	pthread_t thread;
	cl_uint n;

	prctl(PR_SET_NAME, "a program");
	CHECK(sem_init(&is_wanted, 0, 0) == 0 && sem_init(&is_there, 0, 0) == 0);
	CHECK(pthread_create(&thread, NULL, start_another, NULL) == 0);
	*meanwhile = have_another_started;
	CHECK(platform->table->clGetDeviceIDs(
		      (cl_platform_id)platform, first_type, 0, NULL, &n) ==
		(first_type == CL_DEVICE_TYPE_GPU ? CL_DEVICE_NOT_FOUND : CL_SUCCESS));
	CHECK(lease_receive(&told, sizeof(told)) ==
		(ssize_t)(offsetof(struct clv_attach_threads, tids) +
			  N_WORKERS * sizeof(told.tids[0])));
	CHECK(told.magic == CLV_ATTACH_THREADS_MAGIC && told.n == N_WORKERS);
	for (size_t i = 0; i < N_WORKERS; i++)
		CHECK(is_among(threads[i], told.tids, told.n));
	check_names("a program\n", told.tids, told.n);
}

static void test_workers(void **state)
{
	setenv("VENDOR_THREADS", "3", 1);
	first_type = CL_DEVICE_TYPE_ALL;
	in_process(workers, true, 0, 0);
	first_type = CL_DEVICE_TYPE_GPU;
	in_process(workers, true, 0, 0);
	unsetenv("VENDOR_THREADS");
}

static void managed_dispatch(void)
{
	void *(*get_function)(cl_platform_id, const char *) =
		function("clIcdGetFunctionAddressForPlatformKHR");
	struct object *platform = the_platform();
	cl_icd_dispatch own = {0};

	CHECK(!is_gates(get_function((cl_platform_id)platform, "clGetPlatformInfo")));
	*(void **)&own.clCreateBuffer =
		get_function((cl_platform_id)platform, "clCreateBuffer");
	CHECK(IS_GATED(own.clCreateBuffer));
	CHECK(IS_GATED(platform->table->clCreateBuffer));
	CHECK(!get_function((cl_platform_id)platform, "clCreateSomethingNew"));
	check_quota(&own, platform);
}

static void test_managed_dispatch(void **state)
{
	in_process(managed_dispatch, true, 1, 1);
}

/* A loader's own calls, below the layer: they find the vendor by the object. */
static struct object *loaders_platform;
static union {
	cl_icd_dispatch calls;
	void *entries[N_NEW_LOADER];
} loader;

static cl_int CL_API_CALL loader_get_platforms(
	cl_uint room, cl_platform_id *ret, cl_uint *ret_n)
{
	if (ret && room > 0)
		ret[0] = (cl_platform_id)loaders_platform;
	if (ret_n)
		*ret_n = 1;
	return CL_SUCCESS;
}

static cl_mem CL_API_CALL loader_create_buffer(
	cl_context of, cl_mem_flags flags, size_t n, void *host, cl_int *ret_error)
{
	return ((struct object *)of)
		->table->clCreateBuffer(of, flags, n, host, ret_error);
}

static cl_int CL_API_CALL loader_set_destructor(
	cl_mem of, void(CL_CALLBACK *destroy)(cl_mem, void *), void *userdata)
{
	return ((struct object *)of)
		->table->clSetMemObjectDestructorCallback(of, destroy, userdata);
}

static cl_int CL_API_CALL loader_anything(void)
{
	return CL_SUCCESS;
}

static const cl_icd_dispatch *init_layer(cl_uint n_entries)
{
	static const cl_icd_dispatch *table;
	cl_int (*with_properties)(cl_uint, const cl_icd_dispatch *, cl_uint *,
		const cl_icd_dispatch **, const intptr_t *) =
		dlsym(library, "clInitLayerWithProperties");
	init_layer_function init = (init_layer_function)dlsym(library, "clInitLayer");
	cl_uint n = 0;

	for (size_t i = 0; i < n_entries; i++)
		loader.entries[i] = (void *)(uintptr_t)loader_anything;
	loader.calls.clGetPlatformIDs = loader_get_platforms;
	loader.calls.clCreateBuffer = loader_create_buffer;
	loader.calls.clSetMemObjectDestructorCallback = loader_set_destructor;
	CHECK(init(n_entries, NULL, &n, &table) == CL_INVALID_VALUE);
	CHECK(init(n_entries, &loader.calls, NULL, &table) == CL_INVALID_VALUE);
	if (n_entries == N_OLD_LOADER)
		CHECK(init(n_entries, &loader.calls, &n, &table) == CL_SUCCESS);
	else
		CHECK(with_properties(n_entries, &loader.calls, &n, &table, NULL) ==
			CL_SUCCESS);
	CHECK(n == n_entries);
	return table;
}

/* Finds the vendor directly, as a loader does that has not met the gate. */
static void find_vendor(void)
{
	void *vendor = dlopen(vendors[0], RTLD_NOW);
	void *(*by_name)(const char *) = dlsym(vendor, "clGetExtensionFunctionAddress");
	cl_int (*get)(cl_uint, cl_platform_id *, cl_uint *) =
		by_name("clIcdGetPlatformIDsKHR");

	CHECK(get(1, (cl_platform_id *)&loaders_platform, NULL) == CL_SUCCESS);
}

static void old_loader(void)
{
	const cl_icd_dispatch *table;

	find_vendor();
	table = init_layer(N_OLD_LOADER);
	CHECK(IS_GATED(table->clCreateBuffer) && !IS_GATED(table->clGetPlatformInfo));
	check_quota(table, loaders_platform);
}

static void test_layer_of_few_calls(void **state)
{
	in_process(old_loader, true, 0, 0);
}

/* Every return value of a refused call: an error code, or an object whose calls fail. */
static void check_refused(void *entry)
{
	struct object *object = ((struct object * (*)(void)) entry)();
	cl_int r;

	CHECK(((cl_int(*)(void))entry)() < 0);
	CHECK(object->table->clRetainContext((cl_context)object) < 0);
	object = (struct object *)object->table->clCreateBuffer(
		(cl_context)object, 0, 64, NULL, &r);
	CHECK(object->table->clReleaseMemObject((cl_mem)object) < 0);
}

/* A loader whose table ends anywhere: the gate has what it needs, or shows no device. */
static cl_uint n_of_loader;

static void loader_of_any_length(void)
{
	const cl_icd_dispatch *table;

	find_vendor();
	table = init_layer(n_of_loader);
	if (n_of_loader > ENTRY(clEnqueueMarkerWithWaitList)) {
		check_quota(table, loaders_platform);
		return;
	}
	check_refused((void *)(uintptr_t)table->clGetPlatformIDs);
	if (n_of_loader > ENTRY(clGetDeviceIDs))
		check_refused((void *)(uintptr_t)table->clGetDeviceIDs);
	if (n_of_loader > ENTRY(clCreateBuffer))
		check_refused((void *)(uintptr_t)table->clCreateBuffer);
	CHECK(lease_used_bytes() == 0);
}

static void test_layer_of_any_length(void **state)
{
	static const cl_uint lengths[] = {1, 3, ENTRY(clCreateBuffer) + 1, 60,
		ENTRY(clEnqueueMarkerWithWaitList),
		ENTRY(clEnqueueMarkerWithWaitList) + 1, 149, 150, 151};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		n_of_loader = lengths[i];
		in_process(loader_of_any_length, true, 0, 0);
	}
}

static void new_loader(void)
{
	const cl_icd_dispatch *table;
	void *const *entries;

	find_vendor();
	table = init_layer(N_NEW_LOADER);
	entries = (void *const *)table;
	CHECK(entries[149] == (void *)(uintptr_t)loader_anything);
	for (size_t i = 150; i < N_NEW_LOADER; i++)
		check_refused(entries[i]);
	check_quota(table, loaders_platform);
}

static void test_layer_of_many_calls(void **state)
{
	in_process(new_loader, true, 0, 0);
}

/* As all loaders do it: first the vendors, then the layers. Calls gated below are not
 * gated twice. */
static void vendors_then_layer(void)
{
	const cl_icd_dispatch *table;

	loaders_platform = the_platform();
	table = init_layer(N_NEW_LOADER);
	CHECK(table->clCreateBuffer == loader_create_buffer);
	CHECK(IS_GATED(table->clGetPlatformIDs) && IS_GATED(table->clGetDeviceIDs));
	check_quota(table, loaders_platform);
}

static void test_vendors_then_layer(void **state)
{
	in_process(vendors_then_layer, true, 0, 0);
}

/* Two loaders in a process, of which only the second finds the gate among the vendors. */
static void layer_then_vendors(void)
{
	const cl_icd_dispatch *table;

	find_vendor();
	table = init_layer(N_OLD_LOADER);
	CHECK(the_platform() == loaders_platform);
	check_quota(table, loaders_platform);
	CHECK(!loaders_platform->table->clCreateBuffer(
		(cl_context)loaders_platform, 0, 1 << 20, NULL, NULL));
}

static void test_layer_then_vendors(void **state)
{
	in_process(layer_then_vendors, true, 0, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ages_ungated),
		cmocka_unit_test(test_no_lease),
		cmocka_unit_test(test_unknown_version),
		cmocka_unit_test(test_driver_that_lacks_a_call),
		cmocka_unit_test(test_table_in_place),
		cmocka_unit_test(test_table_at_the_edge),
		cmocka_unit_test(test_function_of_an_extension),
		cmocka_unit_test(test_function_of_the_future),
		cmocka_unit_test(test_drivers_of_the_environment),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_managed_dispatch),
		cmocka_unit_test(test_other_devices),
		cmocka_unit_test(test_device_by_uuid),
		cmocka_unit_test(test_lists_of_devices),
		cmocka_unit_test(test_parts_of_devices),
		cmocka_unit_test(test_devices_for_opengl),
		cmocka_unit_test(test_layer_of_few_calls),
		cmocka_unit_test(test_layer_of_any_length),
		cmocka_unit_test(test_layer_of_many_calls),
		cmocka_unit_test(test_vendors_then_layer),
		cmocka_unit_test(test_layer_then_vendors),
	};

	if (argc != 4)
		return 64;
	gate = realpath(argv[1], NULL);
	vendors[0] = argv[2];
	vendors[1] = argv[3];
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
