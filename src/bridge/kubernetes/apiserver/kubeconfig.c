/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a kubeconfig, or the files and variables of a pod's service account. */
#include "bridge/kubernetes/apiserver/kubeconfig.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/yaml.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POD_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"

void clv_kube_config_clear(struct clv_kube_config *config)
{
	free(config->server);
	free(config->ca_path);
	free(config->token);
	free(config->token_path);
	free(config->certificate_path);
	free(config->key_path);
	free(config->ca.data);
	free(config->certificate.data);
	free(config->key.data);
	*config = (struct clv_kube_config){};
}

int clv_kube_decode_base64(const char *text, struct clv_kube_blob *ret)
{
	size_t n_text = strlen(text), n = BASE64_DECODE_LENGTH(n_text);
	struct base64_decode_ctx decoder;
	uint8_t *data = malloc(n + 1);

	if (!data)
		return -ENOMEM;
	base64_decode_init(&decoder);
	if (!base64_decode_update(&decoder, &n, data, n_text, text) ||
		!base64_decode_final(&decoder)) {
		free(data);
		return -EINVAL;
	}
	data[n] = '\0';
	*ret = (struct clv_kube_blob){(char *)data, n};
	return 0;
}

/* --- A file --- */

/* Finds the item with that name in a list of {name, KIND: {...}}. */
static bool find_named(struct clv_yaml_value root, const char *list, const char *kind,
	const char *name, struct clv_yaml_value *ret)
{
	struct clv_yaml_value items, key;

	if (!clv_yaml_find(root, list, &items))
		return false;
	for (size_t i = 0; i < clv_yaml_count(items); i++) {
		struct clv_yaml_value item = clv_yaml_item(items, i);

		if (clv_yaml_find(item, "name", &key) &&
			strcmp(clv_yaml_text(key), name) == 0)
			return clv_yaml_find(item, kind, ret);
	}
	return false;
}

static void read_text(struct clv_yaml_value map, const char *key, char **into)
{
	struct clv_yaml_value value;

	if (clv_yaml_find(map, key, &value))
		*into = strdup(clv_yaml_text(value));
}

static int read_blob(struct clv_yaml_value map, const char *key,
	struct clv_kube_blob *into, struct clv_error *err)
{
	struct clv_yaml_value value;

	if (!clv_yaml_find(map, key, &value))
		return 0;
	if (clv_kube_decode_base64(clv_yaml_text(value), into) < 0)
		return clv_yaml_fail(value, err, -EINVAL, "this is not base64");
	return 0;
}

static int read_cluster(struct clv_yaml_value cluster, struct clv_kube_config *config,
	struct clv_error *err)
{
	struct clv_yaml_value insecure;

	read_text(cluster, "server", &config->server);
	read_text(cluster, "certificate-authority", &config->ca_path);
	if (clv_yaml_find(cluster, "insecure-skip-tls-verify", &insecure))
		config->is_insecure = strcmp(clv_yaml_text(insecure), "true") == 0;
	if (!config->server)
		return clv_yaml_fail(cluster, err, -EINVAL, "the cluster has no server");
	return read_blob(cluster, "certificate-authority-data", &config->ca, err);
}

static int read_user(
	struct clv_yaml_value user, struct clv_kube_config *config, struct clv_error *err)
{
	int r;

	read_text(user, "token", &config->token);
	read_text(user, "tokenFile", &config->token_path);
	read_text(user, "client-certificate", &config->certificate_path);
	read_text(user, "client-key", &config->key_path);
	r = read_blob(user, "client-certificate-data", &config->certificate, err);
	return r < 0 ? r : read_blob(user, "client-key-data", &config->key, err);
}

static int read_context(
	struct clv_yaml_value root, struct clv_kube_config *config, struct clv_error *err)
{
	struct clv_yaml_value current, context, name, found;
	int r = 0;

	if (!clv_yaml_find(root, "current-context", &current))
		return clv_yaml_fail(root, err, -EINVAL, "there is no current-context");
	if (!find_named(root, "contexts", "context", clv_yaml_text(current), &context))
		return clv_yaml_fail(current, err, -EINVAL, "there is no such context");
	if (!clv_yaml_find(context, "cluster", &name) ||
		!find_named(root, "clusters", "cluster", clv_yaml_text(name), &found))
		return clv_yaml_fail(context, err, -EINVAL, "there is no such cluster");
	r = read_cluster(found, config, err);
	if (r >= 0 && clv_yaml_find(context, "user", &name) &&
		find_named(root, "users", "user", clv_yaml_text(name), &found))
		r = read_user(found, config, err);
	return r;
}

int clv_kube_config_read(
	const char *path, struct clv_kube_config *ret, struct clv_error *err)
{
	struct clv_kube_config config = {};
	struct clv_yaml *yaml = NULL;
	int r = clv_yaml_parse_file(path, &yaml, err);

	if (r < 0)
		return r;
	r = read_context(clv_yaml_root(yaml), &config, err);
	clv_yaml_free(yaml);
	if (r < 0)
		clv_kube_config_clear(&config);
	else
		*ret = config;
	return r;
}

/* --- A pod --- */

int clv_kube_config_of_pod(struct clv_kube_config *ret, struct clv_error *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	struct clv_kube_config config = {};
	bool is_six = host && strchr(host, ':');

	if (!host || !port || access(POD_FOLDER "/token", R_OK) < 0)
		return clv_error_set(err, -ENOENT,
			"there are no credentials for the API server: run in a pod with "
			"a "
			"service account, or name a kubeconfig");
	if (asprintf(&config.server, "https://%s%s%s:%s", is_six ? "[" : "", host,
		    is_six ? "]" : "", port) < 0)
		return clv_error_errno(err, ENOMEM, "cannot start");
	config.ca_path = strdup(POD_FOLDER "/ca.crt");
	config.token_path = strdup(POD_FOLDER "/token");
	*ret = config;
	return 0;
}
