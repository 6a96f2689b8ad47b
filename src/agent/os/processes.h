/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

struct clv_error;

/* A process; its start time distinguishes it from a later process with the same pid. */
struct clv_process_id {
	pid_t pid;
	uint64_t start_ticks; /* clock ticks since boot: field 22 of /proc/PID/stat */
};

/* The process at the other end of a Unix socket. */
struct clv_peer {
	struct clv_process_id id;
	uid_t uid;
	gid_t gid;
};

/* Reads the parent and the start time from /proc; either may be NULL.  -ESRCH: there is
 * no such process. */
int clv_process_read(pid_t pid, pid_t *ret_parent, uint64_t *ret_start_ticks);

/* The last pid that the kernel has assigned, to a process or a thread: as long as it is
 * the same there is no new process.  -ESRCH: unknown. */
int clv_process_newest(pid_t *ret);

/* The size of the process's address space, which grows when it maps a library.  -ESRCH:
 * the process has ended. */
int clv_process_size(const struct clv_process_id *id, uint64_t *ret_bytes);

#define CLV_CGROUP_MAX 1024

/* The path of the process's cgroup: of version 2, or, if that is the root, of systemd's
 * hierarchy of version 1.  -ESRCH: the process has ended; -ENOENT: both are the root. */
int clv_process_cgroup(const struct clv_process_id *id, char ret[CLV_CGROUP_MAX]);

/* Opens a pidfd of exactly this process.  -ESRCH: it has ended. */
int clv_process_open(const struct clv_process_id *id);

/* Sends SIGTERM at the first call, and SIGKILL at calls at least five seconds after the
 * last signal.  *signalled_ns is the time of that signal, initially 0.  The signals never
 * reach another process that has got the pid. */
void clv_process_end(
	const struct clv_process_id *id, uint64_t now_ns, uint64_t *signalled_ns);

/* Whether the process has ended: its pidfd is readable. */
bool clv_process_is_dead(int pidfd);

/* The peer of a connected socket, and a pidfd of it that the caller closes (may be NULL).
 * Kernels before 6.5 lack SO_PEERPIDFD: the pid is opened and its start time compared.
 * -EPERM: the peer's PID namespace is not visible; -ESRCH: the peer has ended. */
int clv_process_of_socket(
	int socket_fd, struct clv_peer *ret, int *ret_pidfd, struct clv_error *err);

/* Whether the process or one of its ancestors matches. */
typedef bool (*clv_process_match)(void *userdata, const struct clv_process_id *id);
bool clv_process_has_ancestor(pid_t pid, clv_process_match match, void *userdata);

/* Writes at most room ancestors of the process, the nearest first.  Returns how many. */
#define CLV_ANCESTORS_MAX 64
size_t clv_process_ancestors(pid_t pid, struct clv_process_id *ret, size_t room);

/* Where the code and the stack begin.  Processes that share memory, and the children of
 * fork(), have the same values; another program has others.  Both are less than a page if
 * the agent may not inspect the process. */
struct clv_process_layout {
	uint64_t code, stack;
};
int clv_process_read_layout(pid_t pid, struct clv_process_layout *ret);

/* The kernel's boot id, 36 characters, or "": start times of two boots cannot be
 * compared.  For the main thread. */
void clv_process_boot_id(char ret[40]);

/* Calls back once, when the process has ended.  clv_watch_new() takes the pidfd also when
 * it fails.  The callback may free the watch. */
struct clv_watch;
int clv_watch_new(sd_event *event, int pidfd, void (*callback)(void *userdata),
	void *userdata, struct clv_watch **ret);
struct clv_watch *clv_watch_free(struct clv_watch *watch);
bool clv_watch_is_dead(const struct clv_watch *watch);
int clv_watch_signal(const struct clv_watch *watch, int signal_number);
