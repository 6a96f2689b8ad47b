/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the OpenAPI document from the tables of routes, parameters and schemas. */
#include "agent/api/object/openapi.h"

#include "agent/api/object/route.h"
#include "agent/api/object/schemas.h"
#include "base/cleanup.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
/* A parameter with a second meaning has a second row, NAME=MEANING. */
static const struct {
	const char *name, *type, *about;
} parameters[] = {
	{"after", "integer", "of a list: the items behind this one; of an operation: a later revision"},
	{"device", "string", "only of this device"},
	{"dry_run", "true|false", "answer with the plan (200) and change nothing"},
	{"force", "true|false", "end its processes first"},
	{"from", "time", "from this moment on"},
	{"lease", "string", "only of this lease, by id or name"},
	{"limit", "integer", "the most items"},
	{"name", "string", "of the layout in messages, or of the partition"},
	{"of", "node|wanted", "the node as it is, or the kept layout"},
	{"of=series", "string", "device:NAME, partition:NAME, lease:ID or tenant:NAME"},
	{"on_busy", "fail|wait|list", "replaces the layout's on-busy"},
	{"only", "true|false", "forget what earlier layouts say of other devices"},
	{"resolution", "second|minute", "seconds are kept for an hour, minutes for a month"},
	{"since", "string", "the revision of an earlier answer: only what has changed since"},
	{"state", "queued|active", "leases in this state"},
	{"tenant", "string", "leases of this tenant"},
	{"tenant=owner", "string", "whose project it is; the own one without it"},
	{"to", "time", "to before this moment"},
	{"wait_ms", "integer", "wait up to this long for a change"},
	{"wait_ms=action", "integer", "wait up to this long for an action"},
	{"wait_ms=end", "integer", "wait up to this long for its end"},
	{"while", "queued", "wait while the lease is queued"},
};

/* Headers of requests, by the route's action or path. */
static const struct {
	const char *of, *name, *about;
} headers[] = {
	{"lease.create", "Idempotency-Key", "requests with the same key are carried out once"},
	{"partition.create", "Idempotency-Key", "requests with the same key are carried out once"},
	{"layout.apply", "Idempotency-Key", "requests with the same key are carried out once"},
	{"token.create", "Idempotency-Key", "requests with the same key are carried out once"},
	{"/v1/layout", "If-Match", "of PUT: the ETag of the layout as the caller saw it"},
	{"/v1/events/stream", "Last-Event-ID", "in place of after"},
};

/* Answers in addition to that of the table of routes. */
static const struct {
	const char *method, *path, *status, *about, *schema;
} more_answers[] = {
	{"GET", "/readyz", "503", "the agent cannot grant leases", "Readiness"},
	{"POST", "/v1/partitions", "200", "with dry_run: the plan", "Plan"},
};
/* clang-format on */

/* word: NAME, NAME=MEANING, and "!" behind it where the parameter is required. */
static json_t *parameter(const char *word, size_t n_word)
{
	bool is_required = word[n_word - 1] == '!';
	size_t n = n_word - is_required, at = 0;

	while (strlen(parameters[at].name) != n ||
		memcmp(parameters[at].name, word, n) != 0) {
		at++;
		assert(at < CLV_ARRAY_SIZE(parameters));
	}
	return json_pack("{s:o,s:s,s:b,s:s,s:o}", "name",
		json_stringn(word, strcspn(word, "= !")), "in", "query", "required",
		is_required, "description", parameters[at].about, "schema",
		clv_schema_of_type(parameters[at].type));
}

static void add_headers(const struct clv_route *route, json_t *array)
{
	const char *action = route->action ? route->action : "";

	for (size_t i = 0; i < CLV_ARRAY_SIZE(headers); i++) {
		if (strcmp(headers[i].of, action) != 0 &&
			strcmp(headers[i].of, route->path) != 0)
			continue;
		json_array_append_new(
			array, json_pack("{s:s,s:s,s:s,s:o}", "name", headers[i].name,
				       "in", "header", "description", headers[i].about,
				       "schema", clv_schema_of_type("string")));
	}
}

/* The parameters of a route: in the path, in the query, and headers. */
static json_t *parameters_of(const struct clv_route *route)
{
	const char *brace = strchr(route->path, '{');
	const char *name = route->query ? route->query : "";
	json_t *array = json_array();

	if (brace)
		json_array_append_new(
			array, json_pack("{s:o,s:s,s:b,s:o}", "name",
				       json_stringn(brace + 1, strcspn(brace + 1, "}")),
				       "in", "path", "required", 1, "schema",
				       clv_schema_of_type("string")));
	while (*name != '\0') {
		size_t n = strcspn(name, " ");

		json_array_append_new(array, parameter(name, n));
		name += n + (name[n] == ' ');
	}
	add_headers(route, array);
	return array;
}

static json_t *content(const char *type, json_t *schema)
{
	return json_pack("{s:{s:o}}", type, "schema", schema);
}

static json_t *list_of(const char *type)
{
	return json_pack("{s:s,s:[s,s],s:{s:o,s:o}}", "type", "object", "required",
		"items", "next", "properties", "items", clv_schema_of_type(type), "next",
		clv_schema_of_type("integer?"));
}

