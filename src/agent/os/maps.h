/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Searches of /proc/PID/maps.  The kernel takes the process's mmap lock for them (before
 * Linux 6.17 for each, later for some), and a process keeps that lock as long as it
 * likes: it maps a file of a file system of its own (FUSE) that does not answer.  So a
 * child of the agent's reads.  It is killed and replaced if it has not answered
 * CLV_MAPS_MS after a request and waits, or has used CLV_MAPS_USED_MS of a processor, or
 * after CLV_MAPS_MOST_MS.  Loop thread only. */
#define CLV_MAPS_MS 50
#define CLV_MAPS_USED_MS 150
#define CLV_MAPS_MOST_MS 1000
#define CLV_MAPS_TEXTS 64
#define CLV_MAPS_TEXT_BYTES 40
#define CLV_MAPS_RANGE_BYTES 40

struct clv_maps_search {
	pid_t pid;
	uint32_t n; /* texts, at most CLV_MAPS_TEXTS; empty ones are never found */
	/* A text is the beginning of a mapped file's name (after the last '/') instead of
	 * a part of a line. */
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

/* 0, also for a process that is gone, which has no text; -EACCES: the agent may not read
 * the file; -EAGAIN: it could not be read now, and the caller knows nothing. */
int clv_maps_search(const struct clv_maps_search *search, struct clv_maps_found *ret);

/* Whether the last search failed, or took 10 ms of a processor or more twice in a row. */
bool clv_maps_was_slow(void);

/* Makes lines that map the file the ones that are searched for. */
void clv_maps_text(struct clv_maps_search *search, dev_t device, ino_t inode);

/* Whether the process maps the file.  1, 0 or a negative errno as above. */
int clv_maps_file(pid_t pid, dev_t device, ino_t inode);

/* Whether the process maps the report page of a lease, also one of an earlier agent. */
int clv_maps_report(pid_t pid);

/* Starts the child.  The first search does it too, but the child has a copy of the
 * agent's memory, which is smallest at the start. */
void clv_maps_start(void);
