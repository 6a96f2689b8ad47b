/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_error;
struct clv_namespace;

/* The program that `cleave run` starts: where it is, and what it gets. */

/* Finds the program as execvp() would.  Returns 0, or the exit code for "not found" or
 * "not executable" after having said why. */
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
	const json_t *sm;               /* the same of its limit in space */
	const struct clv_namespace *ns; /* NULL: none */
	bool must_preload;  /* others share the device, and nothing else keeps them apart
			     */
	bool allow_ungated; /* start it even where no gate can be preloaded */
};

/* In the child: sets the environment and the namespace and becomes the program; tells the
 * parent over status_fd (close-on-exec) when it cannot. */
void clv_program_become(const struct clv_program *program, int status_fd)
	__attribute__((noreturn));

/* In the parent: waits until the child has become the program.  Returns 0, or the child's
 * exit code after having said what it reported. */
int clv_program_wait_started(int status_fd);
