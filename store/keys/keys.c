/*
 * One table describes every key, and both building and parsing read it: a key is a list
 * of steps, each a fixed word, a partition, a version or a name.
 */
#include "store/keys/keys.h"

#include "store/base/quote.h"
#include "store/keys/names.h"

enum { STEPS_MAX = 5, PARTITION_DIGITS = 4, VERSION_DIGITS = 10 };

enum key_field { END, WORD, PARTITION, VERSION, GROUP, RESOURCE, SCOPE, NAME };

struct key_step {
	enum key_field field;
	enum names_kind names; /* of GROUP, RESOURCE, SCOPE and NAME */
	const char *word;      /* of WORD */
};

#define W(text)                               \
	{                                     \
		.field = WORD, .word = (text) \
	}
#define P                          \
	{                          \
		.field = PARTITION \
	}
#define V                        \
	{                        \
		.field = VERSION \
	}
#define G                                            \
	{                                            \
		.field = GROUP, .names = NAMES_GROUP \
	}
#define R                                                  \
	{                                                  \
		.field = RESOURCE, .names = NAMES_RESOURCE \
	}
#define S(kind)                                       \
	{                                             \
		.field = SCOPE, .names = NAMES_##kind \
	}
#define N(kind)                                      \
	{                                            \
		.field = NAME, .names = NAMES_##kind \
	}

static const struct key_layout {
	const char *name;
	struct key_step step[STEPS_MAX + 1];
} layouts[KEYS_KIND_COUNT] = {
	[KEYS_META] = {"meta", {W("placet"), W("meta")}},
	[KEYS_CLUSTER] = {"cluster", {W("clusters"), N(CLUSTER)}},
	[KEYS_NODE] = {"node", {W("nodes"), P, S(CLUSTER), N(NODE)}},
	[KEYS_ALLOC] = {"alloc", {W("alloc"), P, S(CLUSTER), N(NODE)}},
	[KEYS_SPEC] = {"spec", {W("schedules"), P, S(NAMESPACE), N(POD), W("spec")}},
	[KEYS_STATE] = {"state", {W("schedules"), P, S(NAMESPACE), N(POD), W("state")}},
	[KEYS_REGISTRY_GLOBAL] = {"global registry", {W("groups"), W("registry")}},
	[KEYS_REGISTRY] = {"registry", {W("groups"), S(NAMESPACE), W("registry")}},
	[KEYS_GROUP] = {"group", {W("groups"), S(NAMESPACE), N(TERM)}},
	[KEYS_TOPOLOGY] = {"topology", {W("groups"), W("nodes")}},
	[KEYS_GANG] = {"gang", {W("gangs"), S(NAMESPACE), N(GANG)}},
	[KEYS_BUDGETS_LOCK] = {"lock of the budgets", {W("budgets"), W("lock")}},
	[KEYS_BUDGET] = {"budget", {W("budgets"), S(NAMESPACE), N(BUDGET)}},
	[KEYS_SHARD] = {"shard", {W("shards"), N(SHARD)}},
	[KEYS_OWNER] = {"owner", {W("partitions"), P, W("owner")}},
	[KEYS_DIGEST] = {"digest", {W("digests"), N(SHARD)}},
	[KEYS_CONFIG_CURRENT] = {"current configuration",
                                 {W("config"), N(CONFIG), W("current")}},
	[KEYS_CONFIG] = {"configuration", {W("config"), N(CONFIG), V}},
	[KEYS_LEADER] = {"leader", {W("leader"), N(ROLE)}},
	[KEYS_PIN] = {"pin", {W("pins"), N(PIN)}},
	[KEYS_NAMESPACES] = {"lock of the namespaces",
                             {W("objects"), W("core"), W("namespaces")}},
	[KEYS_OBJECT] = {"object", {W("objects"), G, R, N(OBJECT)}},
	[KEYS_OBJECT_IN] = {"object in a namespace",
                            {W("objects"), G, R, S(NAMESPACE), N(OBJECT)}},
	[KEYS_TOKEN] = {"token", {W("access"), W("tokens"), N(TOKEN)}},
	[KEYS_NODES_TICK] = {"tick of the nodes", {W("nodes"), W("tick")}},
	[KEYS_SCHEDULES_TICK] = {"tick of the schedules", {W("schedules"), W("tick")}},
	[KEYS_BUDGETS_TICK] = {"tick of the budgets", {W("budgets"), W("tick")}},
	[KEYS_OBJECTS_TICK] = {"tick of the objects", {W("objects"), W("tick")}},
};

