/*
 * Ends in calls: an entry for the pod's state, or for its keys; the node's alloc is
 * written by whoever takes the node into a call, and leaves out, or marks, those whose
 * end is set in the node's list. An end that does not happen is worked out again.
 */
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/ends/ends.h"
#include "shardsched/shard/room/preempts.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"
#include "store/keys/partition.h"

/* -- into a call --------------------------------------------------------- */

/* Why, if nobody has said. */
static struct pl_span reason_of(const struct sched *sched, const struct sched_pod *pod,
                                enum state_end end)
{
	if (pod_is_doomed(pod) && end == STATE_END_TERMINATE &&
	    pod->ask == STATE_ASK_NONE)
		return sched_text(sched, sched->preempted);
	if ((pod->flags & POD_TAINTED) != 0 && end == STATE_END_TERMINATE &&
	    pod->ask == STATE_ASK_NONE)
		return PL_SPAN_LIT("taint.noexecute");
	if (pod->why != 0)
		return sched_text(sched, pod->why);
	if (end == STATE_END_TERMINATE)
		return pod->ask == STATE_ASK_DELETE ? PL_SPAN_LIT("deleted")
		                                    : PL_SPAN_LIT("evicted");
	if (end == STATE_END_PENDING && pod->listed == 0)
		return PL_SPAN_LIT("node.gone");
	return end == STATE_END_PENDING ? PL_SPAN_LIT("ended") : PL_SPAN_LIT("");
}

static enum state_phase phase_after(const struct sched_pod *pod, enum state_end end)
{
	switch (end) {
	case STATE_END_TERMINATE:
		return STATE_TERMINATING;
	case STATE_END_PENDING:
		return STATE_PENDING;
	case STATE_END_FINISH:
		return pod->ended == STATE_ENDED_SUCCEEDED ? STATE_SUCCEEDED
		                                           : STATE_FAILED;
	case STATE_END_NONE:
	case STATE_END_REMOVE:
		break;
	}
	PL_UNREACHABLE("end of a pod");
}

/* Once it has left. One may terminate already that the alloc does not say so of. */
static bool next_is_pending(const struct sched_pod *pod)
{
	return pod->ask != STATE_ASK_DELETE &&
	       (pod->phase != STATE_TERMINATING || pod->next_pending);
}

static enum pl_code print(struct sched *sched, struct call *call,
                          const struct sched_pod *pod, enum state_end end,
                          struct pl_span *out, struct pl_err *err)
{
	bool terminates = end == STATE_END_TERMINATE, deleted;
	char uid[UUID_TEXT_LEN];
	struct pod_state state = {
		.phase = phase_after(pod, end),
		.uid = pod_uid_text(sched, pod, uid),
		.shard = pl_span_str(sched->shard),
		.epoch = call_epoch(sched, pod->key[0]),
		.attempts = end == STATE_END_PENDING ? 0 : pod->attempts,
		.reason = reason_of(sched, pod, end),
		.since_ms = sched->wall_ms,
	};
	enum pl_code code;

	deleted = pod->ask == STATE_ASK_DELETE;
	if (terminates) {
		state.ask = deleted ? STATE_ASK_DELETE : STATE_ASK_NONE;
		state.next_pending = next_is_pending(pod);
	}
	if (end != STATE_END_PENDING) {
		state.cluster = sched_text(sched, pod->at[0]);
		state.node = sched_text(sched, pod->at[1]);
	}
	pl_buf_clear(&sched->buf, sched->buf.cap);
	code = state_print(&state, &sched->buf, err);
	if (code != PL_OK)
		return code;
	*out = pl_arena_dup(&call->arena, pl_buf_span(&sched->buf));
	return out->at == NULL ? pl_err_set(err, PL_NOMEM, "write a state") : PL_OK;
}

/* Where its pointer is, if it has one. */
static uint32_t named(const struct sched *sched, const struct book_pod *pod)
{
	uint32_t at = pod->partition;

	if (partition_of_pod(pod->space, pod->name, sched->opts.partitions, &at, NULL) !=
	    PL_OK)
		return pod->partition;
	return at;
}

enum pl_code ends_put_one(struct sched *sched, struct call *call, struct sched_pod *pod,
                          struct sched_node *node, struct pl_err *err)
{
	enum state_end end = ends_of(sched, pod);
	struct book_decided decided = call_decided(sched, pod);
	enum pl_code code = PL_OK;
	bool added;

