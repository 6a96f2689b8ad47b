/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

struct clv_error;

/* A process, distinguished from a later one with the same number. */
struct clv_process_id {
	pid_t pid;
	uint64_t start_ticks; /* since boot; field 22 of /proc/PID/stat */
};

/* Who is at the other end of a Unix socket. */
struct clv_peer {
	struct clv_process_id id;
	uid_t uid;
	gid_t gid;
};

/* What /proc says.  Returns 0, or -ESRCH when there is no such process. */
int clv_process_read(pid_t pid, pid_t *ret_parent, uint64_t *ret_start_ticks);

/* How much address space it has, which grows when it maps a library.  -ESRCH. */
int clv_process_size(const struct clv_process_id *id, uint64_t *ret_bytes);

#define CLV_CGROUP_MAX 1024

/* The path of its cgroup: version 2's, or where that is the root systemd's of version 1.
 * -ESRCH when it is gone, -ENOENT when it is in none. */
int clv_process_cgroup(const struct clv_process_id *id, char ret[CLV_CGROUP_MAX]);

/* A pidfd for exactly this process, or -ESRCH when it is gone. */
int clv_process_open(const struct clv_process_id *id);

/* SIGTERM, and SIGKILL where that was sent five seconds ago: *told_ns is when, and 0 at
 * first.  Only to this process, never to one that got its number. */
void clv_process_end(const struct clv_process_id *id, uint64_t now_ns, uint64_t *told_ns);

/* Death is the pidfd becoming readable. */
bool clv_process_is_dead(int pidfd);

/* The peer of a connected socket and a pidfd for it (the caller closes it).  A kernel
 * before Linux 6.5 has no SO_PEERPIDFD; then the pid is opened and its start time
 * compared. */
int clv_process_of_socket(
	int socket_fd, struct clv_peer *ret, int *ret_pidfd, struct clv_error *err);

/* Whether the process itself or one of its ancestors matches. */
typedef bool (*clv_process_match)(void *userdata, const struct clv_process_id *id);
bool clv_process_has_ancestor(pid_t pid, clv_process_match match, void *userdata);

/* Those above it, the nearest first, at most so many. */
#define CLV_ANCESTORS_MAX 64
size_t clv_process_ancestors(pid_t pid, struct clv_process_id *ret, size_t room);

/* Where its program and its stack begin.  Who shares its memory says the same, and so
 * does a child of fork; another program does not.  Not for who may not look into the
 * process: then both are less than a page. */
struct clv_process_layout {
	uint64_t code, stack;
};
int clv_process_read_layout(pid_t pid, struct clv_process_layout *ret);

/* The first 36 characters of the kernel's boot id; start times mean nothing without it.
 */
void clv_process_boot_id(char ret[40]);

/* Whether the process still maps the file, by /proc/PID/maps.  True when unknown. */
bool clv_process_maps_file(pid_t pid, dev_t device, ino_t inode);

/* Whether it maps the report page of any lease, an earlier agent's too. True when
 * unknown. */
bool clv_process_maps_report(pid_t pid);

/* Calls back, once, when the process is dead.  Takes the pidfd in every case.  The
 * callback may free the watch. */
struct clv_watch;
int clv_watch_new(sd_event *event, int pidfd, void (*callback)(void *userdata),
	void *userdata, struct clv_watch **ret);
struct clv_watch *clv_watch_free(struct clv_watch *watch);
bool clv_watch_is_dead(const struct clv_watch *watch);
int clv_watch_signal(const struct clv_watch *watch, int signal_number);
