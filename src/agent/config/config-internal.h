/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/config/config.h"
#include "base/cleanup.h"
#include "base/yaml.h"

/* Shared by the readers of the settings file: functions for tables of clv_yaml_field,
 * which return 0, or -errno with file, line and column in *err. */

#define CLV_CONFIG_MAP(fields, value, into, err) \
	clv_yaml_read_map(value, fields, CLV_ARRAY_SIZE(fields), into, err)

/* -ENOMEM. */
int clv_config_no_memory(struct clv_yaml_value value, struct clv_error *err);

/* into: CLV_CONFIG_TEXT_MAX characters. */
int clv_config_read_text(struct clv_yaml_value value, void *into, struct clv_error *err);
/* An absolute path, likewise. */
int clv_config_read_path(struct clv_yaml_value value, void *into, struct clv_error *err);
/* into: uint64_t. */
int clv_config_read_bytes(struct clv_yaml_value value, void *into, struct clv_error *err);

/* Sections of the file.  into: struct clv_config. */
int clv_config_read_admins(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_config_read_viewers(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_config_read_tenants(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_config_read_listen(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_config_read_origins(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_config_read_nodes(struct clv_yaml_value value, void *into, struct clv_error *err);
