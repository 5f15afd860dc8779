/*
 * For tests of the HTTP client: one call, and its outcome.
 */
#ifndef TESTS_SUPPORT_STORE_NET_HTTP_PROBE_H
#define TESTS_SUPPORT_STORE_NET_HTTP_PROBE_H

#include "tests/support/store/net/http_rig.h"

struct http_probe {
	struct http_rig *rig;
	struct http_call *call;
	int status;
	enum pl_code code;
	char msg[PL_ERR_MSG_SIZE];
	char type[64];
	struct pl_buf got;
	unsigned heads, chunks, rooms, ends;
	bool unsent;
	bool pause_each;
	size_t to_send;
};

static inline void on_end(void *ctx, const struct http_end *end)
{
	struct http_probe *p = ctx;
	const char *type = http_answer_header(&end->answer, "CONTENT-TYPE");

	uv_stop(&p->rig->loop); /* else uv_run() may wait for other events */
	p->ends++;
	p->call = NULL;
	p->code = end->code;
	T_TRUE((end->code == PL_OK) == (end->err == NULL));
	if (end->err != NULL)
		(void)snprintf(p->msg, sizeof p->msg, "%s", end->err->msg);
	p->status = end->answer.status;
	p->unsent = end->unsent;
	(void)snprintf(p->type, sizeof p->type, "%s", type == NULL ? "" : type);
	T_EQ(pl_buf_add(&p->got, end->answer.body), PL_OK);
}

static inline void on_head(void *ctx, const struct http_answer *answer)
{
	struct http_probe *p = ctx;

	T_EQ(p->chunks, 0);
	p->heads++;
	p->status = answer->status;
}

static inline void on_data(void *ctx, struct pl_span data)
{
	struct http_probe *p = ctx;

	T_EQ(p->heads, 1);
	T_EQ(p->ends, 0);
	p->chunks++;
	T_EQ(pl_buf_add(&p->got, data), PL_OK);
	if (p->pause_each)
		http_call_pause(p->call);
}

/* Starts a call and does not wait. */
static inline void probe_begin(struct http_rig *b, const char *path,
                               struct http_call_opts opts, struct http_probe *p)
{
	char url[HTTP_URL_MAX];
	struct pl_err err = {0};

	p->rig = b;
	sink_init(&p->got);
	(void)snprintf(url, sizeof url, "%s%s", fake_http_url(b->fake), path);
	opts.url = url;
	opts.ctx = p;
	opts.on_end = on_end;
	if (opts.timeout_ms == 0 && opts.on_data == NULL)
		opts.timeout_ms = 10000;
	if (http_call_start(b->http, &opts, &p->call, &err) != PL_OK)
		t_fail(__FILE__, __LINE__, "%s", err.msg);
	T_EQ(p->ends, 0);
}

static inline void probe_finish(struct http_rig *b, struct http_probe *p)
{
	while (p->ends == 0)
		(void)uv_run(&b->loop, UV_RUN_ONCE);
	T_EQ(p->ends, 1);
}

static inline void probe_get(struct http_rig *b, const char *path, struct http_probe *p)
{
	*p = (struct http_probe){0};
	probe_begin(b, path, (struct http_call_opts){0}, p);
	probe_finish(b, p);
}

static inline void expect_answer(struct http_rig *b, const char *path, enum pl_code code,
                                 int status, const char *body)
{
	struct http_probe p;

	probe_get(b, path, &p);
	if (p.code != code)
		t_fail(__FILE__, __LINE__, "%s: %s (%s)", path, pl_code_name(p.code),
		       p.msg);
	T_EQ(p.status, status);
	if (body != NULL && !pl_span_eq(pl_buf_span(&p.got), pl_span_str(body)))
		t_fail(__FILE__, __LINE__, "%s: body '" PL_SPAN_FMT "'", path,
		       PL_SPAN_ARG(pl_buf_span(&p.got)));
	pl_buf_done(&p.got);
}

#endif
