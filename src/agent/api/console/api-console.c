/* SPDX-License-Identifier: Apache-2.0 */
/* The web console's files, from the program itself, so there is no path to traverse.
 * They are compressed already and are sent so to all clients, as every browser can
 * decompress.  The content security policy is set here too: the page runs no script and
 * loads nothing that is not in this table, and connects to this agent and to those that
 * its administrator has listed. */
#include "agent/api/console/api-console.h"

#include "agent/api/console/console-files.h"
#include "agent/http/problem.h"
#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "/console/"
#define FRONT "index.html"
#define POLICY                                                                      \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src " \
	"'self'"

/* Their names contain a hash of the content, so a browser may cache them forever. */
#define NAMED_BY_CONTENT "assets/"

static const struct clv_console_header common_headers[] = {
	{"Content-Encoding", "gzip"},
	{"Vary", "Accept-Encoding"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
};

static void add(struct clv_console_answer *answer, const char *name, const char *value)
{
	if (answer->n_headers < CLV_CONSOLE_HEADERS_MAX)
		answer->headers[answer->n_headers++] =
			(struct clv_console_header){name, value};
}

static const struct clv_console_file *find(
	const struct clv_console_file *files, size_t n_files, const char *path)
{
	const char *name = strcmp(path, "/") == 0 ? FRONT : path;

	if (strncmp(name, PREFIX, strlen(PREFIX)) == 0)
		name += strlen(PREFIX);
	if (name[0] == '\0')
		name = FRONT;
	for (size_t i = 0; i < n_files; i++) {
		if (strcmp(files[i].path, name) == 0)
			return &files[i];
	}
	return NULL;
}

/* Whether If-None-Match, a list of tags, each possibly weak, or "*", has the tag. */
static bool has_tag(const char *list, const char *etag)
{
	size_t length = strlen(etag);

	if (!list)
		return false;
	if (strcmp(list, "*") == 0)
		return true;
	for (const char *at = strstr(list, etag); at; at = strstr(at + 1, etag)) {
		char after = at[length];

		if (after == '\0' || after == ',' || after == ' ')
			return true;
	}
	return false;
}

/* Only characters of origins may get into the policy, or an origin could add
 * directives. */
static int set_policy(
	const char *connect, struct clv_console_answer *answer, struct clv_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ:/.-_[] ";
	const char *more = connect ? connect : "";
	int length;

	if (more[strspn(more, allowed)] != '\0')
		return clv_error_set(err, -EINVAL,
			"'%.64s' is not a list of agents' addresses: write "
			"https://host:port",
			more);
	length = snprintf(answer->policy, sizeof(answer->policy), "%s%s%s", POLICY,
		more[0] ? " " : "", more);
	if ((size_t)length >= sizeof(answer->policy))
		return clv_error_set(err, -EINVAL,
			"the addresses of other agents are over %zu bytes in all: name "
			"fewer nodes in the settings",
			sizeof(answer->policy) - sizeof(POLICY));
	return 0;
}

static int fill(const struct clv_console_file *file,
	const struct clv_console_request *request, struct clv_console_answer *ret,
	struct clv_error *err)
{
	bool is_kept =
		strncmp(file->path, NAMED_BY_CONTENT, strlen(NAMED_BY_CONTENT)) == 0;
	int r = set_policy(request->connect, ret, err);

	if (r < 0)
		return r;

	for (size_t i = 0; i < sizeof(common_headers) / sizeof(common_headers[0]); i++)
		add(ret, common_headers[i].name, common_headers[i].value);
	add(ret, "Content-Type", file->type);
	add(ret, "Content-Security-Policy", ret->policy);
	add(ret, "ETag", file->etag);
	add(ret, "Cache-Control",
		is_kept ? "public, max-age=31536000, immutable" : "no-cache");
	ret->status = 304;
	if (has_tag(request->if_none_match, file->etag))
		return 0;
	ret->status = 200;
	ret->body = file->body;
	ret->n_bytes = file->n_bytes;
	return 0;
}

int clv_console_answer(const struct clv_console_file *files, size_t n_files,
	const struct clv_console_request *request, struct clv_console_answer *ret,
	struct clv_error *err)
{
	const struct clv_console_file *file;

	memset(ret, 0, sizeof(*ret));
	if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
		return clv_error_set(err, -CLV_E_METHOD,
			"the console takes GET, not %.16s: programs use the API, whose "
			"paths /openapi.json lists",
			request->method);
	if (strcmp(request->path, "/console") == 0) {
		ret->status = 308;
		add(ret, "Location", PREFIX);
		return 0;
	}
	if (n_files == 0)
		return clv_error_set(err, -ENOENT,
			"this cleaved was built without its console: ./dev web, then "
			"./dev build; the API is at /v1/");
	file = find(files, n_files, request->path);
	if (!file)
		return clv_error_set(err, -ENOENT,
			"the console has no file of this name: it begins at /console/");
	return fill(file, request, ret, err);
}
