/* SPDX-License-Identifier: Apache-2.0 */
/* Names and labels of objects. */
#include "service/kubernetes/internal.h"

#include <ctype.h>

void clv_kube_name(const char *name, char ret[CLV_KUBE_NAME_MAX])
{
	size_t n = 0;

	for (; *name && n + 1 < CLV_KUBE_NAME_MAX; name++) {
		char c = (char)tolower((unsigned char)*name);

		ret[n++] = isalnum((unsigned char)c) ? c : '-';
	}
	while (n > 0 && ret[n - 1] == '-')
		n--;
	ret[n] = '\0';
}

json_t *clv_kube_object(const char *version, const char *kind, const char *name,
	const struct clv_service *service)
{
	json_t *labels =
		json_pack("{s:s}", "app.kubernetes.io/part-of", service->file->project);

	if (labels && service->name[0])
		json_object_set_new(
			labels, "app.kubernetes.io/name", clv_kube_name_json(service));
	return json_pack("{s:s, s:s, s:{s:s, s:o}}", "apiVersion", version, "kind", kind,
		"metadata", "name", name, "labels", labels);
}

json_t *clv_kube_name_json(const struct clv_service *service)
{
	char name[CLV_KUBE_NAME_MAX];

	clv_kube_name(service->name, name);
	return json_string(name);
}
