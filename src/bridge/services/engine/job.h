/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct sd_event;
struct clv_error;

/* Programs that the supervisor calls: podman and the proxy.  Their output is kept, at
 * most 64 KiB, or 4 MiB for clv_job_call(). */

struct clv_job;

/* Starts argv[0], which is searched in PATH.  on_end is called once from the loop, with
 * the exit code (128 + the signal's number; 127: not found), standard output and, as one
 * line, standard error.  NULL with *err set: it was not started. */
struct clv_job *clv_job_start(struct sd_event *event, char *const *argv,
	void (*on_end)(void *userdata, int code, const char *output, const char *why),
	void *userdata, struct clv_error *err);

/* Ends the program and does not call on_end.  Accepts NULL; returns NULL. */
struct clv_job *clv_job_free(struct clv_job *job);

/* Runs a program and waits for its end, two minutes at most.  The caller frees
 * *ret_output.  Returns 0, -ETIMEDOUT, or -EIO with what the program wrote to standard
 * error. */
int clv_job_call(char *const *argv, char **ret_output, struct clv_error *err);

/* The same for a program that inherits n descriptors, at most 64, as first_fd and the
 * next ones. */
int clv_job_call_with(char *const *argv, const int *fds, size_t n, int first_fd,
	char **ret_output, struct clv_error *err);
