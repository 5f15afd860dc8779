/* A guarded store answers as one without a guard: where nothing needs a fence, and
 * where the fence holds that a write has. */
#include <stdio.h>
#include <stdlib.h>

#include "store/kv/guarded.h"
#include "tests/conformance/random.h"
#include "tests/harness/t.h"

enum { REPORT_MAX = 1 << 20 };

static enum guard_need free_to_write(void *ctx, const struct kv_keys *written,
                                     struct guard_fence *out)
{
	(void)ctx;
	(void)written;
	(void)out;
	return GUARD_FREE;
}

/* The fence is on a key that no history has: both its numbers are 0, and stay so. A
 * plain put needs no fence: a put with two faults is refused for the other one inside a
 * transaction. */
static enum guard_need fence_that_holds(void *ctx, const struct kv_keys *written,
                                        struct guard_fence *out)
{
	(void)ctx;
	if (written->kind == KV_ONE)
		return GUARD_FREE;
	out->key.len = (size_t)snprintf(out->key.at, sizeof out->key.at, "/missing/key");
	out->create_revision = 0;
	out->lease = 0;
	return GUARD_FENCE;
}

static void never_fenced(void *ctx, const struct guard_fence *fence)
{
	(void)ctx;
	t_fail(__FILE__, __LINE__, "fenced by %s", fence->key.at);
}

static struct kv *wrap_guarded(void *ctx, struct kv *inner)
{
	struct kv *out = NULL;

	T_EQ(guarded_open(inner, ctx, &out, NULL), PL_OK);
	return out;
}

static void expect_alike(struct guard guard, struct subject_opts guarded, uint64_t steps)
{
	struct subject_opts plain = {0};
	struct pair pair = {.name = {"plain", "guarded"}};
	struct random_opts opts = {
		.seed = t_seed(), .steps = steps, .shrink_ms_max = 5000};
	struct random_found *found = calloc(1, sizeof *found);
	struct pl_buf report;

	guarded.wrap = wrap_guarded;
	guarded.wrap_ctx = &guard;
	pair.subject[0] = subject_new(&plain);
	pair.subject[1] = subject_new(&guarded);
	T_TRUE(found != NULL);
	pl_buf_init(&report, REPORT_MAX);
	if (random_differ(&pair, &opts, found, &report))
		t_fail(__FILE__, __LINE__, "%.*s", (int)report.len,
		       (const char *)report.at);
	pl_buf_done(&report);
	free(found);
	for (unsigned k = 0; k < 2; k++)
		subject_free(pair.subject[k]);
}

T_CASE(guarded_equals_plain_where_no_key_needs_a_fence)
{
	expect_alike((struct guard){.need = free_to_write, .fenced = never_fenced},
	             (struct subject_opts){0}, RANDOM_HISTORY_STEPS);
}

T_CASE(guarded_equals_plain_where_the_fence_holds)
{
	expect_alike((struct guard){.need = fence_that_holds, .fenced = never_fenced},
	             (struct subject_opts){0}, RANDOM_HISTORY_STEPS);
}

/* By itself this does nothing. */
T_CASE_SECONDS(over_a_real_etcd, 60)
{
	struct subject_opts etcd = subject_opts_env();

	if (etcd.endpoints == NULL)
		return;
	expect_alike((struct guard){.need = fence_that_holds, .fenced = never_fenced},
	             etcd, 1000);
}
