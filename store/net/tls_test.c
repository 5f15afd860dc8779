/* Connections under TLS, with certificates made by the test. */
#include "tests/harness/t.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/fault.h"
#include "store/net/certs.h"
#include "tests/support/store/net/conn_rig.h"

enum { PATH_SIZE = 128 };

/* The files that certs_make() wrote. */
struct cert_dir {
	char dir[64];
	char ca[PATH_SIZE], cert[PATH_SIZE], key[PATH_SIZE];
};

static struct conn_rig rig;
static struct cert_dir dir, other;

static void holds(const char *text, const char *words)
{
	if (strstr(text, words) == NULL)
		T_STR(text, words);
}

static void dir_open(struct cert_dir *certs)
{
	(void)snprintf(certs->dir, sizeof certs->dir, "/tmp/placet-tls-XXXXXX");
	T_TRUE(mkdtemp(certs->dir) != NULL);
	(void)snprintf(certs->ca, PATH_SIZE, "%s/ca.pem", certs->dir);
	(void)snprintf(certs->cert, PATH_SIZE, "%s/client.pem", certs->dir);
	(void)snprintf(certs->key, PATH_SIZE, "%s/client-key.pem", certs->dir);
}

static void dir_make(struct cert_dir *certs, const char *names)
{
	dir_open(certs);
	T_OK(certs_make(certs->dir, names, NULL), NULL);
}

static void dir_remove(struct cert_dir *certs)
{
	static const char *const names[] = {"ca.pem", "server.pem", "server-key.pem",
	                                    "client.pem", "client-key.pem"};
	char path[PATH_SIZE];

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", certs->dir, names[i]);
		(void)unlink(path);
	}
	T_EQ(rmdir(certs->dir), 0);
}

static struct tls *tls_of(const struct cert_dir *certs, bool identity, const char *name)
{
	struct tls_files files = {.ca_file = certs->ca, .server_name = name};
	struct tls *tls = NULL;
	struct pl_err err;

	if (identity) {
		files.cert_file = certs->cert;
		files.key_file = certs->key;
	}
	T_OK(tls_new(&files, &tls, &err), &err);
	return tls;
}

/* Makes one call over a connection of its own. PL_OK: answered. */
static enum pl_code call_over(struct tls *tls, const struct fake_net_opts *net)
{
	struct grpc_conn_opts opts = {.tls = tls};
	enum pl_code code;

	conn_rig_init(&rig, net);
	T_OK(conn_rig_open(&rig, &opts), &rig.why);
	T_TRUE(conn_rig_call(&rig, FAKE_ok, 1000) != NULL);
	rig.close_when_idle = true;
	conn_rig_run(&rig);
	code = rig.calls[0].code;
	T_EQ(rig.ups, code == PL_OK);
	T_TRUE(code == PL_OK || rig.calls[0].fate == GRPC_UNSENT);
	conn_rig_done(&rig);
	return code;
}

static void refused(struct tls *tls, const struct fake_net_opts *net, const char *words)
{
	T_STR(pl_code_name(call_over(tls, net)), pl_code_name(PL_TLS));
	holds(rig.calls[0].text, words);
}

static struct fake_net_opts server_of(const struct cert_dir *certs)
{
	return (struct fake_net_opts){.h2 = {.window = 65535, .big_size = 20 << 20},
	                              .cert_dir = certs->dir};
}

T_CASE(a_valid_server_certificate_is_accepted)
{
	struct fake_net_opts net;
	struct tls *tls;

	dir_make(&dir, "DNS:localhost,IP:127.0.0.1");
	net = server_of(&dir);
	tls = tls_of(&dir, false, NULL);
	T_OK(call_over(tls, &net), NULL);
	net.tls_version_max = TLS1_2_VERSION;
	T_OK(call_over(tls, &net), NULL);
	tls_free(tls);
	tls = tls_of(&dir, false, "localhost");
	T_OK(call_over(tls, &net), NULL);
	tls_free(tls);
	dir_remove(&dir);
}

T_CASE(a_valid_client_certificate_is_accepted)
{
	struct fake_net_opts net;
	struct tls *with, *without, *wrong;

	dir_make(&dir, "IP:127.0.0.1");
	dir_make(&other, "IP:127.0.0.1");
	(void)snprintf(other.ca, sizeof other.ca, "%s", dir.ca);
	net = server_of(&dir);
	net.want_client = true;
	with = tls_of(&dir, true, NULL);
	without = tls_of(&dir, false, NULL);
	wrong = tls_of(&other, true, NULL);
	for (unsigned version = 0; version < 2; version++) {
		net.tls_version_max = version == 0 ? TLS1_3_VERSION : TLS1_2_VERSION;
		T_OK(call_over(with, &net), NULL);
		refused(without, &net, "client certificate");
		refused(wrong, &net, "client certificate");
	}
	tls_free(with);
	tls_free(without);
	tls_free(wrong);
	dir_remove(&dir);
	dir_remove(&other);
}

