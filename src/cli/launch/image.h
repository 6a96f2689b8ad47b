/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"

#include <elf.h>
#include <stdbool.h>

/* The ELF headers that decide whether a gate can be loaded. */
struct clv_image {
	unsigned char ident[EI_NIDENT];
	unsigned int machine;
	char loader[CLV_PATH_MAX]; /* the dynamic loader; "": none */
};

/* Returns false if the file is not ELF.  The loader is only meaningful for this program's
 * word size. */
bool clv_image_read(int fd, struct clv_image *ret);

/* Reads the headers of cleave itself, which has the same loader as the gates. */
bool clv_image_read_self(struct clv_image *ret);

/* Whether both are for the same processor and word size. */
bool clv_image_is_alike(const struct clv_image *a, const struct clv_image *b);

/* The search path for libraries in the headers, with $ORIGIN expanded. */
struct clv_image_paths {
	char list[CLV_PATH_MAX];   /* as in LD_LIBRARY_PATH; "": none */
	bool is_after_environment; /* RUNPATH: after LD_LIBRARY_PATH; RPATH: before it */
};

/* path is the path of the file, for $ORIGIN. */
void clv_image_read_paths(int fd, const char *path, struct clv_image_paths *ret);
