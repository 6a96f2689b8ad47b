/* SPDX-License-Identifier: Apache-2.0 */
#include "exports.h"
#include "internal.h"
#include <string.h>

/* Names of errors, and lookup of functions by name. */

static const struct {
	int error;
	const char *name, *text;
} errors[] = {
	{HIP_OK, "hipSuccess", "no error"},
	{HIP_INVALID_VALUE, "hipErrorInvalidValue", "invalid argument"},
	{HIP_OUT_OF_MEMORY, "hipErrorOutOfMemory", "out of memory"},
	{HIP_NOT_INITIALIZED, "hipErrorNotInitialized", "initialization error"},
	{HIP_INVALID_CONFIGURATION, "hipErrorInvalidConfiguration",
		"invalid configuration argument"},
	{HIP_INVALID_DEVICE_FUNCTION, "hipErrorInvalidDeviceFunction",
		"invalid device function"},
	{HIP_NO_DEVICE, "hipErrorNoDevice", "no ROCm-capable device is detected"},
	{HIP_INVALID_DEVICE, "hipErrorInvalidDevice", "invalid device ordinal"},
	{HIP_INVALID_IMAGE, "hipErrorInvalidImage", "device kernel image is invalid"},
	{HIP_INVALID_HANDLE, "hipErrorInvalidHandle", "invalid resource handle"},
	{HIP_NOT_FOUND, "hipErrorNotFound", "named symbol not found"},
	{HIP_NOT_READY, "hipErrorNotReady", "device not ready"},
	{HIP_COOPERATIVE_TOO_LARGE, "hipErrorCooperativeLaunchTooLarge",
		"too many blocks in cooperative launch"},
	{HIP_NOT_SUPPORTED, "hipErrorNotSupported", "operation not supported"},
	{HIP_CAPTURE_UNSUPPORTED, "hipErrorStreamCaptureUnsupported",
		"operation not permitted when stream is capturing"},
	{HIP_CAPTURE_INVALIDATED, "hipErrorStreamCaptureInvalidated",
		"operation failed due to a previous error during capture"},
	{HIP_CAPTURE_IMPLICIT, "hipErrorStreamCaptureImplicit",
		"operation would make the legacy stream depend on a capturing blocking "
		"stream"},
	{HIP_UNKNOWN, "hipErrorUnknown", "unknown error"},
};

static size_t find(int error)
{
	size_t n = sizeof(errors) / sizeof(errors[0]);

	for (size_t i = 0; i < n; i++)
		if (errors[i].error == error)
			return i;
	return n - 1;
}

const char *hipGetErrorName(int error)
{
	return errors[find(error)].name;
}

const char *hipGetErrorString(int error)
{
	return errors[find(error)].text;
}

static int give(int error, const char *text, const char **ret)
{
	if (!ret)
		return HIP_INVALID_VALUE;
	*ret = errors[find(error)].error == error ? text : NULL;
	return *ret ? 0 : HIP_INVALID_VALUE;
}

int dhi_hipDrvGetErrorName(int error, const char **ret)
{
	return give(error, hipGetErrorName(error), ret);
}

int dhi_hipDrvGetErrorString(int error, const char **ret)
{
	return give(error, hipGetErrorString(error), ret);
}

/* --- Functions by name --- */

static void *find_symbol(const char *name)
{
	for (const struct dhi_symbol *s = dhi_symbols; s->name; s++)
		if (strcmp(s->name, name) == 0)
			return s->function;
	return NULL;
}

/* A name whose meaning changed with ROCm 6 has the new meaning for new programs. */
static const char *name_for(const char *name, int version)
{
	if (version >= 600 && strcmp(name, "hipGetDeviceProperties") == 0)
		return "hipGetDevicePropertiesR0600";
	if (version >= 600 && strcmp(name, "hipChooseDevice") == 0)
		return "hipChooseDeviceR0600";
	return name;
}

#define WANT_PER_THREAD 2

int dhi_hipGetProcAddress(
	const char *name, void **ret, int version, uint64_t flags, int *ret_status)
{
	char of_thread[96];
	void *found = NULL;

	if (!name || !ret)
		return HIP_INVALID_VALUE;
	if (flags & WANT_PER_THREAD) {
		strcpy(stpncpy(of_thread, name, sizeof(of_thread) - 8), "_spt");
		found = find_symbol(of_thread);
	}
	if (!found)
		found = find_symbol(name_for(name, version));
	*ret = found;
	if (ret_status)
		*ret_status = found ? 0 : 1;
	return found ? 0 : HIP_NOT_FOUND;
}
