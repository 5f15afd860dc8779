#include "tests/support/store/kv/faulty.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/support/store/kv/faulty_impl.h"

static struct faulty *faulty_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct faulty, wrapper.kv);
}

bool faulty_fires(struct faulty *f, size_t rule)
{
	const struct faulty_rule *r = &f->rules[rule];

	if (f->paused || f->closing || (r->count != 0 && f->fired[rule] >= r->count))
		return false;
	if (!pl_rng_chance(&f->rng, r->per_mille, 1000))
		return false;
	f->fired[rule]++;
	f->counts[r->what]++;
	return true;
}

uint64_t faulty_delay(struct faulty *f, const struct faulty_rule *rule)
{
	return pl_rng_between(&f->rng, rule->delay_min_ms, rule->delay_max_ms);
}

static void on_closed(void *ctx)
{
	struct faulty *f = ctx;
	kv_closed_fn *closed = f->wrapper.closed;
	void *closed_ctx = f->wrapper.closed_ctx;

	PL_ASSERT(pl_list_empty(&f->calls) && pl_list_empty(&f->watches));
	free(f);
	closed(closed_ctx);
}

void faulty_reported(struct faulty *f)
{
	PL_ASSERT(f->unreported > 0);
	if (--f->unreported == 0 && f->closing)
		kv_close(f->wrapper.inner, on_closed, f);
}

/* Calls and watches end through timers of this kv, which are the wrapped kv's. So they
 * end first, and then the wrapped kv closes, which ends what is left below. */
static void faulty_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct faulty *f = faulty_of(kv);

	PL_ASSERT(!f->closing);
	f->closing = true;
	f->wrapper.closed = closed;
	f->wrapper.closed_ctx = ctx;
	faulty_calls_close(f);
	faulty_watches_close(f);
	if (f->unreported == 0)
		kv_close(f->wrapper.inner, on_closed, f);
}

static const struct kv_ops faulty_ops = {
	.name = "faulty",
	.start = faulty_start,
	.cancel = faulty_cancel,
	.watch = faulty_watch,
	.unwatch = faulty_unwatch,
	.progress = faulty_progress,
	.limits = kv_wrapper_limits,
	.room = kv_wrapper_room,
	.when_room = kv_wrapper_when_room,
	.now_ms = kv_wrapper_now_ms,
	.timers = kv_wrapper_timers,
	.close = faulty_close,
};

static void rules_copy(struct faulty *f, const struct faulty_rule *rules, size_t count)
{
	uint8_t *at = f->bytes;

	f->rule_count = count;
	for (size_t i = 0; i < count; i++) {
		size_t len = rules[i].prefix.len;

		PL_ASSERT(rules[i].what < FAULTY_WHAT_COUNT);
		PL_ASSERT(rules[i].delay_min_ms <= rules[i].delay_max_ms);
		f->rules[i] = rules[i];
		if (len != 0)
			memcpy(at, rules[i].prefix.at, len);
		f->rules[i].prefix = pl_span(at, len);
		at += len;
	}
}

enum pl_code faulty_open(struct kv *kv, uint64_t seed, const struct faulty_rule *rules,
                         size_t count, struct kv **out, struct pl_err *err)
{
	struct faulty *f;
	size_t bytes = 0;

	if (count > FAULTY_RULES_MAX)
		return pl_err_set(err, PL_LIMIT, "%zu rules, at most %d", count,
		                  FAULTY_RULES_MAX);
	for (size_t i = 0; i < count; i++)
		bytes += rules[i].prefix.len;
	f = pl_calloc(1, sizeof *f + bytes);
	if (f == NULL)
		return pl_err_set(err, PL_NOMEM, "injected faults");
	f->wrapper.kv.ops = &faulty_ops;
	f->wrapper.inner = kv;
	pl_rng_init(&f->rng, seed);
	pl_list_init(&f->calls);
	pl_list_init(&f->watches);
	rules_copy(f, rules, count);
	*out = &f->wrapper.kv;
	return PL_OK;
}

void faulty_pause(struct kv *kv, bool paused)
{
	struct faulty *f = faulty_of(kv);

	PL_ASSERT(kv->ops == &faulty_ops);
	f->paused = paused;
	if (paused)
		faulty_watches_pause(f);
}

uint64_t faulty_count(const struct kv *kv, enum faulty_what what)
{
	const struct faulty *f = (const void *)kv; /* the first member of the struct */

	PL_ASSERT(kv->ops == &faulty_ops);
	return f->counts[what];
}
