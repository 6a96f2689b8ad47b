/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent_config;
struct clv_error;

/* Replaces the state file by a backup; the former file is kept beside it.  No agent may
 * use the state file.  -EBADMSG: the file is not a backup, or of a later version. */
int clv_backup_restore(
	const struct clv_agent_config *config, const char *path, struct clv_error *err);
