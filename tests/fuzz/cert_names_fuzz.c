/* Names of any certificate: those that are taken obey their rules. */
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdlib.h>

#include "store/base/compiler.h"
#include "store/net/tls_client_read.h"
#include "tests/fuzz/fuzz.h"

static void check_name(struct pl_span name)
{
	PL_ASSERT(name.len > 0 && name.len <= TLS_CLIENT_NAME_MAX);
	for (size_t i = 0; i < name.len; i++)
		PL_ASSERT(name.at[i] >= ' ' && name.at[i] != 0x7f);
}

static void check(X509 *cert)
{
	struct tls_client *client = tls_client_new(cert, X509_V_OK);

	PL_ASSERT(client != NULL && client->state != TLS_CLIENT_UNTRUSTED);
	PL_ASSERT((client->state == TLS_CLIENT_TRUSTED) == (client->why == NULL));
	if (client->state == TLS_CLIENT_TRUSTED) {
		check_name(client->name);
		PL_ASSERT(client->serial.len >= 2 &&
		          client->serial.len < TLS_CLIENT_SERIAL_MAX);
		PL_ASSERT(client->group_count <= TLS_CLIENT_GROUPS_MAX);
		for (size_t i = 0; i < client->group_count; i++)
			check_name(client->groups[i]);
	} else {
		PL_ASSERT(client->name.len == 0 && client->group_count == 0);
	}
	free(client);
	client = tls_client_new(cert, X509_V_ERR_CERT_REVOKED);
	PL_ASSERT(client != NULL && client->state == TLS_CLIENT_UNTRUSTED &&
	          client->name.len == 0);
	free(client);
}

/* The bytes are a certificate, or the name of one that is otherwise sound. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned char *at = data;
	X509 *cert = d2i_X509(NULL, &at, (long)size);
	X509_NAME *name = NULL;

	if (cert == NULL) {
		at = data;
		name = d2i_X509_NAME(NULL, &at, (long)size);
	}
	if (name != NULL) {
		cert = X509_new();
		PL_ASSERT(cert != NULL);
		(void)X509_set_subject_name(cert, name);
		(void)ASN1_INTEGER_set(X509_get_serialNumber(cert), 17);
		(void)X509_gmtime_adj(X509_getm_notAfter(cert), 60);
	}
	if (cert != NULL)
		check(cert);
	X509_NAME_free(name);
	X509_free(cert);
	ERR_clear_error();
	return 0;
}
