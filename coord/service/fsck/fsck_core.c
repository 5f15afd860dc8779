#include "coord/service/fsck/fsck_core.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/claims/owner.h"
#include "coord/service/fsck/fsck_int.h"
#include "shardsched/records/cluster_object.h"
#include "store/base/alloc.h"
#include "store/base/hash.h"

enum { SCRATCH_CHUNK = 1 << 16, KEPT_MAX = 1 << 30, RULE_KEY_MAX = 64 << 20 };

const char *fsck_code_word(enum fsck_code code)
{
#define FSCK_CODE_WORD(name, word, what) [FSCK_##name] = (word),
	static const char *const words[] = {FSCK_CODE_MAP(FSCK_CODE_WORD)};

	return words[code];
}

bool fsck_is_condition(enum fsck_code code)
{
	static const bool is[FSCK_CODE_COUNT] = {
		[FSCK_NODE_OVER] = true,         [FSCK_GANG_OVERDUE] = true,
		[FSCK_GANG_PARTLY] = true,       [FSCK_HOLD_ORPHAN] = true,
		[FSCK_BUDGET_BEHIND] = true,     [FSCK_TERM_LATER] = true,
		[FSCK_TERM_UNUSED] = true,       [FSCK_LOCK_UNUSED] = true,
		[FSCK_RULES_APART_SINCE] = true, [FSCK_RULES_NODE_SINCE] = true,
		[FSCK_RULES_AFFINITY] = true,    [FSCK_RULES_SPREAD] = true,
		[FSCK_RULES_SKIPPED] = true,     [FSCK_STATE_NOMINATED] = true,
	};

	return is[code];
}

/* Only what decisions read: the events and configmaps of a cluster stand there, too. The
 * lock of the namespaces stands beside them. */
#define OBJECT_PREFIX(kind, group, resource, in) "/objects/" group "/" resource "/",
const char *const fsck_prefixes[FSCK_PREFIXES] = {
	"/alloc/",
	"/budgets/",
	"/gangs/",
	"/groups/",
	CLUSTER_STORED_MAP(OBJECT_PREFIX) "/partitions/",
	"/schedules/",
	"/nodes/"};

/* -- parts ------------------------------------------------------------------------- */

struct pl_span fsck_name(struct keys_text *out, struct pl_span scope, struct pl_span name)
{
	PL_ASSERT(scope.len + name.len + 1 < sizeof out->at);
	memcpy(out->at, scope.at, scope.len);
	out->at[scope.len] = '/';
	memcpy(out->at + scope.len + 1, name.at, name.len);
	out->len = scope.len + 1 + name.len;
	out->at[out->len] = 0;
	return keys_span(out);
}

void fsck_split(struct pl_span text, struct pl_span *scope, struct pl_span *name)
{
	const uint8_t *slash = memchr(text.at, '/', text.len);
	size_t len;

	PL_ASSERT(slash != NULL);
	len = (size_t)(slash - text.at);
	*scope = pl_span(text.at, len);
	*name = pl_span(slash + 1, text.len - len - 1);
}

struct pl_span fsck_key(struct keys_text *out, enum keys_kind kind, uint32_t partition,
                        struct pl_span scope_name)
{
	struct keys_id id = {.kind = kind, .partition = partition};
	enum pl_code code;

	fsck_split(scope_name, &id.scope, &id.name);
	code = keys_build(&id, out, NULL);
	PL_ASSERT(code == PL_OK); /* the parts were parsed from a key */
	return keys_span(out);
}

void fsck_report(struct fsck_core *core, enum fsck_code code, struct pl_span key,
                 struct pl_span other, const char *fmt, ...)
{
	char what[FSCK_WHAT_SIZE];
	struct fsck_finding finding = {
		.code = code, .key = key, .other = other, .what = what};
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	if (fsck_is_condition(code))
		core->counts.conditions++;
	else
		core->counts.violations++;
	core->found(core->ctx, &finding);
}

void fsck_no_memory(struct fsck_core *core)
{
	core->code = PL_NOMEM;
}

uint32_t fsck_node_add(struct fsck_core *core, struct pl_span scope, struct pl_span name,
                       uint32_t partition)
{
	struct keys_text text;
	uint32_t before = core->nodes.count, number;

	if (!name_table_room((void **)&core->node, &core->node_cap, before,
	                     sizeof *core->node)) {
		fsck_no_memory(core);
		return FSCK_NONE;
	}
	number = name_table_add(&core->nodes, fsck_name(&text, scope, name));
	if (number == NAME_TABLE_NONE)
		fsck_no_memory(core);
	else if (core->nodes.count > before)
		core->node[number] = (struct fsck_node){.partition = partition,
		                                        .unlisted = FSCK_NONE,
		                                        .first_bound = FSCK_NONE};
	return number;
}

