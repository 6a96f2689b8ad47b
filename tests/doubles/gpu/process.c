/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"
#include "machine.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A process that uses GPUs, from its hello to its death, and its requests. It is dead
 * when the kernel reports it: a child with an inherited socket does not keep it alive. */

struct process *dgp_process_new(struct machine *m, int fd, int pid)
{
	struct process *p = calloc(1, sizeof(*p));

	p->number = ++m->last_number;
	p->fd = fd;
	p->pid = pid;
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	p->arena = -1;
	for (uint32_t i = 0; i < DGP_SLOTS; i++) {
		p->streams[i].process = p;
		p->streams[i].number = i;
	}
	p->next = m->processes;
	m->processes = p;
	return p;
}

void dgp_process_release(struct machine *m, struct process *p)
{
	p->is_held = false;
	dgp_shares_leave(m, p);
	for (uint32_t i = 0; i < m->n_gpus; i++)
		dgp_memory_give(m, p, i, p->usage[i].bytes);
}

static void close_all(struct process *p)
{
	close(p->fd);
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->fd = p->pidfd = -1;
	if (p->arena < 0 || p->has_shared)
		return;
	close(p->arena);
	p->arena = -1;
}

void dgp_process_end(struct machine *m, struct process *p)
{
	p->is_held = dgp_vendor.driver && dgp_vendor.driver->holds(p);
	while (p->contexts)
		dgp_context_free(m, p->contexts);
	if (p->is_file)
		dgp_vendor.driver->file_end(m, p);
	if (!p->is_held)
		dgp_process_release(m, p);
	if (p->area)
		munmap(p->area, sizeof(*p->area));
	p->area = NULL;
	p->gone = true;
	close_all(p);
}

/* --- Requests --- */

struct exchange {
	struct machine *m;
	struct process *p;
	struct dgp_message message;
	struct dgp_files in, out;
	bool out_is_mine; /* to be closed when it is sent */
	bool is_answered;
};

static void answer_hello(struct exchange *x)
{
	int fd = memfd_create("cuda-double", MFD_CLOEXEC);
	struct dgp_area *area;

	if (fd < 0 || x->in.n != 1 || x->p->area || ftruncate(fd, sizeof(*area)) < 0)
		return;
	area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED)
		return;
	x->p->area = area;
	for (int i = 0; i < DGP_SLOTS; i++)
		x->p->streams[i].slot = &area->slots[i];
	x->p->arena = x->in.fds[0];
	x->in.n = 0;
	x->out = (struct dgp_files){{fd, dup(x->m->bell)}, 2};
	x->out_is_mine = true;
	x->message.hello.n_gpus = x->m->n_gpus;
	x->message.hello.driver_version = (uint32_t)x->m->options.version;
	x->message.hello.number = x->p->number;
	x->message.hello.host_mb_s = (uint32_t)x->m->options.host_mb_s;
	x->message.hello.device_mb_s = (uint32_t)x->m->options.device_mb_s;
	x->message.hello.concurrent_managed = (uint32_t)x->m->options.concurrent_managed;
	x->message.hello.lazy_sync = (uint32_t)x->m->options.lazy_sync;
	x->message.hello.compute_groups = (uint32_t)x->m->options.compute_groups;
	x->message.hello.copy_groups = (uint32_t)x->m->options.copy_groups;
	x->message.hello.one_inode = (uint32_t)x->m->options.one_inode;
	x->message.hello.inner_addresses = (uint32_t)x->m->options.inner_addresses;
	x->message.hello.record_us = (uint32_t)x->m->options.record_us;
	x->message.hello.ring_us = (uint32_t)x->m->options.ring_us;
	x->message.result = 0;
}

static void answer_gpu(struct exchange *x)
{
	x->message.gpu = x->m->gpus[x->message.a].info;
	x->message.result = 0;
}

static void answer_context_new(struct exchange *x)
{
	struct context *c = dgp_context_new(
		x->m, x->p, (uint32_t)x->message.a, (uint32_t)x->message.b);

	x->message.result = c ? 0 : 2;
	x->message.a = c ? c->number : 0;
}

static void answer_context_free(struct exchange *x)
{
	struct context *c = dgp_context_find(x->p, (uint32_t)x->message.a);

	if (c)
		dgp_context_free(x->m, c);
	x->message.result = c ? 0 : 201;
}

static void answer_take(struct exchange *x)
{
	x->message.result =
		dgp_memory_take(x->m, x->p, (uint32_t)x->message.a, x->message.b);
}

static void answer_give(struct exchange *x)
{
	dgp_memory_give(x->m, x->p, (uint32_t)x->message.a, x->message.b);
	x->message.result = 0;
}

static void answer_memory(struct exchange *x)
{
	const struct gpu *gpu = &x->m->gpus[x->message.a];

	dgp_shares_settle(x->m);
	x->message.a = gpu->total_bytes - gpu->used_bytes;
	x->message.b = gpu->total_bytes;
	x->message.result = 0;
}

