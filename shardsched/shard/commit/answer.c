/*
 * What became of a call.
 *
 *	yes       what was assumed is so, at the revision of the answer
 *	no        everything that was sent waits again; what was read is news, and takes
 *	          back what conflicted. Where the commit did not read, that comes first
 *	unknown   the same again, until it is yes or no. Fenced by then: it can not be
 *	          applied any more, but may have been; so what stands there is read.
 *	not done  the same again, after a while
 */
#include "shardsched/shard/commit/bundle.h"
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/commit/rests.h"
#include "shardsched/shard/ends/ends.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/room/preempts.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"
#include "shardsched/shard/unsched.h"

enum {
	AGAIN_MS = 20,
	AGAIN_MAX_MS = 2000,
	APART_MS = 1000,
	GROW_PARTS = 16, /* of the most, after each full one that succeeded */
};

/* -- the batch ----------------------------------------------------------- */

static void batch_grow(struct sched *sched, const struct call *call)
{
	uint32_t step = sched->opts.batch / GROW_PARTS + 1;

	if (call->placements < sched->batch)
		return;
	sched->batch = sched->batch + step < sched->opts.batch ? sched->batch + step
	                                                       : sched->opts.batch;
}

static void batch_halve(struct sched *sched)
{
	if (sched->batch > 1)
		sched->batch /= 2;
}

/* -- yes ------------------------------------------------------------------ */

static void alloc_stands(struct sched *sched, struct sched_node *node, int64_t revision)
{
	node->call = 0;
	preempts_stand(sched, node);
	if (node->reset) {
		preempts_keep(sched, node);
		node->reset = false;
		return;
	}
	node->sure = true;
	node->full = false;
	node->rev[FACT_ALLOC] = revision;
	node->seen[FACT_ALLOC] =
		sched->partition[node->partition].generation[SCHED_ALLOCS];
	node->generation++;
	node->left += node->leaves;
	holds_sent(sched, node);
	preempts_keep(sched, node);
	node->said = node->used;
	node->apart_ms = 0;
	node->refusals = 0;
}

static void state_stands(struct sched *sched, struct sched_pod *pod,
                         enum state_phase phase, int64_t since_ms, int64_t revision)
{
	pod->rev[FACT_STATE] = revision;
	pod->seen[FACT_STATE] = sched->partition[pod->key[0]].generation[SCHED_SCHEDULES];
	pod->phase = (uint8_t)phase;
	pod->since_ms = since_ms;
}

static void pod_bound(struct sched *sched, const struct call_item *item, int64_t revision)
{
	struct sched_pod *pod = item->pod;
	struct sched_node *node = item->node;
	uint32_t i = node->reset ? UINT32_MAX : listed_find(node, pod);

	PL_ASSERT(pod->place == POD_SENT);
	sched->figures.placed++;
	pod->call = 0;
	pod->place = POD_IDLE;
	if (i != UINT32_MAX)
		node->listed[i].sent = false;
	else
		listed_set_node(sched, pod, NULL);
	if ((pod->flags & POD_RESET) == 0) {
		pod_dequeue(sched, pod);
		pod->conflicts = 0;
		state_stands(sched, pod, STATE_BOUND, sched->wall_ms, revision);
		pod_set_at(sched, pod, node->key[0], node->key[1]);
		pod->ask = STATE_ASK_NONE; /* as was written */
	}
	pod->flags &= (uint16_t)~POD_RESET;
}

/* It is in no call any more, and may be decided by now. */
static void pod_untold(struct sched *sched, struct sched_pod *pod)
{
	pod->call = 0;
	pod->flags &= (uint16_t)~POD_RESET;
	if (pod->place == POD_WAITS)
		node_ready(sched, pod->node);
}

static void pod_told(struct sched *sched, const struct call_item *item, int64_t revision)
{
	struct sched_pod *pod = item->pod;

	if ((pod->flags & POD_RESET) == 0) {
		state_stands(sched, pod, STATE_PENDING, item->since_ms, revision);
		pod->ask = item->ask & 15U;
		news_told(sched, pod, item->value);
	}
	pod_untold(sched, pod);
}

