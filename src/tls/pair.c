/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate and its key in GnuTLS's form. */
#include "tls/pair.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define CHAIN_MAX 16u

static gnutls_datum_t to_datum(const char *text)
{
	return (gnutls_datum_t){
		(unsigned char *)(uintptr_t)text, (unsigned int)strlen(text)};
}

int clv_tls_pair_check(const struct clv_tls_pair *pair)
{
	gnutls_datum_t texts[2] = {to_datum(pair->certificate), to_datum(pair->key)};
	gnutls_certificate_credentials_t credentials;
	int r = gnutls_certificate_allocate_credentials(&credentials);

	if (r < 0)
		return r;
	r = gnutls_certificate_set_x509_key_mem(
		credentials, &texts[0], &texts[1], GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(credentials);
	return r < 0 ? r : 0;
}

bool clv_tls_pair_has_expired(const struct clv_tls_pair *pair)
{
	gnutls_datum_t text = to_datum(pair->certificate);
	gnutls_x509_crt_t certificate;
	bool has_expired;

	if (gnutls_x509_crt_init(&certificate) < 0)
		return false;
	has_expired =
		gnutls_x509_crt_import(certificate, &text, GNUTLS_X509_FMT_PEM) >= 0 &&
		gnutls_x509_crt_get_expiration_time(certificate) < time(NULL);
	gnutls_x509_crt_deinit(certificate);
	return has_expired;
}

/* NULL: it cannot be used. */
static gnutls_privkey_t make_key(const char *pem)
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

/* NULL: it cannot be used. */
static gnutls_pcert_st *make_chain(const char *pem, unsigned int *ret_n)
{
	gnutls_datum_t text = to_datum(pem);
	gnutls_pcert_st *chain = gnutls_calloc(CHAIN_MAX, sizeof(*chain));

	*ret_n = CHAIN_MAX;
	if (chain && gnutls_pcert_list_import_x509_raw(
			     chain, ret_n, &text, GNUTLS_X509_FMT_PEM, 0) >= 0)
		return chain;
	gnutls_free(chain);
	return NULL;
}

int clv_tls_pair_give(const struct clv_tls_pair *pair, gnutls_pcert_st **ret_chain,
	unsigned int *ret_n_chain, gnutls_ocsp_data_st **ret_ocsp,
	unsigned int *ret_n_ocsp, gnutls_privkey_t *ret_key, unsigned int *ret_flags)
{
	unsigned int n;
	gnutls_pcert_st *chain = make_chain(pair->certificate, &n);

	if (!chain)
		return -1;
	*ret_key = make_key(pair->key);
	if (!*ret_key) {
		for (unsigned int i = 0; i < n; i++)
			gnutls_pcert_deinit(&chain[i]);
		gnutls_free(chain);
		return -1;
	}
	*ret_chain = chain;
	*ret_n_chain = n;
	*ret_ocsp = NULL;
	*ret_n_ocsp = 0;
	*ret_flags |= GNUTLS_CERT_RETR_DEINIT_ALL;
	return 0;
}
