/*
 * Several shards over one store: what each has heard, and its txns.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_RULES_RANDOM_SHARDS_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_RULES_RANDOM_SHARDS_H

#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/rules_random_world.h"

enum { SHARDS = 3, OUT_MAX = 24 };

struct rules_call_out {
	bool used;
	uint32_t txn;
	struct kv_req req;
	/* under which each partition is owned; 0: it is not */
	int64_t epoch[RIG_PARTITIONS];
};

struct rules_shard {
	struct sched *sched;
	bool owned[RIG_PARTITIONS];
	uint32_t cursor[RIG_PARTITIONS][SCHED_PARTS];
	bool viewed;
	uint32_t view_cursor;
	struct rules_call_out out[OUT_MAX];
	bool spaces; /* the cluster objects are listed */
	uint32_t spaces_cursor;
};

static struct rules_shard shards[SHARDS];
static int64_t epoch_of[RIG_PARTITIONS];
static uint64_t now_ms;

static inline struct kv_keys keys_of(uint32_t p, unsigned part)
{
	return kv_prefix(pl_span_str(text("%s%04u/", rig_prefix[part], p)));
}

static inline void list(struct rules_shard *shard, uint32_t p, unsigned part)
{
	struct kv_keys keys = keys_of(p, part);

	sched_list_begin(shard->sched, p, (enum sched_part)part);
	for (uint32_t i = 0; i < store.keys; i++)
		if (store.key[i].mod_revision != 0 && kv_key_in(keys, store.key[i].key))
			sched_list_records(shard->sched, p, (enum sched_part)part,
			                   &store.key[i], 1);
	sched_list_end(shard->sched, p, (enum sched_part)part, store.revision);
	shard->cursor[p][part] = store.logged;
}

static inline void own(struct rules_shard *shard, uint32_t p)
{
	shard->owned[p] = true;
	epoch_of[p]++;
	T_OK(sched_own(shard->sched, p, epoch_of[p], &err), &err);
	for (unsigned part = 0; part < SCHED_PARTS; part++)
		list(shard, p, part);
}

static inline void deliver(struct rules_shard *shard, uint32_t p, unsigned part,
                           unsigned most)
{
	uint32_t *at = &shard->cursor[p][part];
	struct kv_keys keys = keys_of(p, part);

	while (shard->owned[p] && *at < store.logged && most > 0) {
		const struct kv_event *event = &store.log[(*at)++];

		if (!kv_key_in(keys, event->record.key))
			continue;
		sched_events(shard->sched, p, (enum sched_part)part, event, 1);
		most--;
	}
	if (shard->owned[p] && *at == store.logged)
		sched_progress(shard->sched, p, (enum sched_part)part, store.revision);
}

static inline struct kv_keys view_keys(void)
{
	return (struct kv_keys){.kind = KV_RANGE,
	                        .from = PL_SPAN_LIT("/alloc/"),
	                        .to = PL_SPAN_LIT("/nodes0")};
}

static inline void view_list(struct rules_shard *shard)
{
	shard->viewed = true;
	sched_view_begin(shard->sched, SCHED_FLEET);
	for (uint32_t i = 0; i < store.keys; i++)
		if (store.key[i].mod_revision != 0 &&
		    kv_key_in(view_keys(), store.key[i].key))
			sched_view_records(shard->sched, SCHED_FLEET, &store.key[i], 1);
	sched_view_end(shard->sched, SCHED_FLEET, store.revision);
	shard->view_cursor = store.logged;
}

/* The store has no other cluster objects. */
static inline void list_objects(struct rules_shard *shard, enum sched_view view)
{
	const struct kv_keys keys = sched_view_keys(view);

	sched_view_begin(shard->sched, view);
	for (uint32_t i = 0; i < store.keys; i++)
		if (store.key[i].mod_revision != 0 && kv_key_in(keys, store.key[i].key))
			sched_view_records(shard->sched, view, &store.key[i], 1);
	sched_view_end(shard->sched, view, store.revision);
	if (view == SCHED_OF_NAMESPACE)
		shard->spaces_cursor = store.logged;
}