	if (end == STATE_END_NONE && pod_is_doomed_at(pod, node))
		end = STATE_END_TERMINATE;
	PL_ASSERT(end != STATE_END_NONE && decided.state_rev != 0);
	if (end != STATE_END_REMOVE)
		code = print(sched, call, pod, end, &decided.state, err);
	if (code != PL_OK)
		return code;
	added = end == STATE_END_REMOVE ? book_delete_pod(&call->book, &decided,
	                                                  named(sched, &decided.pod))
	                                : book_put_state(&call->book, &decided);
	if (!added)
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	call_item_add(call, &(struct call_item){.pod = pod,
	                                        .node = node,
	                                        .value = decided.state,
	                                        .since_ms = sched->wall_ms,
	                                        .compared = true,
	                                        .end = (uint8_t)end});
	if (node == NULL)
		return PL_OK;
	node->listed[listed_find(node, pod)].end = (uint8_t)end;
	return pod->spec == NULL ? PL_OK : groups_put(sched, call, pod->spec, true);
}

uint32_t ends_at(const struct sched_node *node)
{
	uint32_t count = 0;

	PL_LIST_EACH (link, &node->ending)
		count += PL_LIST_ITEM(link, struct sched_pod, link)->call == 0;
	return count;
}

enum pl_code ends_put(struct sched *sched, struct call *call, struct sched_node *node,
                      uint32_t *left, struct pl_err *err)
{
	PL_LIST_EACH (link, &node->ending) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);
		enum pl_code code;

		if (*left == 0)
			break;
		if (pod->call != 0)
			continue;
		code = ends_put_one(sched, call, pod, node, err);
		if (code != PL_OK)
			return code;
		--*left;
	}
	return PL_OK;
}

static void unmark(const struct call_item *item)
{
	struct sched_node *node = item->node;
	uint32_t i;

	if (node == NULL || node->reset)
		return;
	i = listed_find(node, item->pod);
	if (i != UINT32_MAX)
		node->listed[i].end = STATE_END_NONE;
}

void ends_undo(const struct call_item *item)
{
	unmark(item);
}

void ends_seal(struct sched *sched, struct call *call, const struct call_item *item)
{
	pod_unlink(sched, item->pod);
	item->pod->call = call_number(sched, call);
	call->placements++;
	if (item->node != NULL)
		item->node->turn_ms = 0;
}

/* -- without a node ------------------------------------------------------ */

static bool is_expected(const struct call *call, const struct keys_id *id)
{
	for (uint32_t i = 0; i < call->items; i++) {
		const struct keys_id *other = &call->item[i].id;

		if (other->kind == KEYS_ALLOC && pl_span_eq(other->scope, id->scope) &&
		    pl_span_eq(other->name, id->name))
			return true;
	}
	return false;
}

/* Its node has no alloc, so nobody has to be told that its place is free. */
static enum pl_code expect_none(struct sched *sched, struct call *call,
                                const struct sched_pod *pod)
{
	struct keys_id id = {.kind = KEYS_ALLOC,
	                     .scope = sched_text(sched, pod->at[0]),
	                     .name = sched_text(sched, pod->at[1])};
	struct keys_text text;
	enum pl_code code = partition_of_node(id.scope, id.name, sched->opts.partitions,
	                                      &id.partition, NULL);

	if (pod->phase == STATE_PENDING || pod->at[1] == 0 || is_expected(call, &id))
		return PL_OK;
	if (code == PL_OK)
		code = keys_build(&id, &text, NULL);
	if (code != PL_OK)
		return code;
	if (!book_expect(&call->book, keys_span(&text), 0))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	call_item_add(call, &(struct call_item){.compared = true});
	return PL_OK;
}

static enum pl_code put_alone(struct sched *sched, struct call *call,
                              struct sched_pod *pod, struct pl_err *err)
{
	struct book was = call->book;
	uint32_t items = call->items;
	enum pl_code code = expect_none(sched, call, pod);

	if (code == PL_OK)
		code = ends_put_one(sched, call, pod, NULL, err);
	if (code == PL_OK)
		return PL_OK;
	call->book = was;
	call->items = items;
	return code;
}

static void fill(struct sched *sched, struct call *call)
{
	PL_LIST_EACH (link, &sched->ends) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);
		struct pl_err err = {0};
		enum pl_code code;

		if (call->placements >= sched->batch)
			return;
		if (!ends_alone(sched, pod)) {
			ends_settle(sched, pod);
			continue;
		}
		code = put_alone(sched, call, pod, &err);
		if (code == PL_BUSY && call->items > 0)
			return;
		if (code == PL_OK) {
			ends_seal(sched, call, &call->item[call->items - 1]);
			continue;
		}
		if (err.code == PL_OK)
			pl_err_set(&err, code, "a transaction for the end of a pod");
		tell_trouble(sched, &err);
		ends_pause(sched);
		ends_settle(sched, pod);
		return;
	}
}

