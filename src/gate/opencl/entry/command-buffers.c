/* SPDX-License-Identifier: Apache-2.0 */
/* Command buffers and their queues.  A driver's command buffer keeps its queues alive, so
 * the gate's record of a queue is kept until its command buffers are gone. */
#include "gate/opencl/entry/command-buffers.h"

#include "base/cleanup.h"
#include "gate/opencl/queue/kernels.h"
#include "gate/opencl/queue/submit.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"

#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define N_BUCKETS 256

struct recording {
	struct recording *next;
	cl_command_buffer_khr buffer;
	uint32_t n_references; /* the program's */
	cl_uint n_queues;
	cl_command_queue queues[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct recording *buckets[N_BUCKETS];

/* The driver's functions, set when the program looks them up. */
static struct {
	_Atomic(void *) create, remap, retain, release, enqueue;
} vendor;

/* cl_khr_command_buffer_multi_device, which the headers may lack: copies a command buffer
 * for other queues. */
typedef cl_command_buffer_khr(CL_API_CALL *remap_fn)(cl_command_buffer_khr buffer,
	cl_bool automatic, cl_uint n_queues, const cl_command_queue *queues,
	cl_uint n_handles, const cl_mutable_command_khr *handles,
	cl_mutable_command_khr *ret_handles, cl_int *ret_error);

/* Under the lock.  Returns the link to the record, or to NULL if there is none. */
static struct recording **find(cl_command_buffer_khr buffer)
{
	uint64_t hash = ((uintptr_t)buffer >> 4) * UINT64_C(0x9e3779b97f4a7c15);
	struct recording **link = &buckets[hash >> 56];

	static_assert(N_BUCKETS == 1 << (64 - 56), "a hash is a bucket's number");
	while (*link && (*link)->buffer != buffer)
		link = &(*link)->next;
	return link;
}

static void insert(struct recording *recording)
{
	struct recording **link;

	pthread_mutex_lock(&lock);
	link = find(recording->buffer);
	recording->next = *link;
	*link = recording;
	pthread_mutex_unlock(&lock);
}

/* The queues are copied later, when the driver has found them valid. */
static struct recording *allocate(cl_uint n_queues, const cl_command_queue *queues)
{
	size_t n_bytes = queues ? n_queues * sizeof(queues[0]) : 0;
	struct recording *recording = malloc(sizeof(*recording) + n_bytes);

	if (recording)
		*recording = (struct recording){.n_references = 1, .n_queues = n_queues};
	return recording;
}

static void keep_queues(const struct recording *recording)
{
	for (cl_uint i = 0; i < recording->n_queues; i++) {
		if (clv_queue_add(recording->queues[i]))
			clv_queue_retain(recording->queues[i]);
	}
}

static void drop_queues(const struct recording *recording)
{
	for (cl_uint i = 0; i < recording->n_queues; i++)
		clv_queue_release(recording->queues[i]);
}

/* Takes the record, which is NULL for want of memory, and the driver's answer. */
static cl_command_buffer_khr begin_record(struct recording *recording,
	cl_command_buffer_khr buffer, const cl_command_queue *queues, cl_int error,
	cl_int *ret_error)
{
	if (ret_error)
		*ret_error = error;
	if (!buffer || error != CL_SUCCESS) {
		free(recording);
		return NULL;
	}
	recording->buffer = buffer;
	memcpy(recording->queues, queues, recording->n_queues * sizeof(queues[0]));
	keep_queues(recording);
	insert(recording);
	return buffer;
}

static cl_command_buffer_khr CL_API_CALL wrap_clCreateCommandBufferKHR(cl_uint n_queues,
	const cl_command_queue *queues,
	const cl_command_buffer_properties_khr *properties, cl_int *ret_error)
{
	clCreateCommandBufferKHR_fn real =
		(clCreateCommandBufferKHR_fn)atomic_load(&vendor.create);
	struct recording *recording = allocate(n_queues, queues);
	cl_int error = CL_OUT_OF_HOST_MEMORY;
	cl_command_buffer_khr buffer = NULL;

	if (recording)
		buffer = real(n_queues, queues, properties, &error);
	return begin_record(recording, buffer, queues, error, ret_error);
}

static cl_command_buffer_khr CL_API_CALL wrap_clRemapCommandBufferKHR(
	cl_command_buffer_khr from, cl_bool automatic, cl_uint n_queues,
	const cl_command_queue *queues, cl_uint n_handles,
	const cl_mutable_command_khr *handles, cl_mutable_command_khr *ret_handles,
	cl_int *ret_error)
{
	remap_fn real = (remap_fn)atomic_load(&vendor.remap);
	struct recording *recording = allocate(n_queues, queues);
	cl_int error = CL_OUT_OF_HOST_MEMORY;
	cl_command_buffer_khr buffer = NULL;

	if (recording)
		buffer = real(from, automatic, n_queues, queues, n_handles, handles,
			ret_handles, &error);
	return begin_record(recording, buffer, queues, error, ret_error);
}

static void count_reference(cl_command_buffer_khr buffer)
{
	struct recording *recording;

	pthread_mutex_lock(&lock);
	recording = *find(buffer);
	if (recording)
		recording->n_references++;
	pthread_mutex_unlock(&lock);
}

/* Returns the record if this was the last reference. */
static struct recording *drop_reference(cl_command_buffer_khr buffer)
{
	struct recording **link, *last = NULL;

	pthread_mutex_lock(&lock);
	link = find(buffer);
	if (*link && --(*link)->n_references == 0) {
		last = *link;
		*link = last->next;
	}
	pthread_mutex_unlock(&lock);
	return last;
}

static cl_int CL_API_CALL wrap_clRetainCommandBufferKHR(cl_command_buffer_khr buffer)
{
	clRetainCommandBufferKHR_fn real =
		(clRetainCommandBufferKHR_fn)atomic_load(&vendor.retain);
	cl_int r = real(buffer);

	if (r == CL_SUCCESS)
		count_reference(buffer);
	return r;
}

/* The reference is dropped before the driver's call, after which the queues may be gone
 * and another command buffer may have the handle. */
static cl_int CL_API_CALL wrap_clReleaseCommandBufferKHR(cl_command_buffer_khr buffer)
{
	clReleaseCommandBufferKHR_fn real =
		(clReleaseCommandBufferKHR_fn)atomic_load(&vendor.release);
	struct recording *last = drop_reference(buffer);
	cl_int r;

	if (last)
		drop_queues(last);
	r = real(buffer);
	if (r == CL_SUCCESS) {
		free(last);
	} else if (last) {
		last->n_references = 1;
		keep_queues(last);
		insert(last);
	} else {
		count_reference(buffer);
	}
	return r;
}

/* The first of a command buffer's queues and their number; NULL: the gate did not see its
 * creation. */
static cl_command_queue queues_of(cl_command_buffer_khr buffer, cl_uint *ret_n)
{
	const struct recording *recording;
	cl_command_queue queue;

	pthread_mutex_lock(&lock);
	recording = *find(buffer);
	queue = recording ? recording->queues[0] : NULL;
	*ret_n = recording ? recording->n_queues : 0;
	pthread_mutex_unlock(&lock);
	return queue;
}

static cl_int CL_API_CALL wrap_clEnqueueCommandBufferKHR(cl_uint n_queues,
	cl_command_queue *queues, cl_command_buffer_khr buffer, cl_uint n_waits,
	const cl_event *wait_list, cl_event *event)
{
	clEnqueueCommandBufferKHR_fn real =
		(clEnqueueCommandBufferKHR_fn)atomic_load(&vendor.enqueue);
	bool is_named = n_queues > 0 && queues;
	cl_uint n = n_queues;
	cl_command_queue queue = is_named ? queues[0] : queues_of(buffer, &n);
	struct clv_submission submission;
	cl_int r;

	if (!queue)
		return is_named ? CL_INVALID_COMMAND_QUEUE
				: CL_INVALID_COMMAND_BUFFER_KHR;
	r = clv_submission_begin(&submission, queue,
		clv_kernel_kind((cl_kernel)(void *)buffer, 0, NULL), false, n_waits,
		wait_list, event);
	if (r != CL_SUCCESS)
		return r;
	if (n > 1)
		clv_submission_set_spans_queues(&submission);
	return clv_submission_end(
		&submission, real(n_queues, queues, buffer, submission.n_waits,
				     submission.wait_list, submission.event));
}

void *clv_command_buffer_wrapper(const char *name, void *found)
{
	static const struct {
		const char *name;
		void *wrapper;
		_Atomic(void *) *vendor;
	} wrappers[] = {
		/* clang-format off */
		{ "clCreateCommandBufferKHR",  wrap_clCreateCommandBufferKHR,  &vendor.create },
		{ "clRemapCommandBufferKHR",   wrap_clRemapCommandBufferKHR,   &vendor.remap },
		{ "clRetainCommandBufferKHR",  wrap_clRetainCommandBufferKHR,  &vendor.retain },
		{ "clReleaseCommandBufferKHR", wrap_clReleaseCommandBufferKHR, &vendor.release },
		{ "clEnqueueCommandBufferKHR", wrap_clEnqueueCommandBufferKHR, &vendor.enqueue },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(wrappers); i++) {
		if (strcmp(wrappers[i].name, name) != 0)
			continue;
		atomic_store(wrappers[i].vendor, found);
		return wrappers[i].wrapper;
	}
	return NULL;
}

/* The lock may be held by a thread that only the parent has. */
void clv_command_buffers_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
}
