/*
 * What a waiting pod's state says of the room that is held for it: which node it is
 * nominated for. Written with the hold (preempts_commit.c), and taken back with it, here;
 * whatever else its owner writes into the state says it as it is then.
 *
 * Nobody relies on it, so it never keeps anything from being written: states go along as
 * far as there is room beside what has to be in a transaction. Whoever is left out, and
 * those whose hold others ended, are told by their owner right after (unsched.c).
 */
#include <stdio.h>

#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/commit/commit.h"
#include "shardsched/shard/room/holds.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/unsched.h"
#include "store/keys/partition.h"

enum {
	MESSAGE_SIZE = 640,
	TELLS_AT_ONCE = 4, /* in a transaction that is made for something else */
};

/* It is in the store, and is to stay. */
static const struct sched_hold *standing(const struct sched_pod *pod)
{
	const struct sched_hold *hold =
		pod->nominated == NULL ? NULL : hold_of_pod(pod->nominated, pod);

	return hold == NULL || hold->planned || hold->out || hold->unwanted ||
	                       hold->overdue
	               ? NULL
	               : hold;
}

static bool says_so(const struct sched_pod *pod)
{
	return pod->phase == STATE_PENDING && pod->at[1] != 0;
}

/* False: there can be no such node. */
static bool partition_of(const struct sched *sched, const uint32_t key[2], uint32_t *out)
{
	return partition_of_node(sched_text(sched, key[0]), sched_text(sched, key[1]),
	                         sched->opts.partitions, out, NULL) == PL_OK;
}

/* What it holds is known; or that it is not there. */
static bool is_known(const struct sched *sched, const uint32_t key[2])
{
	const struct sched_node *node = node_at(sched, key);
	uint32_t partition;

	if (node != NULL && node->rev[FACT_ALLOC] != 0)
		return true;
	if (!partition_of(sched, key, &partition))
		return true;
	return (sched->partition[partition].owned && sched->partition[partition].open) ||
	       abroad_knows(sched, partition);
}

void hold_say(const struct sched *sched, const struct sched_pod *pod,
              struct pod_state *out)
{
	const uint32_t *key = NULL;

	if (standing(pod) != NULL)
		key = pod->nominated->key;
	else if (says_so(pod) && !is_known(sched, pod->at))
		key = pod->at;
	if (key == NULL)
		return;
	out->nominated_cluster = sched_text(sched, key[0]);
	out->nominated_node = sched_text(sched, key[1]);
}

bool hold_is_said(const struct sched *sched, const struct sched_pod *pod)
{
	struct pod_state is = {0};

	if (pod->nominated == NULL && !says_so(pod))
		return true;
	hold_say(sched, pod, &is);
	if (!says_so(pod))
		return is.nominated_node.len == 0;
	return pl_span_eq(is.nominated_node, sched_text(sched, pod->at[1])) &&
	       pl_span_eq(is.nominated_cluster, sched_text(sched, pod->at[0]));
}

/* It is ours to tell, and waits. */
static bool may_be_told(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_partition *part = &sched->partition[pod->key[0]];

	return (pod->place == POD_QUEUED || pod->place == POD_IDLE) &&
	       pod->linked != LINKED_ENDING && /* else its keys go */
	       (pod->flags & (POD_BAD_STATE | POD_RESET | POD_REMOVED)) == 0 &&
	       part->owned && part->open && !part->quiet;
}

/* None that is known of; and it is not in a call. */
static bool is_in_doubt(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_node *node;

	if (!says_so(pod) || pod->call != 0 || !may_be_told(sched, pod))
		return false;
	node = node_at(sched, pod->at);
	return node == NULL || hold_of_pod(node, pod) == NULL;
}

bool hold_is_owed(const struct sched *sched, const struct sched_pod *pod)
{
	return is_in_doubt(sched, pod) && is_known(sched, pod->at);
}

bool hold_is_doubted(const struct sched *sched, const struct sched_pod *pod)
{
	return is_in_doubt(sched, pod) && !is_known(sched, pod->at);
}

bool hold_visit(struct sched *sched, const struct sched_pod *pod)
{
	uint32_t partition;

	if (!hold_is_doubted(sched, pod) || !partition_of(sched, pod->at, &partition) ||
	    sched->partition[partition].owned)
		return false;
	visit_need(sched, partition);
	return true;
}

