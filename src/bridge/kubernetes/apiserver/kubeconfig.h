/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* The address and credentials of the API server. */

struct clv_kube_blob {
	char *data;
	size_t n_bytes;
};

struct clv_kube_config {
	char *server; /* "https://10.0.0.1:6443" */
	char *ca_path, *token, *token_path, *certificate_path, *key_path; /* or NULL */
	struct clv_kube_blob ca, certificate, key;                        /* or none */
	bool is_insecure;
};

/* Reads the file's current context.  -EINVAL, with the line in err. */
int clv_kube_config_read(
	const char *path, struct clv_kube_config *ret, struct clv_error *err);
/* Reads the service account of the pod.  -ENOENT: this process is not in a pod with one.
 */
int clv_kube_config_of_pod(struct clv_kube_config *ret, struct clv_error *err);
void clv_kube_config_clear(struct clv_kube_config *config);

/* The caller frees ret->data.  -EINVAL: the text is not base64. */
int clv_kube_decode_base64(const char *text, struct clv_kube_blob *ret);
