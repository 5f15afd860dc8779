/* TLS: certificates on both sides, both versions by ALPN, changed files. */
#include <unistd.h>

#include "store/base/clock.h"
#include "tests/support/store/net/web_certs.h"
#include "tests/support/store/net/web_curl.h"

T_CASE(both_versions_are_spoken_under_tls)
{
	struct web_opts opts = {.cert_dir = web_certs()};
	struct web_rig rig;

	web_open(&rig, &opts);
	for (unsigned version = 1; version <= 2; version++) {
		struct web_curl_opts ask = {.path = "/hello",
		                            .cert_dir = opts.cert_dir,
		                            .http2 = version == 2,
		                            .times = 10};
		struct web_curl curl = web_curl(&rig, &ask);

		T_EQ(curl.code, 0);
		T_EQ(curl.status, 200);
		T_STR(curl.got, "hello");
		T_EQ(curl.conns, 1);
		T_EQ(rig.version, version);
		T_STR(rig.subject, "");
		free(curl.got);
	}
	T_EQ(rig.requests, 20);
	web_close(&rig);
}

T_CASE(large_answers_and_bodies_pass_under_tls)
{
	static uint8_t body[2 << 20];
	struct web_opts opts = {.cert_dir = web_certs()};
	struct web_rig rig;

	memset(body, 'x', sizeof body);
	web_open(&rig, &opts);
	for (unsigned version = 1; version <= 2; version++) {
		struct web_curl_opts ask = {
			.path = "/big", .cert_dir = opts.cert_dir, .http2 = version == 2};
		struct web_curl curl = web_curl(&rig, &ask);

		T_EQ(curl.len, WEB_BIG);
		free(curl.got);
		ask.path = "/echo";
		ask.body = pl_span(body, sizeof body);
		curl = web_curl(&rig, &ask);
		T_EQ(curl.status, 200);
		T_SPAN(pl_span(curl.got, curl.len), ask.body);
		free(curl.got);
	}
	web_close(&rig);
}

T_CASE(a_body_that_ends_with_its_connection_passes_under_tls)
{
	struct web_opts opts = {.cert_dir = web_certs()};
	struct web_curl_opts ask = {
		.path = "/feed", .cert_dir = opts.cert_dir, .old = true};
	struct web_curl curl;
	struct web_rig rig;

	web_open(&rig, &opts);
	curl = web_curl(&rig, &ask);
	T_EQ(curl.code, 0);
	T_EQ(curl.len, WEB_BIG);
	free(curl.got);
	web_close(&rig);
}

T_CASE(a_clients_certificate_gives_its_subject)
{
	struct web_opts opts = {.cert_dir = web_certs()};
	struct web_curl_opts ask = {
		.path = "/hello", .cert_dir = opts.cert_dir, .client = "client"};
	struct web_curl curl;
	struct web_rig rig;

	web_open(&rig, &opts);
	curl = web_curl(&rig, &ask);
	T_EQ(curl.status, 200);
	T_STR(rig.subject, "placet-client");
	free(curl.got);
	web_close(&rig);
}

/* to NULL: the file is removed. */
static void move_cert(const char *dir, const char *from, const char *to)
{
	char old[WEB_TEXT], new[WEB_TEXT];

	(void)snprintf(old, sizeof old, "%s/%s", dir, from);
	(void)snprintf(new, sizeof new, "%s/%s", dir, to == NULL ? "" : to);
	T_EQ(to == NULL ? unlink(old) : rename(old, new), 0);
}

T_CASE(a_client_that_is_not_trusted_is_let_in_without_a_name)
{
	struct web_opts opts = {.cert_dir = web_certs()};
	struct web_curl_opts ask = {
		.path = "/hello", .cert_dir = opts.cert_dir, .client = "stranger"};
	struct web_curl curl;
	struct web_rig rig;

	move_cert(opts.cert_dir, "client.pem", "stranger.pem");
	move_cert(opts.cert_dir, "client-key.pem", "stranger-key.pem");
	T_EQ(certs_make(opts.cert_dir, "IP:127.0.0.1", NULL), PL_OK); /* another CA */
	web_open(&rig, &opts);
	curl = web_curl(&rig, &ask);
	T_EQ(curl.status, 200);
	T_EQ(rig.requests, 1);
	T_STR(rig.subject, "! certificate signature failure");
	move_cert(opts.cert_dir, "stranger.pem", NULL);
	move_cert(opts.cert_dir, "stranger-key.pem", NULL);
	free(curl.got);
	web_close(&rig);
}

T_CASE(http_on_a_port_of_tls_gets_an_answer)
{
	struct web_opts opts = {.cert_dir = web_certs()};
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, &opts);
	client = web_ask(&rig, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	T_TRUE(web_has(client, "HTTP/1.0 400 "));
	web_leave(client);
	client = web_ask(&rig, "\x16\x03\x01\x00\x05hello");
	T_TRUE(!web_has(client, "HTTP"));
	web_leave(client);
	web_close(&rig);
}

static void refresh_at(struct web_rig *rig, uint64_t now_ms, enum pl_code want)
{
	struct pl_err err;

	T_EQ(tls_server_refresh(rig->tls, now_ms, &err), want);
}

T_CASE(changed_certificates_are_used_and_broken_ones_are_not)
{
	struct web_opts opts = {.cert_dir = web_certs()};
	struct web_curl_opts ask = {.path = "/hello", .cert_dir = opts.cert_dir};
	struct web_curl curl;
	struct web_rig rig;
	char path[WEB_TEXT];
	uint64_t now_ms;

	web_open(&rig, &opts);
	T_EQ(certs_make(opts.cert_dir, "IP:127.0.0.1", NULL), PL_OK);
	refresh_at(&rig, pl_clock_ms() + 1000, PL_OK);
	curl = web_curl(&rig, &ask); /* trusts the new CA only */
	T_EQ(curl.status, 200);
	free(curl.got);
	(void)snprintf(path, sizeof path, "%s/server-key.pem", opts.cert_dir);
	T_EQ(truncate(path, 10), 0);
	now_ms = pl_clock_ms() + 1000;
	refresh_at(&rig, now_ms, PL_TLS);
	refresh_at(&rig, now_ms + 999, PL_OK); /* looked at once a second */
	refresh_at(&rig, now_ms + 1000, PL_TLS);
	curl = web_curl(&rig, &ask);
	T_EQ(curl.status, 200);
	free(curl.got);
	web_close(&rig);
}
