/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent_config;
struct clv_error;

/* Puts a backup in the place of the state file, which is kept beside it.  No agent may
 * run on it.  -EBADMSG: the file is no backup, or of a later cleave. */
int clv_backup_restore(
	const struct clv_agent_config *config, const char *path, struct clv_error *err);
