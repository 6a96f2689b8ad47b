/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of libvirt as those of cleave. */
#include "bridge/libvirt/host/host-internal.h"

#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
	virErrorNumber number;
	int code;
} codes[] = {
	{VIR_ERR_NO_DOMAIN, -ENOENT},
	{VIR_ERR_ACCESS_DENIED, -EPERM},
	{VIR_ERR_AUTH_FAILED, -EPERM},
	{VIR_ERR_AUTH_CANCELLED, -EPERM},
	{VIR_ERR_AUTH_UNAVAILABLE, -EPERM},
	{VIR_ERR_OPERATION_DENIED, -EPERM},
	{VIR_ERR_NO_SUPPORT, -ENOTSUP},
	{VIR_ERR_OPERATION_UNSUPPORTED, -ENOTSUP},
	{VIR_ERR_CONFIG_UNSUPPORTED, -ENOTSUP},
	{VIR_ERR_NO_CONNECT, -ECONNREFUSED},
	{VIR_ERR_INVALID_CONN, -ECONNREFUSED},
	{VIR_ERR_RPC, -ECONNREFUSED},
};

static int code_of(const virError *error)
{
	for (size_t i = 0; error && i < CLV_ARRAY_SIZE(codes); i++) {
		if ((int)codes[i].number == error->code)
			return codes[i].code;
	}
	/* A socket that is closed is an error of the system. */
	if (error && error->domain == VIR_FROM_RPC)
		return -ECONNREFUSED;
	return -EIO;
}

int clv_vm_fail(struct clv_error *err, const char *format, ...)
{
	const virError *error = virGetLastError();
	char what[256], text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(text, sizeof(text), "%s",
		error && error->message ? error->message : "no reason was given");
	clv_text_make_printable(text);
	return clv_error_set(err, code_of(error), "%s: %s", what, text);
}
