/* SPDX-License-Identifier: Apache-2.0 */
/* Compares settings with the machine: they may be well-formed and still not usable. */
#include "agent/config/config.h"

#include "agent/user/users.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"
#include "tls/pair.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PEM_MAX_BYTES (1u << 20)

struct check {
	const struct clv_config *config;
	struct clv_yaml_mistakes *mistakes;
	struct clv_error *err;
	bool has_users; /* users have to exist */
	int first;      /* the code of the first mistake */
};

void clv_config_note(struct clv_yaml_mistakes *mistakes, const struct clv_error *err)
{
	mistakes->n++;
	mistakes->on_mistake(mistakes->userdata, err);
}

/* Takes a result; the message of a mistake gets the place in the file. */
static void take(struct check *check, unsigned int line, int r)
{
	if (r >= 0 || (check->first < 0 && !check->mistakes))
		return;
	clv_error_prefix(check->err, "%s:%u", check->config->path, line);
	if (check->first == 0)
		check->first = r;
	if (check->mistakes)
		clv_config_note(check->mistakes, check->err);
}

/* A user without an entry in the database may be named by uid.  An unknown name is
 * reported, but an agent accepts such settings, because the database may not have
 * answered. */
static void check_user(struct check *check, const struct clv_config_subject *who)
{
	struct clv_user user;

	if (who->name[0] == '\0' || who->cgroup[0] != '\0' ||
		who->name[strspn(who->name, "0123456789")] == '\0' ||
		clv_users_by_name(who->name, &user) != -ENOENT)
		return;
	clv_error_set(check->err, -EINVAL,
		"%s:%u: this machine has no user '%s', so the entry is for none: create "
		"the user, or correct the name",
		check->config->path, who->line, who->name);
	clv_config_note(check->mistakes, check->err);
}

static void check_who(struct check *check, struct clv_config_subject *who)
{
	if (check->first < 0 && !check->mistakes)
		return;
	if (!who->is_group) {
		if (check->has_users)
			check_user(check, who);
		return;
	}
	who->has_gid = clv_config_find_group(who->name, &who->gid);
	if (!who->has_gid)
		take(check, who->line,
			clv_error_set(check->err, -EINVAL,
				"this machine has no group '%s': create it, or correct "
				"the name",
				who->name));
}

static int check_address(const struct clv_config *config, struct clv_error *err)
{
	struct addrinfo wanted = {
		.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int r = getaddrinfo(config->address, NULL, &wanted, &found);

	if (r != 0)
		return clv_error_set(err, -EINVAL,
			"cannot listen on %s: %s: give a numeric address",
			config->address, gai_strerror(r));
	freeaddrinfo(found);
	return 0;
}

int clv_config_read_tls(const struct clv_config *config, char **ret_certificate,
	char **ret_key, struct clv_error *err)
{
	_cleanup_free_ char *certificate = NULL, *key = NULL;
	int r;

	*ret_certificate = *ret_key = NULL;
	if (config->certificate[0] == '\0')
		return 0;
	r = clv_file_read_regular(
		config->certificate, PEM_MAX_BYTES, &certificate, NULL, err);
	if (r >= 0)
		r = clv_file_read_regular(config->key, PEM_MAX_BYTES, &key, NULL, err);
	if (r < 0)
		return r;
	*ret_certificate = CLV_TAKE(certificate);
	*ret_key = CLV_TAKE(key);
	return 0;
}

/* An agent takes an expired one: it may be renewed while the agent runs. */
static void check_expiry(const struct check *check, const struct clv_tls_pair *pair)
{
	if (!check->mistakes || !clv_tls_pair_has_expired(pair))
		return;
	clv_error_set(check->err, -EINVAL,
		"%s:%u: the certificate %s has expired, so clients refuse it: renew it",
		check->config->path, check->config->listen_line,
		check->config->certificate);
	clv_config_note(check->mistakes, check->err);
}

static int check_tls(const struct check *check)
{
	const struct clv_config *config = check->config;
	struct clv_error *err = check->err;
	_cleanup_free_ char *certificate = NULL, *key = NULL;
	int r = clv_config_read_tls(config, &certificate, &key, err);

	if (r < 0 || !certificate)
		return r;
	check_expiry(check, &(struct clv_tls_pair){certificate, key});
	r = clv_tls_pair_check(&(struct clv_tls_pair){certificate, key});
	return r >= 0 ? clv_file_check_secret(config->key, err)
		      : clv_error_set(err, -EINVAL,
				"cannot use %s with %s (%s): certificate and key must be "
				"PEM files and belong together",
				config->certificate, config->key, gnutls_strerror(r));
}

int clv_config_check(struct clv_config *config, bool has_users,
	struct clv_yaml_mistakes *mistakes, struct clv_error *err)
{
	struct check check = {config, mistakes, err, has_users, 0};

	for (size_t i = 0; i < config->n_admins; i++)
		check_who(&check, &config->admins[i]);
	for (size_t i = 0; i < config->n_viewers; i++)
		check_who(&check, &config->viewers[i]);
	for (size_t i = 0; i < config->n_tenants; i++)
		check_who(&check, &config->tenants[i].who);
	if (config->listen_line > 0 && (mistakes || check.first == 0)) {
		take(&check, config->listen_line, check_address(config, err));
		if (mistakes || check.first == 0)
			take(&check, config->listen_line, check_tls(&check));
	}
	return check.first;
}
