#include "store/net/certs.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/base/fault.h"

enum { DAY_S = 24 * 60 * 60, VALID_DAYS = 3650, PATH_SIZE = 1024 };

struct signer {
	X509 *cert; /* NULL: the signer makes its own, self-signed */
	EVP_PKEY *key;
	long until_s; /* validity of what it signs, in seconds from now; < 0: expired */
};

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *extension;
	bool ok;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return ok;
}

/* san: the subject alternative names of a server; NULL makes a client's certificate. */
static bool add_usage(X509 *cert, X509 *issuer, bool is_ca, const char *san)
{
	if (is_ca)
		return add_extension(cert, issuer, NID_basic_constraints,
		                     "critical,CA:TRUE") &&
		       add_extension(cert, issuer, NID_key_usage,
		                     "critical,keyCertSign,cRLSign");
	return add_extension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_extension(cert, issuer, NID_key_usage, "critical,digitalSignature") &&
	       add_extension(cert, issuer, NID_ext_key_usage,
	                     san == NULL ? "clientAuth" : "serverAuth,clientAuth") &&
	       (san == NULL || add_extension(cert, issuer, NID_subject_alt_name, san));
}

static bool cert_fill(X509 *cert, EVP_PKEY *key, const char *common_name, X509 *issuer,
                      long until_s)
{
	X509_NAME *name = X509_get_subject_name(cert);
	uint64_t serial = 0;

	return X509_set_version(cert, X509_VERSION_3) == 1 &&
	       RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
	       ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1) == 1 &&
	       X509_gmtime_adj(X509_getm_notBefore(cert), -2L * DAY_S) != NULL &&
	       X509_gmtime_adj(X509_getm_notAfter(cert), until_s) != NULL &&
	       X509_set_pubkey(cert, key) == 1 &&
	       X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
	                                  (const unsigned char *)common_name, -1, -1,
	                                  0) == 1 &&
	       X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1;
}

static X509 *make_cert(EVP_PKEY *key, const char *common_name,
                       const struct signer *signer, const char *san)
{
	bool is_ca = signer->cert == NULL;
	X509 *cert = X509_new(), *issuer = is_ca ? cert : signer->cert;

	if (cert != NULL && cert_fill(cert, key, common_name, issuer, signer->until_s) &&
	    add_usage(cert, issuer, is_ca, san) &&
	    X509_sign(cert, signer->key, EVP_sha256()) != 0)
		return cert;
	X509_free(cert);
	return NULL;
}

/* Only the owner may read the file, because it may hold a key. */
static FILE *create_file(const char *dir, const char *name)
{
	char path[PATH_SIZE];
	FILE *file;
	int fd;
	int len = snprintf(path, sizeof path, "%s/%s", dir, name);

	if (len < 0 || (size_t)len >= sizeof path)
		return NULL;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (file == NULL && fd >= 0)
		(void)close(fd);
	return file;
}

static bool write_pem(const char *dir, const char *name, X509 *cert, EVP_PKEY *key)
{
	FILE *file = create_file(dir, name);
	bool ok;

	if (file == NULL)
		return false;
	ok = cert != NULL
	             ? PEM_write_X509(file, cert) == 1
	             : PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1;
	return fclose(file) == 0 && ok;
}

static bool make_leaf(const char *dir, const struct signer *ca, const char *name,
                      const char *san)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = NULL;
	char file[32];
	bool ok;

	if (key != NULL)
		cert = make_cert(key, san == NULL ? "placet-client" : "placet-server", ca,
		                 san);
	(void)snprintf(file, sizeof file, "%s.pem", name);
	ok = cert != NULL && write_pem(dir, file, cert, NULL);
	(void)snprintf(file, sizeof file, "%s-key.pem", name);
	ok = ok && write_pem(dir, file, NULL, key);
	X509_free(cert);
	EVP_PKEY_free(key);
	return ok;
}

static enum pl_code make_all_certs(const char *dir, const char *names, long until_s,
                                   struct pl_err *err)
{
	struct signer ca = {NULL, NULL, until_s};
	bool ok = false;

	if (!pl_fault_hit(PL_FAULT_TLS_INIT))
		ca.key = EVP_EC_gen("P-256");
	if (ca.key != NULL)
		ca.cert = make_cert(ca.key, "placet CA", &ca, NULL);
	if (ca.cert != NULL)
		ok = write_pem(dir, "ca.pem", ca.cert, NULL) &&
		     make_leaf(dir, &ca, "server", names) &&
		     make_leaf(dir, &ca, "client", NULL);
	X509_free(ca.cert);
	EVP_PKEY_free(ca.key);
	ERR_clear_error();
	if (!ok)
		return pl_err_set(err, PL_TLS, "make certificates in %s", dir);
	return PL_OK;
}

enum pl_code certs_make(const char *dir, const char *names, struct pl_err *err)
{
	return make_all_certs(dir, names, (long)VALID_DAYS * DAY_S, err);
}

enum pl_code certs_make_expired(const char *dir, const char *names, struct pl_err *err)
{
	return make_all_certs(dir, names, -(long)DAY_S, err);
}
