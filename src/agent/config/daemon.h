/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent_config;
struct clv_config;
struct clv_error;
struct clv_yaml_mistakes;

/* Startup of the daemon, and its report that it is ready. */

/* Raises the limit of open files to the hard limit.  -EMFILE: the hard limit is too low
 * for an agent. */
int clv_daemon_raise_files(struct clv_error *err);

/* Closes descriptors inherited from the parent, except those that the options name,
 * ignores SIGPIPE, and blocks the signals that the loop handles. */
void clv_daemon_prepare(const struct clv_agent_config *config);

/* Continues in a child with a session of its own, except in the foreground.  The parent
 * exits with 0 when the child is ready, or with the child's exit code.  Returns, in the
 * child, the descriptor to report readiness on; -1 in the foreground. */
int clv_daemon_detach(const struct clv_agent_config *config, struct clv_error *err);

/* In the background: redirects stderr to cleaved.log in the runtime folder, which has a
 * bounded size.  Returns the old stderr, for the reason of a failed start; -1 in the
 * foreground. */
int clv_daemon_redirect(const struct clv_agent_config *config);

/* Reports to the parent and to --ready-fd that the sockets listen. */
void clv_daemon_report_ready(const struct clv_agent_config *config, int parent_fd);

/* Chooses the folders that the options do not give, creates them, and checks that no
 * other user can write the runtime folder and the state.  -EPERM: one can. */
int clv_daemon_find_folders(struct clv_agent_config *config, struct clv_error *err);

/* Locks the runtime folder for this agent.  Returns the descriptor that holds the lock.
 * -EALREADY: another agent answers there; -EBUSY: one has the lock and does not answer.
 */
int clv_daemon_lock(const struct clv_agent_config *config, struct clv_error *err);

/* Reads the settings file that the options name, or the default one, and checks it; the
 * caller owns *ret.  -EBADMSG: the file is invalid.  With mistakes, which may be NULL,
 * each of them is reported. */
int clv_daemon_read_settings(const struct clv_agent_config *options,
	struct clv_yaml_mistakes *mistakes, struct clv_config **ret,
	struct clv_error *err);
