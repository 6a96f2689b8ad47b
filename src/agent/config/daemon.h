/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent_config;
struct clv_error;

/* What makes a process a good daemon, and the words by which it says that it is ready. */

/* The limit of open files, up to the hard one.  -EMFILE: no agent can work with that. */
int clv_daemon_raise_files(struct clv_error *err);

/* Closes descriptors that a parent left open and nobody asked for, ignores SIGPIPE,
 * blocks the signals that the loop takes. */
void clv_daemon_prepare(const struct clv_agent_config *config);

/* Unless in the foreground: goes on in a child in a session of its own.  The parent waits
 * for the child's readiness and exits with 0, or with the child's code if it fails.
 * Returns, in the child, the descriptor to report readiness on (-1 in the foreground). */
int clv_daemon_detach(const struct clv_agent_config *config, struct clv_error *err);

/* In the background, messages go to cleaved.log in the runtime folder from here on.
 * Returns what stderr was, for the reason of a failed start; -1 in the foreground. */
int clv_daemon_redirect(const struct clv_agent_config *config);

/* The sockets listen: tells the parent and --ready-fd. */
void clv_daemon_report_ready(const struct clv_agent_config *config, int parent_fd);

/* Chooses the folders that were not given, makes them and checks that they are ours. */
int clv_daemon_find_folders(struct clv_agent_config *config, struct clv_error *err);

/* One agent per runtime folder.  Returns the descriptor that holds the lock, or
 * -EALREADY when another agent answers there. */
int clv_daemon_lock(const struct clv_agent_config *config, struct clv_error *err);

/* Reads the settings into agent->settings.  -EBADMSG: the file is wrong. */
struct clv_agent;
int clv_daemon_read_settings(struct clv_agent *agent, struct clv_error *err);
