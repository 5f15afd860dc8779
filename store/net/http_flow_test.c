/* Calls over time: deadlines, cancels, pauses, streams. */
#include "tests/support/store/net/http_probe.h"

static void chunk(struct fake_conn *conn, const char *data, size_t len)
{
	char size[32];

	(void)snprintf(size, sizeof size, "%zx\r\n", len);
	fake_conn_text(conn, size);
	fake_conn_send(conn, data, len);
	fake_conn_text(conn, "\r\n");
}

T_CASE(deadlines)
{
	struct http_probe p = {0};
	struct http_rig b;

	http_rig_open(&b, NULL, NULL);
	probe_begin(&b, "/never", (struct http_call_opts){.timeout_ms = 50}, &p);
	probe_finish(&b, &p);
	T_EQ(p.code, PL_TIMEOUT);
	T_TRUE(!p.unsent);
	pl_buf_done(&p.got);
	p = (struct http_probe){0};
	probe_begin(&b, "/stream",
	            (struct http_call_opts){.idle_timeout_ms = 50,
	                                    .on_head = on_head,
	                                    .on_data = on_data},
	            &p);
	probe_finish(&b, &p);
	T_EQ(p.code, PL_TIMEOUT);
	T_EQ(p.heads, 1);
	pl_buf_done(&p.got);
	http_rig_close(&b);
}

T_CASE(cancel_at_any_time)
{
	struct http_rig b;

	http_rig_open(&b, NULL, NULL);
	for (int steps = 0; steps < 12; steps++) {
		struct http_probe p = {0};

		probe_begin(&b, "/never", (struct http_call_opts){0}, &p);
		for (int i = 0; i < steps; i++)
			(void)uv_run(&b.loop, UV_RUN_NOWAIT);
		http_call_cancel(p.call);
		T_EQ(p.ends, 0);
		probe_finish(&b, &p);
		T_EQ(p.code, PL_CANCELED);
		pl_buf_done(&p.got);
	}
	http_rig_close(&b);
}

T_CASE(closing_cancels_what_runs)
{
	struct http_probe p[3] = {0};
	struct http_rig b;

	http_rig_open(&b, NULL, NULL);
	for (int i = 0; i < 3; i++)
		probe_begin(&b, "/never", (struct http_call_opts){0}, &p[i]);
	while (b.requests < 3)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
	http_rig_close(&b);
	for (int i = 0; i < 3; i++) {
		T_EQ(p[i].ends, 1);
		T_EQ(p[i].code, PL_CANCELED);
		pl_buf_done(&p[i].got);
	}
}

/* The buffers between server and caller are bounded: a caller that pauses stops the
 * server. Everything arrives once it resumes. */
T_CASE(a_paused_caller_holds_back_the_server)
{
	struct http_probe p = {0};
	struct http_rig b;
	size_t held, before;

	http_rig_open(&b, NULL, NULL);
	p.pause_each = true;
	probe_begin(&b, "/big_length",
	            (struct http_call_opts){.on_head = on_head, .on_data = on_data}, &p);
	while (p.chunks == 0)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
	do { /* until no byte moves any more */
		before = fake_conn_unsent(b.last);
		for (int i = 0; i < 20; i++)
			(void)uv_run(&b.loop, UV_RUN_NOWAIT);
	} while (fake_conn_unsent(b.last) != before);
	held = p.got.len;
	T_EQ(p.chunks, 1);
	T_TRUE(held <= (size_t)2 * HTTP_STREAM_BUFFER);
	while (p.ends == 0) {
		if (p.call != NULL)
			http_call_resume(p.call);
		/* UV_RUN_ONCE would block: a call that is paused again waits for no
		 * event. */
		(void)uv_run(&b.loop, UV_RUN_NOWAIT);
	}
	T_EQ(p.code, PL_OK);
	T_EQ(p.got.len, BIG);
	for (size_t i = 0; i < BIG; i++) {
		if (p.got.at[i] != 'a' + i % 23)
			t_fail(__FILE__, __LINE__, "byte %zu", i);
	}
	pl_buf_done(&p.got);
	http_rig_close(&b);
}

static void push(struct http_probe *p)
{
	char data[10000];

	memset(data, 'x', sizeof data);
	while (p->to_send > 0) {
		size_t len = p->to_send < sizeof data ? p->to_send : sizeof data;
		enum pl_code code = http_call_send(p->call, pl_span(data, len), NULL);

		if (code == PL_BUSY)
			return;
		T_EQ(code, PL_OK);
		p->to_send -= len;
	}
	http_call_send_end(p->call);
}

static void on_room(void *ctx)
{
	struct http_probe *p = ctx;

	p->rooms++;
	push(p);
}

T_CASE(a_streamed_request)
{
	struct http_rig b;

	http_rig_open(&b, NULL, NULL);
	for (int known = 0; known < 2; known++) {
		struct http_probe p = {.to_send = BIG};

		probe_begin(&b, "/hello",
		            (struct http_call_opts){.method = "PUT",
		                                    .send_stream = true,
		                                    .body_len = known ? BIG : -1,
		                                    .on_room = on_room},
		            &p);
		push(&p);
		T_TRUE(p.to_send > 0);
		probe_finish(&b, &p);
		T_EQ(p.code, PL_OK);
		T_TRUE(p.rooms > 0);
		if (known)
			T_EQ(b.body.len, BIG);
		else
			T_TRUE(b.body.len > BIG);
		T_TRUE(strncmp(b.head, "PUT ", 4) == 0);
		/* An Expect header would cost a second with servers that do not know it.
		 */
		T_TRUE(strcasestr(b.head, "\r\nExpect:") == NULL);
		pl_buf_done(&p.got);
	}
	http_rig_close(&b);
}

T_CASE(hundreds_of_streams_at_once)
{
	enum { STREAMS = 300, ROUNDS = 5 };
	static struct http_probe p[STREAMS];
	static struct fake_conn *conns[STREAMS];
	struct http_rig b;
	size_t want = strlen("{\"type\":\"ADDED\"}\n");

	http_rig_open(&b, NULL, NULL);
	for (unsigned i = 0; i < STREAMS; i++) {
		probe_begin(&b, "/stream",
		            (struct http_call_opts){.idle_timeout_ms = 15000,
		                                    .on_head = on_head,
		                                    .on_data = on_data},
		            &p[i]);
		while (b.requests == i)
			(void)uv_run(&b.loop, UV_RUN_ONCE);
		conns[i] = b.last;
	}
	for (unsigned round = 1; round <= ROUNDS; round++) {
		for (unsigned i = 0; i < STREAMS; i++)
			chunk(conns[i], "{\"type\":\"ADDED\"}\n", want);
		for (unsigned i = 0; i < STREAMS; i++) {
			while (p[i].got.len < round * want)
				(void)uv_run(&b.loop, UV_RUN_ONCE);
		}
	}
	T_EQ(fake_http_connections(b.fake), STREAMS);
	for (unsigned i = 0; i < STREAMS; i += 2)
		fake_conn_text(conns[i], "0\r\n\r\n");
	for (unsigned i = 0; i < STREAMS; i += 2)
		probe_finish(&b, &p[i]);
	http_rig_close(&b);
	for (unsigned i = 0; i < STREAMS; i++) {
		T_EQ(p[i].code, i % 2 == 0 ? PL_OK : PL_CANCELED);
		T_EQ(p[i].heads, 1);
		pl_buf_done(&p[i].got);
	}
}
