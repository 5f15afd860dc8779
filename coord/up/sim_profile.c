#include "coord/up/sim_profile.h"

#include <inttypes.h>

#include "shardsched/model/parse.h"
#include "store/keys/names.h"

enum {
	RACKS_DEFAULT = 8,
	TEXT_MAX = 200,
	CHECK_BYTES_MAX = 1 << 18,
	WEIGHT_DEFAULT = 1,
};

const char sim_profile_default[] =
	"# Three zones, mostly small machines, a few large ones, a few with GPUs.\n"
	"prefix: node\n"
	"region: sim\n"
	"zones:\n"
	"  - {name: a, racks: 8}\n"
	"  - {name: b, racks: 8}\n"
	"  - {name: c, racks: 8}\n"
	"shapes:\n"
	"  - {name: small, weight: 60, cpu: 8, memory: 32Gi, storage: 100Gi}\n"
	"  - {name: medium, weight: 30, cpu: 32, memory: 128Gi, storage: 200Gi}\n"
	"  - {name: large, weight: 8, cpu: 96, memory: 768Gi, storage: 1Ti, pods: 250}\n"
	"  - name: gpu\n"
	"    weight: 2\n"
	"    cpu: 64\n"
	"    memory: 512Gi\n"
	"    storage: 1Ti\n"
	"    resources: {nvidia.com/gpu: 8}\n"
	"    taints:\n"
	"      - {key: nvidia.com/gpu, value: present, effect: NoSchedule}\n";

struct profile_reader {
	struct pl_arena *arena;
	struct pl_err *err;
	enum pl_code code; /* the first failure stays */
};

static bool is_fine(const struct profile_reader *r)
{
	return r->code == PL_OK;
}

static void *alloc_array(struct profile_reader *r, size_t count, size_t size)
{
	void *at =
		is_fine(r) && count > 0 ? pl_arena_zalloc(r->arena, count, size) : NULL;

	if (is_fine(r) && count > 0 && at == NULL)
		r->code = pl_err_set(r->err, PL_NOMEM, "keep a profile");
	return at;
}

static void check_fields(struct profile_reader *r, struct pl_json object,
                         const char *const *known)
{
	if (is_fine(r) && pl_json_type(object) != PL_JSON_OBJECT)
		r->code = pl_json_fail(object, PL_INVALID, r->err,
		                       "want an object, this is a %s",
		                       pl_json_type_name(pl_json_type(object)));
	if (is_fine(r))
		r->code = pl_json_only(object, known, r->err);
}

static void check_length(struct profile_reader *r, struct pl_json at, const char *text)
{
	if (is_fine(r) && text != NULL && strlen(text) > TEXT_MAX)
		r->code = pl_json_fail(at, PL_LIMIT, r->err, "longer than %d bytes",
		                       TEXT_MAX);
}

static const char *read_text(struct profile_reader *r, struct pl_json object,
                             const char *name, enum pl_json_need need,
                             const char *otherwise)
{
	const char *value = otherwise;

	if (is_fine(r))
		r->code = pl_json_string(object, name, need, &value, r->err);
	check_length(r, pl_json_member(object, name), value);
	return value;
}

static int64_t read_number(struct profile_reader *r, struct pl_json object,
                           const char *name, int64_t most, int64_t otherwise)
{
	struct pl_json_range range = {.low = 1, .high = most};

	if (is_fine(r))
		r->code = pl_json_int_in(object, name, PL_JSON_OPTIONAL, range,
		                         &otherwise, r->err);
	return otherwise;
}

/* Both cpu: 8 and cpu: "8" are accepted, as well as 64Gi. Whether it is a valid amount
 * is found out by the check of the nodes. */
static const char *amount_of(struct profile_reader *r, struct pl_json value)
{
	const char *text = NULL;
	int64_t whole = 0;
	struct pl_json_range range = {.low = 0, .high = INT64_MAX};

	if (!is_fine(r))
		return NULL;
	if (pl_json_type(value) == PL_JSON_NUMBER) {
		r->code = pl_json_as_int(value, range, &whole, r->err);
		if (is_fine(r))
			text = pl_arena_printf(r->arena, "%" PRId64, whole);
		if (is_fine(r) && text == NULL)
			r->code = pl_err_set(r->err, PL_NOMEM, "keep a profile");
		return text;
	}
	r->code = pl_json_as_string(value, &text, r->err);
	check_length(r, value, text);
	return text;
}

static const char *read_amount(struct profile_reader *r, struct pl_json object,
                               const char *name, const char *otherwise)
{
	struct pl_json value = pl_json_member(object, name);

	if (pl_json_type(value) == PL_JSON_ABSENT || pl_json_type(value) == PL_JSON_NULL)
		return otherwise;
	return amount_of(r, value);
}

