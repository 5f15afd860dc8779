#include "store/net/tls_client.h"

#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <time.h>

#include "store/base/alloc.h"
#include "store/base/utf8.h"
#include "store/net/tls_client_read.h"

/* One block: the client, its groups, the bytes of all names. */
struct tls_client_block {
	struct tls_client client;
	struct pl_span group[TLS_CLIENT_GROUPS_MAX];
	uint8_t serial[TLS_CLIENT_SERIAL_MAX];
	uint8_t bytes[];
};

static const char *words(long verified)
{
	return X509_verify_cert_error_string(verified);
}

static bool text_ok(const uint8_t *at, size_t len)
{
	if (len == 0 || len > TLS_CLIENT_NAME_MAX)
		return false;
	for (size_t i = 0; i < len;) {
		size_t step = pl_utf8_char(at + i, len - i);

		if (step == 0 || at[i] < ' ' || at[i] == 0x7f)
			return false;
		i += step;
	}
	return true;
}

/* The types whose characters are what they seem; T61String is not. */
static bool type_ok(const ASN1_STRING *text)
{
	switch (ASN1_STRING_type(text)) {
	case V_ASN1_UTF8STRING:
	case V_ASN1_PRINTABLESTRING:
	case V_ASN1_IA5STRING:
	case V_ASN1_BMPSTRING:
		return true;
	default:
		return false;
	}
}

/* An entry's text as UTF-8, for OPENSSL_free(). NULL: it is none, or breaks the rules. */
static uint8_t *entry_text(const X509_NAME_ENTRY *entry, size_t *out_len)
{
	const ASN1_STRING *text = X509_NAME_ENTRY_get_data(entry);
	unsigned char *utf8 = NULL;
	int len;

	if (!type_ok(text))
		return NULL;
	len = ASN1_STRING_to_UTF8(&utf8, text);
	if (len >= 0 && text_ok(utf8, (size_t)len)) {
		*out_len = (size_t)len;
		return utf8;
	}
	if (len >= 0)
		OPENSSL_free(utf8);
	return NULL;
}

static int entry_nid(const X509_NAME_ENTRY *entry)
{
	return OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
}

/* Adds an entry's text to the block. The bytes of the whole name have room there. */
static const char *entry_take(struct tls_client_block *block, size_t *used, size_t size,
                              const X509_NAME_ENTRY *entry)
{
	struct tls_client *client = &block->client;
	size_t len = 0;
	uint8_t *text = entry_text(entry, &len);
	struct pl_span span;

	if (text == NULL)
		return "a name in it is not printable text";
	if (len > size - *used) {
		OPENSSL_free(text);
		return "its names are too long";
	}
	memcpy(block->bytes + *used, text, len);
	OPENSSL_free(text);
	span = pl_span(block->bytes + *used, len);
	*used += len;
	if (entry_nid(entry) == NID_commonName) {
		if (client->name.len != 0)
			return "it has more than one common name";
		client->name = span;
		return NULL;
	}
	if (client->group_count == TLS_CLIENT_GROUPS_MAX)
		return "it has too many organizations";
	block->group[client->group_count++] = span;
	return NULL;
}

static const char *names_read(struct tls_client_block *block, size_t size,
                              const X509_NAME *subject)
{
	const char *why = NULL;
	size_t used = 0;

	for (int i = 0; i < X509_NAME_entry_count(subject) && why == NULL; i++) {
		const X509_NAME_ENTRY *entry = X509_NAME_get_entry(subject, i);
		int nid = entry_nid(entry);

		if (nid == NID_commonName || nid == NID_organizationName)
			why = entry_take(block, &used, size, entry);
	}
	if (why == NULL && block->client.name.len == 0)
		why = "it has no common name";
	return why;
}

/* At most 20 bytes by RFC 5280; a longer number is no serial number. */
static const char *serial_read(struct tls_client_block *block, const X509 *cert)
{
	static const char digits[] = "0123456789abcdef";
	const ASN1_INTEGER *serial = X509_get0_serialNumber(cert);
	const uint8_t *at = ASN1_STRING_get0_data(serial);
	size_t len = (size_t)ASN1_STRING_length(serial);

	if (len < 1 || len > (TLS_CLIENT_SERIAL_MAX - 1) / 2)
		return "its serial number is too long";
	for (size_t i = 0; i < len; i++) {
		block->serial[2 * i] = (uint8_t)digits[at[i] >> 4];
		block->serial[2 * i + 1] = (uint8_t)digits[at[i] & 15];
	}
	block->client.serial = pl_span(block->serial, 2 * len);
	return NULL;
}

static const char *until_read(struct tls_client *client, const X509 *cert)
{
	struct tm tm;

	if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm) != 1)
		return "its end can not be read";
	client->until_s = (int64_t)timegm(&tm);
	return NULL;
}

struct tls_client *tls_client_new(X509 *cert, long verified)
{
	const X509_NAME *subject = X509_get_subject_name(cert);
	const size_t size = (size_t)TLS_CLIENT_NAME_MAX * 8;
	struct tls_client_block *block;
	const char *why;

	block = pl_malloc(sizeof *block + size);
	if (block == NULL)
		return NULL;
	memset(block, 0, sizeof *block);
	block->client.groups = block->group;
	why = verified == X509_V_OK ? names_read(block, size, subject) : NULL;
	if (why == NULL && verified == X509_V_OK)
		why = serial_read(block, cert);
	if (why == NULL && verified == X509_V_OK)
		why = until_read(&block->client, cert);
	ERR_clear_error();
	if (verified != X509_V_OK || why != NULL) {
		memset(&block->client, 0, sizeof block->client);
		block->client.state =
			verified != X509_V_OK ? TLS_CLIENT_UNTRUSTED : TLS_CLIENT_UNNAMED;
		block->client.why = why != NULL ? why : words(verified);
	}
	return &block->client;
}

void tls_client_verified(struct tls_client *client, long verified)
{
	if (client->state != TLS_CLIENT_TRUSTED || verified == X509_V_OK)
		return;
	client->state = TLS_CLIENT_UNTRUSTED;
	client->why = words(verified);
}
