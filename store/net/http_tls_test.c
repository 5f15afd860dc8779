/* TLS, with certificates on both sides. */
#include <unistd.h>

#include "store/net/certs.h"
#include "tests/support/store/net/http_probe.h"

static char dir[] = "/tmp/placet-http-test-XXXXXX";

static void certs_remove(void)
{
	static const char *const names[] = {"ca.pem", "server.pem", "server-key.pem",
	                                    "client.pem", "client-key.pem"};
	char path[128];

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(dir);
}

struct tls_paths {
	char ca[128], cert[128], key[128];
};

static struct http_opts certs_setup(struct tls_paths *paths, const char *names)
{
	T_TRUE(mkdtemp(dir) != NULL);
	(void)atexit(certs_remove);
	T_EQ(certs_make(dir, names, NULL), PL_OK);
	(void)snprintf(paths->ca, sizeof paths->ca, "%s/ca.pem", dir);
	(void)snprintf(paths->cert, sizeof paths->cert, "%s/client.pem", dir);
	(void)snprintf(paths->key, sizeof paths->key, "%s/client-key.pem", dir);
	return (struct http_opts){.tls = {.ca_file = paths->ca,
	                                  .cert_file = paths->cert,
	                                  .key_file = paths->key}};
}

static enum pl_code tls_code(const struct http_opts *opts)
{
	struct http_probe p;
	struct http_rig b;

	http_rig_open(&b, dir, opts);
	probe_get(&b, "/hello", &p);
	if (p.code == PL_OK)
		expect_answer(&b, "/big_length", PL_OK, 200, NULL);
	pl_buf_done(&p.got);
	http_rig_close(&b);
	return p.code;
}

T_CASE(tls_with_certificates_on_both_sides)
{
	struct tls_paths paths;
	struct http_opts opts = certs_setup(&paths, "IP:127.0.0.1");
	struct http_opts bad = opts;

	T_EQ(tls_code(&opts), PL_OK);
	bad.tls.ca_file = NULL;
	T_EQ(tls_code(&bad), PL_TLS);
	bad = opts;
	bad.tls.cert_file = NULL;
	bad.tls.key_file = NULL;
	T_EQ(tls_code(&bad), PL_TLS);
	bad = opts;
	bad.tls.ca_file = "/nonexistent";
	T_EQ(tls_code(&bad), PL_TLS);
	bad = opts;
	bad.tls.server_name = "other.example";
	T_EQ(tls_code(&bad), PL_TLS);
}

T_CASE(tls_checks_the_given_server_name)
{
	struct tls_paths paths;
	struct http_opts opts = certs_setup(&paths, "DNS:api.example");

	T_EQ(tls_code(&opts), PL_TLS);
	opts.tls.server_name = "api.example";
	T_EQ(tls_code(&opts), PL_OK);
}
