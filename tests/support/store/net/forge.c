#include "tests/support/store/net/forge.h"

#include <dirent.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/harness/t.h"

enum { PATHS = 32, DAY_S = 24 * 60 * 60 };

static char forge_dir[] = "/tmp/placet-forge-XXXXXX";

static void dir_remove(void)
{
	DIR *dir = opendir(forge_dir);
	char path[FORGE_PATH + 256];

	if (dir == NULL)
		return;
	for (const struct dirent *at = readdir(dir); at != NULL; at = readdir(dir)) {
		(void)snprintf(path, sizeof path, "%s/%s", forge_dir, at->d_name);
		if (at->d_name[0] != '.')
			(void)unlink(path);
	}
	(void)closedir(dir);
	(void)rmdir(forge_dir);
}

const char *forge_path(const char *name)
{
	static char paths[PATHS][FORGE_PATH];
	static bool made;
	char path[FORGE_PATH];

	if (!made) {
		T_TRUE(mkdtemp(forge_dir) != NULL);
		(void)atexit(dir_remove);
		made = true;
	}
	(void)snprintf(path, sizeof path, "%s/%s", forge_dir, name);
	for (unsigned i = 0; i < PATHS; i++) {
		if (paths[i][0] != 0 && strcmp(paths[i], path) != 0)
			continue;
		memcpy(paths[i], path, sizeof path);
		return paths[i];
	}
	t_fail(__FILE__, __LINE__, "too many files");
}

/* -- certificates -------------------------------------------------------------------- */

static void extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *extension;
	X509V3_CTX ctx;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	T_TRUE(extension != NULL && X509_add_ext(cert, extension, -1) == 1);
	X509_EXTENSION_free(extension);
}

static X509 *cert_begin(EVP_PKEY *key, const X509_NAME *issuer, uint64_t serial,
                        long from_s, long until_s)
{
	X509 *cert = X509_new();

	T_TRUE(cert != NULL && X509_set_version(cert, X509_VERSION_3) == 1);
	T_TRUE(ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial) == 1);
	T_TRUE(X509_gmtime_adj(X509_getm_notBefore(cert), from_s) != NULL);
	T_TRUE(X509_gmtime_adj(X509_getm_notAfter(cert), until_s) != NULL);
	T_TRUE(X509_set_pubkey(cert, key) == 1);
	if (issuer != NULL)
		T_TRUE(X509_set_issuer_name(cert, issuer) == 1);
	return cert;
}

struct forge forge_authority(const char *name, const struct forge *by)
{
	static uint64_t serial = 1000;
	struct forge made = {.key = EVP_EC_gen("P-256")};
	X509 *issuer;

	T_TRUE(made.key != NULL);
	made.cert =
		cert_begin(made.key, by == NULL ? NULL : X509_get_subject_name(by->cert),
	                   ++serial, -DAY_S, DAY_S);
	T_TRUE(X509_NAME_add_entry_by_txt(X509_get_subject_name(made.cert), "CN",
	                                  MBSTRING_UTF8, (const unsigned char *)name, -1,
	                                  -1, 0) == 1);
	issuer = by == NULL ? made.cert : by->cert;
	if (by == NULL)
		T_TRUE(X509_set_issuer_name(made.cert,
		                            X509_get_subject_name(made.cert)) == 1);
	extend(made.cert, issuer, NID_basic_constraints, "critical,CA:TRUE");
	extend(made.cert, issuer, NID_key_usage, "critical,keyCertSign,cRLSign");
	extend(made.cert, issuer, NID_subject_key_identifier, "hash");
	T_TRUE(X509_sign(made.cert, by == NULL ? made.key : by->key, EVP_sha256()) != 0);
	return made;
}

static void name_fill(X509_NAME *name, const struct forge_part *part)
{
	for (; part->what != NULL; part++) {
		int type = part->type == 0 ? V_ASN1_UTF8STRING : part->type;
		int len = part->len == 0 ? (int)strlen(part->text) : part->len;
		X509_NAME_ENTRY *entry = X509_NAME_ENTRY_new();

		T_TRUE(entry != NULL);
		T_TRUE(X509_NAME_ENTRY_set_object(
			       entry, OBJ_nid2obj(OBJ_txt2nid(part->what))) == 1);
		T_TRUE(X509_NAME_ENTRY_set_data(
			       entry, type, (const unsigned char *)part->text, len) == 1);
		T_TRUE(X509_NAME_add_entry(name, entry, -1, 0) == 1);
		X509_NAME_ENTRY_free(entry);
	}
}

struct forge forge_leaf(const struct forge *authority, const struct forge_leaf *leaf)
{
	struct forge made = {.key = EVP_EC_gen("P-256")};

