/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/service.h"

/* Functions that the readers of the parts of a compose file share.  All that fail return
 * a negative errno with *err set, with line and column. */

int clv_service_no_memory(struct clv_yaml_value place, struct clv_error *err);

/* Adds a remark. */
int clv_service_remark(struct clv_services *services, struct clv_yaml_value place,
	struct clv_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* A copy of n bytes of text that lives as long as services; NULL if out of memory. */
const char *clv_service_own(struct clv_services *services, const char *text, size_t n);

/* Appends a borrowed text. */
int clv_service_add_text(struct clv_yaml_value place, struct clv_service_texts *texts,
	const char *text, struct clv_error *err);

/* A text of any length without a NUL, also with line breaks; numbers are texts too. */
int clv_service_read_text(
	struct clv_yaml_value value, const char **ret, struct clv_error *err);

/* A list of texts, or one text that is split into words as a shell does, without
 * variables: with quotes and backslashes. */
int clv_service_read_words(struct clv_services *services, struct clv_yaml_value value,
	struct clv_service_texts *ret, struct clv_error *err);

/* "1m30s", "500ms"; a bare number is refused, as by Compose. */
int clv_service_read_duration(
	struct clv_yaml_value value, uint64_t *ret_ns, struct clv_error *err);

/* A key that has no effect here, in any value. */
int clv_service_skip(struct clv_yaml_value value, void *into, struct clv_error *err);

/* Keys of Compose that are refused, and what to do instead. */
struct clv_service_refusal {
	const char *key, *instead;
};
int clv_service_refuse(struct clv_yaml_value map, const struct clv_service_refusal *rows,
	size_t n, struct clv_error *err);

/* Readers of keys of a service; into is its struct clv_service. */
int clv_service_read_ports(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_service_read_volumes(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_service_read_environment(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_service_read_env_files(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_service_read_dependencies(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_service_read_health(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_service_read_restart(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_service_read_deploy(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_service_read_cleave(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_service_read_integrations(
	struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_service_read_capabilities(
	struct clv_yaml_value value, void *into, struct clv_error *err);

/* A list of `devices` of resources. */
int clv_service_read_devices(
	struct clv_yaml_value value, void *into, struct clv_error *err);

/* Gives a service the device that the top of the file gives to all, if it has none of its
 * own. */
int clv_service_share_device(struct clv_service *service,
	struct clv_yaml_value integrations, struct clv_error *err);

/* Completes and checks what several keys say together: replicas and scaling. */
int clv_service_check_scaling(struct clv_service *service, struct clv_error *err);

/* Finds the services of dependencies and sets services->order; -EINVAL for a cycle. */
int clv_services_put_in_order(struct clv_services *services, struct clv_error *err);

/* Sets the generation of each service. */
void clv_service_hash_all(struct clv_services *services);
