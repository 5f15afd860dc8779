/* Judges gangs (their records, and how many pods of each are bound), and reservations. */
#include <inttypes.h>
#include <stdlib.h>

#include "coord/service/fsck/fsck_int.h"
#include "shardsched/records/gang_record.h"
#include "store/keys/partition.h"

enum { GRACE_MS = 60 * 1000 }; /* for differing clocks, and for the owner to act */

static const struct pl_span no_key;

static uint32_t gang_add(struct fsck_core *core, struct pl_span namespace,
                         struct pl_span name)
{
	uint32_t before = core->gangs.count, number;
	struct keys_text text;

	if (!name_table_room((void **)&core->gang, &core->gang_cap, before,
	                     sizeof *core->gang)) {
		fsck_no_memory(core);
		return FSCK_NONE;
	}
	number = name_table_add(&core->gangs, fsck_name(&text, namespace, name));
	if (number == NAME_TABLE_NONE)
		fsck_no_memory(core);
	else if (core->gangs.count > before)
		core->gang[number] = (struct fsck_gang){.first_hold = FSCK_NONE};
	return number;
}

/* -- holds ------------------------------------------------------------------------- */

static uint32_t holder_of(struct fsck_core *core, const struct alloc_reservation *hold)
{
	struct keys_text text;
	uint32_t number;

	if (hold->kind == ALLOC_RESERVATION_GANG)
		return gang_add(core, hold->namespace, hold->name);
	number = fsck_entry_add(core, fsck_name(&text, hold->namespace, hold->name));
	if (number != FSCK_NONE)
		core->entry[number].flags |= POD_HELD;
	return number;
}

void fsck_keep_hold(struct fsck_core *core, uint32_t node,
                    const struct alloc_reservation *hold)
{
	struct fsck_hold kept = {.node = node,
	                         .holder = holder_of(core, hold),
	                         .next = FSCK_NONE,
	                         .partition = (uint16_t)hold->partition,
	                         .gang = hold->kind == ALLOC_RESERVATION_GANG};

	if (kept.holder == FSCK_NONE)
		return;
	if (!name_table_room((void **)&core->hold, &core->reservation_cap, core->holds,
	                     sizeof *core->hold)) {
		fsck_no_memory(core);
		return;
	}
	if (kept.gang) {
		kept.next = core->gang[kept.holder].first_hold;
		core->gang[kept.holder].first_hold = core->holds;
	}
	core->hold[core->holds++] = kept;
}

static void end_hold(struct fsck_core *core, const struct fsck_hold *hold)
{
	struct fsck_node *node = &core->node[hold->node];
	struct pl_span alloc, name;
	struct keys_text text, other;

	if (hold->gang ? hold->right
	               : (core->entry[hold->holder].flags & POD_HELD_RIGHTLY) != 0)
		return;
	alloc = fsck_key(&text, KEYS_ALLOC, node->partition,
	                 name_table_get(&core->nodes, hold->node));
	node->flags |= NODE_MEND;
	if (!hold->gang) {
		name = name_table_get(&core->pods, hold->holder);
		fsck_report(core, FSCK_HOLD_ORPHAN, alloc,
		            fsck_key(&other, KEYS_SPEC, hold->partition, name),
		            "room is held for " PL_SPAN_FMT
		            ", which does not wait for it",
		            PL_SPAN_ARG(name));
		return;
	}
	name = name_table_get(&core->gangs, hold->holder);
	fsck_report(core, FSCK_GANG_HOLD, alloc, fsck_key(&other, KEYS_GANG, 0, name),
	            "room is held for gang " PL_SPAN_FMT ", %s", PL_SPAN_ARG(name),
	            (core->gang[hold->holder].flags & GANG_HAS_RECORD) != 0
	                    ? "whose record does not place it there"
	                    : "which has no record");
}

/* -- pods that claim a reservation ------------------------------------------------- */

static bool holds_for(const struct fsck_core *core, uint32_t node, uint32_t pod)
{
	for (uint32_t i = 0; i < core->holds; i++) {
		const struct fsck_hold *hold = &core->hold[i];

		if (!hold->gang && hold->node == node && hold->holder == pod &&
		    hold->partition == core->at.partition)
			return true;
	}
	return false;
}

