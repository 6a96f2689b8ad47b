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
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000L
#define ANSWER_MAX_BYTES (16u << 20)
#define TOKEN_MAX_BYTES 65536
/* A connection whose other end has gone is noticed after about a minute. */
#define KEEPALIVE_S 20L

struct clv_kube_cluster {
	struct clv_kube_config config;
	CURL *curl;
	const char *accept; /* borrowed; or NULL */
	atomic_bool is_interrupted;
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
	const struct clv_kube_cluster *cluster, const char *method)
{
	bool is_patch = strcmp(method, "PATCH") == 0;
	struct curl_slist *headers = curl_slist_append(
		NULL, is_patch ? "Content-Type: application/merge-patch+json"
			       : "Content-Type: application/json");
	_cleanup_free_ char *token = read_token(&cluster->config), *line = NULL,
			    *types = NULL;

	if (token && asprintf(&line, "Authorization: Bearer %s", token) >= 0)
		headers = curl_slist_append(headers, line);
	if (cluster->accept && asprintf(&types, "Accept: %s", cluster->accept) >= 0)
		headers = curl_slist_append(headers, types);
	return headers;
}

static int fail(long status, const json_t *answer, const char *method, const char *path,
	struct clv_error *err)
{
	const char *message = json_string_value(json_object_get(answer, "message"));
	/* For a path that it does not serve, the server answers 404 without JSON. */
	int code = status == 404 && answer          ? -ENOENT
		   : status == 409                  ? -EEXIST
		   : status == 410                  ? -ESTALE
		   : status == 401 || status == 403 ? -EPERM
						    : -EPROTO;

	return clv_error_set(err, code,
		"the API server answers %s %.100s with %ld: %.300s", method, path, status,
		message ? message : "no message");
}

/* curl calls it about once a second while nothing arrives. */
static int on_progress(void *userdata, curl_off_t down_most, curl_off_t down,
	curl_off_t up_most, curl_off_t up)
{
	const struct clv_kube_cluster *cluster = userdata;

	return atomic_load(&cluster->is_interrupted) ? 1 : 0;
}

static int fail_transfer(
	struct clv_kube_cluster *cluster, CURLcode code, struct clv_error *err)
{
	bool is_interrupted = atomic_load(&cluster->is_interrupted);

	if (is_interrupted)
		return clv_error_set(err, -ECANCELED, "the program ends");
	return clv_error_set(err, -EAGAIN,
		"the API server at %.100s cannot be reached: %s", cluster->config.server,
		curl_easy_strerror(code));
}

/* Starts the description of a request in cluster->curl.  The caller frees *ret_headers
 * after the request. */
static int set_request(struct clv_kube_cluster *cluster, const char *method,
	const char *path, struct curl_slist **ret_headers, struct clv_error *err)
{
	_cleanup_free_ char *url = NULL;
	CURL *curl = cluster->curl;

	if (asprintf(&url, "%s%s", cluster->config.server, path) < 0)
		return clv_error_errno(err, ENOMEM, "cannot ask the API server");
	*ret_headers = make_headers(cluster, method);
	curl_easy_reset(curl);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *ret_headers);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, cluster);
	identify(curl, &cluster->config);
	return 0;
}

static int perform(struct clv_kube_cluster *cluster, struct answer *answer,
	long *ret_status, struct clv_error *err)
{
	CURLcode code;

	curl_easy_setopt(cluster->curl, CURLOPT_WRITEFUNCTION, append_answer);
	curl_easy_setopt(cluster->curl, CURLOPT_WRITEDATA, answer);
	code = curl_easy_perform(cluster->curl);
	curl_easy_getinfo(cluster->curl, CURLINFO_RESPONSE_CODE, ret_status);
	return code == CURLE_OK ? 0 : fail_transfer(cluster, code, err);
}

int clv_kube_cluster_request(struct clv_kube_cluster *cluster, const char *method,
	const char *path, const struct json_t *body, struct json_t **ret,
	struct clv_error *err)
{
	_cleanup_free_ char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct answer answer = {};
	struct curl_slist *headers = NULL;
	json_t *parsed = NULL;
	long status = 0;
	int r = set_request(cluster, method, path, &headers, err);