T_CASE(untrusted_or_misnamed_servers_are_refused)
{
	struct fake_net_opts net;
	struct tls *tls;

	dir_make(&dir, "DNS:etcd.example,IP:10.0.0.1");
	dir_make(&other, "IP:127.0.0.1");
	net = server_of(&dir);
	tls = tls_of(&dir, false, NULL);
	refused(tls, &net, "for another name ('127.0.0.1' was asked for)");
	tls_free(tls);
	tls = tls_of(&dir, false, "example");
	refused(tls, &net, "for another name ('example' was asked for)");
	tls_free(tls);
	tls = tls_of(&dir, false, "etcd.example");
	T_OK(call_over(tls, &net), NULL);
	tls_free(tls);
	tls = tls_of(&other, false, "etcd.example");
	refused(tls, &net, "from an unknown authority");
	tls_free(tls);
	dir_remove(&dir);
	dir_remove(&other);
}

T_CASE(an_expired_server_certificate_is_refused)
{
	struct fake_net_opts net;
	struct tls *tls;

	dir_open(&dir);
	T_OK(certs_make_expired(dir.dir, "IP:127.0.0.1", NULL), NULL);
	net = server_of(&dir);
	tls = tls_of(&dir, false, NULL);
	refused(tls, &net, "certificate has expired");
	tls_free(tls);
	dir_remove(&dir);
}

T_CASE(servers_of_other_protocols_are_recognised)
{
	struct fake_net_opts net;
	struct fake_net_opts plain = {.h2 = {.window = 65535}};
	struct fake_net_opts web = {.mode = FAKE_NET_BYTES,
	                            .bytes = "HTTP/1.0 400 x\r\n"};
	struct fake_net_opts closes = {.mode = FAKE_NET_CLOSE};
	struct tls *tls;

	dir_make(&dir, "IP:127.0.0.1");
	net = server_of(&dir);
	tls = tls_of(&dir, false, NULL);
	net.no_alpn = true;
	refused(tls, &net, "does not offer HTTP/2");
	net.no_alpn = false;
	net.tls_version_max = TLS1_1_VERSION;
	refused(tls, &net, "TLS");
	refused(tls, &plain, "does not speak TLS");
	refused(tls, &web, "does not speak TLS");
	refused(tls, &closes, "during the TLS handshake");
	net.tls_version_max = 0;
	/* the server closes on HTTP/2's preface */
	T_CODE(call_over(NULL, &net), PL_UNAVAIL, NULL);
	tls_free(tls);
	dir_remove(&dir);
}

T_CASE(a_server_that_stops_within_the_handshake)
{
	struct grpc_conn_opts opts = {.connect_timeout_ms = 40};
	struct fake_net_opts net;
	struct tls *tls;

	dir_make(&dir, "IP:127.0.0.1");
	net = server_of(&dir);
	net.mode = FAKE_NET_SILENT;
	opts.tls = tls = tls_of(&dir, false, NULL);
	conn_rig_init(&rig, &net);
	T_OK(conn_rig_open(&rig, &opts), &rig.why);
	conn_rig_run(&rig);
	T_EQ(rig.why.code, PL_TIMEOUT);
	holds(rig.why.msg, "the TLS handshake did not complete within 40 ms");
	conn_rig_done(&rig);
	tls_free(tls);
	dir_remove(&dir);
}

T_CASE(unusable_files_are_refused_by_name)
{
	struct tls_files files = {.ca_file = "/nonexistent/ca.pem"};
	struct tls *tls = NULL;
	struct pl_err err;

	T_CODE(tls_new(&files, &tls, &err), PL_IO, &err);
	holds(err.msg, "/nonexistent/ca.pem: No such file");
	dir_make(&dir, "IP:127.0.0.1");
	dir_make(&other, "IP:127.0.0.1");
	files.ca_file = dir.key;
	T_CODE(tls_new(&files, &tls, &err), PL_TLS, &err);
	holds(err.msg, "client-key.pem");
	files.ca_file = dir.ca;
	files.cert_file = dir.cert;
	T_CODE(tls_new(&files, &tls, &err), PL_INVALID, &err);
	files.key_file = other.key;
	T_CODE(tls_new(&files, &tls, &err), PL_TLS, &err);
	T_TRUE(tls == NULL);
	dir_remove(&dir);
	dir_remove(&other);
}