static void stands(struct sched *sched, struct call *call, int64_t revision)
{
	for (uint32_t i = 0; i < call->items; i++) {
		const struct call_item *item = &call->item[i];

		if (item->pod == NULL)
			continue;
		if (item->end != STATE_END_NONE)
			ends_stand(sched, item, revision);
		else if (call->kind == CALL_TELL || item->tells)
			pod_told(sched, item, revision);
		else
			pod_bound(sched, item, revision);
	}
	for (uint32_t i = 0; i < call->items; i++) {
		if (call->item[i].id.kind == KEYS_ALLOC && call->item[i].node != NULL)
			alloc_stands(sched, call->item[i].node, revision);
		else if (call->item[i].id.kind == KEYS_GANG)
			large_stands(sched, &call->item[i], revision);
		else if (shields_concern(call->item[i].id.kind))
			shields_stand(sched, &call->item[i], revision);
		else if (!call_has_partition(call->item[i].id.kind))
			groups_stand(sched, call, &call->item[i], revision);
	}
}

/* -- no ------------------------------------------------------------------- */

/* It waits again, as it did before it was sent. */
static void unsend_pod(struct sched *sched, const struct call_item *item)
{
	struct sched_pod *pod = item->pod;
	struct sched_node *node = item->node;
	uint32_t i = node->reset ? UINT32_MAX : listed_find(node, pod);
	bool doomed = pod_is_doomed(pod);

	pod->call = 0;
	PL_ASSERT(pod->place == POD_SENT);
	pod->placed = i == UINT32_MAX ? SNAPSHOT_NONE : listed_del(sched, node, i);
	if (pod_is_loose(pod)) {
		pod->flags &= (uint16_t)~POD_RESET;
		if (pod->placed != SNAPSHOT_NONE) {
			snapshot_pod_remove(&sched->snapshot, pod->placed);
			tell_event(sched, QUEUE_EV_POD_REMOVED, node->slot);
		}
		pod->placed = SNAPSHOT_NONE;
		listed_set_node(sched, pod, NULL);
		pod->place = POD_IDLE;
		return;
	}
	node_wait(sched, node, pod);
	if (pod->placed == SNAPSHOT_NONE || doomed) /* the node has gone meanwhile */
		pod_again(sched, pod);
}

static void unsend(struct sched *sched, struct call *call)
{
	for (uint32_t i = 0; i < call->items; i++) {
		const struct call_item *item = &call->item[i];

		if (item->pod != NULL && item->end != STATE_END_NONE)
			ends_unsend(sched, item);
		else if (item->pod != NULL && item->node != NULL)
			unsend_pod(sched, item);
		else if (item->pod != NULL)
			pod_untold(sched, item->pod);
	}
	for (uint32_t i = 0; i < call->items; i++) {
		struct sched_node *node = call->item[i].node;

		if (shields_concern(call->item[i].id.kind))
			shields_unsend(sched, &call->item[i]);
		if (call->item[i].pod != NULL || node == NULL)
			continue;
		node->call = 0;
		if (call->item[i].id.kind == KEYS_ALLOC)
			preempts_fail(sched, node);
		if (!node->reset && call->item[i].id.kind == KEYS_ALLOC)
			holds_unsend(sched, node);
		node->reset = false;
	}
}

static void take(struct sched *sched, const struct keys_id *id,
                 const struct kv_record *record, int64_t revision)
{
	const struct kv_record gone = {.mod_revision = revision};

	if (!news_concern(sched, id) ||
	    (record != NULL && news_has_gone(sched, id, record)))
		return;
	if (!news_take(sched, id, record == NULL ? &gone : record, record == NULL))
		news_lost(sched, id);
}