const char *keys_kind_name(enum keys_kind kind)
{
	PL_ASSERT((unsigned)kind < KEYS_KIND_COUNT);
	return layouts[kind].name;
}

static void add_text(struct keys_text *out, struct pl_span text)
{
	PL_ASSERT(text.len < sizeof out->at - out->len); /* names were checked */
	memcpy(out->at + out->len, text.at, text.len);
	out->len += text.len;
	out->at[out->len] = 0;
}

static void add_number(struct keys_text *out, uint64_t value, unsigned digits)
{
	uint8_t text[VERSION_DIGITS];

	for (unsigned i = digits; i-- > 0; value /= 10)
		text[i] = (uint8_t)('0' + value % 10);
	add_text(out, pl_span(text, digits));
}

static enum pl_code check_partition(uint64_t partition, struct pl_err *err)
{
	if (partition < KEYS_PARTITIONS_MAX)
		return PL_OK;
	return pl_err_set(err, PL_INVALID, "partition %llu: want at most %d",
	                  (unsigned long long)partition, KEYS_PARTITIONS_MAX - 1);
}

/* The field of an id that a step with a name stands for. */
static struct pl_span id_name(const struct keys_id *id, enum key_field field)
{
	switch (field) {
	case GROUP:
		return id->group;
	case RESOURCE:
		return id->resource;
	case SCOPE:
		return id->scope;
	default:
		return id->name;
	}
}

static enum pl_code add_step(struct keys_text *out, const struct key_step *step,
                             const struct keys_id *id, struct pl_err *err)
{
	struct pl_span name = id_name(id, step->field);
	enum pl_code code = PL_OK;

	switch (step->field) {
	case WORD:
		add_text(out, pl_span_str(step->word));
		return PL_OK;
	case PARTITION:
		code = check_partition(id->partition, err);
		if (code == PL_OK)
			add_number(out, id->partition, PARTITION_DIGITS);
		return code;
	case VERSION:
		if (id->version > KEYS_VERSION_MAX)
			return pl_err_set(err, PL_INVALID, "version %llu: too large",
			                  (unsigned long long)id->version);
		add_number(out, id->version, VERSION_DIGITS);
		return PL_OK;
	case GROUP:
	case RESOURCE:
	case SCOPE:
	case NAME:
		code = names_check(step->names, name, err);
		if (code == PL_OK)
			add_text(out, name);
		return code;
	case END:
		break;
	}
	PL_UNREACHABLE("key step");
}

static enum pl_code build_levels(const struct keys_id *id, unsigned levels,
                                 struct keys_text *out, struct pl_err *err)
{
	const struct key_step *step = layouts[id->kind].step;

