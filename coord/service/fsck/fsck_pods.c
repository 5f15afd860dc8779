/* Pods: spec and state of one pod come one behind the other and are judged together. */
#include <inttypes.h>
#include <stdlib.h>

#include "coord/service/base/port_word.h"
#include "coord/service/fsck/fsck_int.h"
#include "store/base/hash.h"
#include "store/keys/partition.h"

static const struct pl_span no_key;

static struct pl_span current_key(struct fsck_core *core, enum keys_kind kind,
                                  struct keys_text *out)
{
	return fsck_key(out, kind, core->at.partition, keys_span(&core->at.name));
}

/* Begins with another pod; the pod before it is complete. */
static void begin_pod(struct fsck_core *core, const struct keys_id *id)
{
	struct fsck_current *at = &core->at;
	struct keys_text text;
	struct pl_span name = fsck_name(&text, id->scope, id->name);

	if (at->some && at->partition == id->partition &&
	    pl_span_eq(keys_span(&at->name), name))
		return;
	fsck_flush_pod(core);
	at->some = true;
	at->partition = id->partition;
	at->name = text;
	at->namespace_len = id->scope.len;
}

/* -- specs ------------------------------------------------------------------------- */

static bool is_named(const struct fsck_core *core, const struct pod *pod)
{
	struct pl_span namespace, name;

	fsck_split(keys_span(&core->at.name), &namespace, &name);
	return pl_span_eq(model_text(&core->model, pod->name), name) &&
	       pl_span_eq(model_text(&core->model, pod->spec->namespace), namespace);
}

static void feed_pod(struct fsck_core *core, const struct kv_record *record)
{
	struct field_errors errors;
	struct parse parse = {.model = &core->model,
	                      .arena = &core->scratch,
	                      .errors = &errors,
	                      .scope = VALIDATE_STORED};
	struct fsck_current *at = &core->at;
	struct pl_err err = {0};
	enum pl_code code = pod_parse(&parse, record->value, &at->pod, &err);

	if (code == PL_OK) {
		if (!is_named(core, &at->pod))
			code = pl_err_set(&err, PL_INVALID, "it is another pod's");
		else
			code = pod_location_of(&core->model, &at->pod, core->partitions,
			                       &at->location, &err);
		if (code != PL_OK) {
			pod_drop(&core->model, &at->pod);
			at->pod = (struct pod){0};
		}
	}
	at->spec_ok = code == PL_OK;
	core->pods_unreadable = core->pods_unreadable || code != PL_OK;
	if (code == PL_NOMEM)
		fsck_no_memory(core);
	else if (code != PL_OK)
		fsck_report(core, FSCK_SPEC_MALFORMED, record->key, no_key,
		            "it is malformed: %s", err.msg);
}

void fsck_feed_spec(struct fsck_core *core, const struct kv_record *record,
                    const struct keys_id *id)
{
	struct fsck_current *at = &core->at;
	struct pl_err err = {0};

	begin_pod(core, id);
	at->has_spec = true;
	at->spec_rev = record->mod_revision;
	if (pointer_parse(record->value, &at->is_pointer, &at->points_to, &err) !=
	    PL_OK) {
		fsck_report(core, FSCK_SPEC_MALFORMED, record->key, no_key,
		            "the pointer is malformed: %s", err.msg);
		return;
	}
	if (at->is_pointer) {
		core->counts.pointers++;
		return;
	}
	core->counts.pods++;
	feed_pod(core, record);
}

/* -- states ------------------------------------------------------------------------ */

static void check_epoch(struct fsck_core *core, const struct kv_record *record,
                        const struct keys_id *id)
{
	int64_t epoch = core->at.state.epoch, owner = core->epoch[id->partition];

	if (epoch == 0 ||
	    (epoch < record->mod_revision && (owner == 0 || epoch <= owner)))
		return;
	fsck_report(core, FSCK_STATE_EPOCH, record->key, no_key,
	            "its epoch %" PRId64 " is above %s %" PRId64, epoch,
	            epoch >= record->mod_revision ? "its own revision"
	                                          : "the partition's",
	            epoch >= record->mod_revision ? record->mod_revision : owner);
}

