/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* A file of the web console, packed with gzip when cleaved was built. */
struct clv_console_file {
	const char *path; /* below /console/, as "assets/index-1a2b.js" */
	const char *type;
	const unsigned char *body;
	size_t n_bytes;
	const char *etag; /* with its quotes */
};

/* Written by console-files.py from web/dist; none when that was not there. */
extern const struct clv_console_file clv_console_files[];
extern const size_t clv_console_n_files;
