/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/scope.h"
#include "core/share/allowance.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* The agent's settings, a YAML file that docs/agent.md describes: how it is reached over
 * the network, who may do what, what tenants are allowed. */

#define CLV_CONFIG_TEXT_MAX 256

/* A user, a group, or a tenant who is a cgroup ("@name"), by its name. */
struct clv_config_who {
	bool is_group;
	char name[64];
	char cgroup[CLV_CONFIG_TEXT_MAX]; /* pattern of its path; "": it is none */
};

/* What a tenant, or each user of a group, may have.  The first that fits counts. */
struct clv_config_tenant {
	struct clv_config_who who; /* an empty name: all others */
	struct clv_allowance allowance;
};

/* An agent on another machine, for the console. */
struct clv_config_node {
	char name[64];
	char url[CLV_CONFIG_TEXT_MAX];
};

enum clv_watch_policy {
	CLV_WATCH_REPORT,
	CLV_WATCH_THROTTLE,
	CLV_WATCH_END,
	_CLV_WATCH_MAX,
};

enum clv_executor_choice {
	CLV_EXECUTOR_AUTO, /* on GPUs, what the driver lets be stopped half-way */
	CLV_EXECUTOR_CPU,  /* the same, and on processors the threads that compute */
	CLV_EXECUTOR_GATE, /* nothing is stopped */
	_CLV_EXECUTOR_MAX,
};

/* Whose debts of device time are one account. */
enum clv_debts_of {
	CLV_DEBTS_OF_TENANT,    /* of a lease: a user, or a tenant who is a cgroup */
	CLV_DEBTS_OF_CONTAINER, /* the cgroup of its first process */
	CLV_DEBTS_OF_POD,       /* the part of that that names a pod, if one does */
	_CLV_DEBTS_OF_MAX,
};

struct clv_config {
	/* Over the network; port 0: not at all. */
	char address[64];
	uint16_t port;
	char certificate[CLV_CONFIG_TEXT_MAX]; /* files in PEM; "": no TLS */
	char key[CLV_CONFIG_TEXT_MAX];
	char (*origins)[CLV_CONFIG_TEXT_MAX]; /* whose consoles may call */
	size_t n_origins;
	struct clv_config_who *admins, *viewers;
	size_t n_admins, n_viewers;
	struct clv_config_tenant *tenants;
	size_t n_tenants;
	struct clv_config_node *nodes;
	size_t n_nodes;
	bool allow_overcommit;
	enum clv_executor_choice executor;
	enum clv_debts_of debts_of;
	enum clv_watch_policy over_quota, no_lease, past_gate, ungated;
	uint64_t tolerance_bytes; /* of each process, that no call shows */
	uint64_t grace_ns;        /* before anything is said or done */
	uint64_t hang_ns;         /* that a lease may keep the device from others */
	uint32_t watch_every_s;   /* 0: the drivers are not asked */
	char (*ignored)[CLV_CONFIG_TEXT_MAX]; /* programs that need no lease: paths */
	size_t n_ignored;
};

/* -EINVAL and the like with file, line and column.  What is not said has its default.  On
 * success *ret is owned by the caller. */
int clv_config_parse(const char *data, size_t n_bytes, const char *name,
	struct clv_config **ret, struct clv_error *err);
/* The file's; that there is none is no error unless must_exist. */
int clv_config_read(const char *path, bool must_exist, struct clv_config **ret,
	struct clv_error *err);
struct clv_config *clv_config_free(struct clv_config *config);

/* What a user of this machine may do who is neither root nor the agent's own. */
enum clv_scope clv_config_scope(
	const struct clv_config *config, const char *user, gid_t group);

/* Whether it names this tenant, a cgroup's. */
bool clv_config_has_tenant(const struct clv_config *config, const char *name);
bool clv_config_has_cgroups(const struct clv_config *config);
/* The name of the tenant that a process in this cgroup is; NULL: its user is the tenant.
 * The first whose pattern matches the path, or a cgroup that it is in, counts. */
const char *clv_config_cgroup_tenant(const struct clv_config *config, const char *cgroup);

/* What he may have. */
struct clv_allowance clv_config_allowance(
	const struct clv_config *config, const char *user, gid_t group);