static void take_found(struct sched *sched, const struct call *call,
                       const struct call_item *item, const struct book_found *found,
                       int64_t revision)
{
	struct keys_id id = item->id;
	struct sched_node *node;
	struct sched_pod *pod;

	if (id.kind == KEYS_STATE) {
		pod = pod_find(sched, id.partition, id.scope, id.name);
		if (found->crowded && pod != NULL)
			pod->flags |= POD_CROWDED;
		sched->figures.placed += call_commits(call) &&
		                         item->end == STATE_END_NONE && !item->tells &&
		                         found->verdict == BOOK_OURS;
		take(sched, &id, found->state, revision);
		id.kind = KEYS_SPEC;
		take(sched, &id, found->spec, revision);
		return;
	}
	node = node_find(sched, id.scope, id.name);
	if (id.kind == KEYS_NODE || item->node == NULL) { /* it was expected only */
		take(sched, &id, found->record, revision);
		return;
	}
	if (node != NULL && found->verdict != BOOK_OURS) {
		node->apart_ms = sched->now_ms + APART_MS;
		if (node->scope == NODE_ABROAD)
			abroad_refused(sched, node, (enum conflict_cause)item->cause);
	}
	take(sched, &id, found->alloc, revision);
	id.kind = KEYS_NODE;
	if (found->node == NULL)
		take(sched, &id, NULL, revision);
}

/* What was read is news; true: somebody else was there. */
static bool take_read(struct sched *sched, const struct call *call,
                      const struct kv_result *result, enum keys_kind kind)
{
	bool conflict = false;

	for (uint32_t i = 0; i < call->items; i++) {
		const struct call_item *item = &call->item[i];
		struct book_found found;

		if (item->id.kind != kind ||
		    !book_answer(&call->book, result, i, &found) ||
		    found.verdict == BOOK_SAME)
			continue;
		conflict = conflict || found.verdict != BOOK_OURS;
		take_found(sched, call, item, &found, result->header.revision);
	}
	return conflict;
}

/* Registries, locks, records of gangs, budgets. */
static void take_locks(struct sched *sched, const struct call *call,
                       const struct kv_result *result)
{
	for (uint32_t i = 0; i < call->items; i++) {
		const struct call_item *item = &call->item[i];
		struct book_found found;

		if (call_has_partition(item->id.kind) ||
		    !book_answer(&call->book, result, i, &found))
			continue;
		if (item->id.kind == KEYS_GANG)
			large_failed(sched, item, &found, result->header.revision);
		else if (shields_concern(item->id.kind))
			shields_failed(sched, item, &found, result->header.revision);
		else
			groups_failed(sched, item, &found, result->header.revision);
	}
}

/* -- and then -------------------------------------------------------------- */

/* Of others' nodes: one that the answer had gone is there again, if it came later; what
 * is older than that is about the one that is gone. */
static bool held_concerns(const struct sched *sched, const struct call *call,
                          const struct keys_id *id, const struct held *held)
{
	if (news_concern(sched, id))
		return true;
	return (id->kind == KEYS_NODE || id->kind == KEYS_ALLOC) && !held->gone &&
	       abroad_follows(sched, id->partition) && call->failed_rev != 0 &&
	       held->record.mod_revision > call->failed_rev;
}

/* What another list has told, or a view before the present one, may be of a node that has
 * gone since, as the view knows. */
static void take_held(struct sched *sched, const struct call *call)
{
	for (const struct held *held = call->held; held != NULL; held = held->next) {
		struct keys_id id;

		sched->catching_up =
			held->viewed && held->generation == sched->whole.generation;
		if (keys_parse(held->record.key, &id, NULL) == PL_OK &&
		    held_concerns(sched, call, &id, held) &&
		    !news_take(sched, &id, &held->record, held->gone))
			news_lost(sched, &id);
	}
	sched->catching_up = false;
}

/* Whoever was not told why he waits is tried again, for that. */
static void tell_again(struct sched *sched, const struct call *call,
                       const struct keys_id *id)
{
	struct sched_pod *pod = pod_find(sched, id->partition, id->scope, id->name);

	if (pod != NULL) /* a hold of it may have ended meanwhile */
		unsched_owe(sched, pod);
	if (call->kind == CALL_TELL && pod != NULL && pod_gang(pod) != NULL &&
	    !call->stood)
		pod->gang_said = 0;
	if (call->kind == CALL_TELL && pod != NULL && pod->place == POD_QUEUED &&
	    pod->rev[FACT_STATE] == 0 &&
	    (pod->queue.place == QUEUE_BACKOFF || pod->queue.place == QUEUE_WAITING))
		queue_activate(queue_of_class(sched, pod->queue.class), &pod->queue,
		               sched->now_ms);
}

