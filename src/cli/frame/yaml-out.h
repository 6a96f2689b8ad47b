/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Writes a JSON value as one YAML document; with is_marked it starts with "---".  Returns
 * 0 or -errno. */
int clv_yaml_write(const json_t *value, bool is_marked, FILE *stream);