	out->len = 0;
	out->at[0] = 0;
	for (unsigned i = 0; i < levels; i++) {
		enum pl_code code;

		PL_ASSERT(step[i].field != END);
		add_text(out, PL_SPAN_LIT("/"));
		code = add_step(out, &step[i], id, err);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static unsigned levels_of(enum keys_kind kind)
{
	unsigned levels = 0;

	while (layouts[kind].step[levels].field != END)
		levels++;
	return levels;
}

enum pl_code keys_build(const struct keys_id *id, struct keys_text *out,
                        struct pl_err *err)
{
	PL_ASSERT((unsigned)id->kind < KEYS_KIND_COUNT);
	return build_levels(id, levels_of(id->kind), out, err);
}

enum pl_code keys_prefix(const struct keys_id *id, unsigned levels, struct keys_text *out,
                         struct pl_err *err)
{
	enum pl_code code;

	PL_ASSERT((unsigned)id->kind < KEYS_KIND_COUNT);
	PL_ASSERT(levels > 0 && levels < levels_of(id->kind));
	code = build_levels(id, levels, out, err);
	if (code == PL_OK)
		add_text(out, PL_SPAN_LIT("/"));
	return code;
}

/* A key cut at its slashes. */
struct key_pieces {
	struct pl_span at[STEPS_MAX];
	unsigned count;
};

static bool split_key(struct pl_span key, struct key_pieces *out)
{
	const uint8_t *end = key.at + key.len;

	out->count = 0;
	if (key.len == 0 || key.at[0] != '/')
		return false;
	for (const uint8_t *at = key.at; at < end;) {
		const uint8_t *from = at + 1;
		const uint8_t *slash = memchr(from, '/', (size_t)(end - from));

		if (out->count == STEPS_MAX)
			return false;
		at = slash == NULL ? end : slash;
		out->at[out->count++] = pl_span(from, (size_t)(at - from));
	}
	return true;
}

static bool matches_layout(const struct key_layout *layout,
                           const struct key_pieces *pieces)
{
	for (unsigned i = 0; i < pieces->count; i++) {
		const struct key_step *step = &layout->step[i];

		if (step->field == END)
			return false;
		if (step->field == WORD &&
		    !pl_span_eq(pieces->at[i], pl_span_str(step->word)))
			return false;
	}
	return layout->step[pieces->count].field == END;
}

/* Reads exactly that many digits. */
static bool read_number(struct pl_span text, unsigned digits, uint64_t *out)
{
	uint64_t value = 0;

	if (text.len != digits)
		return false;
	for (unsigned i = 0; i < digits; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text.at[i] - '0');
	}
	*out = value;
	return true;
}

static enum pl_code parse_partition(struct pl_span text, struct keys_id *out,
                                    struct pl_err *err)
{
	char quoted[PL_QUOTE_SIZE];
	uint64_t value = 0;
	enum pl_code code;

	if (!read_number(text, PARTITION_DIGITS, &value))
		return pl_err_set(err, PL_INVALID, "partition %s: want four digits",
		                  pl_quote(text, quoted));
	code = check_partition(value, err);
	out->partition = (uint32_t)value;
	return code;
}

static enum pl_code parse_step(const struct key_step *step, struct pl_span text,
                               struct keys_id *out, struct pl_err *err)
{
	char quoted[PL_QUOTE_SIZE];

	switch (step->field) {
	case WORD:
		return PL_OK; /* matches_layout() compared it */
	case PARTITION:
		return parse_partition(text, out, err);
	case VERSION:
		if (read_number(text, VERSION_DIGITS, &out->version))
			return PL_OK;
		return pl_err_set(err, PL_INVALID, "version %s: want ten digits",
		                  pl_quote(text, quoted));
	case GROUP:
		out->group = text;
		return names_check(step->names, text, err);
	case RESOURCE:
		out->resource = text;
		return names_check(step->names, text, err);
	case SCOPE:
		out->scope = text;
		return names_check(step->names, text, err);
	case NAME:
		out->name = text;
		return names_check(step->names, text, err);
	case END:
		break;
	}
	PL_UNREACHABLE("key step");
}

static enum pl_code parse_pieces(const struct key_pieces *pieces, struct keys_id *out,
                                 struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (unsigned i = 0; i < pieces->count && code == PL_OK; i++)
		code = parse_step(&layouts[out->kind].step[i], pieces->at[i], out, err);
	return code;
}

static enum pl_code fail_unknown_key(struct pl_span key, struct pl_err *err)
{
	char quoted[PL_QUOTE_SIZE];

	return pl_err_set(err, PL_INVALID, "key %s: not one of Placet's",
	                  pl_quote(key, quoted));
}

enum pl_code keys_parse(struct pl_span key, struct keys_id *out, struct pl_err *err)
{
	struct key_pieces pieces;
	char quoted[PL_QUOTE_SIZE];
	struct pl_err why = {0};

	if (!split_key(key, &pieces))
		return fail_unknown_key(key, err);
	for (unsigned i = 0; i < KEYS_KIND_COUNT; i++) {
		struct keys_id id = {.kind = (enum keys_kind)i};

		if (!matches_layout(&layouts[id.kind], &pieces))
			continue;
		if (parse_pieces(&pieces, &id, &why) != PL_OK)
			return pl_err_set(err, PL_INVALID, "key %s: %s",
			                  pl_quote(key, quoted), why.msg);
		*out = id;
		return PL_OK;
	}
	return fail_unknown_key(key, err);
}
