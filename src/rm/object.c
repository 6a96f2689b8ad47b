/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the ioctls by which a process creates and frees objects. */
#include "rm/object.h"

#include "rm/abi.h"

#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>

bool clv_rm_object_is_channel(const struct clv_rm_object *object)
{
	return object->class != CLV_RM_CLASS_GROUP &&
	       (object->class & 0xff) == CLV_RM_CLASS_CHANNEL;
}

static bool is_tracked_class(const struct clv_rm_object *object)
{
	return object->class == CLV_RM_CLASS_GROUP ||
	       object->class == CLV_RM_CLASS_SUBDEVICE ||
	       clv_rm_object_is_channel(object);
}

static bool read_alloc(const void *argument, size_t n_bytes, struct clv_rm_object *ret)
{
	bool has_rights = n_bytes >= sizeof(struct clv_rm_alloc_rights);
	struct clv_rm_alloc made;
	uint32_t status;

	memcpy(&made, argument, sizeof(made));
	memcpy(&status,
		(const char *)argument +
			(has_rights ? offsetof(struct clv_rm_alloc_rights, status)
				    : offsetof(struct clv_rm_alloc, status)),
		sizeof(status));
	*ret = (struct clv_rm_object){
		.client = made.client,
		.parent = made.parent,
		.handle = made.object,
		.class = made.class,
	};
	return status == CLV_RM_OK && is_tracked_class(ret);
}

static bool read_free(const void *argument, struct clv_rm_object *ret)
{
	struct clv_rm_free freed;

	memcpy(&freed, argument, sizeof(freed));
	*ret = (struct clv_rm_object){
		.client = freed.client, .parent = freed.parent, .handle = freed.object};
	return freed.status == CLV_RM_OK;
}

static bool read_call(
	uint32_t number, const void *argument, size_t n_bytes, struct clv_rm_object *ret)
{
	if (number == CLV_RM_ALLOC && n_bytes >= sizeof(struct clv_rm_alloc))
		return read_alloc(argument, n_bytes, ret);
	if (number == CLV_RM_FREE && n_bytes >= sizeof(struct clv_rm_free))
		return read_free(argument, ret);
	return false;
}

bool clv_rm_object_read(
	unsigned long request, const void *argument, struct clv_rm_object *ret)
{
	struct clv_rm_transfer transfer;

	if (_IOC_TYPE(request) != CLV_RM_IOCTL_TYPE || !argument)
		return false;
	if (_IOC_NR(request) != CLV_RM_TRANSFER)
		return read_call(_IOC_NR(request), argument, _IOC_SIZE(request), ret);
	if (_IOC_SIZE(request) < sizeof(transfer))
		return false;
	memcpy(&transfer, argument, sizeof(transfer));
	return transfer.argument != 0 &&
	       read_call(transfer.number, (const void *)(uintptr_t)transfer.argument,
		       transfer.n_bytes, ret);
}
