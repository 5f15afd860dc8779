/*
 * The transactions of large gangs. Each compares the gang's record, so whatever is not
 * known to have happened, in some phase, can not happen any more in the next.
 */
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/commit/commit.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/records.h"
#include "shardsched/shard/room/holds.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"

enum { OPS_DEFAULT = 128, MORE_ITEMS = 8 };

/* No entry is without a compare. */
static struct call *begin(struct sched *sched)
{
	uint32_t ops = sched->limits.txn_ops == 0 ? OPS_DEFAULT : sched->limits.txn_ops;
	struct call *call = call_begin(sched, CALL_GANG);

	if (call == NULL)
		return NULL;
	if (call_room(call, ops + MORE_ITEMS) == PL_OK)
		return call;
	call_end(sched, call);
	return NULL;
}

/* -- the record ------------------------------------------------------------ */

static enum pl_code put_record(struct call *call, const struct gang_known *known,
                               struct pl_span key, struct pl_span value)
{
	struct call_item item = {.compared = true, .deletes = value.len == 0};
	bool fits;

	if (item.deletes) {
		fits = book_delete(&call->book, key, known->rev);
	} else {
		item.value = pl_arena_dup(&call->arena, value);
		if (item.value.at == NULL)
			return PL_NOMEM;
		fits = book_put(&call->book, key, known->rev, item.value);
	}
	if (!fits)
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	return call_item_of(call, &item, key);
}

bool step_record(struct sched *sched, struct gang_work *work, struct pl_span value,
                 bool bind)
{
	struct call *call = begin(sched);
	struct keys_text text;
	struct pl_err err = {0};
	enum pl_code code;

	if (call == NULL)
		return false;
	code = put_record(call, work->known, records_key(sched, work->known->key, &text),
	                  value);
	if (code == PL_OK && bind)
		code = groups_expect(sched, call, work->known->key[0]);
	if (code == PL_OK && bind)
		code = groups_gathered_put(sched, call);
	if (code == PL_OK) {
		call_post(sched, call);
		work->putting = true;
		return true;
	}
	call_end(sched, call);
	pl_err_set(&err, code, "write a gang's record");
	tell_trouble(sched, &err);
	return false;
}

/* -- steps --------------------------------------------------------------------- */

/* With what all of them have. */
static bool ready(struct sched *sched, struct gang_step *step)
{
	const struct gang_known *known = step->known;
	struct keys_text text;
	struct pl_span key;

	if (step->call != NULL)
		return true;
	step->call = begin(sched);
	if (step->call == NULL) {
		step->full = true;
		return false;
	}
	key = records_key(sched, known->key, &text);
	if (book_expect(&step->call->book, key, known->rev) &&
	    call_item_of(step->call, &(struct call_item){.compared = true}, key) == PL_OK)
		return true;
	call_end(sched, step->call);
	step->call = NULL;
	step->full = true;
	return false;
}

void step_end(struct sched *sched, struct gang_step *step)
{
	if (step->call == NULL)
		return;
	if (step->call->items > 1)
		call_post(sched, step->call);
	else
		call_end(sched, step->call);
	step->call = NULL;
}

static bool is_alone(const struct gang_step *step)
{
	return step->call->items == 1;
}

/* To make room for what does not fit any more. */
static bool another(struct sched *sched, struct gang_step *step)
{
	step_end(sched, step);
	return ready(sched, step);
}

static bool is_free(const struct sched *sched, const struct sched_node *node)
{
	return node->call == 0 && node->bundled == 0 && node->waiting_count == 0 &&
	       node->slot != SNAPSHOT_NONE && node_may_write(sched, node);
}

static enum step_result failed(struct sched *sched, enum pl_code code)
{
	struct pl_err err = {0};

	if (code == PL_BUSY || code == PL_LIMIT)
		return STEP_NEVER;
	pl_err_set(&err, code, "a step of a gang");
	tell_trouble(sched, &err);
	return STEP_LATER;
}

/* Everything for the node, or nothing. */
static enum pl_code put(struct sched *sched, struct call *call, struct sched_node *node,
                        struct sched_pod *const *pod, uint32_t pods)
{
	struct book was = call->book;
	uint32_t items = call->items;
	struct pl_err err = {0};
	enum pl_code code = commit_put(sched, call, node, COMMIT_ALL, &err);

	for (uint32_t i = 0; i < pods && code == PL_OK; i++)
		code = groups_put(sched, call, pod[i]->spec, false);
	if (code == PL_OK) {
		commit_seal(sched, call, items);
		return PL_OK;
	}
	commit_undo(sched, call, items);
	call->book = was;
	return code;
}

static uint32_t ports_on(const struct sched_node *node)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < node->count; i++)
		if (listed_is_known(&node->listed[i]))
			count += node->listed[i].pod->spec->form->ports.count;
	return count;
}

/* So that the gang goes elsewhere, if it can. But to all others the node is closed, too,
 * and it comes back first: so every other time only. */
