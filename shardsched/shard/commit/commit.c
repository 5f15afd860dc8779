/*
 * From nodes that are ready to calls.
 *
 * The first call goes at once; further ones while it is under way when they are full, so
 * that what comes in slowly is not sent in pieces. A node that conflicted lately travels
 * alone.
 */
#include "shardsched/shard/commit/commit.h"

#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/commit/rests.h"
#include "shardsched/shard/ends/ends.h"
#include "shardsched/shard/room/preempts.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"

/* Who the pod is to be, in the call's arena. */
static enum pl_code print_state(struct sched *sched, struct call *call,
                                const struct sched_pod *pod, struct pl_span *out,
                                struct pl_err *err)
{
	const struct sched_node *node = pod->node;
	char uid[UUID_TEXT_LEN];
	const struct pod_state state = {
		.phase = STATE_BOUND,
		.uid = pod_uid_text(sched, pod, uid),
		.cluster = sched_text(sched, node->key[0]),
		.node = sched_text(sched, node->key[1]),
		.shard = pl_span_str(sched->shard),
		.epoch = sched->partition[pod->key[0]].epoch,
		.attempts = pod->attempts + pod_attempts(pod),
		.since_ms = sched->wall_ms,
	};
	enum pl_code code;

	pl_buf_clear(&sched->buf, sched->buf.cap);
	code = state_print(&state, &sched->buf, err);
	if (code != PL_OK)
		return code;
	*out = pl_arena_dup(&call->arena, pl_buf_span(&sched->buf));
	return out->at == NULL ? pl_err_set(err, PL_NOMEM, "write a state") : PL_OK;
}

static uint8_t was_bundled(const struct sched_pod *pod)
{
	return (pod->flags & POD_BUNDLED) != 0;
}

static enum pl_code put_pod(struct sched *sched, struct call *call, struct sched_pod *pod,
                            struct pl_err *err)
{
	struct book_decided decided = call_decided(sched, pod);
	enum pl_code code = listed_room(pod->node, 1);

	if (code != PL_OK)
		return pl_err_set(err, code, "list a pod");
	code = print_state(sched, call, pod, &decided.state, err);
	if (code != PL_OK)
		return code;
	if (!book_put_state(&call->book, &decided))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	call_item_add(call, &(struct call_item){.pod = pod,
	                                        .node = pod->node,
	                                        .value = decided.state,
	                                        .compared = true,
	                                        .bundled = was_bundled(pod)});
	listed_add(sched, pod->node, pod, pod->placed, true);
	return PL_OK;
}

/*
 * Whoever changes a Node writes its alloc too; but the two are watched apart, and the
 * alloc that we know may be newer than the Node. So unless the alloc is our own, which
 * was written when the Node was the one we know, or came in one transaction with that
 * Node, the Node is compared as well. One that is newer than the alloc is compared, too:
 * the alloc alone would not tell that the store went back to before it.
 */
static bool goes_with_its_alloc(const struct sched_node *node)
{
	int64_t is = node->rev[FACT_NODE], alloc = node->rev[FACT_ALLOC];

	return is == alloc || (node->sure && is < alloc);
}

static enum pl_code expect_node(struct call *call, struct sched_node *node,
                                const struct book_node *name)
{
	const struct keys_id id = {.kind = KEYS_NODE,
	                           .partition = name->partition,
	                           .scope = name->cluster,
	                           .name = name->name};
	struct keys_text text;
	enum pl_code code = keys_build(&id, &text, NULL);

	if (code != PL_OK)
		return code;
	if (!book_expect(&call->book, keys_span(&text), node->rev[FACT_NODE]))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	call_item_add(call, &(struct call_item){.node = node, .compared = true});
	return PL_OK;
}

/* Room that has to be left in the alloc: with who is placed, for some who are told to go
 * one day, named a second time; with a gang's hold, for what it is to become. */
static size_t bytes_beside(const struct call *call, const struct sched_node *node)
{
	if (call->kind == CALL_GANG)
		return call->beside;
	for (uint32_t i = 0; i < node->count; i++)
		if (node->listed[i].sent)
			return ALLOC_LEAVE_BYTES;
	return 0;
}

static enum pl_code print_alloc(struct sched *sched, const struct call *call,
                                struct sched_node *node, struct pl_err *err)
{
	enum pl_code code;

	pl_buf_clear(&sched->buf, sched->buf.cap);
	code = listed_print(sched, node, &sched->buf, err);
	if (code == PL_OK && sched->buf.len + bytes_beside(call, node) > ALLOC_BYTES_MAX)
		code = pl_err_set(err, PL_LIMIT, "alloc of %u pods: no room for more",
		                  node->count);
	return code;
}

static enum pl_code write_alloc(struct sched *sched, struct call *call,
                                struct sched_node *node, struct pl_err *err)
{
	const struct book_node key = {.partition = node->partition,
	                              .cluster = sched_text(sched, node->key[0]),
	                              .name = sched_text(sched, node->key[1])};
	struct pl_span value;
	enum pl_code code;