static bool run_alone(struct sched *sched)
{
	struct call *call = call_begin(sched, CALL_COMMIT);

	if (call == NULL)
		return false;
	if (call_room(call, 2 * sched->batch + 2) == PL_OK)
		fill(sched, call);
	if (call->items == 0) {
		call_end(sched, call);
		return false;
	}
	call_post(sched, call);
	return true;
}

static bool may_run(const struct sched *sched)
{
	return !pl_list_empty(&sched->ends) && sched->commits < sched->opts.inflight;
}

void ends_run(struct sched *sched)
{
	ends_again(sched);
	while (may_run(sched) && run_alone(sched))
		;
}

uint64_t ends_deadline_ms(const struct sched *sched)
{
	if (may_run(sched))
		return 0;
	return ends_again_ms(sched);
}

/* -- what became of it ---------------------------------------------------- */

/* The place is given back, or it is known to be left. */
static void leave(struct sched *sched, const struct call_item *item)
{
	struct sched_node *node = item->node;
	uint32_t i =
		node == NULL || node->reset ? UINT32_MAX : listed_find(node, item->pod);
	uint32_t placed;

	if (i == UINT32_MAX)
		return;
	node->listed[i].end = STATE_END_NONE;
	if (item->end == STATE_END_TERMINATE) {
		node->listed[i].leaving = true;
		listed_mark(sched, node, i);
		return;
	}
	placed = listed_del(sched, node, i);
	if (placed == SNAPSHOT_NONE)
		return;
	snapshot_pod_remove(&sched->snapshot, placed);
	tell_event(sched, QUEUE_EV_POD_REMOVED, node->slot);
	holds_have_room(sched, node);
}

/* The store's word of it may come late: what is older is no news then. */
static void removed(struct sched_pod *pod, int64_t revision)
{
	pod->rev[FACT_SPEC] = pod->rev[FACT_STATE] = revision;
	pod->flags |= POD_REMOVED;
	pod->phase = PHASE_NONE;
}

static void now_is(struct sched *sched, const struct call_item *item, int64_t revision)
{
	struct sched_pod *pod = item->pod;
	enum state_end end = (enum state_end)item->end;

	pod->flags &= (uint16_t)~POD_TAINTED;
	if (end == STATE_END_TERMINATE) {
		if (pod_is_doomed(pod) && pod->ask == STATE_ASK_NONE)
			pod_set_why(sched, pod, sched->preempted);
		pod->next_pending = next_is_pending(pod);
		if (pod->next_pending)
			pod->ask = STATE_ASK_NONE;
	}
	if (end == STATE_END_REMOVE) {
		removed(pod, revision);
	} else {
		pod->rev[FACT_STATE] = revision;
		pod->seen[FACT_STATE] =
			sched->partition[pod->key[0]].generation[SCHED_SCHEDULES];
		pod->phase = (uint8_t)phase_after(pod, end);
		pod->since_ms = item->since_ms;
	}
	if (end == STATE_END_TERMINATE)
		return;
	pod->attempts = end == STATE_END_PENDING ? 0 : pod->attempts;
	pod->ask = pod->ended = pod->next_pending = 0;
	pod_set_at(sched, pod, 0, 0);
	pod_set_why(sched, pod, 0);
}

void ends_stand(struct sched *sched, const struct call_item *item, int64_t revision)
{
	struct sched_pod *pod = item->pod;
	bool reset = (pod->flags & POD_RESET) != 0;

	pod->call = 0;
	pod->flags &= (uint16_t)~POD_RESET;
	if (item->end == STATE_END_TERMINATE)
		sched->figures.terminated++;
	else
		sched->figures.ended++;
	if (!reset)
		now_is(sched, item, revision);
	leave(sched, item);
}

void ends_unsend(const struct sched *sched, const struct call_item *item)
{
	struct sched_pod *pod = item->pod;

	pod->call = 0;
	pod->flags &= (uint16_t)~POD_RESET;
	/* Others', and perhaps old: it is read again. Of one that is ours by now the list
	 * has come, and was no news if it had been read before. */
	if (item->epoch == 0 && !pod_is_owned(sched, pod)) {
		pod->flags &= (uint16_t)~POD_TAINTED;
		pod->rev[FACT_STATE] = 0;
	}
	unmark(item);
}
