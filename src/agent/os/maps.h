/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Searches of /proc/PID/maps.  The kernel takes the mmap lock of the process for them
 * (before Linux 6.17 for every one, later for some), and a process can keep that lock for
 * any time: it maps a file of its own file system (FUSE), which does not answer.  So a
 * child process of the agent reads the file.  The agent kills and replaces that child if
 * it waits and has not answered CLV_MAPS_MS after a request, if it has used
 * CLV_MAPS_USED_MS of a processor, and at the latest after CLV_MAPS_MOST_MS.  Loop thread
 * only. */
#define CLV_MAPS_MS 50
#define CLV_MAPS_USED_MS 150
#define CLV_MAPS_MOST_MS 1000
#define CLV_MAPS_TEXTS 64
#define CLV_MAPS_TEXT_BYTES 40
#define CLV_MAPS_RANGE_BYTES 40

struct clv_maps_search {
	pid_t pid;
	uint32_t n; /* texts, at most CLV_MAPS_TEXTS; an empty one is never found */
	/* A text is the beginning of the name of a mapped file (after the last '/')
	 * instead of a part of a line. */
	bool are_names;
	/* The first line with a text ends the search: its range of addresses, as /proc
	 * writes it, and the mapped file (O_PATH) are in the result. */
	bool wants_file;
	char texts[CLV_MAPS_TEXTS][CLV_MAPS_TEXT_BYTES];
};

struct clv_maps_found {
	uint64_t texts; /* bit i: text i */
	int file_fd;    /* owned by the caller; -1: not wanted, or not permitted */
};

/* 0, also for a process that has ended, in which no text is found; -EACCES: the agent may
 * not read the file; -EAGAIN: the file could not be read now, and the result is unknown.
 */
int clv_maps_search(const struct clv_maps_search *search, struct clv_maps_found *ret);

/* Whether the last search failed, or took 10 ms of a processor or more twice in a row. */
bool clv_maps_was_slow(void);

/* Searches for lines that map this file. */
void clv_maps_text(struct clv_maps_search *search, dev_t device, ino_t inode);

/* Whether the process maps the file.  1, 0 or a negative errno as above. */
int clv_maps_file(pid_t pid, dev_t device, ino_t inode);

/* Whether the process maps the report page of any lease, of this agent or of an earlier
 * one. */
int clv_maps_report(pid_t pid);

/* Starts the child.  The first search does so too, but the child has a copy of the memory
 * of the agent, which is smallest at its start. */
void clv_maps_start(void);
