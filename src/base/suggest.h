/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* The name that the word was most likely meant to be, or NULL when none is near. */
const char *clv_suggest(const char *word, const char *const *names, size_t n_names);
