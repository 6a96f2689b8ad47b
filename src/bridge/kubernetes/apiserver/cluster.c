/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the API server with libcurl; connections are reused. */
#include "bridge/kubernetes/apiserver/cluster.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "bridge/kubernetes/apiserver/kubeconfig.h"

#include <curl/curl.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000L
#define ANSWER_MAX_BYTES (16u << 20)
#define TOKEN_MAX_BYTES 65536

struct clv_kube_cluster {
	struct clv_kube_config config;
	CURL *curl;
};

struct answer {
	char *data;
	size_t n_bytes;
};

struct clv_kube_cluster *clv_kube_cluster_free(struct clv_kube_cluster *cluster)
{
	if (!cluster)
		return NULL;

	if (cluster->curl)
		curl_easy_cleanup(cluster->curl);
	clv_kube_config_clear(&cluster->config);
	free(cluster);
	return NULL;
}

int clv_kube_cluster_new(const struct clv_kube_settings *settings,
	struct clv_kube_cluster **ret, struct clv_error *err)
{
	struct clv_kube_cluster *cluster = calloc(1, sizeof(*cluster));
	int r;

	if (!cluster)
		return clv_error_errno(err, ENOMEM, "cannot start");
	r = settings->kubeconfig[0] != '\0'
		    ? clv_kube_config_read(settings->kubeconfig, &cluster->config, err)
		    : clv_kube_config_of_pod(&cluster->config, err);
	if (r >= 0) {
		curl_global_init(CURL_GLOBAL_DEFAULT);
		cluster->curl = curl_easy_init();
		if (!cluster->curl)
			r = clv_error_errno(err, ENOMEM, "cannot start");
	}
	if (r < 0) {
		clv_kube_cluster_free(cluster);
		return r;
	}
	*ret = cluster;
	return 0;
}

static size_t append_answer(char *data, size_t size, size_t n, void *userdata)
{
	struct answer *answer = userdata;
	size_t more = size * n;
	char *grown;

	if (more > ANSWER_MAX_BYTES - answer->n_bytes)
		return 0;
	grown = realloc(answer->data, answer->n_bytes + more + 1);
	if (!grown)
		return 0;
	memcpy(grown + answer->n_bytes, data, more);
	answer->data = grown;
	answer->n_bytes += more;
	return more;
}

static void set_blob(CURL *curl, CURLoption option, const struct clv_kube_blob *blob)
{
	struct curl_blob copy = {blob->data, blob->n_bytes, CURL_BLOB_COPY};

	if (blob->data)
		curl_easy_setopt(curl, option, &copy);
}

static void set_path(CURL *curl, CURLoption option, const char *path)
{
	if (path)
		curl_easy_setopt(curl, option, path);
}

static void identify(CURL *curl, const struct clv_kube_config *config)
{
	set_path(curl, CURLOPT_CAINFO, config->ca_path);
	set_blob(curl, CURLOPT_CAINFO_BLOB, &config->ca);
	set_path(curl, CURLOPT_SSLCERT, config->certificate_path);
	set_blob(curl, CURLOPT_SSLCERT_BLOB, &config->certificate);
	set_path(curl, CURLOPT_SSLKEY, config->key_path);
	set_blob(curl, CURLOPT_SSLKEY_BLOB, &config->key);
	if (config->is_insecure) {
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

/* The token is read for each request, because Kubernetes rotates a pod's token about
 * every hour. */
static char *read_token(const struct clv_kube_config *config)
{
	char *token = NULL;

	if (!config->token_path)
		return config->token ? strdup(config->token) : NULL;
	if (clv_file_read_all(config->token_path, TOKEN_MAX_BYTES, &token, NULL, NULL) <
		0)
		return NULL;
	token[strcspn(token, "\r\n")] = '\0';
	return token;
}

/* A PATCH is a JSON merge patch (RFC 7386). */
static struct curl_slist *make_headers(
	const struct clv_kube_config *config, const char *method)
{
	bool is_patch = strcmp(method, "PATCH") == 0;
	struct curl_slist *headers = curl_slist_append(
		NULL, is_patch ? "Content-Type: application/merge-patch+json"
			       : "Content-Type: application/json");
	_cleanup_free_ char *token = read_token(config), *line = NULL;

	if (token && asprintf(&line, "Authorization: Bearer %s", token) >= 0)
		headers = curl_slist_append(headers, line);
	return headers;
}

static int fail(long status, const json_t *answer, const char *method, const char *path,
	struct clv_error *err)
{
	const char *message = json_string_value(json_object_get(answer, "message"));
	/* For a path that it does not serve, the server answers 404 without JSON. */
	int code = status == 404 && answer          ? -ENOENT
		   : status == 409                  ? -EEXIST
		   : status == 401 || status == 403 ? -EPERM
						    : -EPROTO;

	return clv_error_set(err, code,
		"the API server answers %s %.100s with %ld: %.300s", method, path, status,
		message ? message : "no message");
}

static int perform(struct clv_kube_cluster *cluster, struct answer *answer,
	long *ret_status, struct clv_error *err)
{
	CURLcode code;

	curl_easy_setopt(cluster->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(cluster->curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
	curl_easy_setopt(cluster->curl, CURLOPT_WRITEFUNCTION, append_answer);
	curl_easy_setopt(cluster->curl, CURLOPT_WRITEDATA, answer);
	curl_easy_setopt(cluster->curl, CURLOPT_PROTOCOLS_STR, "https,http");
	identify(cluster->curl, &cluster->config);
	code = curl_easy_perform(cluster->curl);
	curl_easy_getinfo(cluster->curl, CURLINFO_RESPONSE_CODE, ret_status);
	if (code == CURLE_OK)
		return 0;
	return clv_error_set(err, -EAGAIN,
		"the API server at %.100s cannot be reached: %s", cluster->config.server,
		curl_easy_strerror(code));
}

int clv_kube_cluster_request(struct clv_kube_cluster *cluster, const char *method,
	const char *path, const struct json_t *body, struct json_t **ret,
	struct clv_error *err)
{
	_cleanup_free_ char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	_cleanup_free_ char *url = NULL;
	struct answer answer = {};
	struct curl_slist *headers;
	json_t *parsed = NULL;
	long status = 0;
	int r;

	if (asprintf(&url, "%s%s", cluster->config.server, path) < 0)
		return clv_error_errno(err, ENOMEM, "cannot ask the API server");
	headers = make_headers(&cluster->config, method);
	curl_easy_reset(cluster->curl);
	curl_easy_setopt(cluster->curl, CURLOPT_URL, url);
	curl_easy_setopt(cluster->curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(cluster->curl, CURLOPT_HTTPHEADER, headers);
	if (text)
		curl_easy_setopt(cluster->curl, CURLOPT_POSTFIELDS, text);
	r = perform(cluster, &answer, &status, err);
	curl_slist_free_all(headers);
	if (r >= 0 && answer.data)
		parsed = json_loadb(answer.data, answer.n_bytes, 0, NULL);
	free(answer.data);
	if (r >= 0 && (status < 200 || status > 299))
		r = fail(status, parsed, method, path, err);
	else if (r >= 0 && ret && !parsed)
		r = clv_error_set(err, -EPROTO, "the API server's answer is not JSON");
	if (r >= 0 && ret)
		*ret = parsed;
	else
		json_decref(parsed);
	return r;
}
