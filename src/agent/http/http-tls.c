/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate of the API over the network, which can change while connections are
 * open: each handshake asks for it.  libmicrohttpd passes that function no argument, and
 * an agent has one such listener, so the certificate is static here.  Loop thread only.
 */
#include "agent/http/http-internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "tls/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char *current_certificate, *current_key;

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

int clv_http_get_certificate(gnutls_session_t session,
	const struct gnutls_cert_retr_st *info, gnutls_pcert_st **ret_chain,
	unsigned int *ret_n_chain, gnutls_ocsp_data_st **ret_ocsp,
	unsigned int *ret_n_ocsp, gnutls_privkey_t *ret_key, unsigned int *ret_flags)
{
	const struct clv_tls_pair pair = {current_certificate, current_key};

	if (!pair.certificate || !pair.key)
		return -1;
	return clv_tls_pair_give(
		&pair, ret_chain, ret_n_chain, ret_ocsp, ret_n_ocsp, ret_key, ret_flags);
}