static inline void views_of_objects(struct rules_shard *shard)
{
	bool wanted = sched_view_wanted(shard->sched, SCHED_OF_NAMESPACE);

	if (wanted == shard->spaces)
		return;
	shard->spaces = wanted;
	for (unsigned i = SCHED_OBJECT_FIRST; i < SCHED_VIEWS; i++) {
		if (wanted)
			list_objects(shard, (enum sched_view)i);
		else
			sched_view_closed(shard->sched, (enum sched_view)i);
	}
}

/* Whole revisions of the namespaces, and of the lock of their labels. */
static inline void spaces_deliver(struct rules_shard *shard, unsigned most)
{
	const struct kv_keys keys = sched_view_keys(SCHED_OF_NAMESPACE);
	uint32_t *at = &shard->spaces_cursor;

	while (shard->spaces && *at < store.logged && most > 0) {
		int64_t revision = store.log[*at].record.mod_revision;
		bool any = false;

		for (;
		     *at < store.logged && store.log[*at].record.mod_revision == revision;
		     (*at)++) {
			if (!kv_key_in(keys, store.log[*at].record.key))
				continue;
			sched_view_events(shard->sched, SCHED_OF_NAMESPACE,
			                  &store.log[*at], 1, revision);
			any = true;
		}
		most -= any;
	}
}

static inline void views(struct rules_shard *shard)
{
	bool wanted = sched_view_wanted(shard->sched, SCHED_FLEET);

	views_of_objects(shard);
	if (wanted && !shard->viewed) {
		view_list(shard);
	} else if (!wanted && shard->viewed) {
		shard->viewed = false;
		sched_view_closed(shard->sched, SCHED_FLEET);
	}
}

/* All events of a revision come at once, as a watch sends them. */
static inline void view_deliver(struct rules_shard *shard, unsigned most)
{
	uint32_t *at = &shard->view_cursor;

	while (shard->viewed && *at < store.logged && most > 0) {
		int64_t revision = store.log[*at].record.mod_revision;

		for (;
		     *at < store.logged && store.log[*at].record.mod_revision == revision;
		     (*at)++)
			if (kv_key_in(view_keys(), store.log[*at].record.key))
				sched_view_events(shard->sched, SCHED_FLEET,
				                  &store.log[*at], 1, 0);
		sched_view_events(shard->sched, SCHED_FLEET, NULL, 0, revision);
		most--;
	}
}

static inline void remote_list(struct rules_shard *shard, uint32_t p)
{
	for (unsigned part = 0; part < SCHED_SCHEDULES; part++)
		for (uint32_t i = 0; i < store.keys; i++)
			if (store.key[i].mod_revision != 0 &&
			    kv_key_in(keys_of(p, part), store.key[i].key))
				sched_remote_list_records(shard->sched, p, &store.key[i],
				                          1);
	sched_remote_list_end(shard->sched, p, store.revision);
}

static inline void txn(struct rules_shard *shard, const struct sched_action *action)
{
	unsigned i = 0;

	while (shard->out[i].used)
		i++;
	T_TRUE(i < OUT_MAX);
	shard->out[i] = (struct rules_call_out){
		.used = true, .txn = action->txn, .req = action->req};
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		shard->out[i].epoch[p] = shard->owned[p] ? epoch_of[p] : 0;
}

static inline void run(struct rules_shard *shard)
{
	struct sched_action action;

	views(shard);
	shard->sched->rules.tidy_at = 0; /* unneeded namespaces are freed at once */
	sched_run(shard->sched, now_ms, 1763715600000 + (int64_t)now_ms, 64);
	while (sched_next(shard->sched, &action)) {
		switch (action.what) {
		case SCHED_TXN:
			txn(shard, &action);
			break;
		case SCHED_RELIST:
			if (shard->owned[action.partition])
				list(shard, action.partition, (unsigned)action.part);
			break;
		case SCHED_RELIST_VIEW:
			if (action.view == SCHED_OF_NAMESPACE && shard->spaces)
				list_objects(shard, action.view);
			else if (action.view == SCHED_FLEET && shard->viewed)
				view_list(shard);
			break;
		case SCHED_REMOTE_LIST:
			remote_list(shard, action.partition);
			break;
		case SCHED_MALFORMED:
		case SCHED_TROUBLE:
			break;
		}
	}
	sched_check(shard->sched);
}

#endif
