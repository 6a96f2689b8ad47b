/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/services/project/project.h"
#include "service/service.h"

/* Compose files that a user names, with the variables of the environment and of the file
 * .env beside them. */

struct clv_compose_file {
	struct clv_project project; /* text, origin and variables are set */
	struct clv_services services;
};

/* Reads the file, or standard input ("-"), and prints its remarks.  name: of the project;
 * NULL: the file's, or that of its folder.  Returns 0, or an exit code after printing the
 * error.  The caller clears *ret in both cases. */
int clv_compose_file_read(
	const char *path, const char *name, struct clv_compose_file *ret);
void clv_compose_file_clear(struct clv_compose_file *file);
#define _cleanup_compose_ __attribute__((cleanup(clv_compose_file_clear)))

/* Prints the remarks from the n-th on. */
void clv_compose_file_print_remarks(const struct clv_compose_file *file, size_t n);
