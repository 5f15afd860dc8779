#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/shard/shard_int.h"
#include "store/base/alloc.h"
#include "store/keys/names.h"
#include "store/net/unconst.h"

/*
 * The frame of the shard. Everything from outside is recorded here and acted on from
 * the timer. In phase STOP the parts are stopped in order; once all have ended, so
 * does the shard.
 */

enum { WORK_CHUNK = 4096 };

void shard_kick(struct shard *shard)
{
	shard->kicked = true;
	pl_timer_set(&shard->timer, kv_now_ms(shard->kv));
}

void shard_report(struct shard *shard, const struct shard_note *note)
{
	shard->fn(shard->opts.ctx, note);
}

void shard_trouble(struct shard *shard, const char *part, const struct pl_err *err)
{
	shard_report(shard, &(struct shard_note){
				    .what = SHARD_TROUBLE, .part = part, .err = err});
}

void shard_refuse(struct shard *shard, const struct pl_err *err)
{
	if (shard->refused)
		return;
	shard->refused = true;
	shard_kick(shard);
	shard_spread(shard);
	shard_report(shard, &(struct shard_note){.what = SHARD_REFUSED, .err = err});
}

int64_t shard_wall_ms(const struct shard *shard)
{
	return shard->opts.wall_ms == NULL ? 0 : shard->opts.wall_ms(shard->opts.ctx);
}

static void strings_free(struct shard_opts *opts)
{
	const char **const texts[] = {&opts->id,      &opts->host, &opts->boot,
	                              &opts->version, &opts->api,  &opts->zone};

	for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		free(unconst(*texts[i]));
		*texts[i] = NULL;
	}
}

/* A string may be NULL, which means "". */
static enum pl_code strings_copy(struct shard_opts *opts)
{
	const char **const texts[] = {&opts->id,      &opts->host, &opts->boot,
	                              &opts->version, &opts->api,  &opts->zone};
	bool whole = true;

	for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		*texts[i] = pl_strdup(*texts[i] == NULL ? "" : *texts[i]);
		whole = whole && *texts[i] != NULL;
	}
	return whole ? PL_OK : PL_NOMEM;
}

static void shard_free(struct shard *shard)
{
	peers_done(shard);
	publish_done(shard);
	pl_arena_done(&shard->work_arena);
	assign_free(shard->assign);
	pl_timer_done(&shard->timer);
	strings_free(&shard->opts);
	free(shard);
}

static void shard_finish(struct shard *shard)
{
	struct pl_err left = shard->left;
	struct shard_note closed = {.what = SHARD_CLOSED,
	                            .err = left.code == PL_OK ? NULL : &left};
	shard_fn *fn = shard->fn;
	void *ctx = shard->opts.ctx;

	shard_free(shard);
	fn(ctx, &closed);
}

static void rearm_timer(struct shard *shard)
{
	uint64_t at = parts_deadline_ms(shard);
	uint64_t review_ms = shard_review_ms(shard);

	if (review_ms < at)
		at = review_ms;
	if (shard->kicked)
		at = kv_now_ms(shard->kv);
	if (at == UINT64_MAX)
		pl_timer_stop(&shard->timer);
	else
		pl_timer_set(&shard->timer, at);
}

static void on_timer(void *ctx)
{
	struct shard *shard = ctx;

	shard->kicked = false;
	if (shard->phase != SHARD_PHASE_STOP)
		shard_review(shard);
	parts_step(shard);
	if (shard->phase == SHARD_PHASE_STOP && parts_gone(shard)) {
		shard_finish(shard);
		return;
	}
	rearm_timer(shard);
}

static void shard_init(struct shard *shard, struct kv *kv, shard_fn *fn)
{
	struct shard_opts *opts = &shard->opts;

	shard->kv = kv;
	shard->fn = fn;
	pl_arena_init(&shard->work_arena, WORK_CHUNK, 0);
	pl_rng_init(&shard->rng, opts->seed != 0 ? opts->seed : pl_rng_seed_random());
	(void)snprintf(shard->instance, sizeof shard->instance,
	               "%016" PRIx64 "%016" PRIx64, pl_rng_next(&shard->rng),
	               pl_rng_next(&shard->rng));
	if (opts->weight == 0)
		opts->weight = MEMBERSHIP_WEIGHT_ONE;
	if (opts->ttl_s == 0)
		opts->ttl_s = SHARD_TTL_DEFAULT_S;
	shard->started_ms = shard_wall_ms(shard);
	for (unsigned i = 0; i < ROLE_COUNT; i++) {
		shard->elect[i] = (struct shard_elect){.shard = shard, .role = i};
		shard->elect[i].hash = elect_hash(role_name(i), shard_id(shard));
	}
}