	code = print_alloc(sched, call, node, err);
	call->full = code == PL_LIMIT;
	if (code != PL_OK)
		return code;
	value = pl_arena_dup(&call->arena, pl_buf_span(&sched->buf));
	if (value.at == NULL)
		return pl_err_set(err, PL_NOMEM, "write an alloc");
	if (!book_put_alloc(&call->book, &key, node->rev[FACT_ALLOC], value))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	call_item_add(call, &(struct call_item){
				    .node = node, .value = value, .compared = true});
	if (goes_with_its_alloc(node))
		return PL_OK;
	return expect_node(call, node, &key);
}

static enum pl_code put_alloc(struct sched *sched, struct call *call,
                              struct sched_node *node, struct pl_err *err)
{
	enum pl_code code;

	holds_send(sched, node);
	code = write_alloc(sched, call, node, err);
	if (code == PL_OK)
		code = preempts_say(sched, call, node, err);
	if (code == PL_OK)
		code = holds_tell(sched, call, node, err);
	if (code != PL_OK) {
		holds_unsend(sched, node);
		preempts_undo(sched, node);
	}
	return code;
}

enum pl_code commit_put(struct sched *sched, struct call *call, struct sched_node *node,
                        uint32_t count, struct pl_err *err)
{
	enum pl_code code = PL_OK;
	uint32_t left = count;

	call->full = false;
	if (count < COMMIT_BUNDLED && node_may_write(sched, node)) /* no bundle */
		code = ends_put(sched, call, node, &left, err);
	if (code != PL_OK)
		return code;
	PL_LIST_EACH (link, &node->waiting) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		if (left == 0)
			break;
		if (pod->call != 0) /* its state is being told */
			continue;
		if (count == COMMIT_BUNDLED && (pod->flags & POD_BUNDLED) == 0)
			continue;
		code = put_pod(sched, call, pod, err);
		if (code == PL_OK)
			code = groups_expect(sched, call, pod->key[1]);
		if (code != PL_OK)
			return code;
		left--;
	}
	if (count < COMMIT_BUNDLED && node_may_write(sched, node) &&
	    preempts_go(sched, node))
		code = preempts_put(sched, call, node, err);
	return code != PL_OK ? code : put_alloc(sched, call, node, err);
}

void commit_undo(struct sched *sched, struct call *call, uint32_t items)
{
	while (call->items > items) {
		const struct call_item *item = &call->item[--call->items];

		if (item->pod != NULL && item->end != STATE_END_NONE)
			ends_undo(item);
		else if (item->tells)
			continue;
		else if (item->pod != NULL)
			(void)listed_del(sched, item->node,
			                 listed_find(item->node, item->pod));
		else if (item->node != NULL) {
			holds_unsend(sched, item->node);
			preempts_undo(sched, item->node);
		} else if (!call_has_partition(item->id.kind)) {
			groups_undo(sched, call, item);
		}
	}
}

void commit_seal(struct sched *sched, struct call *call, uint32_t from)
{
	for (uint32_t i = from; i < call->items; i++) {
		struct sched_pod *pod = call->item[i].pod;
		struct sched_node *node = call->item[i].node;

		if (pod != NULL && call->item[i].end != STATE_END_NONE) {
			ends_seal(sched, call, &call->item[i]);
		} else if (pod != NULL && call->item[i].tells) {
			pod->call = call_number(sched, call);
		} else if (pod != NULL) {
			pod_unlink(sched, pod);
			pod->place = POD_SENT;
			pod->placed = SNAPSHOT_NONE; /* the list knows */
			pod->call = call_number(sched, call);
			pod->flags &= (uint16_t)~POD_BUNDLED;
			call->placements++;
		} else if (node != NULL) {
			call->nodes += call->item[i].id.kind == KEYS_ALLOC;
			node->call = call_number(sched, call);
			preempts_seal(node);
			node_ready(sched, node);
		}
	}
}

static uint32_t eligible(const struct sched *sched, const struct sched_node *node)
{
	uint32_t count = node_may_write(sched, node) ? ends_at(node) : 0;

	PL_LIST_EACH (link, &node->waiting)
		count += PL_LIST_ITEM(link, struct sched_pod, link)->call == 0;
	return count;
}

/* Who goes if only one does; NULL: nobody comes or goes. */
static struct sched_pod *first_of(const struct sched *sched,
                                  const struct sched_node *node)
{
	const struct pl_list *lists[] = {&node->ending, &node->waiting};

	for (unsigned i = node_may_write(sched, node) ? 0 : 1; i < 2; i++)
		PL_LIST_EACH (link, lists[i]) {
			struct sched_pod *pod =
				PL_LIST_ITEM(link, struct sched_pod, link);

			if (pod->call == 0)
				return pod;
		}
	return NULL;
}

