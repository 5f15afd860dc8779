#include "bench/live/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/report.h"
#include "coord/service/fsck/fsck.h"
#include "shardsched/records/pod_state.h"
#include "store/base/clock.h"
#include "store/keys/keys.h"

/* -- fsck -------------------------------------------------------------------------- */

enum { SHOWN_MAX = 10, SAY_EVERY_S = 5 };

struct checking {
	unsigned shown;
	double say_s;
	bool over;
};

static void on_found(void *ctx, const struct fsck_finding *finding)
{
	struct checking *c = ctx;

	if (fsck_is_condition(finding->code) || c->shown++ >= SHOWN_MAX)
		return;
	bench_say("fsck: %s " PL_SPAN_FMT ": %s", fsck_code_word(finding->code),
	          PL_SPAN_ARG(finding->key), finding->what);
}

static void on_progress(void *ctx, const struct fsck_counts *counts)
{
	struct checking *c = ctx;

	if (bench_now_s() < c->say_s)
		return;
	c->say_s = bench_now_s() + SAY_EVERY_S;
	bench_say("fsck: %llu keys", (unsigned long long)counts->records);
}

static void on_done(void *ctx, int64_t revision, const struct pl_err *err)
{
	(void)revision;
	bench_check(err == NULL ? PL_OK : err->code, err, "fsck");
	((struct checking *)ctx)->over = true;
}

uint64_t verify_fsck(struct live *live, uint32_t partitions, const char *fields)
{
	struct checking c = {.say_s = bench_now_s() + SAY_EVERY_S};
	struct fsck_opts opts = {.partitions = partitions,
	                         .by = PL_SPAN_LIT("bench"),
	                         .wall_ms = pl_clock_wall_ms(),
	                         .seed = 1,
	                         .timeout_ms = LIVE_TIMEOUT_MS,
	                         .found = on_found,
	                         .progress = on_progress,
	                         .done = on_done,
	                         .ctx = &c};
	double since = bench_now_s();
	struct fsck *fsck = NULL;
	struct pl_err err = {0};
	uint64_t violations;

	bench_check(fsck_open(live->kv, &opts, &fsck, &err), &err, "fsck");
	while (!c.over)
		(void)uv_run(&live->loop, UV_RUN_ONCE);
	violations = fsck_core_counts(fsck_core(fsck))->violations;
	bench_emit(fields, "fsck_violations", (double)violations, "keys");
	bench_emit(fields, "fsck_s", bench_now_s() - since, "s");
	fsck_free(fsck);
	return violations;
}

/* -- pods that were not placed ------------------------------------------------------ */

enum { REASONS_MAX = 32, REASON_SIZE = 64 };

struct reasons {
	const struct load *load;
	struct pl_arena arena;
	bool *is_done; /* by pod: it has a place, or its reason is counted */
	uint32_t count[REASONS_MAX];
	char word[REASONS_MAX][REASON_SIZE];
	unsigned words;
};

static void count_reason(struct reasons *r, struct pl_span word)
{
	char text[REASON_SIZE];
	unsigned i = 0;

	(void)snprintf(text, sizeof text, PL_SPAN_FMT, PL_SPAN_ARG(word));
	while (i < r->words && strcmp(r->word[i], text) != 0)
		i++;
	if (i == REASONS_MAX)
		i--;
	if (i == r->words)
		memcpy(r->word[r->words++], text, sizeof text);
	r->count[i]++;
}

static void on_key(void *ctx, const struct kv_record *record)
{
	struct reasons *r = ctx;
	struct pod_state state;
	struct keys_id id;
	uint32_t pod;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_STATE ||
	    !load_pod_of(id.name, &pod) || pod >= r->load->pods)
		return;
	pl_arena_reset(&r->arena);
	r->is_done[pod] = true;
	if (state_parse(record->value, &r->arena, &state, NULL) != PL_OK)
		count_reason(r, PL_SPAN_LIT("malformed"));
	else if (state.phase == STATE_PENDING)
		count_reason(r, state.reason.len == 0 ? PL_SPAN_LIT("no_reason")
		                                      : state.reason);
	else if (state.phase != STATE_BOUND)
		count_reason(r, pl_span_str(state_phase_word(state.phase)));
}

uint32_t verify_unplaced(struct live *live, const struct load *load, const char *fields)
{
	struct reasons *r = bench_alloc(1, sizeof *r);
	uint32_t sum = 0;

	r->load = load;
	r->is_done = bench_alloc(load->pods, sizeof *r->is_done);
	pl_arena_init(&r->arena, 1 << 16, 0);
	live_each(live, "/schedules/", false, on_key, r);
	for (uint32_t i = 0; i < load->pods; i++)
		if (!r->is_done[i])
			count_reason(r, PL_SPAN_LIT("no_state"));
	for (unsigned i = 0; i < r->words; i++) {
		struct bench_fields one = {.len = 0};

		bench_field(&one, "%s", fields);
		bench_field(&one, "\"reason\":\"%s\"", r->word[i]);
		bench_emit(one.at, "unplaced", r->count[i], "pods");
		bench_say("%u pods have no place: %s", r->count[i], r->word[i]);
		sum += r->count[i];
	}
	pl_arena_done(&r->arena);
	free(r->is_done);
	free(r);
	return sum;
}
