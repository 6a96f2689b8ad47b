/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into an agent: libmicrohttpd returns all information about connections in
 * one place, which the next call overwrites, as versions from 1.0 on do for each
 * connection. */
#include <dlfcn.h>
#include <microhttpd.h>

__attribute__((visibility("default"))) const union MHD_ConnectionInfo *
MHD_get_connection_info(
	struct MHD_Connection *connection, enum MHD_ConnectionInfoType type, ...)
{
	static union MHD_ConnectionInfo all;
	const union MHD_ConnectionInfo *(*next)(
		struct MHD_Connection *, enum MHD_ConnectionInfoType, ...) =
		dlsym(RTLD_NEXT, "MHD_get_connection_info");
	const union MHD_ConnectionInfo *info = next(connection, type);

	if (!info)
		return NULL;
	switch (type) {
	case MHD_CONNECTION_INFO_CONNECTION_FD:
		all.connect_fd = info->connect_fd;
		break;
	case MHD_CONNECTION_INFO_SOCKET_CONTEXT:
		all.socket_context = info->socket_context;
		break;
	case MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE:
		all.header_size = info->header_size;
		break;
	default:
		return NULL;
	}
	return &all;
}
