/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"

#include <elf.h>
#include <stdbool.h>

/* What the headers of a file in ELF say, as far as it matters here. */
struct clv_image {
	unsigned char ident[EI_NIDENT];
	unsigned int machine;
	char loader[CLV_PATH_MAX]; /* "": it needs none */
};

/* False: it is no file in ELF.  What has another word size has no loader here. */
bool clv_image_read(int fd, struct clv_image *ret);

/* Of cleave itself, which is made for the same loader as the gates. */
bool clv_image_read_self(struct clv_image *ret);

/* Whether both are for one processor and word size. */
bool clv_image_is_alike(const struct clv_image *a, const struct clv_image *b);

/* Where the headers say that its libraries are to be looked for, with $ORIGIN in full. */
struct clv_image_paths {
	char list[CLV_PATH_MAX];   /* as in LD_LIBRARY_PATH; "": they say nothing */
	bool is_after_environment; /* RUNPATH: behind LD_LIBRARY_PATH; else before it */
};

/* path is the file's own name. */
void clv_image_read_paths(int fd, const char *path, struct clv_image_paths *ret);