static json_t *result_of(const struct clv_route *route)
{
	json_t *answer = json_pack("{s:s}", "description", route->about);

	if (!route->result)
		return answer;
	if (strcmp(route->result, "text") == 0)
		json_object_set_new(answer, "content",
			content("text/event-stream", clv_schema_of_type("string")));
	else if (strchr(route->result, '/'))
		json_object_set_new(answer, "content",
			content(route->result, clv_schema_of_type("string")));
	else if (route->result[0] == '[')
		json_object_set_new(answer, "content",
			content("application/json", list_of(route->result)));
	else
		json_object_set_new(answer, "content",
			content("application/json", clv_schema_of_type(route->result)));
	return answer;
}

static void add_more_answers(const struct clv_route *route, json_t *responses)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(more_answers); i++) {
		if (strcmp(more_answers[i].path, route->path) != 0 ||
			strcmp(more_answers[i].method, route->method) != 0)
			continue;
		json_object_set_new(responses, more_answers[i].status,
			json_pack("{s:s,s:o}", "description", more_answers[i].about,
				"content",
				content("application/json",
					clv_schema_of_type(more_answers[i].schema))));
	}
}

/* METHOD and the words of the path: getLeases, patchLeasesByLease. */
static json_t *operation_id(const struct clv_route *route)
{
	char id[96];
	size_t used = 0;
	bool is_start = false;

	for (const char *p = route->method; *p; p++)
		id[used++] = (char)(*p | 0x20);
	for (const char *p = strncmp(route->path, "/v1/", 4) == 0 ? route->path + 3
								  : route->path;
		*p && used + 3 < sizeof(id); p++) {
		bool is_letter = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');

		if (*p == '{') {
			id[used++] = 'B';
			id[used++] = 'y';
		}
		if (is_letter)
			id[used++] = (char)(is_start && *p >= 'a' ? *p - 32 : *p);
		is_start = !is_letter;
	}
	return json_stringn(id, used);
}

static json_t *describe(const struct clv_route *route)
{
	char status[8];
	json_t *body, *about = json_pack("{s:o,s:s,s:o,s:{s:{s:s,s:o}}}", "operationId",
			      operation_id(route), "summary", route->about, "parameters",
			      parameters_of(route), "responses", "default", "description",
			      "a problem document (RFC 9457)", "content",
			      content("application/problem+json",
				      clv_schema_of_type("Problem")));

	snprintf(status, sizeof(status), "%u", route->status);
	json_object_set_new(
		json_object_get(about, "responses"), status, result_of(route));
	add_more_answers(route, json_object_get(about, "responses"));
	/* Routes that are open to all callers need no token. */
	if (route->who == CLV_MAY_ALL)
		json_object_set_new(about, "security", json_array());
	if (route->body) {
		body = strcmp(route->body, "text") == 0
			       ? content("application/yaml", clv_schema_of_type("string"))
			       : content("application/json",
					 clv_schema_of_type(route->body));
		/* Only a reason may be left out. */
		json_object_set_new(about, "requestBody",
			json_pack("{s:b,s:o}", "required",
				strcmp(route->body, "Reason") != 0, "content", body));
	}
	return about;
}

static json_t *paths(const struct clv_route_table *table)
{
	json_t *object = json_object(), *path;
	const struct clv_route *routes = table->items;
	char method[8];

	for (size_t i = 0; i < table->n; i++) {
		path = json_object_get(object, routes[i].path);
		if (!path) {
			path = json_object();
			json_object_set_new(object, routes[i].path, path);
		}
		snprintf(method, sizeof(method), "%s", routes[i].method);
		for (char *p = method; *p; p++)
			*p = (char)(*p | 0x20);
		json_object_set_new(path, method, describe(&routes[i]));
	}
	return object;
}

static json_t *schema_to_json(const struct clv_schema *schema)
{
	json_t *properties = json_object(), *required = json_array(), *type;
	struct clv_schema_field field;
	bool is_required;

	for (size_t i = 0; clv_schema_at(schema, i, &field, &is_required); i++) {
		type = clv_schema_of_type(field.type);
		if (field.about && !json_object_get(type, "$ref"))
			json_object_set_new(
				type, "description", json_string(field.about));
		json_object_set_new(properties, field.name, type);
		if (is_required)
			json_array_append_new(required, json_string(field.name));
	}
	return json_pack("{s:s,s:o,s:o}", "type", "object", "properties", properties,
		"required", required);
}

static json_t *all_schemas(void)
{
	const struct clv_schema *schemas;
	json_t *object = json_object();
	size_t n;

	schemas = clv_schemas(&n);
	for (size_t i = 0; i < n; i++)
		json_object_set_new(object, schemas[i].name, schema_to_json(&schemas[i]));
	return object;
}

json_t *clv_openapi_to_json(const struct clv_route_table *table)
{
	return json_pack("{s:s,s:{s:s,s:s},s:o,s:[{s:[]}],s:{s:o,s:{s:{s:s,s:s}}}}",
		"openapi", "3.1.0", "info", "title", "cleave", "version", CLV_VERSION,
		"paths", paths(table), "security", "token", "components", "schemas",
		all_schemas(), "securitySchemes", "token", "type", "http", "scheme",
		"bearer");
}
