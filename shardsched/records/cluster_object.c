#include "shardsched/records/cluster_object.h"

#include <string.h>

/* X(noun, its namespace, its name) */
#define NOUN_MAP(X)                              \
	X(namespace, 0, it->name)                \
	X(priority_class, 0, it->name)           \
	X(budget, it->namespace, it->name)       \
	X(volume, 0, it->name)                   \
	X(claim, it->namespace, it->name)        \
	X(storage_class, 0, it->name)            \
	X(csi_node, 0, it->node)                 \
	X(csi_driver, 0, it->name)               \
	X(csi_capacity, it->namespace, it->name) \
	X(workload, it->namespace, it->name)

/* The functions of a noun. */
struct object_ops {
	enum pl_code (*parse)(struct parse *parse, uint32_t sort, struct pl_span json,
	                      struct cluster_object *out, struct pl_err *err);
	void (*drop)(struct model *model, struct cluster_object *object);
	struct cluster_object_name (*name)(const struct cluster_object *object);
};

/* Only workloads are read by their sort. */
#define PARSE_workload(parse, sort, json, out, err) \
	workload_parse(parse, (enum workload_kind)(sort), json, out, err)
#define PARSE_namespace(parse, sort, json, out, err) \
	namespace_parse(parse, json, out, err)
#define PARSE_priority_class(parse, sort, json, out, err) \
	priority_class_parse(parse, json, out, err)
#define PARSE_budget(parse, sort, json, out, err) budget_parse(parse, json, out, err)
#define PARSE_volume(parse, sort, json, out, err) volume_parse(parse, json, out, err)
#define PARSE_claim(parse, sort, json, out, err) claim_parse(parse, json, out, err)
#define PARSE_storage_class(parse, sort, json, out, err) \
	storage_class_parse(parse, json, out, err)
#define PARSE_csi_node(parse, sort, json, out, err) csi_node_parse(parse, json, out, err)
#define PARSE_csi_driver(parse, sort, json, out, err) \
	csi_driver_parse(parse, json, out, err)
#define PARSE_csi_capacity(parse, sort, json, out, err) \
	csi_capacity_parse(parse, json, out, err)

#define NOUN_FUNCTIONS(noun, of_namespace, of_name)                                      \
	static enum pl_code parse_##noun(struct parse *parse, uint32_t sort,             \
	                                 struct pl_span json,                            \
	                                 struct cluster_object *out, struct pl_err *err) \
	{                                                                                \
		(void)sort;                                                              \
		return PARSE_##noun(parse, sort, json, &out->as.noun, err);              \
	}                                                                                \
	static void drop_##noun(struct model *model, struct cluster_object *object)      \
	{                                                                                \
		noun##_drop(model, &object->as.noun);                                    \
	}                                                                                \
	static struct cluster_object_name name_##noun(                                   \
		const struct cluster_object *object)                                     \
	{                                                                                \
		const struct noun *it = &object->as.noun;                                \
                                                                                         \
		return (struct cluster_object_name){of_namespace, of_name};              \
	}
NOUN_MAP(NOUN_FUNCTIONS)

