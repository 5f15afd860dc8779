#include "shardsched/plugins/volume_attach.h"

#include <string.h>

#include "shardsched/plugins/node_event.h"

#define ATTACH_DRAFT(kind, draft, source, name, driver) draft,
static const unsigned drafts[] = {ATTACH_MAP(ATTACH_DRAFT)};
#define ATTACH_SOURCE(kind, draft, source, name, driver) source,
static const unsigned sources[] = {ATTACH_MAP(ATTACH_SOURCE)};
#define ATTACH_NAME(kind, draft, source, name, driver) name,
static const char *const names[] = {ATTACH_MAP(ATTACH_NAME)};
#define ATTACH_DRIVER(kind, draft, source, name, driver) driver,
static const char *const drivers[] = {ATTACH_MAP(ATTACH_DRIVER)};

void attach_scope_init(struct attach_scope *scope, const struct snapshot *snapshot,
                       enum attach_kind kind)
{
	const struct strings *strings = &snapshot->model->strings;

	*scope = (struct attach_scope){.snapshot = snapshot, .kind = kind};
	for (uint32_t i = 0; i < ATTACH_KINDS; i++) {
		scope->name[i] = strings_find(strings, pl_span_str(names[i]));
		scope->driver[i] = strings_find(strings, pl_span_str(drivers[i]));
		if (scope->driver[i] == 0)
			scope->driver[i] = UINT32_MAX - i;
	}
}

struct pl_span attach_driver_text(const struct attach_scope *scope, uint32_t driver)
{
	for (unsigned i = 0; i < ATTACH_KINDS; i++)
		if (driver == scope->driver[i])
			return pl_span_str(drivers[i]);
	return strings_get(&scope->snapshot->model->strings, driver);
}

/* -- a volume ---------------------------------------------------------------------------- */

/* "aws://<zone>/<id>" is <id> to the CSI driver. */
static uint32_t csi_id(const struct attach_scope *scope, uint32_t id)
{
	const struct strings *strings = &scope->snapshot->model->strings;
	struct pl_span text = strings_get(strings, id);
	size_t at = text.len;
	uint32_t found;

	if (!pl_span_starts(text, PL_SPAN_LIT("aws://")))
		return id;
	while (text.at[at - 1] != '/')
		at--;
	found = strings_find(strings, pl_span(text.at + at, text.len - at));
	return found == 0 ? id : found;
}

/* A cloud's volume, by its in-tree name. */
static bool match_in_tree(const struct attach_scope *scope, enum attach_kind kind,
                          uint32_t id, struct attached *out)
{
	if (scope->kind != ATTACH_CSI) {
		*out = (struct attached){.id = id};
		return scope->kind == kind;
	}
	*out = (struct attached){.driver = scope->driver[kind], .id = csi_id(scope, id)};
	return scope->by_csi;
}

/* For a claim without a volume the storage class says which driver will make it. */
static bool match_unprovisioned(const struct attach_scope *scope,
                                const struct claim *claim, struct attached *out)
{
	const struct storage_class *class = claim_class(scope->snapshot, claim);
	unsigned kind = 0;

	if (class == NULL)
		return false;
	*out = (struct attached){class->provisioner, claim->namespace, claim->name};
	while (kind < ATTACH_KINDS && class->provisioner != scope->name[kind])
		kind++;
	if (scope->kind != ATTACH_CSI) {
		out->driver = 0;
		return kind == (unsigned)scope->kind;
	}
	if (kind == ATTACH_KINDS)
		return true;
	out->driver = scope->driver[kind];
	return scope->by_csi;
}

static bool match_volume(const struct attach_scope *scope, const struct volume *volume,
                         struct attached *out)
{
	*out = (struct attached){.driver = volume->driver, .id = volume->handle};
	if (volume->source == VOLUME_ON_CSI)
		return scope->kind == ATTACH_CSI && out->driver != 0 && out->id != 0;
	for (unsigned kind = 0; kind < ATTACH_KINDS; kind++)
		if (volume->source == sources[kind])
			return match_in_tree(scope, (enum attach_kind)kind,
			                     volume->handle, out);
	return false;
}

bool attach_of(const struct attach_scope *scope, struct claim_owner owner,
               const struct spec_volume *volume, struct attached *out)
{
	const struct volume *made;
	const struct claim *claim;

	for (unsigned kind = 0; kind < ATTACH_KINDS; kind++)
		if (volume->kind == drafts[kind])
			return match_in_tree(scope, (enum attach_kind)kind, volume->id,
			                     out);
	if (!volume_has_claim(volume))
		return false;
	claim = volume_claim(scope->snapshot, owner, volume);
	if (claim == NULL ||
	    (volume->kind == DRAFT_EPHEMERAL && !claim_is_for(claim, owner)))
		return false;
	made = claim_volume(scope->snapshot, claim);
	return made == NULL ? match_unprovisioned(scope, claim, out)
	                    : match_volume(scope, made, out);
}