static const char *required_amount(struct profile_reader *r, struct pl_json object,
                                   const char *name)
{
	const char *value = read_amount(r, object, name, NULL);

	if (is_fine(r) && value == NULL)
		r->code =
			pl_json_fail(object, PL_INVALID, r->err, "%s: is missing", name);
	return value;
}

/* The number of elements of a list or map, which is bounded. */
static uint32_t count_of(struct profile_reader *r, struct pl_json value, size_t most)
{
	size_t count = pl_json_count(value);

	if (is_fine(r) && count > most)
		r->code = pl_json_fail(value, PL_LIMIT, r->err, "more than %zu", most);
	return is_fine(r) ? (uint32_t)count : 0;
}

static struct sim_pairs read_pairs(struct profile_reader *r, struct pl_json object,
                                   const char *name, bool amounts)
{
	struct pl_json map = {0};
	struct sim_pairs out = {0};
	uint32_t count;

	if (is_fine(r))
		r->code = pl_json_object(object, name, PL_JSON_OPTIONAL, &map, r->err);
	count = count_of(r, map, SIM_PAIRS_MAX);
	out.at = alloc_array(r, count, sizeof *out.at);
	PL_JSON_EACH (item, map) {
		struct sim_pair pair = {.name = pl_json_key(item)};

		if (!is_fine(r))
			break;
		if (amounts)
			pair.value = amount_of(r, item);
		else
			r->code = pl_json_as_string(item, &pair.value, r->err);
		check_length(r, item, pair.name);
		check_length(r, item, pair.value);
		out.at[out.count++] = pair;
	}
	return out;
}

static struct pl_json read_list(struct profile_reader *r, struct pl_json object,
                                const char *name, enum pl_json_need need, uint32_t most,
                                uint32_t *count)
{
	struct pl_json value = {0};

	if (is_fine(r))
		r->code = pl_json_array(object, name, need, &value, r->err);
	*count = count_of(r, value, most);
	if (is_fine(r) && need == PL_JSON_REQUIRED && *count == 0)
		r->code = pl_json_fail(value, PL_INVALID, r->err, "is empty");
	return value;
}

static void read_taints(struct profile_reader *r, struct pl_json object,
                        struct sim_shape *shape)
{
	static const char *const known[] = {"key", "value", "effect", NULL};
	uint32_t count;
	struct pl_json items =
		read_list(r, object, "taints", PL_JSON_OPTIONAL, SIM_PAIRS_MAX, &count);

	shape->taint = alloc_array(r, count, sizeof *shape->taint);
	PL_JSON_EACH (item, items) {
		struct sim_taint taint = {0};

		check_fields(r, item, known);
		taint.key = read_text(r, item, "key", PL_JSON_REQUIRED, NULL);
		taint.value = read_text(r, item, "value", PL_JSON_OPTIONAL, NULL);
		taint.effect = read_text(r, item, "effect", PL_JSON_REQUIRED, NULL);
		if (!is_fine(r))
			return;
		shape->taint[shape->taints++] = taint;
	}
}

static void read_zones(struct profile_reader *r, struct pl_json root,
                       struct sim_profile *out)
{
	static const char *const known[] = {"name", "weight", "racks", NULL};
	uint32_t count;
	struct pl_json items =
		read_list(r, root, "zones", PL_JSON_REQUIRED, SIM_ZONES_MAX, &count);

	out->zone = alloc_array(r, count, sizeof *out->zone);
	PL_JSON_EACH (item, items) {
		struct sim_zone zone = {0};

		check_fields(r, item, known);
		zone.name = read_text(r, item, "name", PL_JSON_REQUIRED, NULL);
		zone.weight =
			read_number(r, item, "weight", SIM_WEIGHT_MAX, WEIGHT_DEFAULT);
		zone.racks = read_number(r, item, "racks", SIM_RACKS_MAX, RACKS_DEFAULT);
		if (!is_fine(r))
			return;
		out->zone[out->zones++] = zone;
		out->zone_weight += (uint64_t)zone.weight;
	}
}

static void read_shape(struct profile_reader *r, struct pl_json item,
                       struct sim_shape *shape)
{
	static const char *const known[] = {"name",    "weight", "cpu",       "memory",
	                                    "storage", "pods",   "resources", "labels",
	                                    "taints",  NULL};

