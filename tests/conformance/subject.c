#include <stdlib.h>

#include "store/base/rng.h"
#include "store/etcd/etcd.h"
#include "store/kv/keys.h"
#include "tests/conformance/subject_int.h"

enum { TEXT_MAX = 64 << 20, VIRTUAL_START_MS = 1000 };

struct subject_opts subject_opts_env(void)
{
	return (struct subject_opts){.endpoints = getenv("CONFORMANCE_ETCD")};
}

bool subject_is_etcd(const struct subject *subject)
{
	return subject->mem == NULL;
}

struct kv *subject_kv(struct subject *subject)
{
	return subject->kv;
}

struct names *subject_names(struct subject *subject)
{
	return &subject->names;
}

static void drop_streams(struct subject *subject)
{
	PL_LIST_EACH (link, &subject->streams) {
		struct stream *stream = PL_LIST_ITEM(link, struct stream, link);

		subject_unwatch(subject, stream);
		stream_free(stream);
	}
}

static void revoke_all(struct subject *subject)
{
	for (size_t i = 0; i < subject->granted_count; i++) {
		struct kv_req req = {.op = KV_LEASE_REVOKE,
		                     .lease = {.id = subject->granted[i]}};
		enum pl_code code = subject_run(subject, subject->inner, &req);

		if (code != PL_OK && code != PL_NOLEASE)
			subject_die("reset: lease revoke", subject->err.msg);
	}
	subject->granted_count = 0;
	subject->names.chosen_count = 0;
}

void subject_reset(struct subject *subject)
{
	/* So that there are revisions before the reset, even in a new store. */
	struct kv_req put = {.op = KV_PUT, .put = {.key = PL_SPAN_LIT("reset")}};
	struct kv_req wipe = {.op = KV_DELETE, .del = {.keys = kv_all_keys()}};
	struct kv_req compact = {.op = KV_COMPACT, .compact = {.physical = true}};
	enum pl_code code;

	drop_streams(subject);
	revoke_all(subject);
	pl_arena_reset(&subject->arena);
	subject_must(subject_run(subject, subject->inner, &put), "reset: put",
	             &subject->err);
	subject_must(subject_run(subject, subject->inner, &wipe), "reset: delete",
	             &subject->err);
	subject->names.base = subject->result.header.revision;
	compact.compact.revision = subject->names.base;
	code = subject_run(subject, subject->inner, &compact);
	if (code != PL_OK && code != PL_COMPACTED) /* compacted there already: fine */
		subject_die("reset: compact", subject->err.msg);
}

static void open_memkv(struct subject *subject, const struct subject_opts *opts)
{
	struct memkv_opts mem_opts = {.txn_ops_max = SUBJECT_TXN_OPS,
	                              .quota_bytes = opts->quota_bytes,
	                              .now_ms = VIRTUAL_START_MS,
	                              .seed = 1};

	subject->now_ms = mem_opts.now_ms;
	subject_must(memkv_new(&mem_opts, &subject->mem, &subject->err), "memkv",
	             &subject->err);
	subject_must(memkv_session(subject->mem, &subject->inner, &subject->err), "memkv",
	             &subject->err);
}

static void open_etcd(struct subject *subject, const struct subject_opts *opts)
{
	struct etcd_opts etcd_opts = {.endpoints = opts->endpoints};

	PL_ASSERT(uv_loop_init(&subject->loop) == 0);
	PL_ASSERT(uv_timer_init(&subject->loop, &subject->timer) == 0);
	subject->timer.data = subject;
	subject_must(
		etcd_open(&subject->loop, &etcd_opts, &subject->inner, &subject->err),
		"etcd", &subject->err);
}

struct subject *subject_new(const struct subject_opts *opts)
{
	struct subject *subject = calloc(1, sizeof *subject);

	PL_ASSERT(subject != NULL);
	pl_list_init(&subject->streams);
	pl_arena_init(&subject->arena, 1 << 16, 0);
	pl_buf_init(&subject->text, TEXT_MAX);
	subject->granted = calloc(SUBJECT_GRANTED_MAX, sizeof *subject->granted);
	subject->names.chosen = calloc(NAMES_CHOSEN_MAX, sizeof *subject->names.chosen);
	PL_ASSERT(subject->granted != NULL && subject->names.chosen != NULL);
	/* Other clients may use the store, too, or used it before: random ids avoid
	 * theirs. */
	subject->names.lease_base = (int64_t)(pl_rng_seed_random() >> 32) << 16 | 1 << 15;
	if (opts->endpoints == NULL)
		open_memkv(subject, opts);
	else
		open_etcd(subject, opts);
	subject->kv = subject->inner;
	if (opts->wrap != NULL)
		subject->kv = opts->wrap(opts->wrap_ctx, subject->inner);
	subject_reset(subject);
	return subject;
}

static void on_closed(void *ctx)
{
	((struct subject *)ctx)->closed = true;
}

static bool is_closed(void *ctx)
{
	return ((struct subject *)ctx)->closed;
}

static void close_kv(struct subject *subject)
{
	kv_close(subject->kv, on_closed, subject);
	if (subject->closed)
		subject_die("close", "called back inside the call");
	if (!subject_until(subject, is_closed, subject, SUBJECT_WAIT_MS))
		subject_die("close", "never called back");
}

void subject_free(struct subject *subject)
{
	if (subject == NULL)
		return;
	close_kv(subject);
	if (subject_is_etcd(subject)) {
		uv_close((uv_handle_t *)&subject->timer, NULL);
		if (uv_run(&subject->loop, UV_RUN_DEFAULT) != 0 ||
		    uv_loop_close(&subject->loop) != 0)
			subject_die("close", "something is left in the loop");
	}
	PL_LIST_EACH (link, &subject->streams) {
		struct stream *stream = PL_LIST_ITEM(link, struct stream, link);

		if (!stream->ended)
			subject_die("close", "a watch did not end");
		stream_free(stream);
	}
	memkv_free(subject->mem);
	pl_arena_done(&subject->arena);
	pl_buf_done(&subject->text);
	free(subject->granted);
	free(subject->names.chosen);
	free(subject);
}
