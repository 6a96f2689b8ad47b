/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL driver that is another one, but for what goes wrong.  ERRORS_BELOW names the
 * other's library; the file ERRORS_FAULTS, if it is there at a process's first call, has
 * lines of `FUNCTION COUNT WHAT`: the next COUNT calls (`*`: all; of SKIP+COUNT as many
 * pass first) of the function (`*`: of any) do nothing, and
 *
 *	a number    that is their error
 *	mute        no error; they return NULL, and write nothing
 *	wild        an error, and beside it an object or event that is none
 *	failing     no error, and an event that ends with one
 *	short       no error, nothing written, and 0 bytes of it
 *	empty       no error, nothing written, and say that it were three
 *
 * or do it, and
 *
 *	eventless   give no event
 *	more        say that there is more than they wrote
 *	twice       call the callback twice
 *
 * or never return (`hang`).
 *
 * Each stub takes as many words as any function has parameters, and passes them on: in
 * the ABIs of these machines, surplus arguments are ignored. */
#include "../doubles/opencl/entries.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define RULES_MAX 16
#define FOREVER (-1)
#define NONE (-1)
#define EVENT_ERROR (-5)
#define WILD_ERROR (-6)

#define PARAMETERS                                                                      \
	intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f,         \
		intptr_t g, intptr_t h, intptr_t i, intptr_t j, intptr_t k, intptr_t l, \
		intptr_t m, intptr_t n
#define ARGUMENTS a, b, c, d, e, f, g, h, i, j, k, l, m, n
typedef intptr_t any_function(PARAMETERS);

enum what { PASS, CODE, MUTE, WILD, FAILING, SHORT, EMPTY, EVENTLESS, MORE, TWICE, HANG };

static const char *const words[] = {[MUTE] = "mute",
	[WILD] = "wild",
	[FAILING] = "failing",
	[SHORT] = "short",
	[EMPTY] = "empty",
	[EVENTLESS] = "eventless",
	[MORE] = "more",
	[TWICE] = "twice",
	[HANG] = "hang"};

static struct rule {
	char function[64];
	long to_pass, left;
	enum what what;
	int code;
} rules[RULES_MAX];
static int n_rules;
static pthread_once_t read_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum entry {
#define ENTRY(name) AT_##name,
	DCL_ENTRIES(ENTRY)
#undef ENTRY
		N_ENTRIES
};

/* Where the parameters are that matter here, from 0 on; NONE: there is none.  A function
 * whose error is a parameter returns a pointer. */
static struct place {
	const char *name;
	int error, event, room, size;
} places[N_ENTRIES] = {
#define ENTRY(function) {#function, NONE, NONE, NONE, NONE},
	DCL_ENTRIES(ENTRY)
#undef ENTRY
};
static any_function *real[N_ENTRIES];
static cl_icd_dispatch original, *table;

