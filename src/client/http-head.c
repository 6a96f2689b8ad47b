/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the head of an HTTP answer.  The client asks with HTTP/1.0, to which a server may
 * send no transfer coding (RFC 9112, section 6.1), so that status and length are all that
 * matters. */
#include "client/http-head.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define VERSION "HTTP/1."
#define STATUS_AT (sizeof(VERSION) + 1) /* after the minor version and a space */
#define LENGTH "Content-Length:"
#define CODING "Transfer-Encoding:"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int read_status(const char *line, size_t n_bytes, long *ret)
{
	const char *status = line + STATUS_AT;

	if (n_bytes < STATUS_AT + 3 || memcmp(line, VERSION, sizeof(VERSION) - 1) != 0 ||
		!is_digit(line[STATUS_AT - 2]) || line[STATUS_AT - 1] != ' ' ||
		status[0] < '2' || status[0] > '5' || !is_digit(status[1]) ||
		!is_digit(status[2]) || (n_bytes > STATUS_AT + 3 && status[3] != ' '))
		return -EBADMSG;

	*ret = (status[0] - '0') * 100 + (status[1] - '0') * 10 + (status[2] - '0');
	return 0;
}

static bool is_field(const char *line, size_t n_bytes, const char *name)
{
	return n_bytes >= strlen(name) && strncasecmp(line, name, strlen(name)) == 0;
}

static int read_length(const char *line, size_t n_bytes, size_t *ret)
{
	size_t i = sizeof(LENGTH) - 1, value = 0;

	while (i < n_bytes && (line[i] == ' ' || line[i] == '\t'))
		i++;
	if (i == n_bytes)
		return -EBADMSG;
	for (; i < n_bytes; i++) {
		if (!is_digit(line[i]) || value > (SIZE_MAX - 9) / 10)
			return -EBADMSG;
		value = value * 10 + (size_t)(line[i] - '0');
	}

	*ret = value;
	return 0;
}

int clv_http_head_read(const char *bytes, size_t n_bytes, struct clv_http_head *ret)
{
	const char *end = memmem(bytes, n_bytes, "\r\n\r\n", 4);
	struct clv_http_head head = {};
	bool has_length = false;
	const char *line, *next;

	if (!end)
		return n_bytes < CLV_HTTP_HEAD_MAX_BYTES ? 0 : -EBADMSG;
	for (line = bytes; line < end + 2; line = next + 2) {
		size_t n;
		int r = 0;

		next = memmem(line, (size_t)(end + 2 - line), "\r\n", 2);
		n = (size_t)(next - line);
		if (line == bytes) {
			r = read_status(line, n, &head.status);
		} else if (is_field(line, n, CODING)) {
			r = -EBADMSG;
		} else if (is_field(line, n, LENGTH)) {
			r = has_length ? -EBADMSG
				       : read_length(line, n, &head.body_bytes);
			has_length = true;
		}
		if (r < 0)
			return r;
	}
	/* No body follows 204 and 304. */
	if (!has_length && head.status != 204 && head.status != 304)
		return -EBADMSG;

	head.n_bytes = (size_t)(end + 4 - bytes);
	*ret = head;
	return 1;
}