static bool is_left(const struct sched_node *node)
{
	for (uint32_t i = 0; i < node->count; i++)
		if (node->listed[i].leaving)
			return true;
	return false;
}

/* Not even alone. Who is to leave tries again after a while. Those who come go elsewhere
 * if it is for the node's alloc; else the one that was tried is set aside until what
 * failed is tried again. The others of the node go on. */
static void give_up(struct sched *sched, struct sched_node *node, bool full,
                    const struct pl_err *err)
{
	struct sched_pod *pod = first_of(sched, node);
	bool leaves = pod != NULL && pod->linked == LINKED_ENDING;

	if (full && !leaves && !node->full) {
		node_fill(sched, node);
		return;
	}
	if (!full || !leaves || !is_left(node)) /* else there will be room soon */
		tell_repair(sched, err);
	if (pod == NULL) /* until the repair there is nothing that could go */
		return;
	if (leaves) {
		ends_pause(sched);
		ends_settle(sched, pod);
	} else {
		pod_withdraw(sched, pod);
		pod->flags |= POD_REFUSED;
	}
	node_ready(sched, node);
}

/* There is something to be written even if nobody comes or goes. */
static bool is_alone(const struct sched *sched, const struct sched_node *node)
{
	return (holds_go(sched, node) || preempts_go(sched, node)) &&
	       node_may_write(sched, node);
}

enum pl_code commit_add(struct sched *sched, struct call *call, struct sched_node *node,
                        uint32_t room)
{
	uint32_t items = call->items, count;
	struct pl_err err = {0};
	enum pl_code code = PL_OK;

	preempts_check(sched, node);
	if (pl_list_empty(&node->ready))
		return PL_OK; /* there was nothing else to be written */
	count = eligible(sched, node);
	if (items > 0 && count > 0 && room == 0)
		return PL_BUSY;
	if (count > room)
		count = room;
	for (bool more = count > 0 || is_alone(sched, node); more; count /= 2) {
		struct book was = call->book;

		more = count > 1 || (count == 1 && is_alone(sched, node));
		code = commit_put(sched, call, node, count, &err);
		if (code == PL_OK) {
			commit_seal(sched, call, items);
			return PL_OK;
		}
		commit_undo(sched, call, items);
		call->book = was;
		if (items > 0 && code == PL_BUSY)
			return PL_BUSY; /* in the next one */
	}
	pl_list_del(&node->ready);
	if (code == PL_OK) /* all that wait are being told of */
		return PL_BUSY;
	if (err.code == PL_OK)
		pl_err_set(&err, code, "%.*s/%.*s: %s does not go into a transaction",
		           PL_SPAN_ARG(sched_text(sched, node->key[0])),
		           PL_SPAN_ARG(sched_text(sched, node->key[1])),
		           preempts_go(sched, node) ? "making room" : "one pod");
	if (preempts_go(sched, node)) {
		preempts_shrink(sched, node, &err);
		node_ready(sched, node);
		return PL_BUSY;
	}
	give_up(sched, node, call->full, &err);
	return code;
}

static bool commit_one(struct sched *sched)
{
	const uint32_t items =
		(COMMIT_POD_ITEMS + COMMIT_NODE_ITEMS) * (sched->batch + 1);
	struct call *call = call_begin(sched, CALL_COMMIT);

	if (call == NULL)
		return false;
	(void)!call_room(call, items);
	PL_LIST_EACH (link, &sched->ready) {
		struct sched_node *node = PL_LIST_ITEM(link, struct sched_node, ready);
		bool apart = node->apart_ms > sched->now_ms;
		uint32_t room;

		if (call->item == NULL || call->placements >= sched->batch ||
		    rests_full(sched, call) ||
		    call->items - call->extras + COMMIT_NODE_ITEMS > items)
			break;
		if (apart && call->items > 0)
			continue;
		room = items - (call->items - call->extras) - COMMIT_NODE_ITEMS;
		if (room > sched->batch - call->placements)
			room = sched->batch - call->placements;
		if (commit_add(sched, call, node, room) == PL_BUSY && call->items > 0)
			break;
		if (apart && call->items > 0)
			break;
	}
	if (call->items == 0) {
		call_end(sched, call);
		return false;
	}
	call_post(sched, call);
	return true;
}

bool commit_may(const struct sched *sched)
{
	const struct sched_node *first;

	if (pl_list_empty(&sched->ready) || sched->commits >= sched->opts.inflight)
		return false;
	first = PL_LIST_ITEM(sched->ready.next, struct sched_node, ready);
	return sched->commits == 0 || sched->waiting + sched->ending >= sched->batch ||
	       first->apart_ms > sched->now_ms;
}

void commit_run(struct sched *sched)
{
	while (commit_may(sched) && commit_one(sched))
		;
}