	if (r < 0)
		return r;
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

/* --- Watches --- */

struct watch {
	struct clv_kube_cluster *cluster;
	struct answer pending; /* what came behind the last end of a line */
	long status;
	clv_kube_event_fn take;
	void *userdata;
	int r;
	struct clv_error *err;
};

static int take_line(struct watch *watch, const char *line, size_t n_bytes)
{
	json_t *event = json_loadb(line, n_bytes, 0, NULL);
	int r = event ? watch->take(watch->userdata, event, watch->err)
		      : clv_error_set(watch->err, -EPROTO,
				"the API server sent an event that is not JSON");

	json_decref(event);
	return r;
}

static size_t append_events(char *data, size_t size, size_t n, void *userdata)
{
	struct watch *watch = userdata;
	struct answer *pending = &watch->pending;
	size_t begin = 0, searched = pending->n_bytes;

	curl_easy_getinfo(watch->cluster->curl, CURLINFO_RESPONSE_CODE, &watch->status);
	if (append_answer(data, size, n, pending) != size * n)
		return 0;
	/* Otherwise it is one object that says what is wrong. */
	for (char *end; watch->status == 200 && watch->r >= 0 && pending->n_bytes > 0 &&
			(end = memchr(pending->data + searched, '\n',
				 pending->n_bytes - searched));) {
		watch->r = take_line(watch, pending->data + begin,
			(size_t)(end - pending->data) - begin);
		begin = searched = (size_t)(end - pending->data) + 1;
	}
	if (begin > 0) {
		pending->n_bytes -= begin;
		memmove(pending->data, pending->data + begin, pending->n_bytes);
	}
	return watch->r < 0 ? 0 : size * n;
}

/* The server has taken the watch: it answers at once, also where nothing changes. */
static size_t on_header(char *data, size_t size, size_t n, void *userdata)
{
	struct watch *watch = userdata;

	curl_easy_getinfo(watch->cluster->curl, CURLINFO_RESPONSE_CODE, &watch->status);
	if (watch->status == 200 && n * size == 2 && memcmp(data, "\r\n", 2) == 0)
		watch->r = watch->take(watch->userdata, NULL, watch->err);
	return watch->r < 0 ? 0 : size * n;
}

static int end_watch(
	struct watch *watch, CURLcode code, const char *path, struct clv_error *err)
{
	json_t *said;
	int r;

	if (watch->r < 0)
		return watch->r;
	if (code == CURLE_OPERATION_TIMEDOUT && watch->status == 200)
		return clv_error_set(
			err, -ETIME, "the API server sent nothing for too long");
	if (code != CURLE_OK)
		return fail_transfer(watch->cluster, code, err);
	if (watch->status == 200)
		return 0;
	said = json_loadb(watch->pending.data ? watch->pending.data : "",
		watch->pending.n_bytes, 0, NULL);
	r = fail(watch->status, said, "GET", path, err);
	json_decref(said);
	return r;
}

int clv_kube_cluster_watch(struct clv_kube_cluster *cluster, const char *path,
	unsigned most_s, unsigned silent_s, clv_kube_event_fn take, void *userdata,
	struct clv_error *err)
{
	struct watch watch = {
		.cluster = cluster, .take = take, .userdata = userdata, .err = err};
	struct curl_slist *headers = NULL;
	CURL *curl = cluster->curl;
	CURLcode code;
	int r = set_request(cluster, "GET", path, &headers, err);

	if (r < 0)
		return r;
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, TIMEOUT_MS);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)most_s);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)silent_s);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, &watch);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append_events);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &watch);
	code = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &watch.status);
	curl_slist_free_all(headers);
	r = end_watch(&watch, code, path, err);
	free(watch.pending.data);
	return r;
}

void clv_kube_cluster_accept(struct clv_kube_cluster *cluster, const char *types)
{
	cluster->accept = types;
}

void clv_kube_cluster_interrupt(struct clv_kube_cluster *cluster)
{
	atomic_store(&cluster->is_interrupted, true);
}

int clv_kube_cluster_get_node(
	const struct clv_kube_settings *settings, json_t **ret, struct clv_error *err)
{
	struct clv_kube_cluster *cluster = NULL;
	char path[CLV_KUBE_PATH_MAX + 32];
	int r = clv_kube_cluster_new(settings, &cluster, err);

	snprintf(path, sizeof(path), "/api/v1/nodes/%s", settings->node);
	if (r >= 0)
		r = clv_kube_cluster_request(cluster, "GET", path, NULL, ret, err);
	clv_kube_cluster_free(cluster);
	return r;
}