/* -- the volumes of a pod and of a node -------------------------------------------------- */

static bool attached_equal(const struct attached *a, const struct attached *b)
{
	return a->driver == b->driver && a->id == b->id && a->claim == b->claim;
}

static bool attached_contains(const struct attached *at, uint32_t count,
                              const struct attached *it)
{
	for (uint32_t i = 0; i < count; i++)
		if (attached_equal(&at[i], it))
			return true;
	return false;
}

static struct attach_count *find_count(struct attach_load *load, uint32_t driver)
{
	for (uint32_t i = 0; i < load->drivers; i++)
		if (load->count[i].driver == driver)
			return &load->count[i];
	return NULL;
}

bool attach_load_make(const struct attach_scope *scope, struct claim_owner owner,
                      struct pl_arena *arena, struct attach_load *out)
{
	const struct spec_volume *volume = spec_volumes(owner.spec);
	uint32_t most = owner.spec->volumes;
	struct attached it;

	*out = (struct attach_load){
		.wanted = pl_arena_alloc(arena, most * sizeof *out->wanted),
		.count = pl_arena_zalloc(arena, most, sizeof *out->count),
	};
	if (out->wanted == NULL || out->count == NULL)
		return false;
	for (uint32_t i = 0; i < most; i++) {
		if (!attach_of(scope, owner, &volume[i], &it) ||
		    attached_contains(out->wanted, out->wanted_count, &it))
			continue;
		out->wanted[out->wanted_count++] = it;
		if (find_count(out, it.driver) == NULL)
			out->count[out->drivers++].driver = it.driver;
	}
	return true;
}

static bool grow_present(struct attach_load *load, struct pl_arena *arena)
{
	uint32_t cap = load->present_cap == 0 ? 64 : load->present_cap * 2;
	struct attached *grown;

	if (load->present_count < load->present_cap)
		return true;
	grown = pl_arena_alloc(arena, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	if (load->present_count > 0)
		memcpy(grown, load->present, load->present_count * sizeof *grown);
	load->present = grown;
	load->present_cap = cap;
	return true;
}

/* Without memory to remember it, a volume that two pods use counts twice. */
static void count_one(struct attach_load *load, const struct attached *it,
                      struct pl_arena *arena)
{
	struct attach_count *count = find_count(load, it->driver);

	if (count == NULL || attached_contains(load->present, load->present_count, it))
		return;
	count->present++;
	if (attached_contains(load->wanted, load->wanted_count, it))
		count->added--;
	if (grow_present(load, arena))
		load->present[load->present_count++] = *it;
}

/* Whether the limit holds even if all volumes of the node's pods are of that driver, and
 * all different. */
static bool is_surely_less(const struct attach_scope *scope,
                           const struct attach_load *load, uint32_t slot,
                           const int64_t *most)
{
	uint64_t present = scope->snapshot->row[slot].volumes;

	for (uint32_t i = 0; i < load->drivers; i++)
		if (most[i] >= 0 && present + load->count[i].added > (uint64_t)most[i])
			return false;
	return true;
}

void attach_load_count(const struct attach_scope *scope, struct attach_load *load,
                       uint32_t slot, const int64_t *most, struct pl_arena *arena)
{
	const struct snapshot *snapshot = scope->snapshot;
	struct attached it;

	for (uint32_t i = 0; i < load->drivers; i++)
		load->count[i].added = load->count[i].present = 0;
	for (uint32_t i = 0; i < load->wanted_count; i++)
		find_count(load, load->wanted[i].driver)->added++;
	load->present_count = 0;
	if (is_surely_less(scope, load, slot, most))
		return;
	for (uint32_t at = snapshot->row[slot].first_pod; at != SNAPSHOT_NONE;
	     at = snapshot->placed[at].next_on_node) {
		struct claim_owner owner = claims_of_placed(&snapshot->placed[at]);
		const struct spec_volume *volume = spec_volumes(owner.spec);

		for (unsigned i = 0; i < owner.spec->volumes; i++)
			if (attach_of(scope, owner, &volume[i], &it))
				count_one(load, &it, arena);
	}
}

/* -- hint -------------------------------------------------------------------------------- */

bool attach_hint(const struct plugin_call *call, const struct queue_event *event)
{
	uint32_t slot = event->kind == QUEUE_EV_POD_ADDED ? node_event_slot(call, event)
	                                                  : SNAPSHOT_NONE;

	return slot == SNAPSHOT_NONE || pl_bitset_has(call->snapshot->with_volumes, slot);
}