void fsck_feed_state(struct fsck_core *core, const struct kv_record *record,
                     const struct keys_id *id)
{
	struct fsck_current *at = &core->at;
	struct pl_span value;
	struct pl_err err = {0};
	enum pl_code code;

	begin_pod(core, id);
	at->has_state = true;
	at->state_rev = record->mod_revision;
	at->state_since_rev = record->create_revision;
	/* The record does not outlive the call, but the pod is judged later. */
	value = pl_arena_dup(&at->state_arena, record->value);
	if (value.at == NULL && record->value.len > 0) {
		fsck_no_memory(core);
		return;
	}
	code = state_parse(value, &at->state_arena, &at->state, &err);
	at->state_ok = code == PL_OK;
	if (code == PL_NOMEM)
		fsck_no_memory(core);
	else if (code != PL_OK)
		fsck_report(core, FSCK_STATE_MALFORMED, record->key, no_key,
		            "it is malformed: %s", err.msg);
	else
		check_epoch(core, record, id);
}

/* -- a pod ------------------------------------------------------------------------- */

static void add_requests(struct fsck_core *core, uint32_t number)
{
	const struct spec *spec = core->at.pod.spec;
	const struct resources *asks = spec->requests;
	struct fsck_sums *sum = &core->node[number].sum;

	sum->cpu_milli = resources_sum(sum->cpu_milli, asks->cpu_milli);
	sum->memory = resources_sum(sum->memory, asks->memory);
	sum->storage = resources_sum(sum->storage, asks->storage);
	sum->pods = resources_sum(sum->pods, 1);
	sum->nonzero_cpu_milli =
		resources_sum(sum->nonzero_cpu_milli, spec_nonzero_cpu_milli(spec));
	sum->nonzero_memory =
		resources_sum(sum->nonzero_memory, spec_nonzero_memory(spec));
	for (uint64_t i = 0; i < asks->count; i++)
		sum->scalars += (uint64_t)asks->row[i].amount *
		                pl_hash(model_text(&core->model, asks->row[i].name));
	for (uint32_t i = 0; i < spec->template->ports.count; i++) {
		const struct spec_port *row = &spec_ports(spec)[i];
		struct alloc_port port = {.protocol = port_word(row->protocol),
		                          .ip = model_text(&core->model, row->ip),
		                          .port = row->port};

		fsck_port_add(core, number, &port);
	}
}

/* The node that the state names; FSCK_NONE: the pod takes no room. Whether the node
 * exists is known only at the end. */
static uint32_t bound_node(struct fsck_core *core)
{
	const struct fsck_current *at = &core->at;
	uint32_t partition;

	if (!at->state_ok || !state_has_place(&at->state) ||
	    partition_of_node(at->state.cluster, at->state.node, core->partitions,
	                      &partition, NULL) != PL_OK)
		return FSCK_NONE;
	return fsck_node_add(core, at->state.cluster, at->state.node, partition);
}

static void report_not_bound(struct fsck_core *core, uint32_t number)
{
	const struct fsck_current *at = &core->at;
	struct keys_text alloc, state;
	struct pl_span key = fsck_key(&alloc, KEYS_ALLOC, core->node[number].partition,
	                              name_table_get(&core->nodes, number));
	struct pl_span other = current_key(core, KEYS_STATE, &state);

	core->node[number].flags |= NODE_MEND;
	if (!state_has_place(&at->state))
		fsck_report(core, FSCK_ALLOC_POD_NOT_BOUND, key, other,
		            "it lists " PL_SPAN_FMT ", which is %s",
		            PL_SPAN_ARG(keys_span(&at->name)),
		            state_phase_word(at->state.phase));
	else
		fsck_report(core, FSCK_ALLOC_POD_NOT_BOUND, key, other,
		            "it lists " PL_SPAN_FMT ", which is on " PL_SPAN_FMT
		            "/" PL_SPAN_FMT,
		            PL_SPAN_ARG(keys_span(&at->name)),
		            PL_SPAN_ARG(at->state.cluster), PL_SPAN_ARG(at->state.node));
}

/* The alloc has to mark exactly the pods that terminate. */
static void check_leaving(struct fsck_core *core, const struct fsck_row *row)
{
	const struct fsck_current *at = &core->at;
	struct fsck_node *node = &core->node[row->node];
	struct keys_text alloc, state;

	if (row->leaving == (at->state.phase == STATE_TERMINATING))
		return;
	node->flags |= NODE_MEND;
	fsck_report(core, FSCK_ALLOC_LEAVING,
	            fsck_key(&alloc, KEYS_ALLOC, node->partition,
	                     name_table_get(&core->nodes, row->node)),
	            current_key(core, KEYS_STATE, &state),
	            PL_SPAN_FMT " is %s, and is %s as leaving",
	            PL_SPAN_ARG(keys_span(&at->name)), state_phase_word(at->state.phase),
	            row->leaving ? "marked" : "not marked");
}