uint32_t fsck_entry_add(struct fsck_core *core, struct pl_span text)
{
	uint32_t before = core->pods.count, number;

	if (!name_table_room((void **)&core->entry, &core->entry_cap, before,
	                     sizeof *core->entry)) {
		fsck_no_memory(core);
		return FSCK_NONE;
	}
	number = name_table_add(&core->pods, text);
	if (number == NAME_TABLE_NONE)
		fsck_no_memory(core);
	else if (core->pods.count > before)
		core->entry[number] = (struct fsck_entry){.listed = FSCK_NONE};
	return number;
}

uint32_t fsck_row_add(struct fsck_core *core, uint32_t *first, struct fsck_row row)
{
	if (!name_table_room((void **)&core->row, &core->row_cap, core->rows,
	                     sizeof *core->row)) {
		fsck_no_memory(core);
		return FSCK_NONE;
	}
	row.next = *first;
	core->row[core->rows] = row;
	*first = core->rows;
	return core->rows++;
}

void fsck_sums_add(struct fsck_sums *sums, const struct alloc_amounts *amounts)
{
	sums->cpu_milli = resources_sum(sums->cpu_milli, amounts->cpu_milli);
	sums->memory = resources_sum(sums->memory, amounts->memory);
	sums->storage = resources_sum(sums->storage, amounts->storage);
	sums->pods = resources_sum(sums->pods, amounts->pods);
	sums->nonzero_cpu_milli =
		resources_sum(sums->nonzero_cpu_milli, amounts->nonzero_cpu_milli);
	sums->nonzero_memory =
		resources_sum(sums->nonzero_memory, amounts->nonzero_memory);
	for (uint32_t i = 0; i < amounts->scalars; i++)
		sums->scalars += (uint64_t)amounts->scalar[i].amount *
		                 pl_hash(amounts->scalar[i].name);
}

uint64_t fsck_port_hash(const struct alloc_port *port)
{
	char text[ALLOC_WORD_MAX + 16];
	int len =
		snprintf(text, sizeof text, PL_SPAN_FMT "/" PL_SPAN_FMT "/%u",
	                 PL_SPAN_ARG(port->protocol), PL_SPAN_ARG(port->ip), port->port);

	PL_ASSERT(len > 0 && (size_t)len < sizeof text);
	return pl_hash(pl_span(text, (size_t)len));
}

void fsck_port_add(struct fsck_core *core, uint32_t node, const struct alloc_port *port)
{
	if (!name_table_room((void **)&core->port, &core->port_cap, core->ports,
	                     sizeof *core->port)) {
		fsck_no_memory(core);
		return;
	}
	core->port[core->ports++] =
		(struct fsck_port){.hash = fsck_port_hash(port), .node = node};
}

/* -- feeding ----------------------------------------------------------------------- */

static void feed_owner(struct fsck_core *core, const struct kv_record *record,
                       const struct keys_id *id)
{
	struct owner owner;
	struct pl_err err = {0};

	core->epoch[id->partition] = record->create_revision;
	if (owner_parse(record->value, &owner, &err) != PL_OK)
		fsck_report(core, FSCK_OWNER_MALFORMED, record->key, (struct pl_span){0},
		            "it is malformed: %s", err.msg);
}

static void take_record(struct fsck_core *core, const struct kv_record *record,
                        const struct keys_id *id)
{
	switch (id->kind) {
	case KEYS_ALLOC:
		fsck_feed_alloc(core, record, id);
		return;
	case KEYS_OBJECT:
	case KEYS_OBJECT_IN:
		fsck_feed_object(core, record, id);
		return;
	case KEYS_BUDGET:
		fsck_feed_budget(core, record, id);
		return;
	case KEYS_GANG:
		fsck_feed_gang(core, record, id);
		return;
	case KEYS_REGISTRY_GLOBAL:
	case KEYS_REGISTRY:
	case KEYS_GROUP:
	case KEYS_TOPOLOGY:
		fsck_feed_rules_key(core, record, id);
		return;
	case KEYS_OWNER:
		feed_owner(core, record, id);
		return;
	case KEYS_SPEC:
		fsck_feed_spec(core, record, id);
		return;
	case KEYS_STATE:
		fsck_feed_state(core, record, id);
		return;
	case KEYS_NODE:
		fsck_feed_node(core, record, id);
		return;
	case KEYS_META:
	case KEYS_BUDGETS_LOCK: /* only its revision matters */
	case KEYS_NAMESPACES:
	case KEYS_CLUSTER:
	case KEYS_SHARD:
	case KEYS_DIGEST:
	case KEYS_CONFIG_CURRENT:
	case KEYS_CONFIG:
	case KEYS_LEADER:
	case KEYS_PIN:
	case KEYS_TOKEN:
	case KEYS_NODES_TICK:
	case KEYS_SCHEDULES_TICK:
	case KEYS_BUDGETS_TICK:
	case KEYS_OBJECTS_TICK:
	case KEYS_KIND_COUNT:
		return;
	}
	PL_UNREACHABLE("kind of key");
}