/* A file that changes twice within a second differs in its inode or size. */
T_CASE(changed_files_are_loaded_and_bad_ones_are_not)
{
	struct fake_net_opts net;
	struct tls *tls;
	struct pl_err err;

	dir_make(&dir, "IP:127.0.0.1");
	net = server_of(&dir);
	net.want_client = true;
	tls = tls_of(&dir, true, NULL);
	T_OK(tls_refresh(tls, &err), &err);
	T_EQ(truncate(dir.cert, 10), 0);
	T_CODE(tls_refresh(tls, &err), PL_TLS, &err);
	holds(err.msg, "client.pem");
	T_OK(call_over(tls, &net), NULL);
	T_TRUE(tls_stale(tls) != NULL);
	holds(tls_stale(tls)->msg, "client.pem");
	T_EQ(unlink(dir.ca), 0);
	T_CODE(tls_refresh(tls, &err), PL_IO, &err);

	T_OK(certs_make(dir.dir, "IP:127.0.0.1", NULL), NULL);
	/* Opening a connection refreshes the files. */
	T_OK(call_over(tls, &net), NULL);
	T_TRUE(tls_stale(tls) == NULL);
	tls_free(tls);
	dir_remove(&dir);
}

T_CASE(large_traffic_both_ways_with_a_full_socket)
{
	struct grpc_conn_opts opts = {0};
	struct fake_net_opts net;

	dir_make(&dir, "IP:127.0.0.1");
	net = server_of(&dir);
	net.h2.window = 1 << 30;
	opts.tls = tls_of(&dir, false, NULL);
	conn_rig_init(&rig, &net);
	T_OK(conn_rig_open(&rig, &opts), &rig.why);
	while (rig.ups == 0)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	fake_net_reading(rig.net, false);
	T_TRUE(conn_rig_call(&rig, FAKE_ok, 20 << 20) != NULL);
	T_TRUE(conn_rig_call(&rig, FAKE_big, 100) != NULL);
	for (unsigned i = 0; i < 50; i++)
		(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
	T_TRUE(grpc_conn_unsent(rig.conn) > 10 << 20);
	fake_net_reading(rig.net, true);
	rig.close_when_idle = true;
	conn_rig_run(&rig);
	T_EQ(rig.calls[0].message_len, 20 << 20);
	T_EQ(rig.calls[1].message_len, 20 << 20);
	conn_rig_done(&rig);
	tls_free(opts.tls);
	dir_remove(&dir);
}

T_CASE_SECONDS(cut_anywhere_each_call_ends_once, 60)
{
	struct grpc_conn_opts opts = {0};
	struct fake_net_opts net;
	bool whole = false;

	dir_make(&dir, "IP:127.0.0.1");
	net = server_of(&dir);
	opts.tls = tls_of(&dir, false, NULL);
	for (net.cut_after = 1; !whole; net.cut_after += 37) {
		conn_rig_init(&rig, &net);
		T_OK(conn_rig_open(&rig, &opts), &rig.why);
		T_TRUE(conn_rig_call(&rig, FAKE_ok, 500) != NULL);
		T_TRUE(conn_rig_call(&rig, FAKE_error, 10) != NULL);
		conn_rig_run_calls(&rig);
		whole = rig.calls[0].code == PL_OK && rig.calls[1].code == PL_OK;
		conn_rig_close(&rig);
		conn_rig_run(&rig);
		T_TRUE(whole || rig.why.code == PL_UNAVAIL || rig.why.code == PL_TLS);
		conn_rig_done(&rig);
	}
	T_TRUE(net.cut_after > 1000);
	tls_free(opts.tls);
	dir_remove(&dir);
}

/* --- torture ----------------------------------------------------------------- */

static void scenario(void)
{
	struct tls_files files = {
		.ca_file = dir.ca, .cert_file = dir.cert, .key_file = dir.key};
	struct fake_net_opts net = server_of(&dir);
	struct grpc_conn_opts opts = {0};

	net.want_client = true;
	if (tls_new(&files, &opts.tls, NULL) != PL_OK)
		return;
	conn_rig_init(&rig, &net);
	if (conn_rig_open(&rig, &opts) == PL_OK) {
		(void)conn_rig_call(&rig, FAKE_ok, 300);
		(void)conn_rig_call(&rig, FAKE_ok, 50000);
		conn_rig_run_calls(&rig);
		conn_rig_close(&rig);
		conn_rig_run(&rig);
	}
	conn_rig_done(&rig);
	tls_free(opts.tls);
}

static void torture(enum pl_fault point)
{
	bool fired = true;

	dir_make(&dir, "IP:127.0.0.1");
	for (uint64_t nth = 1; fired; nth++) {
		pl_fault_arm(point, nth);
		scenario();
		fired = pl_fault_fired(point);
		pl_fault_reset();
		T_TRUE(fired || nth > 2);
	}
	dir_remove(&dir);
}

T_CASE_SECONDS(torture_setting_up, 60)
{
	torture(PL_FAULT_TLS_INIT);
}

T_CASE_SECONDS(torture_reading, 60)
{
	torture(PL_FAULT_NET_READ);
}

T_CASE_SECONDS(torture_writing, 60)
{
	torture(PL_FAULT_NET_WRITE);
}

T_CASE_SECONDS(torture_memory, 120)
{
	torture(PL_FAULT_ALLOC);
}