/* Judges the allocs that list the pod. *there: the one of its own node is among them. */
static void judge_rows(struct fsck_core *core, uint32_t first, uint32_t bound,
                       bool *there)
{
	const struct fsck_current *at = &core->at;

	for (uint32_t i = first; i != FSCK_NONE; i = core->row[i].next) {
		struct fsck_row *row = &core->row[i];

		if (row->partition != at->partition || !fsck_is_there(at))
			continue;
		row->found = 1;
		if (at->spec_ok)
			add_requests(core, row->node);
		else
			core->node[row->node].flags |= NODE_NO_SUM;
		if (row->node == bound) {
			*there = true;
			check_leaving(core, row);
		} else if (at->has_state && at->state_ok) {
			report_not_bound(core, row->node);
		}
	}
}

/* A request or an end is written by others, after the placement. */
bool fsck_is_as_bound(const struct fsck_current *at)
{
	const struct pod_state *state = &at->state;

	return state->phase == STATE_BOUND && state->shard.len > 0 &&
	       state->ask == STATE_ASK_NONE && state->ended == STATE_ENDED_NOT &&
	       at->spec_rev < at->state_rev;
}

static void keep_unlisted(struct fsck_core *core, uint32_t number)
{
	struct fsck_node *node = &core->node[number];
	struct keys_text alloc, state;
	uint32_t entry = fsck_entry_add(core, keys_span(&core->at.name));
	struct fsck_row row = {
		.pod = entry, .node = number, .partition = (uint16_t)core->at.partition};

	if (entry == FSCK_NONE)
		return;
	(void)fsck_row_add(core, &node->unlisted, row);
	node->flags |= NODE_MEND;
	/* A node without a readable alloc is reported by itself. */
	if ((node->flags & NODE_HAS_ALLOC) == 0 || (node->flags & NODE_BAD_ALLOC) != 0)
		return;
	fsck_report(core, FSCK_STATE_UNLISTED, current_key(core, KEYS_STATE, &state),
	            fsck_key(&alloc, KEYS_ALLOC, node->partition,
	                     name_table_get(&core->nodes, number)),
	            "it is bound there, and the alloc does not list it");
}

/* A pod that does not parse may be waiting too. */
static void judge_waiting(struct fsck_core *core, uint32_t entry)
{
	const struct fsck_current *at = &core->at;
	bool waits =
		at->has_spec && !at->is_pointer &&
		(!at->has_state || !at->state_ok || at->state.phase == STATE_PENDING);

	if (!waits)
		return;
	if (entry != NAME_TABLE_NONE && (core->entry[entry].flags & POD_HELD) != 0)
		core->entry[entry].flags |= POD_HELD_RIGHTLY;
	fsck_nominated_pod(core);
	if (!at->spec_ok)
		return;
	fsck_rules_pod(core, FSCK_NONE);
	fsck_gang_pod(core, false);
}

static void judge_place(struct fsck_core *core)
{
	const struct fsck_current *at = &core->at;
	uint32_t entry = name_table_find(&core->pods, keys_span(&at->name)), bound;
	bool there = false;

	bound = bound_node(core);
	if (entry != NAME_TABLE_NONE)
		judge_rows(core, core->entry[entry].listed, bound, &there);
	fsck_lost_pod(core, entry);
	if (bound == FSCK_NONE) {
		judge_waiting(core, entry);
		return;
	}
	core->counts.bound++;
	/* The room of a gang may have been reserved before the node changed. */
	if (fsck_is_as_bound(at) && !(at->spec_ok && at->pod.spec->template->gang != 0) &&
	    at->state_rev > core->node[bound].bound_rev)
		core->node[bound].bound_rev = at->state_rev;
	if (!there)
		keep_unlisted(core, bound);
	fsck_rules_pod(core, bound);
	fsck_gang_pod(core, true);
}

static void keep_pointer(struct fsck_core *core)
{
	struct keys_text text;
	uint32_t number = fsck_entry_add(core, keys_span(&core->at.name)), named;
	struct pl_span namespace, name, key = current_key(core, KEYS_SPEC, &text);
	struct fsck_entry *entry;

	if (number == FSCK_NONE)
		return;
	fsck_split(keys_span(&core->at.name), &namespace, &name);
	if (partition_of_pod(namespace, name, core->partitions, &named, NULL) != PL_OK ||
	    named != core->at.partition) {
		fsck_report(core, FSCK_POD_PARTITION, key, no_key,
		            "a pointer, and its name does not fall in this partition");
		return;
	}
	entry = &core->entry[number];
	entry->flags |= POD_POINTER;
	entry->pointer_in = (uint16_t)core->at.partition;
	entry->pointer_to = (uint16_t)core->at.points_to;
}