static void answer_ask(struct exchange *x)
{
	int fd = memfd_create("answer", MFD_CLOEXEC);
	FILE *to = fd < 0 ? NULL : fdopen(dup(fd), "w");

	if (!to)
		return;
	x->message.result = 0;
	if (strncmp(x->message.text, "stats", sizeof(x->message.text)) == 0)
		dgp_stats_print(x->m, to);
	else if (strncmp(x->message.text, "trace", sizeof(x->message.text)) == 0)
		dgp_trace_print(to);
	else
		x->message.result = 1;
	fclose(to);
	x->out = (struct dgp_files){{fd}, 1};
	x->out_is_mine = true;
}

static void answer_arena(struct exchange *x)
{
	for (struct process *p = x->m->processes; p; p = p->next) {
		if (p->number != x->message.a || p->arena < 0)
			continue;
		x->out = (struct dgp_files){{p->arena}, 1};
		x->message.result = 0;
		return;
	}
	x->message.result = 400;
}

static void answer_share(struct exchange *x)
{
	x->message.a = dgp_share_new(
		x->p, (uint32_t)x->message.a, x->message.b, x->message.text);
	x->message.result = 0;
}

static void answer_share_file(struct exchange *x)
{
	x->message.result =
		x->in.n == 1 && dgp_share_watch(x->message.a, x->in.fds[0]) ? 0 : 400;
}

static void answer_share_import(struct exchange *x)
{
	x->message.result = dgp_share_import(x->p, x->message.a) ? 0 : 400;
}

static void answer_share_drop(struct exchange *x)
{
	x->message.result = dgp_share_drop(x->m, x->p, x->message.a) ? 0 : 400;
}

static void answer_shared(struct exchange *x)
{
	const char *text = dgp_share_text(x->message.a);

	x->message.result = text ? 0 : 400;
	if (text)
		memcpy(x->message.text, text, sizeof(x->message.text));
}

static void answer_rm_open(struct exchange *x)
{
	if (!dgp_vendor.driver)
		return;
	x->p->is_file = true;
	close(x->p->pidfd);
	x->p->pidfd = -1;
	x->message.result = 0;
}

/* Several processes may use the file at the same time, so each sends a socket for its
 * answer. */
static void answer_rm(struct exchange *x)
{
	if (x->in.n == 1 && x->p->is_file) {
		x->m->asked_ns = x->message.a;
		dgp_vendor.driver->call(x->m, x->p, &x->message.rm);
		x->message.result = 0;
		dgp_link_send(x->in.fds[0], &x->message, NULL);
	}
	x->is_answered = true;
}

static const struct {
	void (*answer)(struct exchange *x);
	bool names_gpu; /* of `a` */
} requests[_DGP_REQUEST_MAX] = {
	[DGP_HELLO] = {answer_hello, false},
	[DGP_GPU] = {answer_gpu, true},
	[DGP_CONTEXT_NEW] = {answer_context_new, true},
	[DGP_CONTEXT_FREE] = {answer_context_free, false},
	[DGP_TAKE] = {answer_take, true},
	[DGP_GIVE] = {answer_give, true},
	[DGP_MEMORY] = {answer_memory, true},
	[DGP_ASK] = {answer_ask, false},
	[DGP_ARENA] = {answer_arena, false},
	[DGP_SHARE] = {answer_share, true},
	[DGP_SHARE_FILE] = {answer_share_file, false},
	[DGP_SHARE_IMPORT] = {answer_share_import, false},
	[DGP_SHARE_DROP] = {answer_share_drop, false},
	[DGP_SHARED] = {answer_shared, false},
	[DGP_RM_OPEN] = {answer_rm_open, false},
	[DGP_RM] = {answer_rm, false},
};

void dgp_process_answer(struct machine *m, struct process *p)
{
	struct exchange x = {.m = m, .p = p};

	if (!dgp_link_receive(p->fd, &x.message, &x.in)) {
		dgp_process_end(m, p);
		return;
	}
	x.message.result = 999;
	if (x.message.request >= _DGP_REQUEST_MAX)
		x.message.result = 1;
	else if (requests[x.message.request].names_gpu && x.message.a >= m->n_gpus)
		x.message.result = 101;
	else
		requests[x.message.request].answer(&x);
	/* A process that gets the answer must find its memory in the file. */
	if (m->memory_changed)
		dgp_tell(m);
	if (!x.is_answered && !dgp_link_send(p->fd, &x.message, &x.out))
		dgp_process_end(m, p);
	for (int i = 0; i < x.in.n; i++)
		close(x.in.fds[i]);
	for (int i = 0; i < x.out.n && x.out_is_mine; i++)
		close(x.out.fds[i]);
}
