/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate and its key, read again by each handshake that finds other files. */
#include "bridge/https/certificate.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PEM_MAX_BYTES (1u << 20)
#define CHAIN_MAX 16u

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

static gnutls_datum_t to_datum(char *text)
{
	return (gnutls_datum_t){(unsigned char *)text, (unsigned int)strlen(text)};
}

/* Whether GnuTLS takes the two, and they belong together. */
static int check(char *certificate, char *key, struct clv_error *err)
{
	gnutls_datum_t texts[2] = {to_datum(certificate), to_datum(key)};
	gnutls_certificate_credentials_t credentials;
	int r;

	if (gnutls_certificate_allocate_credentials(&credentials) < 0)
		return clv_error_errno(err, ENOMEM, "cannot check the certificate");
	r = gnutls_certificate_set_x509_key_mem(
		credentials, &texts[0], &texts[1], GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(credentials);
	if (r < 0)
		return clv_error_set(err, -EINVAL,
			"the certificate cannot be used: %s (files in PEM are needed, "
			"and the key of the certificate)",
			gnutls_strerror(r));
	return 0;
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

static gnutls_privkey_t parse_key(char *pem)
{
	gnutls_datum_t text = to_datum(pem);
	gnutls_privkey_t key;

	if (gnutls_privkey_init(&key) < 0)
		return NULL;
	if (gnutls_privkey_import_x509_raw(key, &text, GNUTLS_X509_FMT_PEM, NULL, 0) >= 0)
		return key;
	gnutls_privkey_deinit(key);
	return NULL;
}

/* GnuTLS frees both. */
static int parse(char *certificate, char *key, gnutls_pcert_st **ret_chain,
	unsigned int *ret_n_chain, gnutls_privkey_t *ret_key)
{
	gnutls_datum_t text = to_datum(certificate);
	gnutls_pcert_st *chain = gnutls_calloc(CHAIN_MAX, sizeof(*chain));
	unsigned int n = CHAIN_MAX;

	if (!chain)
		return -1;
	if (gnutls_pcert_list_import_x509_raw(chain, &n, &text, GNUTLS_X509_FMT_PEM, 0) <
		0) {
		gnutls_free(chain);
		return -1;
	}
	*ret_key = parse_key(key);
	if (!*ret_key) {
		for (unsigned int i = 0; i < n; i++)
			gnutls_pcert_deinit(&chain[i]);
		gnutls_free(chain);
		return -1;
	}
	*ret_chain = chain;
	*ret_n_chain = n;
	return 0;
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
		r = parse(current.certificate, current.key, ret_chain, ret_n_chain,
			ret_key);
	}
	pthread_mutex_unlock(&current.lock);
	if (r < 0)
		return r;
	*ret_ocsp = NULL;
	*ret_n_ocsp = 0;
	*ret_flags |= GNUTLS_CERT_RETR_DEINIT_ALL;
	return 0;
}