static void close_for_a_while(struct sched *sched, struct sched_node *node)
{
	node->shunned = !node->shunned;
	node->full = node->shunned;
	if (node->full)
		repair_later(sched);
}

enum step_result step_hold(struct sched *sched, struct gang_step *step,
                           struct sched_node *node, const struct step_need *need)
{
	enum pl_code code;

	if (!is_free(sched, node) || !ready(sched, step))
		return STEP_LATER;
	for (;;) {
		if (rests_full(sched, step->call) && !another(sched, step))
			return STEP_LATER;
		hold_send_gang(sched, node, hold_of_gang(node, step->known->key));
		/* All of them are to be pods in the end. */
		step->call->beside = need->bytes;
		code = node->used.pods > ALLOC_PODS_MAX ||
		                       ports_on(node) + need->ports > ALLOC_PORTS_MAX
		               ? PL_LIMIT
		               : put(sched, step->call, node, NULL, 0);
		step->call->beside = 0;
		if (code == PL_OK)
			return STEP_DONE;
		holds_unsend(sched, node);
		if (code == PL_LIMIT)
			close_for_a_while(sched, node);
		if (code != PL_BUSY || is_alone(step))
			return failed(sched, code);
		if (!another(sched, step))
			return STEP_LATER;
	}
}

/* -- from a hold to pods ----------------------------------------------------------- */

static bool assume(struct sched *sched, struct sched_node *node, struct sched_pod *pod)
{
	const struct pod_on_node on = {
		.spec = pod->spec, .name = pod->key[2], .uid = pod_uid(sched, pod)};
	struct pl_err err = {0};

	if (snapshot_pod_add(&sched->snapshot, node->slot, &on, &pod->placed, &err) !=
	    PL_OK) {
		pod->placed = SNAPSHOT_NONE;
		tell_trouble(sched, &err);
		return false;
	}
	sched->figures.decided++;
	tell_event(sched, QUEUE_EV_POD_ADDED, node->slot);
	pod_unlink(sched, pod);
	node_wait(sched, node, pod);
	return true;
}

/* What is still to be held, when only the first so many go. */
static enum pl_code hold_rest(struct sched *sched, struct sched_hold *hold,
                              struct sched_pod *const *pod, uint32_t pods, uint32_t first)
{
	const struct spec **spec;
	struct node_hold rest;
	enum pl_code code;

	if (first == pods) {
		hold_take_gang(sched, hold);
		return PL_OK;
	}
	pl_arena_reset(&sched->gangs.arena);
	spec = pl_arena_zalloc(&sched->gangs.arena, pods, sizeof(void *));
	if (spec == NULL)
		return PL_NOMEM;
	for (uint32_t i = first; i < pods; i++)
		spec[i - first] = pod[i]->spec;
	code = hold_amounts(sched, spec, pods - first, &rest);
	if (code == PL_OK)
		hold_shrink_gang(hold, &rest);
	return code;
}

static enum pl_code bind_first(struct sched *sched, struct gang_step *step,
                               struct sched_node *node, struct sched_pod *const *pod,
                               uint32_t pods, uint32_t first)
{
	struct sched_hold *hold = hold_of_gang(node, step->known->key);
	enum pl_code code = hold_rest(sched, hold, pod, pods, first);

	for (uint32_t i = 0; i < first && code == PL_OK; i++)
		if (!assume(sched, node, pod[i]))
			code = PL_NOMEM;
	if (code == PL_OK)
		code = put(sched, step->call, node, pod, first);
	/* Should it fail, whoever has no class may have one by then. */
	for (uint32_t i = 0; i < first && code == PL_OK; i++)
		pod[i]->flags &= (uint16_t)~POD_REFUSED;
	if (code == PL_OK)
		return PL_OK;
	for (uint32_t i = 0; i < first; i++)
		if (pod[i]->place == POD_WAITS)
			pod_unassume(sched, pod[i]);
	hold_untake_gang(sched, node, hold_of_gang(node, step->known->key));
	return code;
}

enum step_result step_bind(struct sched *sched, struct gang_step *step,
                           struct sched_node *node, struct sched_pod *const *pod,
                           uint32_t pods)
{
	uint32_t first = pods < sched->batch ? pods : sched->batch;
	enum pl_code code;

	if (!is_free(sched, node) || !ready(sched, step))
		return STEP_LATER;
	for (;;) {
		if (rests_full(sched, step->call) && !another(sched, step))
			return STEP_LATER;
		if (step->call->placements > 0 &&
		    step->call->placements + first > sched->batch &&
		    !another(sched, step))
			return STEP_LATER;
		code = bind_first(sched, step, node, pod, pods, first);
		if (code == PL_OK)
			return STEP_DONE;
		if ((code != PL_BUSY && code != PL_LIMIT) ||
		    (is_alone(step) && first <= 1))
			return failed(sched, code);
		if (is_alone(step))
			first /= 2;
		else if (!another(sched, step))
			return STEP_LATER;
	}
}
