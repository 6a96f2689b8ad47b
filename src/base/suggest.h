/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* The name nearest to word, for "did you mean ...?"; NULL if none is near enough. */
const char *clv_suggest(const char *word, const char *const *names, size_t n_names);