void hold_ended_say(const struct sched *sched, const uint32_t node[2], char *out,
                    size_t size)
{
	(void)snprintf(out, size, "the room that was kept on %.*s/%.*s is given back",
	               PL_SPAN_ARG(sched_text(sched, node[0])),
	               PL_SPAN_ARG(sched_text(sched, node[1])));
}

/* -- with the release -------------------------------------------------------- */

/* Its pod's state has to say that it is no more. */
static bool is_to_be_told(const struct sched *sched, const struct sched_node *node,
                          const struct sched_hold *hold)
{
	const struct sched_pod *pod = hold->pod;

	return pod != NULL && !hold->taken && says_so(pod) &&
	       pod->at[0] == node->key[0] && pod->at[1] == node->key[1] &&
	       may_be_told(sched, pod);
}

static enum pl_code print(struct sched *sched, struct call *call,
                          const struct sched_node *node, struct sched_pod *pod,
                          struct pl_span *out, struct pl_err *err)
{
	char message[MESSAGE_SIZE];
	char uid[UUID_TEXT_LEN];
	struct pod_state state = {
		.phase = STATE_PENDING,
		.ask = (enum state_ask)pod->ask,
		.uid = pod_uid_text(sched, pod, uid),
		.shard = pl_span_str(sched->shard),
		.epoch = call_epoch(sched, pod->key[0]),
		.attempts = pod->attempts + pod_attempts(pod),
		.reason = PL_SPAN_LIT("nomination.ended"),
		.since_ms = pod->since_ms,
	};
	enum pl_code code;

	hold_ended_say(sched, node->key, message, sizeof message);
	state.message = pl_span_str(message);
	unsched_lend(sched, pod, &state);
	hold_say(sched, pod, &state); /* it may be nominated elsewhere by now */
	pl_buf_clear(&sched->buf, sched->buf.cap);
	code = state_print(&state, &sched->buf, err);
	if (code != PL_OK)
		return code;
	*out = pl_arena_dup(&call->arena, pl_buf_span(&sched->buf));
	return out->at == NULL ? pl_err_set(err, PL_NOMEM, "write a state") : PL_OK;
}

static enum pl_code tell(struct sched *sched, struct call *call,
                         const struct sched_node *node, struct sched_pod *pod,
                         struct pl_err *err)
{
	struct book_decided decided = call_decided(sched, pod);
	enum pl_code code = print(sched, call, node, pod, &decided.state, err);

	if (code != PL_OK)
		return code;
	if (!book_put_state(&call->book, &decided))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	pod->told_s = 0; /* what is in its way now */
	call_item_add(call, &(struct call_item){.pod = pod,
	                                        .value = decided.state,
	                                        .since_ms = pod->since_ms,
	                                        .ask = pod->ask,
	                                        .compared = true,
	                                        .tells = true});
	return PL_OK;
}

static bool is_in(const struct call *call, const struct sched_pod *pod)
{
	for (uint32_t i = 0; i < call->items; i++)
		if (call->item[i].pod == pod)
			return true;
	return false;
}

/* What has to be written goes first, and what is decided together whole: a bundle, or a
 * gang's step, is counted to the last operation. */
static bool takes_more(const struct call *call)
{
	uint32_t told = 0;

	if (call->bundle || (call->kind != CALL_COMMIT && call->kind != CALL_ABROAD))
		return false;
	for (uint32_t i = 0; i < call->items; i++)
		told += call->item[i].tells;
	return told < TELLS_AT_ONCE &&
	       call->items - call->extras + 1 + COMMIT_NODE_ITEMS <= call->item_cap;
}

enum pl_code holds_tell(struct sched *sched, struct call *call, struct sched_node *node,
                        struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; i < node->holds && code == PL_OK; i++) {
		const struct sched_hold *hold = &node->hold[i];

		if (!hold->out || !is_to_be_told(sched, node, hold) ||
		    hold->pod->call != 0 || is_in(call, hold->pod))
			continue;
		if (!takes_more(call))
			return PL_OK;
		code = tell(sched, call, node, hold->pod, err);
	}
	return code == PL_BUSY ? PL_OK : code;
}