/* The allocs have been fed before. */
void fsck_nominated_pod(struct fsck_core *core)
{
	const struct fsck_current *at = &core->at;
	const struct pod_state *state = &at->state;
	struct fsck_nominated new = {.partition = (uint16_t)at->partition};
	struct keys_text key, other;
	uint32_t partition;

	if (!at->has_state || !at->state_ok || state->nominated_node.len == 0 ||
	    partition_of_node(state->nominated_cluster, state->nominated_node,
	                      core->partitions, &partition, NULL) != PL_OK)
		return;
	new.node = fsck_node_add(core, state->nominated_cluster, state->nominated_node,
	                         partition);
	new.pod = fsck_entry_add(core, keys_span(&at->name));
	if (new.node == FSCK_NONE || new.pod == FSCK_NONE ||
	    (core->node[new.node].flags & NODE_BAD_ALLOC) != 0 ||
	    holds_for(core, new.node, new.pod))
		return;
	if (!name_table_room((void **)&core->nominated, &core->nominated_cap,
	                     core->nominations, sizeof *core->nominated)) {
		fsck_no_memory(core);
		return;
	}
	core->nominated[core->nominations++] = new;
	fsck_report(core, FSCK_STATE_NOMINATED,
	            fsck_key(&key, KEYS_STATE, at->partition, keys_span(&at->name)),
	            fsck_key(&other, KEYS_ALLOC, partition,
	                     name_table_get(&core->nodes, new.node)),
	            "it is nominated for " PL_SPAN_FMT "/" PL_SPAN_FMT
	            ", which holds no room for it",
	            PL_SPAN_ARG(state->nominated_cluster),
	            PL_SPAN_ARG(state->nominated_node));
}

/* -- records ----------------------------------------------------------------------- */

static int node_cmp(const void *a, const void *b)
{
	return gang_record_node_cmp(a, b);
}

static bool is_planned(const struct gang_record *record, struct pl_span node)
{
	struct gang_record_node key = {0};

	fsck_split(node, &key.cluster, &key.name);
	return bsearch(&key, record->node, record->nodes, sizeof key, node_cmp) != NULL;
}

void fsck_feed_gang(struct fsck_core *core, const struct kv_record *record,
                    const struct keys_id *id)
{
	uint32_t number = gang_add(core, id->scope, id->name);
	struct gang_record parsed;
	struct pl_err err = {0};
	struct fsck_gang *gang;
	enum pl_code code;

	if (number == FSCK_NONE)
		return;
	gang = &core->gang[number];
	gang->flags |= GANG_HAS_RECORD;
	code = gang_record_parse(record->value, &core->scratch, &parsed, &err);
	if (code == PL_NOMEM) {
		fsck_no_memory(core);
		return;
	}
	if (code != PL_OK) {
		gang->flags |= GANG_BAD_RECORD;
		fsck_report(core, FSCK_GANG_MALFORMED, record->key, no_key,
		            "it is malformed: %s", err.msg);
	} else {
		gang->until_ms = parsed.until_ms;
		if (parsed.phase == GANG_PHASE_BOUND)
			gang->flags |= GANG_IS_BOUND;
	}
	/* A record that does not parse may reserve anything. */
	for (uint32_t i = gang->first_hold; i != FSCK_NONE; i = core->hold[i].next)
		core->hold[i].right =
			code != PL_OK ||
			is_planned(&parsed,
		                   name_table_get(&core->nodes, core->hold[i].node));
}

/* -- pods -------------------------------------------------------------------------- */

void fsck_gang_pod(struct fsck_core *core, bool placed)
{
	const struct spec *spec = core->at.pod.spec;
	uint32_t number, least;

	if (!core->at.spec_ok || spec->template->gang == 0)
		return;
	least = spec->template->gang_min > 0 ? (uint32_t)spec->template->gang_min : 1;
	number = gang_add(core, model_text(&core->model, spec->namespace),
	                  model_text(&core->model, spec->template->gang));
	if (number == FSCK_NONE)
		return;
	core->gang[number].bound += placed;
	if (least > core->gang[number].least)
		core->gang[number].least = least;
}

/* Reservations exist only while the gang is reserving or is being given up. Once it is
 * bound its pods are listed instead, in the same transaction. */
static void end_record(struct fsck_core *core, const struct fsck_gang *gang,
                       struct pl_span key)
{
	bool bound = (gang->flags & GANG_IS_BOUND) != 0;

	if ((gang->flags & (GANG_HAS_RECORD | GANG_BAD_RECORD)) != GANG_HAS_RECORD ||
	    (gang->first_hold != FSCK_NONE && !bound) || core->wall_ms == 0 ||
	    gang->until_ms + GRACE_MS >= core->wall_ms)
		return;
	fsck_report(core, FSCK_GANG_OVERDUE, key, no_key,
	            "it %s, and its owner was to end it by now",
	            gang->first_hold == FSCK_NONE ? "holds no room"
	                                          : "is bound, and still holds room");
}

static void end_gang(struct fsck_core *core, uint32_t number)
{
	const struct fsck_gang *gang = &core->gang[number];
	struct keys_text text;
	struct pl_span key =
		fsck_key(&text, KEYS_GANG, 0, name_table_get(&core->gangs, number));

	end_record(core, gang, key);
	if (gang->flags == 0 && gang->bound > 0 && gang->bound < gang->least)
		fsck_report(core, FSCK_GANG_PARTLY, key, no_key,
		            "%" PRIu32 " of its pods are bound, of %" PRIu32
		            " at least: others may have ended since",
		            gang->bound, gang->least);
}

void fsck_end_gangs(struct fsck_core *core)
{
	for (uint32_t i = 0; i < core->holds; i++)
		end_hold(core, &core->hold[i]);
	for (uint32_t i = 0; i < core->gangs.count; i++)
		end_gang(core, i);
}
