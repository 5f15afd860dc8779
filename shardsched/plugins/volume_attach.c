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

void attach_sight_init(struct attach_sight *sight, const struct snapshot *snapshot,
                       enum attach_kind kind)
{
	const struct strings *strings = &snapshot->model->strings;

	*sight = (struct attach_sight){.snapshot = snapshot, .kind = kind};
	for (uint32_t i = 0; i < ATTACH_KINDS; i++) {
		sight->name[i] = strings_find(strings, pl_span_str(names[i]));
		sight->driver[i] = strings_find(strings, pl_span_str(drivers[i]));
		if (sight->driver[i] == 0)
			sight->driver[i] = UINT32_MAX - i;
	}
}

struct pl_span attach_driver_text(const struct attach_sight *sight, uint32_t driver)
{
	for (unsigned i = 0; i < ATTACH_KINDS; i++)
		if (driver == sight->driver[i])
			return pl_span_str(drivers[i]);
	return strings_get(&sight->snapshot->model->strings, driver);
}

/* -- one volume -----------------------------------------------------------------------
 */

/* "aws://<zone>/<id>" is <id> to the driver. */
static uint32_t csi_id(const struct attach_sight *sight, uint32_t id)
{
	const struct strings *strings = &sight->snapshot->model->strings;
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

/* A cloud's volume, by its own name. */
static bool in_tree(const struct attach_sight *sight, enum attach_kind kind, uint32_t id,
                    struct attached *out)
{
	if (sight->kind != ATTACH_CSI) {
		*out = (struct attached){.id = id};
		return sight->kind == kind;
	}
	*out = (struct attached){.driver = sight->driver[kind], .id = csi_id(sight, id)};
	return sight->by_csi;
}

/* A claim that has no volume: its class tells who will make it. */
static bool unmade(const struct attach_sight *sight, const struct claim *claim,
                   struct attached *out)
{
	const struct storage_class *class = claim_class(sight->snapshot, claim);
	unsigned kind = 0;

	if (class == NULL)
		return false;
	*out = (struct attached){class->provisioner, claim->namespace, claim->name};
	while (kind < ATTACH_KINDS && class->provisioner != sight->name[kind])
		kind++;
	if (sight->kind != ATTACH_CSI) {
		out->driver = 0;
		return kind == (unsigned)sight->kind;
	}
	if (kind == ATTACH_KINDS)
		return true;
	out->driver = sight->driver[kind];
	return sight->by_csi;
}

static bool of_volume(const struct attach_sight *sight, const struct volume *volume,
                      struct attached *out)
{
	*out = (struct attached){.driver = volume->driver, .id = volume->handle};
	if (volume->source == VOLUME_ON_CSI)
		return sight->kind == ATTACH_CSI && out->driver != 0 && out->id != 0;
	for (unsigned kind = 0; kind < ATTACH_KINDS; kind++)
		if (volume->source == sources[kind])
			return in_tree(sight, (enum attach_kind)kind, volume->handle,
			               out);
	return false;
}

bool attach_of(const struct attach_sight *sight, struct claim_owner owner,
               const struct spec_volume *volume, struct attached *out)
{
	const struct volume *made;
	const struct claim *claim;

	for (unsigned kind = 0; kind < ATTACH_KINDS; kind++)
		if (volume->kind == drafts[kind])
			return in_tree(sight, (enum attach_kind)kind, volume->id, out);
	if (!volume_has_claim(volume))
		return false;
	claim = volume_claim(sight->snapshot, owner, volume);
	if (claim == NULL ||
	    (volume->kind == DRAFT_EPHEMERAL && !claim_is_for(claim, owner)))
		return false;
	made = claim_volume(sight->snapshot, claim);
	return made == NULL ? unmade(sight, claim, out) : of_volume(sight, made, out);
}

/* -- a pod, a node -------------------------------------------------------- */

static bool is_same(const struct attached *a, const struct attached *b)
{
	return a->driver == b->driver && a->id == b->id && a->claim == b->claim;
}

static bool is_among(const struct attached *at, uint32_t count, const struct attached *it)
{
	for (uint32_t i = 0; i < count; i++)
		if (is_same(&at[i], it))
			return true;
	return false;
}

static struct attach_count *count_of(struct attach_load *load, uint32_t driver)
{
	for (uint32_t i = 0; i < load->drivers; i++)
		if (load->count[i].driver == driver)
			return &load->count[i];
	return NULL;
}

bool attach_load_make(const struct attach_sight *sight, struct claim_owner owner,
                      struct pl_arena *arena, struct attach_load *out)
{
	const struct spec_volume *volume = spec_volumes(owner.spec);
	uint32_t most = owner.spec->volumes;
	struct attached it;

	*out = (struct attach_load){
		.brings = pl_arena_alloc(arena, most * sizeof *out->brings),
		.count = pl_arena_zalloc(arena, most, sizeof *out->count),
	};
	if (out->brings == NULL || out->count == NULL)
		return false;
	for (uint32_t i = 0; i < most; i++) {
		if (!attach_of(sight, owner, &volume[i], &it) ||
		    is_among(out->brings, out->brings_count, &it))
			continue;
		out->brings[out->brings_count++] = it;
		if (count_of(out, it.driver) == NULL)
			out->count[out->drivers++].driver = it.driver;
	}
	return true;
}

static bool make_room(struct attach_load *load, struct pl_arena *arena)
{
	uint32_t cap = load->there_cap == 0 ? 64 : load->there_cap * 2;
	struct attached *grown;

	if (load->there_count < load->there_cap)
		return true;
	grown = pl_arena_alloc(arena, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	if (load->there_count > 0)
		memcpy(grown, load->there, load->there_count * sizeof *grown);
	load->there = grown;
	load->there_cap = cap;
	return true;
}

/* Without memory to remember it, a volume that two pods use counts twice. */
static void count_one(struct attach_load *load, const struct attached *it,
                      struct pl_arena *arena)
{
	struct attach_count *count = count_of(load, it->driver);

	if (count == NULL || is_among(load->there, load->there_count, it))
		return;
	count->there++;
	if (is_among(load->brings, load->brings_count, it))
		count->fresh--;
	if (make_room(load, arena))
		load->there[load->there_count++] = *it;
}

/* However many of its pods' volumes are of that driver, and not the same. */
static bool is_surely_less(const struct attach_sight *sight,
                           const struct attach_load *load, uint32_t slot,
                           const int64_t *most)
{
	uint64_t there = sight->snapshot->row[slot].volumes;

	for (uint32_t i = 0; i < load->drivers; i++)
		if (most[i] >= 0 && there + load->count[i].fresh > (uint64_t)most[i])
			return false;
	return true;
}

void attach_load_count(const struct attach_sight *sight, struct attach_load *load,
                       uint32_t slot, const int64_t *most, struct pl_arena *arena)
{
	const struct snapshot *snapshot = sight->snapshot;
	struct attached it;

	for (uint32_t i = 0; i < load->drivers; i++)
		load->count[i].fresh = load->count[i].there = 0;
	for (uint32_t i = 0; i < load->brings_count; i++)
		count_of(load, load->brings[i].driver)->fresh++;
	load->there_count = 0;
	if (is_surely_less(sight, load, slot, most))
		return;
	for (uint32_t at = snapshot->row[slot].first_pod; at != SNAPSHOT_NONE;
	     at = snapshot->placed[at].next_on_node) {
		struct claim_owner owner = claims_of_placed(&snapshot->placed[at]);
		const struct spec_volume *volume = spec_volumes(owner.spec);

		for (unsigned i = 0; i < owner.spec->volumes; i++)
			if (attach_of(sight, owner, &volume[i], &it))
				count_one(load, &it, arena);
	}
}

/* -- what helps ----------------------------------------------------------- */

bool attach_hint(const struct plugin_call *call, const struct queue_event *event)
{
	uint32_t slot = event->kind == QUEUE_EV_POD_ADDED ? node_event_slot(call, event)
	                                                  : SNAPSHOT_NONE;

	return slot == SNAPSHOT_NONE || pl_bitset_has(call->snapshot->with_volumes, slot);
}
