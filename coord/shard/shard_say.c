#include <stdio.h>
#include <stdlib.h>

#include "coord/shard/shard_int.h"
#include "store/base/alloc.h"

/* The record of this shard: built from what is so now, and given to the session,
 * which sends it when it is due. */

enum {
	LATER_MS = 1000, /* loads and rates change all the time */
	APART_MS = 50,   /* the refreshed records of all members together */
};

enum pl_code say_init(struct shard *shard, uint32_t partitions)
{
	PL_ASSERT(shard->epoch == NULL && partitions > 0);
	shard->epoch = pl_calloc(partitions, sizeof *shard->epoch);
	shard->fenced_epoch = pl_calloc(partitions, sizeof *shard->fenced_epoch);
	shard->load = pl_calloc(partitions, sizeof *shard->load);
	shard->said_partitions = pl_calloc(partitions, sizeof *shard->said_partitions);
	shard->said_loads = pl_calloc(partitions, sizeof *shard->said_loads);
	if (shard->epoch != NULL && shard->fenced_epoch != NULL && shard->load != NULL &&
	    shard->said_partitions != NULL && shard->said_loads != NULL)
		return PL_OK;
	say_done(shard);
	return PL_NOMEM;
}

void say_done(struct shard *shard)
{
	free(PL_STEAL(shard->epoch));
	free(PL_STEAL(shard->fenced_epoch));
	free(PL_STEAL(shard->load));
	free(PL_STEAL(shard->said_partitions));
	free(PL_STEAL(shard->said_loads));
}

static void say_partitions(struct shard *shard, struct member *out)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < shard->partitions && shard->owned != 0; p++) {
		if (shard->epoch[p] == 0)
			continue;
		shard->said_partitions[count] = (uint16_t)p;
		shard->said_loads[count++] = shard->load[p];
	}
	PL_ASSERT(count == shard->owned);
	out->partitions = shard->said_partitions;
	out->loads = shard->said_loads;
	out->partition_count = count;
}

static void say_config(const struct shard *shard, struct member *out)
{
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		struct member_config config = {
			.name = pl_span_str(config_name_text(i)),
			.version = config_watch_version(shard->config, i),
			.refused = pl_span_str(shard->refused_text[i])};

		if (shard->runs[i].told)
			config.version = shard->runs[i].version;
		if (config.refused.len == 0)
			config.refused = pl_span_str(shard->runs[i].why_not);
		if (config.version != 0 || config.refused.len != 0)
			out->config[out->config_count++] = config;
	}
}

void say_self(struct shard *shard, struct member *out)
{
	const struct shard_opts *opts = &shard->opts;

	*out = (struct member){
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
	say_partitions(shard, out);
	if (shard->config != NULL)
		say_config(shard, out);
}

uint64_t say_deadline_ms(const struct shard *shard)
{
	if (shard->session == NULL)
		return UINT64_MAX;
	if (shard->say_now)
		return 0;
	return shard->say_later ? shard->said_ms + LATER_MS : UINT64_MAX;
}

void say_review(struct shard *shard)
{
	uint64_t now = kv_now_ms(shard->kv);
	struct member self;

	if (now < say_deadline_ms(shard))
		return;
	shard->say_now = false;
	shard->say_later = false;
	shard->said_ms = now;
	say_self(shard, &self);
	session_say(shard->session, &self);
}

/* Each refreshed record goes to every member: what all of them send together must not
 * grow with their number, or what each receives grows so too. */
void say_pace(struct shard *shard)
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

static void say_soon(struct shard *shard)
{
	if (shard->say_later)
		return;
	shard->say_later = true;
	shard_kick(shard);
}

void shard_load(struct shard *shard, uint32_t partition, uint32_t load)
{
	if (partition >= shard->partitions || shard->epoch[partition] == 0 ||
	    shard->load[partition] == load)
		return;
	shard->load[partition] = load;
	say_soon(shard);
}

void shard_busy(struct shard *shard, double busy, double writes_per_s)
{
	PL_ASSERT(busy >= 0 && busy <= 1 && writes_per_s >= 0);
	if (shard->busy == busy && shard->writes_per_s == writes_per_s)
		return;
	shard->busy = busy;
	shard->writes_per_s = writes_per_s;
	say_soon(shard);
}

void shard_runs(struct shard *shard, enum config_name name, uint64_t version,
                const struct pl_err *err)
{
	char *why = shard->runs[name].why_not;

	shard->runs[name].told = true;
	shard->runs[name].version = version;
	(void)snprintf(why, sizeof shard->runs[name].why_not, "%s",
	               err == NULL ? "" : err->msg);
	shard->say_now = true;
	shard_kick(shard);
}

static bool keep_text(struct pl_arena *arena, struct pl_span *text)
{
	*text = pl_arena_dup(arena, *text);
	return text->at != NULL;
}

static bool keep_nodes(struct pl_arena *arena, const struct member_node **nodes,
                       uint32_t count)
{
	struct member_node *kept = pl_arena_zalloc(arena, count + 1, sizeof *kept);

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

static bool keep_causes(struct pl_arena *arena, struct member_work *work)
{
	struct member_cause *kept =
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

/* Without memory it goes without its tables. */
void shard_work(struct shard *shard, const struct member_work *work)
{
	struct member_work kept = *work;
	struct pl_arena *arena = &shard->work_arena;

	pl_arena_reset(arena);
	if (!keep_causes(arena, &kept) ||
	    !keep_nodes(arena, &kept.nodes, kept.node_count) ||
	    !keep_nodes(arena, &kept.asides, kept.aside_count))
		kept.cause_count = kept.node_count = kept.aside_count = 0;
	kept.known = true;
	shard->work = kept;
	say_soon(shard);
}
