/* Reads the nodes of a batch and their allocs. */
#include "coord/service/nodes/nodes_int.h"
#include "store/kv/calls.h"

bool nodes_keep(struct node_batch *batch, struct pl_span *text)
{
	if (text->len == 0)
		return true;
	*text = pl_arena_dup(&batch->arena, *text);
	return text->at != NULL;
}

static bool is_unread(const struct node_entry *entry)
{
	return entry->state == ENTRY_UNREAD;
}

static bool get_of(const struct node_entry *entry, enum keys_kind kind,
                   struct pl_arena *arena, struct kv_req *out)
{
	struct keys_id id = {.kind = kind,
	                     .partition = entry->node.partition,
	                     .scope = entry->node.cluster,
	                     .name = entry->node.name};
	struct keys_text text;
	struct pl_span key = {0};

	if (keys_build(&id, &text, NULL) == PL_OK)
		key = pl_arena_dup(arena, keys_span(&text));
	*out = kv_op_get(kv_key(key));
	return key.at != NULL;
}

/* False: no node of the batch needs to be read. */
bool nodes_request(struct nodes *nodes, struct node_batch *batch, struct pl_arena *arena,
                   struct kv_req *req)
{
	size_t count = 0;

	batch->gets = pl_arena_alloc(arena, (size_t)batch->count * OPS_OF_A_NODE *
	                                            sizeof *batch->gets);
	for (unsigned i = 0; i < batch->count && batch->gets != NULL; i++) {
		if (!is_unread(&batch->entry[i]))
			continue;
		if (!get_of(&batch->entry[i], KEYS_NODE, arena, &batch->gets[count]) ||
		    !get_of(&batch->entry[i], KEYS_ALLOC, arena, &batch->gets[count + 1]))
			batch->gets = NULL;
		else
			count += OPS_OF_A_NODE;
	}
	if (batch->gets == NULL) {
		nodes_no_memory(nodes);
		return false;
	}
	*req = (struct kv_req){.op = KV_TXN,
	                       .txn = {.then = batch->gets, .then_count = count}};
	return count > 0;
}

static bool keep_record(struct node_batch *batch, const struct kv_record *record,
                        int64_t *rev, struct pl_span *value)
{
	*rev = record == NULL ? 0 : record->mod_revision;
	*value = record == NULL ? (struct pl_span){0} : record->value;
	return nodes_keep(batch, value);
}

void nodes_apply_seen(struct nodes *nodes, struct node_batch *batch,
                      struct node_entry *entry, const struct kv_record *node,
                      const struct kv_record *alloc)
{
	struct node_seen *seen = &entry->seen;

	PL_ASSERT(entry->state != ENTRY_SETTLED);
	entry->state = ENTRY_READ;
	if (!keep_record(batch, node, &seen->node_rev, &seen->node) ||
	    !keep_record(batch, alloc, &seen->alloc_rev, &seen->alloc))
		nodes_no_memory(nodes);
}

static const struct kv_record *first_record(const struct kv_result *got)
{
	return got->get.count == 0 ? NULL : got->get.records;
}

void nodes_apply_reads(struct nodes *nodes, struct node_batch *batch,
                       const struct kv_txn_result *txn)
{
	const struct kv_result *got = txn->results;

	for (unsigned i = 0; i < batch->count; i++) {
		if (!is_unread(&batch->entry[i]))
			continue;
		PL_ASSERT(got + OPS_OF_A_NODE <= txn->results + txn->count);
		nodes_apply_seen(nodes, batch, &batch->entry[i], first_record(&got[0]),
		                 first_record(&got[1]));
		got += OPS_OF_A_NODE;
	}
}