static enum pl_code check_opts(const struct shard_opts *opts, struct pl_err *err)
{
	if (names_check(NAMES_SHARD, pl_span_str(opts->id), err) != PL_OK)
		return PL_INVALID;
	if (opts->weight > MEMBERSHIP_WEIGHT_MAX)
		return pl_err_set(err, PL_INVALID, "weight %u: at most %d", opts->weight,
		                  MEMBERSHIP_WEIGHT_MAX);
	if (opts->partitions > KEYS_PARTITIONS_MAX)
		return pl_err_set(err, PL_INVALID, "%u partitions: at most %d",
		                  opts->partitions, KEYS_PARTITIONS_MAX);
	return PL_OK;
}

enum pl_code shard_open(struct kv *kv, const struct shard_opts *opts, shard_fn *fn,
                        struct shard **out, struct pl_err *err)
{
	struct shard *shard;

	if (check_opts(opts, err) != PL_OK)
		return PL_INVALID;
	shard = pl_calloc(1, sizeof *shard);
	if (shard == NULL)
		return pl_err_set(err, PL_NOMEM, "shard %s", opts->id);
	pl_map_init(&shard->peers);
	shard->opts = *opts;
	if (strings_copy(&shard->opts) != PL_OK ||
	    pl_timer_init(&shard->timer, kv_timers(kv), on_timer, shard) != PL_OK) {
		pl_err_set(err, PL_NOMEM, "shard %s", opts->id);
		goto fail;
	}
	shard_init(shard, kv, fn);
	if (shard_guard_open(shard, err) != PL_OK)
		goto fail;
	shard->part[PART_GUARD] = PART_ON;
	shard_kick(shard);
	*out = shard;
	return PL_OK;

fail:
	shard_free(shard);
	return err == NULL ? PL_NOMEM : err->code;
}

struct kv *shard_kv(struct shard *shard)
{
	return shard->guarded;
}

uint64_t shard_safe_until_ms(const struct shard *shard)
{
	return shard->session == NULL || session_lease(shard->session) == 0
	               ? 0
	               : session_safe_until_ms(shard->session);
}

static bool is_acting(const struct shard *shard, uint32_t partition)
{
	return shard->claims != NULL && !shard->refused && !shard->abandoned &&
	       partition < shard->partitions;
}

int64_t shard_epoch(const struct shard *shard, uint32_t partition)
{
	return is_acting(shard, partition) ? claims_epoch(shard->claims, partition) : 0;
}

bool shard_may_begin(const struct shard *shard, uint32_t partition)
{
	return is_acting(shard, partition) && shard->phase != SHARD_PHASE_STOP &&
	       claims_may_begin(shard->claims, partition);
}

void shard_quiet(struct shard *shard, uint32_t partition, int64_t epoch)
{
	if (shard->claims != NULL && partition < shard->partitions)
		claims_quiet(shard->claims, partition, epoch);
}

uint32_t shard_partitions(const struct shard *shard)
{
	return shard->partitions;
}

uint32_t shard_owned(const struct shard *shard)
{
	return shard->owned;
}

enum membership_state shard_state(const struct shard *shard)
{
	return shard->state;
}

const struct roster *shard_roster(const struct shard *shard)
{
	return shard->roster;
}

const struct claims *shard_claims(const struct shard *shard)
{
	return shard->claims;
}

const struct config_value *shard_config(const struct shard *shard, enum config_name name,
                                        uint64_t *version)
{
	if (shard->config == NULL || !shard->config_synced)
		return NULL;
	*version = config_watch_version(shard->config, name);
	return config_watch_value(shard->config, name);
}

uint64_t shard_fenced(const struct shard *shard)
{
	return shard->fenced;
}

void shard_leave(struct shard *shard)
{
	if (shard->phase != SHARD_PHASE_RUN)
		return;
	shard->phase = SHARD_PHASE_LEAVE;
	shard->leave_wait_ms = 0; /* the review sets both */
	shard->leave_end_ms = 0;
	shard_kick(shard);
}

void shard_abandon(struct shard *shard)
{
	if (shard->abandoned)
		return;
	shard->abandoned = true;
	shard->phase = SHARD_PHASE_STOP;
	shard_kick(shard);
	parts_abandon(shard);
}