#define KIND_ROW(kind, noun, sort) \
	[CLUSTER_##kind] = {parse_##noun, drop_##noun, name_##noun},
static const struct object_ops ops[CLUSTER_OBJECT_KINDS] = {CLUSTER_OBJECT_MAP(KIND_ROW)};

#define KIND_SORT(kind, noun, sort) [CLUSTER_##kind] = (sort),
static const uint32_t sorts[CLUSTER_OBJECT_KINDS] = {CLUSTER_OBJECT_MAP(KIND_SORT)};

enum pl_code cluster_object_parse(enum cluster_object_kind kind, struct parse *parse,
                                  struct pl_span json, struct cluster_object *out,
                                  struct pl_err *err)
{
	memset(out, 0, sizeof *out);
	out->kind = kind;
	return ops[kind].parse(parse, sorts[kind], json, out, err);
}

void cluster_object_drop(struct model *model, struct cluster_object *object)
{
	ops[object->kind].drop(model, object);
}

struct cluster_object_name cluster_object_name(const struct cluster_object *object)
{
	return ops[object->kind].name(object);
}

uint32_t cluster_object_sort(enum cluster_object_kind kind)
{
	return sorts[kind];
}

/* -- in the store -------------------------------------------------------------------- */

struct resource {
	const char *group, *resource; /* NULL: it is not stored so */
	bool in_namespace;
};

#define RESOURCE_ROW(kind, group, resource, in) [CLUSTER_##kind] = {group, resource, in},
static const struct resource resources[CLUSTER_OBJECT_KINDS] = {
	CLUSTER_STORED_MAP(RESOURCE_ROW)};

enum cluster_object_kind cluster_object_kind_of(const struct keys_id *id)
{
	unsigned kind = 0;

	if (id->kind != KEYS_OBJECT && id->kind != KEYS_OBJECT_IN)
		return CLUSTER_OBJECT_KINDS;
	while (kind < CLUSTER_OBJECT_KINDS &&
	       (resources[kind].group == NULL ||
	        resources[kind].in_namespace != (id->kind == KEYS_OBJECT_IN) ||
	        !pl_span_eq(id->group, pl_span_str(resources[kind].group)) ||
	        !pl_span_eq(id->resource, pl_span_str(resources[kind].resource))))
		kind++;
	return (enum cluster_object_kind)kind;
}

struct keys_id cluster_object_id(enum cluster_object_kind kind, struct pl_span namespace,
                                 struct pl_span name)
{
	const struct resource *of = &resources[kind];

	PL_ASSERT(of->group != NULL);
	return (struct keys_id){.kind = of->in_namespace ? KEYS_OBJECT_IN : KEYS_OBJECT,
	                        .scope = namespace,
	                        .name = name,
	                        .group = pl_span_str(of->group),
	                        .resource = pl_span_str(of->resource)};
}

static enum pl_code check_name(const char *field, struct pl_span is, struct pl_span want,
                               struct pl_err *err)
{
	if (pl_span_eq(is, want))
		return PL_OK;
	return pl_err_set(err, PL_INVALID, "metadata.%s: want '%.*s', as the key says",
	                  field, PL_SPAN_ARG(want));
}

enum pl_code cluster_object_read(const struct keys_id *id, struct parse *parse,
                                 struct pl_span json, struct cluster_object *out,
                                 struct pl_err *err)
{
	enum cluster_object_kind kind = cluster_object_kind_of(id);
	struct cluster_object_name named;
	enum pl_code code;

	PL_ASSERT(kind != CLUSTER_OBJECT_KINDS);
	code = cluster_object_parse(kind, parse, json, out, err);
	if (code != PL_OK)
		return code;
	named = cluster_object_name(out);
	code = check_name("name", model_text(parse->model, named.name), id->name, err);
	if (code == PL_OK && resources[kind].in_namespace)
		code = check_name("namespace", model_text(parse->model, named.namespace),
		                  id->scope, err);
	if (code != PL_OK)
		cluster_object_drop(parse->model, out);
	return code;
}

enum pl_code cluster_namespace_default(struct parse *parse, uint32_t name,
                                       struct namespace *out)
{
	struct draft_pair pair = {PL_SPAN_LIT("kubernetes.io/metadata.name"),
	                          model_text(parse->model, name)};
	struct maker maker;

	pl_arena_reset(parse->arena);
	maker_init(&maker, parse->model, parse->arena);
	*out = (struct namespace){.name = strings_ref(&parse->model->strings, name)};
	out->labels = labels_make(&maker, (struct draft_pairs){&pair, 1});
	if (maker.code != PL_OK)
		namespace_drop(parse->model, out);
	return maker.code;
}