/* Keeps a pod that does not stand in the partition of its name. */
static void keep_away(struct fsck_core *core)
{
	uint32_t number = fsck_entry_add(core, keys_span(&core->at.name));
	struct fsck_entry *entry;
	struct keys_text text, other;

	if (number == FSCK_NONE)
		return;
	entry = &core->entry[number];
	if ((entry->flags & POD_AWAY) != 0) {
		entry->flags |= POD_TWO;
		fsck_report(core, FSCK_POD_TWICE, current_key(core, KEYS_SPEC, &text),
		            fsck_key(&other, KEYS_SPEC, entry->spec_at,
		                     keys_span(&core->at.name)),
		            "another pod has the same name");
	}
	entry->flags |= POD_AWAY;
	entry->spec_at = (uint16_t)core->at.partition;
}

static void judge_partition(struct fsck_core *core)
{
	const struct fsck_current *at = &core->at;
	struct pl_span namespace, name;
	struct keys_text text;
	uint32_t named;

	if (at->spec_ok && at->location.partition != at->partition)
		fsck_report(core, FSCK_POD_PARTITION, current_key(core, KEYS_SPEC, &text),
		            no_key, "it belongs in partition %" PRIu32,
		            at->location.partition);
	fsck_split(keys_span(&at->name), &namespace, &name);
	if (partition_of_pod(namespace, name, core->partitions, &named, NULL) == PL_OK &&
	    named != at->partition)
		keep_away(core);
}

void fsck_flush_pod(struct fsck_core *core)
{
	struct fsck_current *at = &core->at;
	struct keys_text text;

	if (at->some && core->code == PL_OK) {
		if (at->has_state && (!at->has_spec || at->is_pointer))
			fsck_report(core, FSCK_STATE_NO_SPEC,
			            current_key(core, KEYS_STATE, &text), no_key,
			            at->is_pointer ? "it stands beside a pointer"
			                           : "there is no such pod");
		if (at->is_pointer)
			keep_pointer(core);
		else if (at->has_spec)
			judge_partition(core);
		judge_place(core);
	}
	pod_drop(&core->model, &at->pod);
	pl_arena_reset(&at->state_arena);
	*at = (struct fsck_current){.state_arena = at->state_arena};
}

/* -- the end ----------------------------------------------------------------------- */

static void end_rows(struct fsck_core *core, uint32_t number)
{
	for (uint32_t i = core->entry[number].listed; i != FSCK_NONE;
	     i = core->row[i].next) {
		const struct fsck_row *row = &core->row[i];
		struct fsck_node *node = &core->node[row->node];
		struct pl_span name = name_table_get(&core->pods, number);
		struct keys_text alloc, spec;

		if (row->found != 0)
			continue;
		node->flags |= NODE_MEND | NODE_NO_SUM;
		fsck_report(core, FSCK_ALLOC_POD_UNKNOWN,
		            fsck_key(&alloc, KEYS_ALLOC, node->partition,
		                     name_table_get(&core->nodes, row->node)),
		            fsck_key(&spec, KEYS_SPEC, row->partition, name),
		            "it lists " PL_SPAN_FMT ", which is not there",
		            PL_SPAN_ARG(name));
	}
}

static void end_pointer(struct fsck_core *core, uint32_t number)
{
	const struct fsck_entry *entry = &core->entry[number];
	bool away = (entry->flags & POD_AWAY) != 0;
	bool points = (entry->flags & POD_POINTER) != 0;
	struct pl_span name = name_table_get(&core->pods, number);
	struct keys_text pointer, spec;

	if (away && points && entry->pointer_to == entry->spec_at)
		return;
	if (points)
		fsck_report(core, FSCK_POINTER_NOWHERE,
		            fsck_key(&pointer, KEYS_SPEC, entry->pointer_in, name),
		            no_key, "there is no such pod in partition %u",
		            entry->pointer_to);
	if (away)
		fsck_report(core, FSCK_POINTER_MISSING,
		            fsck_key(&spec, KEYS_SPEC, entry->spec_at, name), no_key,
		            "where its name falls nothing leads here");
}

void fsck_end_pods(struct fsck_core *core)
{
	for (uint32_t i = 0; i < core->pods.count && core->code == PL_OK; i++) {
		end_rows(core, i);
		end_pointer(core, i);
	}
}