	check_fields(r, item, known);
	shape->name = read_text(r, item, "name", PL_JSON_REQUIRED, NULL);
	shape->weight = read_number(r, item, "weight", SIM_WEIGHT_MAX, WEIGHT_DEFAULT);
	shape->cpu = required_amount(r, item, "cpu");
	shape->memory = required_amount(r, item, "memory");
	shape->storage = read_amount(r, item, "storage", NULL);
	shape->pods = read_amount(r, item, "pods", "110");
	shape->resources = read_pairs(r, item, "resources", true);
	shape->labels = read_pairs(r, item, "labels", false);
	read_taints(r, item, shape);
}

static void read_shapes(struct profile_reader *r, struct pl_json root,
                        struct sim_profile *out)
{
	uint32_t count;
	struct pl_json items =
		read_list(r, root, "shapes", PL_JSON_REQUIRED, SIM_SHAPES_MAX, &count);

	out->shape = alloc_array(r, count, sizeof *out->shape);
	PL_JSON_EACH (item, items) {
		struct sim_shape shape = {0};

		read_shape(r, item, &shape);
		if (!is_fine(r))
			return;
		out->shape[out->shapes++] = shape;
		out->shape_weight += (uint64_t)shape.weight;
	}
}

/* -- check of the nodes ------------------------------------------------------------ */

struct profile_check {
	struct profile_reader *r;
	struct model model;
	struct pl_arena arena;
	struct field_errors errors;
	struct pl_buf text;
};

/* Checks a profile of one zone and one shape, so that there is only one kind of node. */
static void check_node(struct profile_check *c, const struct sim_profile *profile)
{
	struct parse parse = {
		.model = &c->model, .arena = &c->arena, .errors = &c->errors};
	struct node node = {0};
	enum pl_code code;

	pl_buf_clear(&c->text, CHECK_BYTES_MAX);
	pl_arena_reset(&c->arena);
	code = sim_node_print(profile, 0, SIM_NODES_MAX, &c->text);
	if (code == PL_OK)
		code = node_parse(&parse, pl_buf_span(&c->text), &node, c->r->err);
	else
		(void)pl_err_set(c->r->err, code, "it is too large");
	if (code == PL_OK)
		node_drop(&c->model, &node);
	c->r->code = code;
}

static void check_each(struct profile_check *c, const struct sim_profile *profile)
{
	uint32_t most =
		profile->zones > profile->shapes ? profile->zones : profile->shapes;

	PL_ASSERT(profile->zones > 0 && profile->shapes > 0);
	for (uint32_t i = 0; i < most && is_fine(c->r); i++) {
		struct sim_profile one = *profile;
		uint32_t zone = i % profile->zones, shape = i % profile->shapes;

		one.zone += zone;
		one.shape += shape;
		one.zone_weight = (uint64_t)one.zone->weight;
		one.shape_weight = (uint64_t)one.shape->weight;
		check_node(c, &one);
		if (!is_fine(c->r))
			(void)pl_err_wrap(c->r->err,
			                  "nodes of shapes[%" PRIu32 "] in zones[%" PRIu32
			                  "]",
			                  shape, zone);
	}
}

static void check_name(struct profile_reader *r, const struct sim_profile *profile)
{
	char name[SIM_NAME_SIZE];
	size_t len = sim_node_name(profile, SIM_NODES_MAX, name);

	r->code = names_check(NAMES_NODE, pl_span(name, len), r->err);
	if (!is_fine(r))
		(void)pl_err_wrap(r->err, "prefix");
}

static void check_profile(struct profile_reader *r, const struct sim_profile *profile)
{
	struct profile_check c = {.r = r};

	check_name(r, profile);
	if (!is_fine(r))
		return;
	model_init(&c.model);
	pl_arena_init(&c.arena, 0, READER_ARENA_MAX);
	pl_buf_init(&c.text, CHECK_BYTES_MAX);
	check_each(&c, profile);
	pl_buf_done(&c.text);
	pl_arena_done(&c.arena);
	model_done(&c.model);
}

enum pl_code sim_profile_parse(struct pl_json json, struct pl_arena *arena,
                               struct sim_profile *out, struct pl_err *err)
{
	static const char *const known[] = {"prefix", "region", "labels",
	                                    "zones",  "shapes", NULL};
	struct profile_reader r = {.arena = arena, .err = err};
	struct sim_profile profile = {0};

	check_fields(&r, json, known);
	profile.prefix = read_text(&r, json, "prefix", PL_JSON_OPTIONAL, "node");
	profile.region = read_text(&r, json, "region", PL_JSON_OPTIONAL, "sim");
	profile.labels = read_pairs(&r, json, "labels", false);
	read_zones(&r, json, &profile);
	read_shapes(&r, json, &profile);
	if (is_fine(&r))
		check_profile(&r, &profile);
	if (is_fine(&r))
		*out = profile;
	return r.code;
}