	T_TRUE(made.key != NULL);
	made.cert = cert_begin(made.key, X509_get_subject_name(authority->cert),
	                       leaf->serial == 0 ? 1 : leaf->serial,
	                       leaf->from_s == 0 ? -DAY_S : leaf->from_s,
	                       leaf->until_s == 0 ? DAY_S : leaf->until_s);
	name_fill(X509_get_subject_name(made.cert), leaf->parts);
	extend(made.cert, authority->cert, NID_basic_constraints, "critical,CA:FALSE");
	extend(made.cert, authority->cert, NID_key_usage, "critical,digitalSignature");
	if (!leaf->no_usage)
		extend(made.cert, authority->cert, NID_ext_key_usage,
		       leaf->usage == NULL ? "clientAuth" : leaf->usage);
	if (leaf->names != NULL)
		extend(made.cert, authority->cert, NID_subject_alt_name, leaf->names);
	T_TRUE(X509_sign(made.cert, authority->key, EVP_sha256()) != 0);
	return made;
}

void forge_free(struct forge *forge)
{
	X509_free(forge->cert);
	EVP_PKEY_free(forge->key);
	*forge = (struct forge){0};
}

X509_CRL *forge_crl(const struct forge *authority, const uint64_t *serials, long until_s)
{
	X509_CRL *crl = X509_CRL_new();
	ASN1_TIME *when = X509_gmtime_adj(NULL, -DAY_S);

	T_TRUE(crl != NULL && when != NULL && X509_CRL_set_version(crl, 1) == 1);
	T_TRUE(X509_CRL_set_issuer_name(crl, X509_get_subject_name(authority->cert)) ==
	       1);
	T_TRUE(X509_CRL_set1_lastUpdate(crl, when) == 1);
	for (; *serials != 0; serials++) {
		X509_REVOKED *revoked = X509_REVOKED_new();
		ASN1_INTEGER *number = ASN1_INTEGER_new();

		T_TRUE(revoked != NULL && number != NULL);
		T_TRUE(ASN1_INTEGER_set_uint64(number, *serials) == 1);
		T_TRUE(X509_REVOKED_set_serialNumber(revoked, number) == 1);
		T_TRUE(X509_REVOKED_set_revocationDate(revoked, when) == 1);
		T_TRUE(X509_CRL_add0_revoked(crl, revoked) == 1);
		ASN1_INTEGER_free(number);
	}
	T_TRUE(X509_gmtime_adj(when, until_s) != NULL);
	T_TRUE(X509_CRL_set1_nextUpdate(crl, when) == 1);
	ASN1_TIME_free(when);
	T_TRUE(X509_CRL_sort(crl) == 1);
	T_TRUE(X509_CRL_sign(crl, authority->key, EVP_sha256()) != 0);
	return crl;
}

/* -- files --------------------------------------------------------------------------- */

/* The file is replaced as a whole, so that its inode changes with its content. */
static void bio_write(const char *name, BIO *bio)
{
	char next[FORGE_PATH];
	char *at = NULL;
	long len = BIO_get_mem_data(bio, &at);
	FILE *file;

	(void)snprintf(next, sizeof next, "%s", forge_path("next"));
	file = fopen(next, "we");
	T_TRUE(file != NULL && fwrite(at, 1, (size_t)len, file) == (size_t)len);
	T_EQ(fclose(file), 0);
	T_EQ(rename(next, forge_path(name)), 0);
	BIO_free(bio);
}

static BIO *bio_new(void)
{
	BIO *bio = BIO_new(BIO_s_mem());

	T_TRUE(bio != NULL);
	return bio;
}

void forge_write_cert(const char *name, const struct forge *forge)
{
	BIO *bio = bio_new();

	T_TRUE(PEM_write_bio_X509(bio, forge->cert) == 1);
	bio_write(name, bio);
}

void forge_write_key(const char *name, const struct forge *forge)
{
	BIO *bio = bio_new();

	T_TRUE(PEM_write_bio_PrivateKey(bio, forge->key, NULL, NULL, 0, NULL, NULL) == 1);
	bio_write(name, bio);
}

void forge_write_crl(const char *name, X509_CRL *crl)
{
	BIO *bio = bio_new();

	T_TRUE(PEM_write_bio_X509_CRL(bio, crl) == 1);
	bio_write(name, bio);
}

void forge_write(const char *name, struct pl_span bytes)
{
	BIO *bio = bio_new();

	T_TRUE(bytes.len == 0 ||
	       BIO_write(bio, bytes.at, (int)bytes.len) == (int)bytes.len);
	bio_write(name, bio);
}
