/* SPDX-License-Identifier: Apache-2.0 */
#include "functions.h"

/* Names of errors, in the vendor's spelling. */

/* clang-format off */
static const struct { int code; const char *name, *text; } errors[] = {
	{ 0,   "CUDA_SUCCESS",                       "no error" },
	{ 1,   "CUDA_ERROR_INVALID_VALUE",           "invalid argument" },
	{ 2,   "CUDA_ERROR_OUT_OF_MEMORY",           "out of memory" },
	{ 3,   "CUDA_ERROR_NOT_INITIALIZED",         "initialization error" },
	{ 4,   "CUDA_ERROR_DEINITIALIZED",           "driver shutting down" },
	{ 46,  "CUDA_ERROR_DEVICE_UNAVAILABLE",      "CUDA-capable device(s) is/are busy or unavailable" },
	{ 100, "CUDA_ERROR_NO_DEVICE",               "no CUDA-capable device is detected" },
	{ 101, "CUDA_ERROR_INVALID_DEVICE",          "invalid device ordinal" },
	{ 200, "CUDA_ERROR_INVALID_IMAGE",           "device kernel image is invalid" },
	{ 201, "CUDA_ERROR_INVALID_CONTEXT",         "invalid device context" },
	{ 208, "CUDA_ERROR_ALREADY_MAPPED",          "resource already mapped" },
	{ 209, "CUDA_ERROR_NO_BINARY_FOR_GPU",       "no kernel image is available for execution on the device" },
	{ 224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "execution affinity is not supported" },
	{ 301, "CUDA_ERROR_FILE_NOT_FOUND",          "file not found" },
	{ 400, "CUDA_ERROR_INVALID_HANDLE",          "invalid resource handle" },
	{ 401, "CUDA_ERROR_ILLEGAL_STATE",           "the operation cannot be performed in the present state" },
	{ 500, "CUDA_ERROR_NOT_FOUND",               "named symbol not found" },
	{ 600, "CUDA_ERROR_NOT_READY",               "device not ready" },
	{ 700, "CUDA_ERROR_ILLEGAL_ADDRESS",         "an illegal memory access was encountered" },
	{ 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch" },
	{ 702, "CUDA_ERROR_LAUNCH_TIMEOUT",          "the launch timed out and was terminated" },
	{ 708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",  "cannot set while device is active in this process" },
	{ 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED",    "context is destroyed" },
	{ 712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped" },
	{ 713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region" },
	{ 719, "CUDA_ERROR_LAUNCH_FAILED",           "unspecified launch failure" },
	{ 720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch" },
	{ 800, "CUDA_ERROR_NOT_PERMITTED",           "operation not permitted" },
	{ 801, "CUDA_ERROR_NOT_SUPPORTED",           "operation not supported" },
	{ 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing" },
	{ 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture" },
	{ 902, "CUDA_ERROR_STREAM_CAPTURE_MERGE",    "operation would result in a merge of separate capture sequences" },
	{ 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began" },
	{ 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work" },
	{ 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream" },
	{ 906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream" },
	{ 907, "CUDA_ERROR_CAPTURED_EVENT",          "operation not permitted on an event last recorded in a capturing stream" },
	{ 908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread" },
	{ 910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update" },
	{ 917, "CUDA_ERROR_STREAM_DETACHED",         "operation not permitted while the stream is detached" },
	{ 999, "CUDA_ERROR_UNKNOWN",                 "unknown error" },
};
/* clang-format on */

static int find(int code)
{
	for (int i = 0; i < (int)(sizeof(errors) / sizeof(errors[0])); i++)
		if (errors[i].code == code)
			return i;
	return -1;
}

int dcu_cuGetErrorName(int code, const char **ret)
{
	int i = find(code);

	*ret = i < 0 ? NULL : errors[i].name;
	return i < 0 ? DCU_INVALID_VALUE : 0;
}
