#include <stdio.h>
#include <stdlib.h>

#include "coord/shard/shard_int.h"
#include "store/base/alloc.h"

/* The record of this shard: made from the present state and passed to the session,
 * which puts it when it is due. */

enum {
	LATER_MS = 1000, /* loads and rates change all the time */
	APART_MS = 50,   /* interval between the refreshed records of all members
	                  * together */
};

enum pl_code publish_init(struct shard *shard, uint32_t partitions)
{
	PL_ASSERT(shard->epoch == NULL && partitions > 0);
	shard->epoch = pl_calloc(partitions, sizeof *shard->epoch);
	shard->fenced_epoch = pl_calloc(partitions, sizeof *shard->fenced_epoch);
	shard->load = pl_calloc(partitions, sizeof *shard->load);
	shard->published_partitions =
		pl_calloc(partitions, sizeof *shard->published_partitions);
	shard->published_loads = pl_calloc(partitions, sizeof *shard->published_loads);
	if (shard->epoch != NULL && shard->fenced_epoch != NULL && shard->load != NULL &&
	    shard->published_partitions != NULL && shard->published_loads != NULL)
		return PL_OK;
	publish_done(shard);
	return PL_NOMEM;
}

void publish_done(struct shard *shard)
{
	free(PL_STEAL(shard->epoch));
	free(PL_STEAL(shard->fenced_epoch));
	free(PL_STEAL(shard->load));
	free(PL_STEAL(shard->published_partitions));
	free(PL_STEAL(shard->published_loads));
}

static void publish_partitions(struct shard *shard, struct membership *out)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < shard->partitions && shard->owned != 0; p++) {
		if (shard->epoch[p] == 0)
			continue;
		shard->published_partitions[count] = (uint16_t)p;
		shard->published_loads[count++] = shard->load[p];
	}
	PL_ASSERT(count == shard->owned);
	out->partitions = shard->published_partitions;
	out->loads = shard->published_loads;
	out->partition_count = count;
}

static void publish_config(const struct shard *shard, struct membership *out)
{
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		struct membership_config config = {
			.name = pl_span_str(config_name_text(i)),
			.version = config_watch_version(shard->config, i),
			.refused = pl_span_str(shard->refused_text[i])};

		if (shard->runs[i].reported)
			config.version = shard->runs[i].version;
		if (config.refused.len == 0)
			config.refused = pl_span_str(shard->runs[i].why_not);
		if (config.version != 0 || config.refused.len != 0)
			out->config[out->config_count++] = config;
	}
}

void publish_self(struct shard *shard, struct membership *out)
{
	const struct shard_opts *opts = &shard->opts;

	*out = (struct membership){
		.id = shard_id(shard),
		.state = shard->state,
		.host = pl_span_str(opts->host),
		.pid = opts->pid,
		.boot = pl_span_str(opts->boot),
		.version = pl_span_str(opts->version),
		.api = pl_span_str(opts->api),
		.zone = pl_span_str(opts->zone),
		.weight = opts->weight,
		.salt = shard->salt,
		.started_ms = shard->started_ms,
		.writes_per_s = shard->writes_per_s,
		.busy = shard->busy,
		.fenced = shard->fenced,
		.work = shard->work,
	};
	memcpy(out->instance, shard->instance, sizeof out->instance);
	publish_partitions(shard, out);
	if (shard->config != NULL)
		publish_config(shard, out);
}

uint64_t publish_deadline_ms(const struct shard *shard)
{
	if (shard->session == NULL)
		return UINT64_MAX;
	switch (shard->publish) {
	case PUBLISH_NOTHING:
		return UINT64_MAX;
	case PUBLISH_LATER:
		return shard->published_ms + LATER_MS;
	case PUBLISH_NOW:
		break;
	}
	return 0;
}

void publish_review(struct shard *shard)
{
	uint64_t now = kv_now_ms(shard->kv);
	struct membership self;

	if (now < publish_deadline_ms(shard))
		return;
	shard->publish = PUBLISH_NOTHING;
	shard->published_ms = now;
	publish_self(shard, &self);
	session_publish(shard->session, &self);
}

/* Each refreshed record reaches every member. So the interval grows with the number of
 * members: otherwise what each member receives would grow with it. */
void publish_pace(struct shard *shard)
{
	uint64_t least, ms;

	if (shard->session == NULL || shard->config == NULL || shard->roster == NULL)
		return;
	least = roster_count(shard->roster) * APART_MS;
	ms = config_watch_value(shard->config, CONFIG_COORD)->coord.refresh_ms;
	if (ms < least)
		ms = least;
	if (shard->refresh_ms == ms)
		return;
	shard->refresh_ms = ms;
	session_refresh(shard->session, ms);
}

void publish_soon(struct shard *shard)
{
	if (shard->publish != PUBLISH_NOTHING)
		return;
	shard->publish = PUBLISH_LATER;
	shard_kick(shard);
}

void shard_load(struct shard *shard, uint32_t partition, uint32_t load)
{
	if (partition >= shard->partitions || shard->epoch[partition] == 0 ||
	    shard->load[partition] == load)
		return;
	shard->load[partition] = load;
	publish_soon(shard);
}

void shard_busy(struct shard *shard, double busy, double writes_per_s)
{
	PL_ASSERT(busy >= 0 && busy <= 1 && writes_per_s >= 0);
	if (shard->busy == busy && shard->writes_per_s == writes_per_s)
		return;
	shard->busy = busy;
	shard->writes_per_s = writes_per_s;
	publish_soon(shard);
}

void shard_runs(struct shard *shard, enum config_name name, uint64_t version,
                const struct pl_err *err)
{
	char *why = shard->runs[name].why_not;

	shard->runs[name].reported = true;
	shard->runs[name].version = version;
	(void)snprintf(why, sizeof shard->runs[name].why_not, "%s",
	               err == NULL ? "" : err->msg);
	shard->publish = PUBLISH_NOW;
	shard_kick(shard);
}

static bool keep_text(struct pl_arena *arena, struct pl_span *text)
{
	*text = pl_arena_dup(arena, *text);
	return text->at != NULL;
}

static bool keep_nodes(struct pl_arena *arena, const struct membership_node **nodes,
                       uint32_t count)
{
	struct membership_node *kept = pl_arena_zalloc(arena, count + 1, sizeof *kept);

	if (kept == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		kept[i] = (*nodes)[i];
		if (!keep_text(arena, &kept[i].cluster) ||
		    !keep_text(arena, &kept[i].name) || !keep_text(arena, &kept[i].cause))
			return false;
	}
	*nodes = kept;
	return true;
}

static bool keep_causes(struct pl_arena *arena, struct membership_work *work)
{
	struct membership_cause *kept =
		pl_arena_zalloc(arena, work->cause_count + 1, sizeof *kept);

	if (kept == NULL)
		return false;
	for (uint32_t i = 0; i < work->cause_count; i++) {
		kept[i] = work->causes[i];
		if (!keep_text(arena, &kept[i].word))
			return false;
	}
	work->causes = kept;
	return true;
}

/* Without memory the record lacks the arrays. */
void shard_work(struct shard *shard, const struct membership_work *work)
{
	struct membership_work kept = *work;
	struct pl_arena *arena = &shard->work_arena;

	pl_arena_reset(arena);
	if (!keep_causes(arena, &kept) ||
	    !keep_nodes(arena, &kept.nodes, kept.node_count) ||
	    !keep_nodes(arena, &kept.asides, kept.aside_count))
		kept.cause_count = kept.node_count = kept.aside_count = 0;
	kept.known = true;
	shard->work = kept;
	publish_soon(shard);
}
