/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate and its key, read again by each handshake that finds other files. */
#include "bridge/https/certificate.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "tls/pair.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PEM_MAX_BYTES (1u << 20)

/* What tells that a file is another one.  Kubelet changes the files of a Secret by a
 * link, so their inodes change. */
struct stamp {
	dev_t device;
	ino_t inode;
	struct timespec changed;
};

static struct {
	pthread_mutex_t lock;              /* protects the others */
	char *certificate_path, *key_path; /* owned */
	char *certificate, *key;           /* owned, PEM */
	struct stamp stamps[2];            /* of the files that were tried last */
} current = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct stamp stamp_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return (struct stamp){0};
	return (struct stamp){
		.device = st.st_dev, .inode = st.st_ino, .changed = st.st_mtim};
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}

static int check(const char *certificate, const char *key, struct clv_error *err)
{
	int r = clv_tls_pair_check(&(struct clv_tls_pair){certificate, key});

	return r < 0 ? clv_error_set(err, -EINVAL,
			       "the certificate cannot be used: %s (files in PEM are "
			       "needed, and the key of the certificate)",
			       gnutls_strerror(r))
		     : 0;
}

/* With the lock held. */
static int load(struct clv_error *err)
{
	_cleanup_free_ char *certificate = NULL, *key = NULL;
	int r;

	current.stamps[0] = stamp_of(current.certificate_path);
	current.stamps[1] = stamp_of(current.key_path);
	r = clv_file_read_all(
		current.certificate_path, PEM_MAX_BYTES, &certificate, NULL, err);
	if (r >= 0)
		r = clv_file_read_all(current.key_path, PEM_MAX_BYTES, &key, NULL, err);
	if (r >= 0)
		r = check(certificate, key, err);
	if (r < 0)
		return r;
	free(current.certificate);
	free(current.key);
	current.certificate = CLV_TAKE(certificate);
	current.key = CLV_TAKE(key);
	return 0;
}

/* With the lock held. */
static void load_if_changed(void)
{
	struct stamp now[2] = {
		stamp_of(current.certificate_path), stamp_of(current.key_path)};

	if (!is_same(&now[0], &current.stamps[0]) ||
		!is_same(&now[1], &current.stamps[1]))
		load(NULL);
}

int clv_certificate_serve(const char *certificate, const char *key, struct clv_error *err)
{
	int r;

	clv_certificate_end();
	pthread_mutex_lock(&current.lock);
	current.certificate_path = strdup(certificate);
	current.key_path = strdup(key);
	r = current.certificate_path && current.key_path
		    ? load(err)
		    : clv_error_errno(err, ENOMEM, "cannot serve TLS");
	pthread_mutex_unlock(&current.lock);
	if (r < 0)
		clv_certificate_end();
	return r;
}

void clv_certificate_end(void)
{
	pthread_mutex_lock(&current.lock);
	free(CLV_TAKE(current.certificate_path));
	free(CLV_TAKE(current.key_path));
	free(CLV_TAKE(current.certificate));
	free(CLV_TAKE(current.key));
	pthread_mutex_unlock(&current.lock);
}

int clv_certificate_retrieve(gnutls_session_t session,
	const struct gnutls_cert_retr_st *info, gnutls_pcert_st **ret_chain,
	unsigned int *ret_n_chain, gnutls_ocsp_data_st **ret_ocsp,
	unsigned int *ret_n_ocsp, gnutls_privkey_t *ret_key, unsigned int *ret_flags)
{
	int r = -1;

	pthread_mutex_lock(&current.lock);
	if (current.certificate) {
		load_if_changed();
		r = clv_tls_pair_give(
			&(struct clv_tls_pair){current.certificate, current.key},
			ret_chain, ret_n_chain, ret_ocsp, ret_n_ocsp, ret_key, ret_flags);
	}
	pthread_mutex_unlock(&current.lock);
	return r;
}
