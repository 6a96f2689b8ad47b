/* SPDX-License-Identifier: Apache-2.0 */
/* The framing of requests, as RFC 9112 has it and no laxer.  A proxy in front of the
 * agent could find another end of a lax request than the agent, and forward a part of its
 * body as a request.
 *
 * libmicrohttpd before 1.0 takes a bare LF for the end of a line, spaces in the target,
 * spaces before a colon and continuation lines, and shows its caller none of them.  Its
 * parser works in place, on one buffer: from where it has put names and values follows
 * which bytes were between them. */
#include "agent/http/http-internal.h"

#include "agent/http/problem.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define VERSION_BYTES 8u /* "HTTP/1.1" */
#define LINE_END_BYTES 2u

/* An iteration over the headers in the order in which they came. */
struct walk {
	const char *next;   /* where the next header begins if all lines end with CRLF */
	const char *fault;  /* NULL: none so far */
	const char *length; /* the value of Content-Length */
	const char *host;   /* of Host */
	unsigned int n_hosts, n_lengths, n_codings;
	bool knows_place;
};

static const char bad_line[] =
	"a line of the header does not end with CR and LF, or is a continuation line: "
	"end each line with both, and write a header in one line";

static const char token_chars[] = "!#$%&'*+-.^_`|~0123456789"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz";

static bool is_token(const char *text)
{
	return text[0] != '\0' && text[strspn(text, token_chars)] == '\0';
}

/* RFC 3986, 3.2.2 and 3.2.3, by characters: a host and a port. */
static const char host_chars[] = "-._~!$&'()*+,;=%:[]0123456789"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "abcdefghijklmnopqrstuvwxyz";

static bool has_control(const char *text)
{
	for (const char *p = text; *p; p++) {
		if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f)
			return true;
	}
	return false;
}

/* RFC 9110, 5.5: blanks at the end are not part of a value.  libmicrohttpd before 1.0
 * leaves them there. */
static void cut_blanks(const char *text)
{
	size_t n = strlen(text);

	while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	if (text[n] != '\0')
		*(char *)(uintptr_t)(text + n) = '\0';
}

/* The headers that the framing depends on. */
static void count(struct walk *walk, const char *name, const char *value)
{
	if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
		walk->n_hosts++;
		walk->host = value;
	}
	walk->n_codings += strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
	if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
		walk->n_lengths++;
		walk->length = value;
	}
}

static enum MHD_Result check_header(
	void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct walk *walk = userdata;
	const char *text = value ? value : "";

	if (!is_token(name) || has_control(text))
		walk->fault = "a header has a character that none may have: leave out "
			      "spaces before the colon, and control characters";
	else if (walk->knows_place && name != walk->next)
		walk->fault = bad_line;
	if (walk->fault)
		return MHD_NO;
	walk->next = text + strlen(text) + LINE_END_BYTES;
	cut_blanks(text);
	count(walk, name, text);
	return MHD_YES;
}

/* The end of the header's block; NULL: not known. */
static const char *find_end(const struct clv_request *request)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return info ? request->method + info->header_size : NULL;
}

static int check_line(const struct clv_request *request, const char *version,
	const char *version_at, struct clv_error *err)
{
	if (is_token(request->method) && version == version_at &&
		strlen(version) == VERSION_BYTES)
		return 0;
	return clv_error_set(err, -EINVAL,
		"the request line must have a method, a target without spaces and a "
		"version, with one space between them: percent-encode other characters");
}

static bool is_number(const char *text)
{
	return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* RFC 9112, 3.2: HTTP/1.1 needs one Host; no version may have several. */
static int check_counts(
	const struct walk *walk, const char *version, struct clv_error *err)
{
	if (walk->n_hosts > 1 ||
		(walk->n_hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0))
		return clv_error_set(err, -EINVAL,
			"the request has no Host header, or several: send one");
	if (walk->host && walk->host[strspn(walk->host, host_chars)] != '\0')
		return clv_error_set(err, -EINVAL,
			"the Host header has a character that no host has: send a name "
			"or an address, and a port");
	if (walk->n_lengths > 1 || (walk->n_codings > 0 && walk->n_lengths > 0) ||
		(walk->length && !is_number(walk->length)))
		return clv_error_set(err, -EINVAL,
			"the length of the request is ambiguous: give one "
			"Content-Length in decimal digits, and no Transfer-Encoding");
	/* RFC 9112, 6.3 allows this.  libmicrohttpd takes bare LFs in chunks. */
	if (walk->n_codings > 0)
		return clv_error_set(err, -CLV_E_LENGTH,
			"the body has no length: give a Content-Length and no "
			"Transfer-Encoding");
	return 0;
}

int clv_http_check_framing(const struct clv_request *request, const char *version,
	const char *version_at, struct clv_error *err)
{
	/* Later versions are strict themselves, see MHD_OPTION_CLIENT_DISCIPLINE_LVL. */
	bool knows_place = MHD_get_version()[0] == '0';
	struct walk walk = {.next = version + VERSION_BYTES + LINE_END_BYTES,
		.knows_place = knows_place};
	int r = knows_place ? check_line(request, version, version_at, err) : 0;

	if (r < 0)
		return r;
	MHD_get_connection_values(
		request->connection, MHD_HEADER_KIND, check_header, &walk);
	if (!walk.fault && knows_place && walk.next + LINE_END_BYTES != find_end(request))
		walk.fault = bad_line;
	return walk.fault ? clv_error_set(err, -EINVAL, "%s", walk.fault)
			  : check_counts(&walk, version, err);
}

const char *clv_http_find_version(const char *target)
{
	const char *p = target;

	while (p && (unsigned char)*p > 0x20 && (unsigned char)*p < 0x7f)
		p++;
	return p && p > target && *p == '\0' && target[-1] == '\0' ? p + 1 : NULL;
}

bool clv_http_cut_parameters(const char *target)
{
	const char *at = target ? strchr(target, '?') : NULL;

	for (unsigned int n = 0; at && n < CLV_HTTP_PARAMETERS_MAX; n++)
		at = strchr(at + 1, '&');
	if (!at)
		return false;
	*(char *)(uintptr_t)at = '\0';
	return true;
}