/* Another may have come by its name meanwhile. */
static void doubt_again(struct sched *sched, const struct call *call,
                        const struct keys_id *id)
{
	struct sched_pod *pod =
		call->doubted == INT64_MAX
			? NULL
			: pod_find(sched, id->partition, id->scope, id->name);

	if (pod != NULL && pod->relisted && pod->listed > 0)
		specs_doubt(sched, pod, call->doubted);
}

/* What follows for everything that was in it. */
static void settle(struct sched *sched, const struct call *call)
{
	for (uint32_t i = 0; i < call->items; i++) {
		struct keys_id id = call->item[i].id;
		struct sched_node *node;
		struct sched_pod *pod;

		if (id.kind == KEYS_STATE) {
			pod = pod_find(sched, id.partition, id.scope, id.name);
			if (pod != NULL)
				pod_settle(sched, pod);
			doubt_again(sched, call, &id);
			tell_again(sched, call, &id);
			continue;
		}
		if (id.kind != KEYS_ALLOC)
			continue;
		node = node_find(sched, id.scope, id.name);
		if (node == NULL)
			continue;
		node_settle(sched, node);
		node_ready(sched, node);
		node_tidy(sched, node);
	}
}

static void finish(struct sched *sched, struct call *call)
{
	sched->answered = call;
	take_held(sched, call);
	sched->answered = NULL;
	if (call->bundle)
		bundle_settled(sched, call);
	if (call->kind == CALL_GANG)
		large_ended(sched, call);
	if (call_commits(call))
		groups_unsent(sched, call);
	settle(sched, call);
	call_end(sched, call);
}

static void again(struct sched *sched, struct call *call)
{
	unsigned shift = call->attempts < 8 ? call->attempts - 1 : 7;
	uint64_t wait_ms = (uint64_t)AGAIN_MS << shift;

	call->at_ms = sched->now_ms + (wait_ms < AGAIN_MAX_MS ? wait_ms : AGAIN_MAX_MS);
	call->state = CALL_AGAIN;
}

/* Nothing will come of it, and nothing has. */
static void give_up(struct sched *sched, struct call *call, bool after_backoff)
{
	if (after_backoff && rests_concern(call))
		rests_failed(sched, call);
	unsend(sched, call);
	if (call->kind == CALL_REGISTER)
		register_failed(sched);
	for (uint32_t i = 0; after_backoff && i < call->items; i++) {
		struct keys_id id = call->item[i].id;
		struct sched_pod *pod =
			id.kind != KEYS_STATE
				? NULL
				: pod_find(sched, id.partition, id.scope, id.name);

		if (call->item[i].end != STATE_END_NONE)
			ends_pause(sched);
		if (pod == NULL || pod->place != POD_WAITS)
			continue;
		pod_unassume(sched, pod);
		pod_retry(sched, pod, QUEUE_FAULT, true);
	}
	finish(sched, call);
}

static void succeeded(struct sched *sched, struct call *call, int64_t revision)
{
	if (call->kind == CALL_ABROAD)
		abroad_answered(sched, call, false);
	else if (!call->bundle)
		batch_grow(sched, call);
	sched->smooth += call->kind == CALL_COMMIT && sched->smooth < UINT32_MAX;
	call->stood = true;
	if (rests_concern(call))
		rests_stood(sched, call);
	stands(sched, call, revision);
	finish(sched, call);
}

static void failed(struct sched *sched, struct call *call, const struct kv_result *result)
{
	bool conflict;

	clash_failed(sched, call, result);
	unsend(sched, call);
	call->failed_rev = result->header.revision;
	sched->answered = call;
	conflict = take_read(sched, call, result, KEYS_STATE);
	conflict = take_read(sched, call, result, KEYS_ALLOC) || conflict;
	conflict = take_read(sched, call, result, KEYS_NODE) || conflict;
	take_locks(sched, call, result);
	sched->figures.txns_failed += call_commits(call);
	if (call->kind == CALL_COMMIT)
		sched->smooth = 0;
	if (call->kind == CALL_COMMIT && conflict && !call->bundle)
		batch_halve(sched);
	if (call->kind == CALL_ABROAD)
		abroad_answered(sched, call, conflict);
	finish(sched, call);
}

static void ask(struct call *call)
{
	call->reading = true;
	call->req = (struct kv_req){.op = KV_TXN,
	                            .txn = {.then = call->book.otherwise,
	                                    .then_count = call->book.otherwises}};
}

