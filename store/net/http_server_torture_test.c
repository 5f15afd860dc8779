/* Every allocation, read and write of a server that fails: nothing leaks, each request
 * is gone once, and the next connection is served. */
#include <stdlib.h>

#include "store/base/fault.h"
#include "store/net/http_gzip.h"
#include "tests/support/store/net/web_certs.h"
#include "tests/support/store/net/web_curl.h"
#include "tests/support/store/net/web_h2.h"

#define POST                                                                   \
	"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" \
	"3\r\nabc\r\n20\r\n01234567890123456789012345678901\r\n0\r\n\r\n"

static void check_alive(struct web_rig *rig)
{
	struct web_client *client = web_ask(
		rig, "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

	T_TRUE(web_has(client, "\r\n\r\nhello"));
	web_leave(client);
}

/* Until the client has what it waits for, or is closed. */
static void h1_scenario(struct web_rig *rig)
{
	struct web_client *client = web_connect(rig);

	web_text(client, POST POST "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
	while (!client->ended && rig->last == NULL && rig->requests < 3)
		web_turn(rig);
	while (!client->ended && rig->requests < 3)
		web_turn(rig);
	if (rig->last != NULL) {
		http_stream_send_copy(rig->last, PL_SPAN_LIT("0123456789"));
		http_stream_send_copy(rig->last,
		                      PL_SPAN_LIT("012345678901234567890123456789"));
		http_stream_end(rig->last);
	}
	while (!client->ended && !web_has(client, "0\r\n\r\n"))
		web_turn(rig);
	web_leave(client);
}

static bool torture_once(enum pl_fault point, uint64_t nth,
                         void (*scenario)(struct web_rig *rig),
                         const struct web_opts *opts)
{
	struct web_rig rig;
	bool fired;

	pl_fault_reset();
	pl_fault_arm(point, nth);
	if (web_try_open(&rig, opts)) {
		scenario(&rig);
		fired = pl_fault_fired(point);
		pl_fault_reset();
		if (opts == NULL || opts->cert_dir == NULL)
			check_alive(&rig);
		web_close(&rig);
	} else {
		fired = pl_fault_fired(point);
		T_TRUE(fired);
	}
	pl_fault_reset();
	return fired;
}

static void torture(enum pl_fault point, void (*scenario)(struct web_rig *rig),
                    const struct web_opts *opts)
{
	uint64_t nth = 1;

	while (torture_once(point, nth, scenario, opts))
		nth++;
	T_TRUE(nth > 1);
}

T_CASE(torture_http_1)
{
	torture(PL_FAULT_ALLOC, h1_scenario, NULL);
	torture(PL_FAULT_NET_READ, h1_scenario, NULL);
	torture(PL_FAULT_NET_WRITE, h1_scenario, NULL);
}

static void h2_scenario(struct web_rig *rig)
{
	static char large[40000], small[] = "0123456789012345678901234567890123456789";
	struct web_h2 *h2 = web_h2_open(rig, NULL);
	int32_t ids[2];

	h2->body = pl_span(small, sizeof small);
	ids[0] = web_h2_ask(h2, "POST", "/echo", NULL, NULL);
	h2->body.len = 0;
	ids[1] = web_h2_ask(h2, "GET", "/stream", NULL, NULL);
	for (unsigned i = 0; i < 2; i++) {
		while (!h2->client->ended && !web_h2_stream(h2, ids[i])->closed) {
			web_turn(rig);
			web_h2_step(h2);
			if (rig->last == NULL || strcmp(rig->line, "GET /stream") != 0)
				continue;
			http_stream_send_copy(rig->last, pl_span(large, sizeof large));
			http_stream_end(rig->last);
		}
	}
	web_h2_close(h2);
}

T_CASE_SECONDS(torture_http_2, 60)
{
	torture(PL_FAULT_ALLOC, h2_scenario, NULL);
	torture(PL_FAULT_NET_READ, h2_scenario, NULL);
	torture(PL_FAULT_NET_WRITE, h2_scenario, NULL);
}

static const char *certs;

static void tls_scenario(struct web_rig *rig)
{
	struct web_curl_opts ask = {
		.path = "/echo", .cert_dir = certs, .client = "client"};
	struct web_curl curl;

	ask.body = PL_SPAN_LIT("0123456789012345678901234567890123456789");
	curl = web_curl(rig, &ask);
	free(curl.got);
}

T_CASE_SECONDS(torture_tls, 60)
{
	struct web_opts opts = {.cert_dir = certs = web_certs()};

	torture(PL_FAULT_ALLOC, tls_scenario, &opts);
	torture(PL_FAULT_TLS_INIT, tls_scenario, &opts);
}

static void gzip_scenario(struct web_rig *rig)
{
	struct web_curl_opts ask = {
		.path = "/big", .accept = "gzip", .field = "Content-Encoding: gzip"};
	static struct pl_buf packed;
	struct web_curl curl;

	if (packed.len == 0) {
		struct http_gzip *gzip = http_gzip_new();

		pl_buf_init(&packed, 1000);
		if (gzip == NULL ||
		    http_gzip_add(gzip, PL_SPAN_LIT("hello"), true, &packed) != PL_OK)
			packed.len = 0;
		http_gzip_free(gzip);
	}
	ask.body = pl_buf_span(&packed);
	curl = web_curl(rig, &ask);
	free(curl.got);
}

T_CASE_SECONDS(torture_gzip, 60)
{
	struct web_opts opts = {.gzip_local = true};

	torture(PL_FAULT_ALLOC, gzip_scenario, &opts);
}
