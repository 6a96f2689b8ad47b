/* SPDX-License-Identifier: Apache-2.0 */
#include "holders.h"
#include "nvidia.h"
#include "pci.h"
#include "tree.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Mediated devices, after drivers/vfio/mdev: created by a write of a UUID to a type of a
 * parent, which is the GPU itself or each of its virtual functions. */

#define UUID_LENGTH 36

bool sy_mdev_is_parent(const struct sy_function *f)
{
	const struct sy_nvidia *nvidia = f->physfn ? &f->physfn->nvidia : &f->nvidia;

	return f->family == &sy_family_nvidia && nvidia->framework == SY_MDEV &&
	       (f->physfn != NULL) == (nvidia->parent == SY_PARENT_VF) &&
	       sy_is_native(f) && !f->nvidia.is_broken;
}

static struct sy_mdev **find(const char *uuid)
{
	struct sy_mdev **at = &sy_world.mdevs;

	while (*at && strcmp((*at)->uuid, uuid) != 0)
		at = &(*at)->next;
	return at;
}

static void forget(struct sy_mdev **at)
{
	struct sy_mdev *gone = *at;

	*at = gone->next;
	free(gone);
}

void sy_mdev_forget(struct sy_function *parent)
{
	struct sy_mdev **at = &sy_world.mdevs;

	while (*at) {
		if ((*at)->parent == parent)
			forget(at);
		else
			at = &(*at)->next;
	}
}

/* A virtual function is the parent of at most one vGPU. */
static uint64_t available(struct sy_function *parent, const struct sy_vgpu_type *type)
{
	uint64_t room = sy_vgpu_room(sy_pf(parent), type);

	if (!parent->physfn)
		return room;
	for (struct sy_mdev *m = sy_world.mdevs; m; m = m->next) {
		if (m->parent == parent)
			return 0;
	}
	return room > 0;
}

/* --- A type --- */

static const struct sy_vgpu_type *type_of(const struct sy_node *node)
{
	return node->data;
}

static int name_show(struct sy_node *node, struct sy_text *ret)
{
	sy_add(ret, "%s\n", type_of(node)->name);
	return 0;
}

static int description_show(struct sy_node *node, struct sy_text *ret)
{
	const struct sy_vgpu_type *type = type_of(node);

	sy_add(ret,
		"num_heads=1, frl_config=60, framebuffer=%" PRIu64 "M, "
		"max_resolution=4096x2160, max_instance=%" PRIu64 "\n",
		type->memory_mb, type->most);
	return 0;
}

static int available_show(struct sy_node *node, struct sy_text *ret)
{
	sy_add(ret, "%" PRIu64 "\n", available(node->f, type_of(node)));
	return 0;
}

static int api_show(struct sy_node *node, struct sy_text *ret)
{
	sy_add(ret, "vfio-pci\n");
	return 0;
}

static bool is_uuid(const char *text)
{
	for (int i = 0; i < UUID_LENGTH; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? text[i] != '-' : !strchr("0123456789abcdefABCDEF", text[i]))
			return false;
	}
	return true;
}

static int create_store(struct sy_node *node, const char *text)
{
	struct sy_mdev *made, **at;
	char uuid[SY_UUID] = "";
	size_t length = strlen(text);

	if (length < UUID_LENGTH || length > UUID_LENGTH + 1 || !is_uuid(text))
		return -EINVAL;
	for (int i = 0; i < UUID_LENGTH; i++)
		uuid[i] =
			(char)(text[i] >= 'A' && text[i] <= 'F' ? text[i] + 32 : text[i]);
	at = find(uuid);
	if (*at)
		return -EEXIST;
	if (!available(node->f, type_of(node)))
		return -ENOSPC;
	made = sy_alloc(1, sizeof(*made));
	strcpy(made->uuid, uuid);
	made->parent = node->f;
	made->type = type_of(node)->id;
	made->group = sy_free_group();
	*at = made;
	return 0;
}

static const struct sy_attribute type_files[] = {
	{"name", 0444, name_show, NULL, 0},
	{"description", 0444, description_show, NULL, 0},
	{"available_instances", 0444, available_show, NULL, 0},
	{"device_api", 0444, api_show, NULL, 0},
	{"create", 0200, NULL, create_store, 0},
};

void sy_mdev_parent_build(struct sy_function *parent, struct sy_node *dir)
{
	const struct sy_nvidia *nvidia = &sy_pf(parent)->nvidia;

	for (size_t i = 0; i < nvidia->n_types; i++) {
		struct sy_node *of;
		char name[32];

		sy_print(name, sizeof(name), "nvidia-%" PRIu64, nvidia->types[i].id);
		of = sy_dir(sy_dir(dir, "mdev_supported_types"), name);
		for (size_t j = 0; j < SY_COUNT(type_files); j++)
			sy_file(of, &type_files[j], parent)->data = &nvidia->types[i];
		sy_dir(of, "devices");
	}
	sy_link(sy_make("/class/mdev_bus"), parent->bdf, "%s", sy_pci_path(parent));
}

/* --- A device --- */

static int remove_store(struct sy_node *node, const char *text)
{
	struct sy_mdev **at = find(node->up->name);
	uint64_t value;

	if (sy_parse(text, UINT64_MAX, &value) < 0)
		return -EINVAL;
	if (!value)
		return 0;
	if (!*at)
		return -ENODEV;
	if (sy_held(SY_HOLDS_MDEV, (*at)->uuid))
		return -EBUSY;
	forget(at);
	return 0;
}

static const struct sy_attribute remove_file = {"remove", 0200, NULL, remove_store, 0};

static void build_device(struct sy_mdev *m)
{
	struct sy_node *dir = sy_make("%s/%s", sy_pci_path(m->parent), m->uuid);
	char path[256], type[32];

	sy_path(dir, path, sizeof(path));
	sy_print(type, sizeof(type), "nvidia-%" PRIu64, m->type);
	sy_file(dir, &remove_file, m->parent);
	sy_link(dir, "mdev_type", "%s/mdev_supported_types/%s", sy_pci_path(m->parent),
		type);
	sy_link(dir, "subsystem", "/bus/mdev");
	sy_link(dir, "iommu_group", "/kernel/iommu_groups/%" PRIu64, m->group);
	sy_link(sy_make("/kernel/iommu_groups/%" PRIu64 "/devices", m->group), m->uuid,
		"%s", path);
	sy_link(sy_make("/bus/mdev/devices"), m->uuid, "%s", path);
	sy_link(sy_make("%s/mdev_supported_types/%s/devices", sy_pci_path(m->parent),
			type),
		m->uuid, "%s", path);
}

/* The bus exists as long as a device could be created on it. */
void sy_mdev_build(void)
{
	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		if (f->is_present && sy_mdev_is_parent(f))
			sy_make("/bus/mdev/devices");
	}
	for (struct sy_mdev *m = sy_world.mdevs; m; m = m->next)
		build_device(m);
}
