/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/scope.h"
#include "core/share/allowance.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_yaml_mistakes;

/* The agent's settings, read from a YAML file that docs/agent.md describes: the network,
 * the roles of users, the allowances of tenants, the watchdog. */

#define CLV_CONFIG_TEXT_MAX 256
#define CLV_CONFIG_PATH_MAX 1100

/* A user, a group, or a tenant that is a cgroup (its name is "@name"). */
struct clv_config_subject {
	bool is_group;
	char name[64];
	unsigned int line; /* of the settings file */
	bool has_gid;      /* clv_config_check() has looked the group up */
	gid_t gid;
	char cgroup[CLV_CONFIG_TEXT_MAX]; /* pattern of a path; "": not a cgroup */
};

/* What a tenant, or each user of a group, may have.  The first entry that matches
 * applies. */
struct clv_config_tenant {
	struct clv_config_subject who; /* an empty name matches all others */
	struct clv_allowance allowance;
};

/* Another machine's agent, which the console can switch to. */
struct clv_config_node {
	char name[64];
	char url[CLV_CONFIG_TEXT_MAX];
};

/* What the watchdog does about a violation. */
enum clv_watch_policy {
	CLV_WATCH_REPORT,
	CLV_WATCH_THROTTLE,
	CLV_WATCH_END,
	_CLV_WATCH_MAX,
};

/* How a turn ends when its work is not complete. */
enum clv_executor_choice {
	CLV_EXECUTOR_AUTO, /* on GPUs the hardware, if the driver can stop running work */
	CLV_EXECUTOR_CPU,  /* the same, and on CPUs signals stop the computing threads */
	CLV_EXECUTOR_GATE, /* running work is never stopped */
	_CLV_EXECUTOR_MAX,
};

/* The unit that has one account of debts of device time. */
enum clv_debts_of {
	CLV_DEBTS_OF_TENANT, /* the lease's tenant: a user or a cgroup of the settings */
	CLV_DEBTS_OF_CONTAINER, /* the cgroup of the lease's first process */
	CLV_DEBTS_OF_POD, /* the part of that cgroup's path that names a pod, if any */
	_CLV_DEBTS_OF_MAX,
};

struct clv_config {
	char path[CLV_CONFIG_PATH_MAX]; /* of the file */
	unsigned int listen_line;       /* 0: there is no valid "listen" */
	/* The API over the network; port 0: disabled. */
	char address[64];
	uint16_t port;
	char certificate[CLV_CONFIG_TEXT_MAX]; /* PEM files; "": no TLS */
	char key[CLV_CONFIG_TEXT_MAX];
	char viewer_secret[CLV_CONFIG_TEXT_MAX]; /* of the token clv_viewer_SECRET;
						    "": there is none */
	char (*origins)[CLV_CONFIG_TEXT_MAX];    /* web origins that may call the API */
	size_t n_origins;
	struct clv_config_subject *admins, *viewers;
	size_t n_admins, n_viewers;
	struct clv_config_tenant *tenants;
	size_t n_tenants;
	struct clv_config_node *nodes;
	size_t n_nodes;
	bool allow_overcommit;
	enum clv_executor_choice executor;
	enum clv_debts_of debts_of;
	enum clv_watch_policy over_quota, no_lease, past_gate, ungated;
	uint64_t tolerance_bytes; /* driver overhead per process, beyond its quota */
	uint64_t grace_ns;        /* the longest violation that is not reported */
	uint64_t hang_ns;         /* the longest time past its turn without a report */
	uint32_t watch_every_s; /* seconds between samples; 0: drivers are not sampled */
	char (*ignored)[CLV_CONFIG_TEXT_MAX]; /* paths of programs that need no lease */
	size_t n_ignored;
};

/* Parses settings; keys that are missing get defaults.  The caller owns *ret.  -EINVAL
 * and others with file, line and column in *err. */
int clv_config_parse(const char *data, size_t n_bytes, const char *name,
	struct clv_config **ret, struct clv_error *err);
enum clv_config_flags {
	CLV_CONFIG_MUST_EXIST = 1, /* otherwise a missing file gives the defaults */
	CLV_CONFIG_NOT_USED = 2,   /* a file of any user, which is only checked */
};

/* Reads the file; flags are of clv_config_flags.  With mistakes it reports each of them,
 * and *ret is what could be read, also when it fails. */
int clv_config_read(const char *path, unsigned flags, struct clv_yaml_mistakes *mistakes,
	struct clv_config **ret, struct clv_error *err);
/* Looks the groups up, and whether this machine has what the settings name: groups, the
 * address, a certificate and its key, and with has_users, which needs mistakes, each
 * user.  0, or the code of the first mistake but those about users; mistakes may be NULL.
 */
int clv_config_check(struct clv_config *config, bool has_users,
	struct clv_yaml_mistakes *mistakes, struct clv_error *err);
/* Reports one mistake. */
void clv_config_note(struct clv_yaml_mistakes *mistakes, const struct clv_error *err);
/* Whether this machine has the group; *ret is its number. */
bool clv_config_find_group(const char *name, gid_t *ret);
/* The certificate and the key as text, which the caller frees; NULL: there is none. */
int clv_config_read_tls(const struct clv_config *config, char **ret_certificate,
	char **ret_key, struct clv_error *err);
struct clv_config *clv_config_free(struct clv_config *config);

/* The role of a user of this machine that is neither root nor the agent's own.  0 or
 * -EINPROGRESS: the user's groups are not known yet. */
int clv_config_scope(const struct clv_config *config, const char *user, gid_t group,
	enum clv_scope *ret);

/* Whether the settings name this tenant of a cgroup, or any tenant of a cgroup. */
bool clv_config_has_tenant(const struct clv_config *config, const char *name);
bool clv_config_has_cgroups(const struct clv_config *config);
/* The tenant of processes in this cgroup, borrowed; NULL: the process's user is the
 * tenant.  The first pattern that matches the path, or the path of an ancestor, applies.
 */
const char *clv_config_cgroup_tenant(const struct clv_config *config, const char *cgroup);

/* The allowance of a user, or of a cgroup's tenant by its name.  As above. */
int clv_config_allowance(const struct clv_config *config, const char *user, gid_t group,
	struct clv_allowance *ret);