/* It can not be applied any more; whether it was is asked now. */
static void read_instead(struct sched *sched, struct call *call)
{
	ask(call);
	again(sched, call);
}

/* All is said but why. */
static void read_why(struct call *call)
{
	ask(call);
	call->state = CALL_NEW;
}

static bool is_wanted(const struct sched *sched, const struct call *call)
{
	for (uint32_t i = 0; i < call->items; i++) {
		const struct keys_id *id = &call->item[i].id;

		if (call_has_epoch(id->kind) && sched->partition[id->partition].owned)
			return true;
	}
	return call->kind == CALL_REGISTER;
}

/* It was made under an epoch that is over. Sent again it would carry the fence of the
 * next one, and nobody would see that it is old. */
static bool is_stale(const struct sched *sched, const struct call *call)
{
	for (uint32_t i = 0; i < call->items; i++) {
		const struct keys_id *id = &call->item[i].id;

		if (call_has_epoch(id->kind) &&
		    call->item[i].epoch != call_epoch(sched, id->partition))
			return true;
	}
	return call->rewound;
}

/* It is not sent any more. The fence that it was sent with holds no longer, so it is
 * read what became of it, as far as that is still of interest. */
static void drop(struct sched *sched, struct call *call)
{
	if (!call->doubt || !is_wanted(sched, call))
		give_up(sched, call, false);
	else if (!call->reading)
		read_instead(sched, call);
	else
		again(sched, call);
}

void call_drop_stale(struct sched *sched)
{
	for (unsigned i = 0; i < SCHED_CALLS; i++) {
		struct call *call = &sched->call[i];

		if (call->kind != CALL_READ && call->state != CALL_FREE &&
		    call->state != CALL_OUT && is_stale(sched, call))
			drop(sched, call);
	}
}

static void erred(struct sched *sched, struct call *call, const struct pl_err *err)
{
	switch (err->code) {
	case PL_UNKNOWN:
		sched->figures.txns_unknown++;
		call->doubt = call->doubt || !call->reading;
		break;
	case PL_FENCED:
		sched->figures.txns_fenced++;
		clash_call(sched, call, CONFLICT_FENCED);
		if (!call->doubt) {
			give_up(sched, call, true);
			return;
		}
		if (!call->reading) {
			read_instead(sched, call);
			return;
		}
		break;
	case PL_LIMIT:
	case PL_INVALID: /* nor does it take it the next time */
		if (!call->doubt && call->placements > 1) {
			if (!call->bundle)
				batch_halve(sched);
			else
				bundle_limited(sched);
			give_up(sched, call, false);
			return;
		}
		tell_trouble(sched, err);
		if (!call->doubt) {
			give_up(sched, call, true);
			return;
		}
		if (!call->reading) { /* nor is it taken later */
			read_instead(sched, call);
			return;
		}
		break;
	case PL_BUSY:
		break;
	default:
		tell_trouble(sched, err);
		break;
	}
	if (is_stale(sched, call))
		drop(sched, call);
	else
		again(sched, call);
}

static void answered(struct sched *sched, struct call *call,
                     const struct kv_result *result)
{
	struct kv_result read = *result;

	if (call->reading) { /* as if it had failed just now */
		read.txn.succeeded = false;
		failed(sched, call, &read);
	} else if (result->txn.succeeded) {
		succeeded(sched, call, result->header.revision);
	} else if (call->lean) {
		read_why(call);
	} else {
		failed(sched, call, result);
	}
}

void sched_answer(struct sched *sched, uint32_t call, const struct kv_result *result,
                  const struct pl_err *err)
{
	struct call *it = &sched->call[call];

	PL_ASSERT(call < SCHED_CALLS && it->state == CALL_OUT);
	PL_ASSERT((result == NULL) != (err == NULL));
	if (it->kind == CALL_READ) {
		specs_answer(sched, it, result, err);
		return;
	}
	if (it->kind == CALL_DIGEST) {
		digests_answer(sched, it, result);
		return;
	}
	sched->figures.txns += call_commits(it) && result != NULL && !it->reading;
	if (result != NULL)
		answered(sched, it, result);
	else
		erred(sched, it, err);
}