static void set_errors(void)
{
	static const struct {
		enum entry entry;
		int error;
	} errors[] = {
		{AT_clCreateContext, 5},
		{AT_clCreateContextFromType, 4},
		{AT_clCreateCommandQueue, 3},
		{AT_clCreateCommandQueueWithProperties, 3},
		{AT_clCreateBuffer, 4},
		{AT_clCreateBufferWithProperties, 5},
		{AT_clCreateSubBuffer, 4},
		{AT_clCreateImage, 5},
		{AT_clCreateImageWithProperties, 6},
		{AT_clCreateImage2D, 7},
		{AT_clCreateImage3D, 9},
		{AT_clCreatePipe, 5},
		{AT_clCreateSampler, 4},
		{AT_clCreateSamplerWithProperties, 2},
		{AT_clCreateProgramWithSource, 4},
		{AT_clCreateProgramWithBinary, 6},
		{AT_clCreateKernel, 2},
		{AT_clCloneKernel, 1},
		{AT_clCreateUserEvent, 1},
		{AT_clEnqueueMapBuffer, 9},
		{AT_clEnqueueMapImage, 11},
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		places[errors[i].entry].error = errors[i].error;
}

static void set_events(void)
{
	static const struct {
		enum entry entry;
		int event;
	} events[] = {
		{AT_clEnqueueReadBuffer, 8},
		{AT_clEnqueueWriteBuffer, 8},
		{AT_clEnqueueCopyBuffer, 8},
		{AT_clEnqueueFillBuffer, 8},
		{AT_clEnqueueReadImage, 10},
		{AT_clEnqueueWriteImage, 10},
		{AT_clEnqueueCopyImage, 8},
		{AT_clEnqueueMapBuffer, 8},
		{AT_clEnqueueMapImage, 10},
		{AT_clEnqueueUnmapMemObject, 5},
		{AT_clEnqueueNDRangeKernel, 8},
		{AT_clEnqueueTask, 4},
		{AT_clEnqueueNativeKernel, 9},
		{AT_clEnqueueMarker, 1},
		{AT_clEnqueueMarkerWithWaitList, 3},
		{AT_clEnqueueBarrierWithWaitList, 3},
		{AT_clEnqueueMigrateMemObjects, 6},
		{AT_clEnqueueSVMFree, 7},
		{AT_clEnqueueSVMMemcpy, 7},
		{AT_clEnqueueSVMMemFill, 7},
		{AT_clEnqueueSVMMap, 7},
		{AT_clEnqueueSVMUnmap, 4},
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		places[events[i].entry].event = events[i].event;
}

/* What is written, and how much of it; of lists the length is the parameter behind. */
static void set_queries(void)
{
	static const struct {
		enum entry entry;
		int room, size;
	} queries[] = {
		{AT_clGetPlatformIDs, 0, 2},
		{AT_clGetDeviceIDs, 2, 4},
		{AT_clCreateSubDevices, 2, 4},
		{AT_clCreateKernelsInProgram, 1, 3},
		{AT_clGetPlatformInfo, 2, 4},
		{AT_clGetDeviceInfo, 2, 4},
		{AT_clGetContextInfo, 2, 4},
		{AT_clGetCommandQueueInfo, 2, 4},
		{AT_clGetMemObjectInfo, 2, 4},
		{AT_clGetEventInfo, 2, 4},
		{AT_clGetKernelInfo, 2, 4},
		{AT_clGetProgramInfo, 2, 4},
	};

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		places[queries[i].entry].room = queries[i].room;
		places[queries[i].entry].size = queries[i].size;
	}
}

static bool is_of_count(enum entry entry)
{
	return entry == AT_clGetPlatformIDs || entry == AT_clGetDeviceIDs ||
	       entry == AT_clCreateSubDevices || entry == AT_clCreateKernelsInProgram;
}

/* The file. */

static enum what what_of(const char *word)
{
	for (int i = MUTE; i <= HANG; i++) {
		if (strcmp(words[i], word) == 0)
			return (enum what)i;
	}
	return CODE;
}

static void read_rule(const char *line)
{
	struct rule *rule = &rules[n_rules];
	char count[16], word[16];
	const char *plus;

	if (n_rules == RULES_MAX ||
		sscanf(line, "%63s %15s %15s", rule->function, count, word) != 3)
		return;
	plus = strchr(count, '+');
	rule->to_pass = plus ? strtol(count, NULL, 0) : 0;
	rule->left =
		strchr(count, '*') ? FOREVER : strtol(plus ? plus + 1 : count, NULL, 0);
	rule->what = what_of(word);
	rule->code = (int)strtol(word, NULL, 0);
	n_rules++;
}

static void read_rules(void)
{
	const char *path = getenv("ERRORS_FAULTS");
	FILE *from = path ? fopen(path, "re") : NULL;
	char line[256];

	while (from && fgets(line, sizeof(line), from))
		read_rule(line);
	if (from)
		fclose(from);
}

static struct rule take_rule(const char *function)
{
	struct rule none = {.what = PASS}, taken = none;

	pthread_once(&read_once, read_rules);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < n_rules && taken.what == PASS; i++) {
		struct rule *rule = &rules[i];

		if ((strcmp(rule->function, function) != 0 &&
			    strcmp(rule->function, "*") != 0) ||
			rule->left == 0)
			continue;
		if (rule->to_pass > 0) {
			rule->to_pass--;
			continue;
		}
		rule->left -= rule->left > 0;
		taken = *rule;
	}
	pthread_mutex_unlock(&lock);
	return taken;
}

/* What goes wrong. */

/* Nothing may be read or written there. */
static void *no_object(void)
{
	static void *page;

	if (!page)
		page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page;
}

static intptr_t fail(const struct place *place, intptr_t *arguments, int code)
{
	if (place == &places[AT_clSVMAlloc])
		return 0;
	if (place->error == NONE)
		return code;
	if (arguments[place->error])
		*(cl_int *)arguments[place->error] = code;
	return 0;
}

static intptr_t go_wild(const struct place *place, intptr_t *arguments)
{
	intptr_t r = fail(place, arguments, WILD_ERROR);

	if (place->event != NONE && arguments[place->event])
		*(void **)arguments[place->event] = no_object();
	return place->error == NONE ? r : (intptr_t)no_object();
}

/* Ends by a failed user event, which a caller cannot distinguish from a command's. */
static intptr_t end_with_error(const struct place *place, intptr_t *arguments)
{
	cl_context context = NULL;
	cl_event event;

	if (place->event == NONE || !arguments[place->event])
		return fail(place, arguments, 0);
	original.clGetCommandQueueInfo((cl_command_queue)arguments[0], CL_QUEUE_CONTEXT,
		sizeof(context), &context, NULL);
	event = original.clCreateUserEvent(context, NULL);
	original.clSetUserEventStatus(event, EVENT_ERROR);
	*(cl_event *)arguments[place->event] = event;
	return fail(place, arguments, 0);
}

