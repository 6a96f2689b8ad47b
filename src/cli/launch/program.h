/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_error;
struct clv_namespace;

/* Finds the program that `cleave run` starts, and starts it in its lease. */

/* Finds the program as execvp() would.  Returns 0, or the exit code for "not found" or
 * "not executable" after printing the error. */
int clv_program_find(const char *name, char *ret_path, size_t ret_bytes);

/* Finds the installed gate for OpenCL (or the build tree's).  0 or -errno. */
int clv_program_find_gate(char *ret_path, size_t ret_bytes, struct clv_error *err);

struct clv_program {
	const char *path;
	char **argv;
	const char *gate_path;          /* NULL: outside any lease */
	const char *lease_socket;       /* with a gate */
	const char *if_no_agent;        /* may be NULL */
	const json_t *devices;          /* of the lease, as the API shows them, or NULL */
	const json_t *sm;               /* its limit of multiprocessors, or NULL */
	const struct clv_namespace *ns; /* NULL: none */
	bool must_preload;              /* nothing but a gate enforces the share */
	bool allow_ungated;             /* start it even where no gate can be preloaded */
};

/* In the child: sets the environment, enters the namespace and executes the program.  On
 * an error it writes the reason to status_fd (close-on-exec) and exits. */
void clv_program_become(const struct clv_program *program, int status_fd)
	__attribute__((noreturn));

/* In the parent: waits until the child has executed the program.  Returns 0, or the
 * child's exit code after printing its error. */
int clv_program_wait_started(int status_fd);
