/* Every failure below a call: allocations, reads, writes, connections. */
#include "store/base/fault.h"
#include "tests/support/store/net/http_probe.h"

/* For each failure at each place: the call ends once, no memory leaks, and the next call
 * works. */
static bool torture_once(enum pl_fault point, uint64_t nth, const char *path)
{
	struct http_opts plain = {0};
	struct http_call_opts opts = {.timeout_ms = 5000, .on_end = on_end};
	struct http_probe p = {0};
	struct http_call *call;
	struct http *http = NULL;
	struct http_rig b;
	char url[128];
	bool fired;

	http_rig_open(&b, NULL, NULL);
	sink_init(&p.got);
	p.rig = &b;
	opts.ctx = &p;
	(void)snprintf(url, sizeof url, "%s%s", fake_http_url(b.fake), path);
	opts.url = url;
	pl_fault_arm(point, nth);
	if (http_open(&b.loop, &plain, &http, NULL) == PL_OK) {
		if (http_call_start(http, &opts, &call, NULL) == PL_OK) {
			while (p.ends == 0)
				(void)uv_run(&b.loop, UV_RUN_ONCE);
			T_TRUE(p.code != PL_TIMEOUT);
		}
		http_close(http, on_closed, &b);
		while (!b.closed)
			(void)uv_run(&b.loop, UV_RUN_ONCE);
		b.closed = false;
	}
	fired = pl_fault_fired(point);
	pl_fault_reset();
	expect_answer(&b, "/hello", PL_OK, 200, "hello");
	pl_buf_done(&p.got);
	http_rig_close(&b);
	return fired;
}

static void torture(enum pl_fault point, const char *path)
{
	uint64_t nth = 1;

	while (torture_once(point, nth, path))
		nth++;
	T_TRUE(nth > 1);
}

T_CASE(torture_connect)
{
	torture(PL_FAULT_NET_CONNECT, "/hello");
}

T_CASE(torture_read)
{
	torture(PL_FAULT_NET_READ, "/chunked");
}

T_CASE(torture_memory)
{
	torture(PL_FAULT_ALLOC, "/chunked");
}
