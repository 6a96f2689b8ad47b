/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC's status codes, and the encoding of grpc-message and grpc-timeout. */
#include "bridge/rpc/status.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>

#define TIMEOUT_DIGITS_MAX 8

static const struct {
	int error;
	enum clv_rpc_code code;
} codes[] = {
	{EINVAL, CLV_RPC_INVALID_ARGUMENT},
	{ERANGE, CLV_RPC_INVALID_ARGUMENT},
	{EBUSY, CLV_RPC_RESOURCE_EXHAUSTED},
	{ENOSPC, CLV_RPC_RESOURCE_EXHAUSTED},
	{ENOMEM, CLV_RPC_RESOURCE_EXHAUSTED},
	{ENODEV, CLV_RPC_NOT_FOUND},
	{ENOENT, CLV_RPC_NOT_FOUND},
	{EPERM, CLV_RPC_FAILED_PRECONDITION},
	{EACCES, CLV_RPC_FAILED_PRECONDITION},
	{ECONNREFUSED, CLV_RPC_UNAVAILABLE},
	{ECONNRESET, CLV_RPC_UNAVAILABLE},
	{EAGAIN, CLV_RPC_UNAVAILABLE},
	{ETIMEDOUT, CLV_RPC_UNAVAILABLE},
};

enum clv_rpc_code clv_rpc_code_of(int negative_errno)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(codes); i++) {
		if (codes[i].error == -negative_errno)
			return codes[i].code;
	}
	return CLV_RPC_INTERNAL;
}

void clv_rpc_escape(const char *message, char ret[CLV_RPC_ESCAPED_MAX])
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n = 0;

	for (const char *p = message; *p != '\0' && n + 4 <= CLV_RPC_ESCAPED_MAX; p++) {
		unsigned char byte = (unsigned char)*p;

		if (byte >= 0x20 && byte <= 0x7e && byte != '%') {
			ret[n++] = *p;
			continue;
		}
		ret[n++] = '%';
		ret[n++] = digits[byte >> 4];
		ret[n++] = digits[byte & 15];
	}
	ret[n] = '\0';
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void clv_rpc_unescape(const char *text, size_t n_bytes, char ret[CLV_RPC_MESSAGE_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < n_bytes && n + 1 < CLV_RPC_MESSAGE_MAX; i++) {
		if (text[i] == '%' && i + 2 < n_bytes && digit(text[i + 1]) >= 0 &&
			digit(text[i + 2]) >= 0) {
			ret[n++] = (char)(digit(text[i + 1]) * 16 + digit(text[i + 2]));
			i += 2;
		} else {
			ret[n++] = text[i];
		}
	}
	ret[n] = '\0';
}

static uint64_t unit_ns(char unit)
{
	switch (unit) {
	case 'H':
		return 3600 * CLV_NS_PER_S;
	case 'M':
		return 60 * CLV_NS_PER_S;
	case 'S':
		return CLV_NS_PER_S;
	case 'm':
		return CLV_NS_PER_MS;
	case 'u':
		return CLV_NS_PER_US;
	case 'n':
		return 1;
	default:
		return 0;
	}
}

int clv_rpc_parse_timeout(const char *text, size_t n_bytes, uint64_t *ret_ns)
{
	uint64_t value = 0;

	if (n_bytes < 2 || n_bytes > TIMEOUT_DIGITS_MAX + 1 ||
		unit_ns(text[n_bytes - 1]) == 0)
		return -EINVAL;
	for (size_t i = 0; i + 1 < n_bytes; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		value = 10 * value + (uint64_t)(text[i] - '0');
	}
	*ret_ns = value * unit_ns(text[n_bytes - 1]);
	return 0;
}
