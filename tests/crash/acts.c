/* SPDX-License-Identifier: Apache-2.0 */
/* Acts of programs on processes and descriptors while they hold a device. The main thread
 * carries out each act while other threads of the process submit and allocate. */
#include "tenant.h"

#include <CL/cl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void reap(pid_t child)
{
	int status = 0;

	if (waitpid(child, &status, 0) != child)
		status = -1;
	atomic_store(&account->child_code, (uint64_t)status);
}

/* The child has a copy of the parent's memory and no device: its calls must fail or work,
 * and must not disturb the parent. */
static void raw_clone(void)
{
	long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (child == 0) {
		cl_platform_id platform;
		cl_device_id device;
		cl_ulong n_bytes = 0;

		if (clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS &&
			clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) ==
				CL_SUCCESS)
			clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE,
				sizeof(n_bytes), &n_bytes, NULL);
		_exit(n_bytes > 0 ? 0 : 9);
	}
	if (child < 0)
		fail("clone", 0);
	reap((pid_t)child);
}

static void vfork_exec(void)
{
	pid_t child = vfork();

	if (child == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	if (child < 0)
		fail("vfork", 0);
	reap(child);
}

/* Replaces the process by a tenant with the same arguments. */
static void become_tenant(const struct options *options, const char *path)
{
	char texts[5][32];

	snprintf(texts[0], sizeof(texts[0]), "kernel=%llu",
		(unsigned long long)options->kernel_us);
	snprintf(texts[1], sizeof(texts[1]), "depth=%llu",
		(unsigned long long)options->depth);
	snprintf(texts[2], sizeof(texts[2]), "max=%llu",
		(unsigned long long)options->max_bytes);
	snprintf(texts[3], sizeof(texts[3]), "quota=%llu",
		(unsigned long long)options->quota_bytes);
	snprintf(texts[4], sizeof(texts[4]), "seed=%llu",
		(unsigned long long)options->seed + 1);
	execl(options->self, options->self, path, texts[0], texts[1], texts[2], texts[3],
		texts[4], (char *)NULL);
}

static void fork_exec(const struct options *options)
{
	char path[4096];
	pid_t child;

	snprintf(path, sizeof(path), "%s.child", options->account_path);
	child = fork();
	if (child == 0) {
		become_tenant(options, path);
		_exit(9);
	}
	if (child < 0)
		fail("fork", 0);
	atomic_store(&account->child, (uint64_t)child);
}

void acts_do(const struct options *options, enum act act)
{
	switch (act) {
	case ACT_NONE:
		return;
	case ACT_CLOSE_FROM:
		closefrom(3);
		break;
	case ACT_RAW_CLONE:
		raw_clone();
		break;
	case ACT_VFORK_EXEC:
		vfork_exec();
		break;
	case ACT_FORK_EXEC:
		fork_exec(options);
		break;
	case ACT_EXEC_SELF:
		/* The process's allocations go with its image. */
		atomic_store(&account->state, STATE_STARTING);
		atomic_fetch_add(&account->acted, 1);
		atomic_store(&account->act, ACT_NONE);
		become_tenant(options, options->account_path);
		fail("exec", 0);
		break;
	case ACT_EXEC_OTHER:
		atomic_store(&account->state, STATE_STARTING);
		atomic_store(&account->held_bytes, 0);
		atomic_fetch_add(&account->acted, 1);
		execl("/bin/sleep", "sleep", "600", (char *)NULL);
		fail("exec", 0);
		break;
	}
	atomic_store(&account->act, ACT_NONE);
	atomic_fetch_add(&account->acted, 1);
}
