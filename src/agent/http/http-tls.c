/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate of the API over the network, which can change while connections are
 * open: each handshake asks for it.  libmicrohttpd passes that function no argument, and
 * an agent has one such listener, so the certificate is static here.  Loop thread only.
 */
#include "agent/http/http-internal.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 16u

static char *current_certificate, *current_key;

static gnutls_datum_t to_datum(char *text)
{
	return (gnutls_datum_t){(unsigned char *)text, (unsigned int)strlen(text)};
}

int clv_http_set_certificate(
	const char *certificate, const char *key, struct clv_error *err)
{
	char *copies[] = {
		certificate ? strdup(certificate) : NULL, key ? strdup(key) : NULL};

	if ((certificate && !copies[0]) || (key && !copies[1])) {
		free(copies[0]);
		free(copies[1]);
		return clv_error_errno(err, ENOMEM, "cannot take the certificate");
	}
	free(current_certificate);
	free(current_key);
	current_certificate = copies[0];
	current_key = copies[1];
	return 0;
}

static gnutls_privkey_t load_key(void)
{
	gnutls_datum_t text = to_datum(current_key);
	gnutls_privkey_t key;

	if (gnutls_privkey_init(&key) < 0)
		return NULL;
	if (gnutls_privkey_import_x509_raw(key, &text, GNUTLS_X509_FMT_PEM, NULL, 0) <
		0) {
		gnutls_privkey_deinit(key);
		return NULL;
	}
	return key;
}

int clv_http_get_certificate(gnutls_session_t session,
	const struct gnutls_cert_retr_st *info, gnutls_pcert_st **ret_chain,
	unsigned int *ret_n_chain, gnutls_ocsp_data_st **ret_ocsp,
	unsigned int *ret_n_ocsp, gnutls_privkey_t *ret_key, unsigned int *ret_flags)
{
	unsigned int n = CHAIN_MAX;
	gnutls_pcert_st *chain;
	gnutls_datum_t text;

	if (!current_certificate || !current_key)
		return -1;
	text = to_datum(current_certificate);
	/* GnuTLS frees it. */
	chain = gnutls_calloc(CHAIN_MAX, sizeof(*chain));
	if (!chain)
		return -1;
	if (gnutls_pcert_list_import_x509_raw(chain, &n, &text, GNUTLS_X509_FMT_PEM, 0) <
		0) {
		gnutls_free(chain);
		return -1;
	}
	*ret_key = load_key();
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
