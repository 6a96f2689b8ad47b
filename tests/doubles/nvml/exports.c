/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

/* The symbols of the library: each is a call that begins, is carried out by the function
 * of the same name with the prefix dnv_, and ends. A build has the symbols of the driver
 * that it simulates. */

#define EXPORT __attribute__((visibility("default")))

#define SYMBOL(name, parameters, arguments)                       \
	EXPORT int name parameters;                               \
	int name parameters                                       \
	{                                                         \
		struct dnv_call call;                             \
                                                                  \
		if (!dnv_call_begin(&call, DNV_##name))           \
			return dnv_call_end(&call, call.code);    \
		return dnv_call_end(&call, dnv_##name arguments); \
	}

DNV_ANYTIME(SYMBOL)
DNV_SINCE_450(SYMBOL)
#if DNV_DRIVER >= 470
DNV_SINCE_470(SYMBOL)
#endif
#if DNV_DRIVER >= 580
DNV_SINCE_580(SYMBOL)
#endif
#if DNV_DRIVER >= 615
DNV_SINCE_615(SYMBOL)
#endif

/* clang-format off */
static const struct { int code; const char *text; } texts[] = {
	{ 0, "Success" },
	{ 1, "Uninitialized" },
	{ 2, "Invalid Argument" },
	{ 3, "Not Supported" },
	{ 4, "Insufficient Permissions" },
	{ 5, "Already Initialized" },
	{ 6, "Not Found" },
	{ 7, "Insufficient Size" },
	{ 8, "Insufficient External Power" },
	{ 9, "Driver Not Loaded" },
	{ 10, "Timeout" },
	{ 11, "Interrupt Request Issue" },
	{ 12, "NVML Shared Library Not Found" },
	{ 13, "Function Not Found" },
	{ 14, "Corrupted infoROM" },
	{ 15, "GPU is lost" },
	{ 16, "GPU requires reset" },
	{ 17, "GPU access blocked by the operating system" },
	{ 18, "Driver/library version mismatch" },
	{ 19, "In use by another client" },
	{ 20, "Insufficient Memory" },
	{ 21, "No data" },
	{ 23, "Insufficient Resources" },
	{ 25, "Argument version mismatch" },
	{ 26, "Deprecated" },
	{ 27, "Not Ready" },
	{ 28, "No GPUs were found" },
	{ 29, "Invalid State" },
	{ 30, "Reset type not supported" },
};
/* clang-format on */

EXPORT const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].code == code)
			return texts[i].text;
	return "Unknown Error";
}