static void say_size(const struct place *place, intptr_t *arguments, bool is_more)
{
	enum entry entry = (enum entry)(place - places);
	void *at = place->size == NONE ? NULL : (void *)arguments[place->size];

	if (at && is_of_count(entry))
		*(cl_uint *)at = is_more ? *(cl_uint *)at + 3 : 0;
	else if (at)
		*(size_t *)at = is_more ? *(size_t *)at + 4096 : 0;
}

static intptr_t call(any_function *function, intptr_t *x)
{
	return function(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10],
		x[11], x[12], x[13]);
}

struct freeing {
	void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void **, void *);
	void *userdata;
};

static void CL_CALLBACK free_twice(
	cl_command_queue queue, cl_uint n, void **pointers, void *userdata)
{
	struct freeing *freeing = userdata;

	freeing->function(queue, n, pointers, freeing->userdata);
	freeing->function(queue, n, pointers, freeing->userdata);
	free(freeing);
}

/* A callback that is registered twice is called twice. */
static intptr_t do_twice(enum entry entry, intptr_t *arguments)
{
	struct freeing *freeing;

	if (entry == AT_clSetEventCallback ||
		entry == AT_clSetMemObjectDestructorCallback)
		call(real[entry], arguments);
	if (entry == AT_clEnqueueSVMFree && arguments[3]) {
		freeing = malloc(sizeof(*freeing));
		*(void **)&freeing->function = (void *)arguments[3];
		freeing->userdata = (void *)arguments[4];
		arguments[3] = (intptr_t)free_twice;
		arguments[4] = (intptr_t)freeing;
	}
	return call(real[entry], arguments);
}

static intptr_t go(enum entry entry, intptr_t *arguments)
{
	const struct place *place = &places[entry];
	struct rule rule = {.what = PASS};
	intptr_t r;

	/* It returns nothing, and so cannot fail. */
	if (entry != AT_clSVMFree)
		rule = take_rule(place->name);

	switch (rule.what) {
	case CODE:
		return fail(place, arguments, rule.code);
	case MUTE:
		return fail(place, arguments, 0);
	case WILD:
		return go_wild(place, arguments);
	case FAILING:
		return end_with_error(place, arguments);
	case SHORT:
		say_size(place, arguments, false);
		return fail(place, arguments, 0);
	case EMPTY:
		say_size(place, arguments, false);
		say_size(place, arguments, true);
		return fail(place, arguments, 0);
	case EVENTLESS:
		if (place->event != NONE)
			arguments[place->event] = 0;
		break;
	case MORE:
		r = call(real[entry], arguments);
		say_size(place, arguments, true);
		return r;
	case TWICE:
		return do_twice(entry, arguments);
	case HANG:
		for (;;)
			pause();
	case PASS:
		break;
	}
	return call(real[entry], arguments);
}

#define ENTRY(name)                                 \
	static intptr_t stub_##name(PARAMETERS)     \
	{                                           \
		intptr_t arguments[] = {ARGUMENTS}; \
                                                    \
		return go(AT_##name, arguments);    \
	}
DCL_ENTRIES(ENTRY)
#undef ENTRY

/* The library as a loader sees it. */

static void *below(const char *name)
{
	static void *library;

	if (!library)
		library = dlopen(getenv("ERRORS_BELOW"), RTLD_NOW | RTLD_GLOBAL);
	return library ? dlsym(library, name) : NULL;
}

static void make_writable(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)table & ~(page - 1);

	mprotect((void *)first, (uintptr_t)(table + 1) - first, PROT_READ | PROT_WRITE);
}

static void stand_before(cl_platform_id platform)
{
	table = *(cl_icd_dispatch **)(void *)platform;
	original = *table;
	make_writable();
#define ENTRY(name)                                          \
	*(void **)&real[AT_##name] = *(void **)&table->name; \
	*(void **)&table->name = (void *)(uintptr_t)stub_##name;
	DCL_ENTRIES(ENTRY)
#undef ENTRY
}

static cl_platform_id found;

static void begin(void)
{
	cl_api_clGetPlatformIDs get;

	set_errors();
	set_events();
	set_queries();
	*(void **)&get = below("clIcdGetPlatformIDsKHR");
	if (get && get(1, &found, NULL) == CL_SUCCESS)
		stand_before(found);
}

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(
	cl_uint n, cl_platform_id *ret, cl_uint *ret_n);
cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *ret, cl_uint *ret_n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin);
	return found ? table->clGetPlatformIDs(n, ret, ret_n) : -1001;
}

EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name);
void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
	void *(CL_API_CALL * get)(const char *);

	if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
		return (void *)clIcdGetPlatformIDsKHR;
	*(void **)&get = below("clGetExtensionFunctionAddress");
	return get ? get(name) : NULL;
}

EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform,
	cl_platform_info what, size_t room, void *value, size_t *ret_bytes);
cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what,
	size_t room, void *value, size_t *ret_bytes)
{
	return table->clGetPlatformInfo(platform, what, room, value, ret_bytes);
}