/* Moves on to the prefix of the key. The last pod is complete when another prefix
 * begins. */
static void follow_stage(struct fsck_core *core, struct pl_span key)
{
	unsigned stage = core->stage;

	while (stage < FSCK_PREFIXES &&
	       !pl_span_starts(key, pl_span_str(fsck_prefixes[stage])))
		stage++;
	PL_ASSERT(stage < FSCK_PREFIXES);
	if (stage != core->stage)
		fsck_flush_pod(core);
	core->stage = stage;
}

enum pl_code fsck_core_feed(struct fsck_core *core, const struct kv_record *record,
                            struct pl_err *err)
{
	struct keys_id id;
	struct pl_err why = {0};

	PL_ASSERT(!core->ended);
	core->counts.records++;
	pl_arena_reset(&core->scratch);
	follow_stage(core, record->key);
	if (keys_parse(record->key, &id, &why) == PL_OK)
		take_record(core, record, &id);
	else
		fsck_report(core, FSCK_KEY_MALFORMED, record->key, (struct pl_span){0},
		            "it is none of ours: %s", why.msg);
	return core->code == PL_OK ? PL_OK : pl_err_set(err, core->code, "fsck");
}

enum pl_code fsck_core_end(struct fsck_core *core, struct pl_err *err)
{
	PL_ASSERT(!core->ended);
	core->ended = true;
	fsck_flush_pod(core);
	fsck_end_pods(core);
	fsck_end_gangs(core);
	fsck_end_terms(core);
	fsck_end_rules(core);
	fsck_end_nodes(core);
	return core->code == PL_OK ? PL_OK : pl_err_set(err, core->code, "fsck");
}

const struct fsck_counts *fsck_core_counts(const struct fsck_core *core)
{
	return &core->counts;
}

/* -- life -------------------------------------------------------------------------- */

enum pl_code fsck_core_new(const struct fsck_core_opts *opts, struct fsck_core **out,
                           struct pl_err *err)
{
	struct fsck_core *core = pl_calloc(1, sizeof *core);

	PL_ASSERT(opts->partitions > 0 && opts->partitions <= KEYS_PARTITIONS_MAX);
	if (core == NULL)
		return pl_err_set(err, PL_NOMEM, "fsck");
	core->partitions = opts->partitions;
	core->wall_ms = opts->wall_ms;
	core->found = opts->found;
	core->ctx = opts->ctx;
	pl_map_init(&core->labels);
	model_init(&core->model);
	pl_arena_init(&core->scratch, SCRATCH_CHUNK, READER_ARENA_MAX);
	pl_arena_init(&core->at.state_arena, 0, READER_ARENA_MAX);
	pl_arena_init(&core->kept, SCRATCH_CHUNK, KEPT_MAX);
	pl_buf_init(&core->rules.key_text, RULE_KEY_MAX);
	*out = core;
	return PL_OK;
}

void fsck_core_free(struct fsck_core *core)
{
	if (core == NULL)
		return;
	pod_drop(&core->model, &core->at.pod);
	fsck_rules_done(core);
	fsck_objects_done(core);
	model_done(&core->model);
	pl_arena_done(&core->scratch);
	pl_arena_done(&core->at.state_arena);
	name_table_done(&core->nodes);
	name_table_done(&core->pods);
	name_table_done(&core->gangs);
	name_table_done(&core->groups);
	name_table_done(&core->registries);
	pl_arena_done(&core->kept);
	free(core->gang);
	free(core->group);
	free(core->registry);
	free(core->hold);
	free(core->nominated);
	free(core->lost);
	free(core->node);
	free(core->entry);
	free(core->row);
	free(core->scalar);
	free(core->promise);
	free(core->port);
	free(core);
}
