#include "coord/membership/membership_int.h"
#include "store/base/json.h"
#include "store/base/quote.h"
#include "store/base/timestamp.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"

/* All partitions with their loads, and some room for unknown fields. */
static const struct pl_json_limits limits = {
	.bytes = MEMBERSHIP_BYTES_MAX, .depth = 16, .values = 20000};

/* The text lives in the arena, as the whole document does. */
static enum pl_code parse_text(struct pl_json object, const char *name,
                               enum pl_json_need need, struct pl_span *out,
                               struct pl_err *err)
{
	const char *text = "";
	enum pl_code code = pl_json_string(object, name, need, &text, err);

	if (code != PL_OK)
		return code;
	*out = pl_span_str(text);
	if (out->len > MEMBERSHIP_TEXT_MAX)
		return pl_json_fail(pl_json_member(object, name), PL_INVALID, err,
		                    "want at most %d bytes", MEMBERSHIP_TEXT_MAX);
	return PL_OK;
}

static enum pl_code parse_id(struct pl_json root, struct pl_span id, struct membership *m,
                             struct pl_err *err)
{
	char quoted[PL_QUOTE_SIZE];
	enum pl_code code = parse_text(root, "id", PL_JSON_REQUIRED, &m->id, err);

	if (code != PL_OK)
		return code;
	if (!pl_span_eq(m->id, id))
		return pl_json_fail(pl_json_member(root, "id"), PL_INVALID, err,
		                    "the key is of shard %s", pl_quote(id, quoted));
	return PL_OK;
}

static enum pl_code parse_instance(struct pl_json root, struct membership *m,
                                   struct pl_err *err)
{
	struct pl_span text = {0};
	enum pl_code code = parse_text(root, "instance", PL_JSON_REQUIRED, &text, err);

	if (code != PL_OK)
		return code;
	if (!membership_instance_ok(text))
		return pl_json_fail(pl_json_member(root, "instance"), PL_INVALID, err,
		                    "want %d hex digits", MEMBERSHIP_INSTANCE_SIZE - 1);
	memcpy(m->instance, text.at, text.len);
	m->instance[text.len] = 0;
	return PL_OK;
}

static enum pl_code parse_state(struct pl_json root, struct membership *m,
                                struct pl_err *err)
{
	struct pl_span text = {0};
	enum pl_code code = parse_text(root, "state", PL_JSON_REQUIRED, &text, err);

	if (code != PL_OK)
		return code;
	for (int i = MEMBERSHIP_JOINING; i <= MEMBERSHIP_DRAINING; i++) {
		m->state = (enum membership_state)i;
		if (pl_span_eq(text, pl_span_str(membership_state_name(m->state))))
			return PL_OK;
	}
	return pl_json_fail(pl_json_member(root, "state"), PL_INVALID, err,
	                    "want joining, active or draining");
}

static enum pl_code parse_started(struct pl_json root, struct membership *m,
                                  struct pl_err *err)
{
	struct pl_span text = {0};
	enum pl_code code = parse_text(root, "started", PL_JSON_REQUIRED, &text, err);
	struct pl_err why;

	if (code != PL_OK)
		return code;
	if (pl_timestamp_parse(text, &m->started_ms, &why) != PL_OK)
		return pl_json_fail(pl_json_member(root, "started"), PL_INVALID, err,
		                    "%s", why.msg);
	return PL_OK;
}

static enum pl_code parse_numbers(struct pl_json root, struct membership *m,
                                  struct pl_err *err)
{
	int64_t weight = 0, salt = 0;
	enum pl_code code = pl_json_int_in(root, "pid", PL_JSON_REQUIRED,
	                                   (struct pl_json_range){0, MEMBERSHIP_PID_MAX},
	                                   &m->pid, err);

	if (code == PL_OK)
		code = pl_json_int_in(root, "weight", PL_JSON_REQUIRED,
		                      (struct pl_json_range){1, MEMBERSHIP_WEIGHT_MAX},
		                      &weight, err);
	if (code == PL_OK)
		code = pl_json_int_in(root, "salt", PL_JSON_OPTIONAL,
		                      (struct pl_json_range){0, UINT32_MAX}, &salt, err);
	m->weight = (uint32_t)weight;
	m->salt = (uint32_t)salt;
	return code;
}

static enum pl_code parse_process(struct pl_json root, struct pl_span id,
                                  struct membership *m, struct pl_err *err)
{
	const struct {
		const char *name;
		enum pl_json_need need;
		struct pl_span *out;
	} texts[] = {
		{"host", PL_JSON_OPTIONAL, &m->host},
		{"boot", PL_JSON_OPTIONAL, &m->boot},
		{"version", PL_JSON_OPTIONAL, &m->version},
		{"api", PL_JSON_OPTIONAL, &m->api},
		{"zone", PL_JSON_OPTIONAL, &m->zone},
	};
	enum pl_code code = parse_id(root, id, m, err);

	if (code == PL_OK)
		code = parse_instance(root, m, err);
	if (code == PL_OK)
		code = parse_state(root, m, err);
	for (size_t i = 0; code == PL_OK && i < sizeof texts / sizeof texts[0]; i++)
		code = parse_text(root, texts[i].name, texts[i].need, texts[i].out, err);
	if (code == PL_OK)
		code = parse_numbers(root, m, err);
	return code == PL_OK ? parse_started(root, m, err) : code;
}

static enum pl_code no_memory(struct pl_err *err)
{
	return pl_err_set(err, PL_NOMEM, "record of a shard");
}

static enum pl_code parse_partitions(struct pl_json root, struct pl_arena *arena,
                                     struct membership *m, struct pl_err *err)
{
	struct pl_json list = {0};
	enum pl_code code =
		pl_json_array(root, "partitions", PL_JSON_REQUIRED, &list, err);
	int64_t low = 0, value = 0;
	size_t count;
	uint16_t *partitions;

	if (code != PL_OK)
		return code;
	count = pl_json_count(list);
	if (count > KEYS_PARTITIONS_MAX)
		return pl_json_fail(list, PL_INVALID, err, "want at most %d",
		                    KEYS_PARTITIONS_MAX);
	partitions = pl_arena_zalloc(arena, count + 1, sizeof *partitions);
	if (partitions == NULL)
		return no_memory(err);
	count = 0;
	PL_JSON_EACH (item, list) {
		/* Ascending, so there are no duplicates. */
		code = pl_json_as_int(
			item, (struct pl_json_range){low, KEYS_PARTITIONS_MAX - 1},
			&value, err);
		if (code != PL_OK)
			return code;
		partitions[count++] = (uint16_t)value;
		low = value + 1;
	}
	m->partitions = partitions;
	m->partition_count = (uint32_t)count;
	return PL_OK;
}

static enum pl_code parse_loads(struct pl_json root, struct pl_arena *arena,
                                struct membership *m, struct pl_err *err)
{
	struct pl_json list = {0};
	enum pl_code code = pl_json_array(root, "loads", PL_JSON_OPTIONAL, &list, err);
	uint32_t *loads;
	size_t count = 0;
	int64_t value = 0;

	if (code != PL_OK)
		return code;
	loads = pl_arena_zalloc(arena, (size_t)m->partition_count + 1, sizeof *loads);
	if (loads == NULL)
		return no_memory(err);
	m->loads = loads;
	if (list.node == NULL)
		return PL_OK;
	if (pl_json_count(list) != m->partition_count)
		return pl_json_fail(list, PL_INVALID, err, "want one for each partition");
	PL_JSON_EACH (item, list) {
		code = pl_json_as_int(item, (struct pl_json_range){0, UINT32_MAX}, &value,
		                      err);
		if (code != PL_OK)
			return code;
		loads[count++] = (uint32_t)value;
	}
	return PL_OK;
}

static enum pl_code parse_rate(struct pl_json rates, const char *name, double max,
                               double *out, struct pl_err *err)
{
	enum pl_code code = pl_json_double(rates, name, PL_JSON_OPTIONAL, out, err);

	if (code == PL_OK && (*out < 0 || *out > max))
		return pl_json_fail(pl_json_member(rates, name), PL_INVALID, err,
		                    "want 0 to %g", max);
	return code;
}

static enum pl_code parse_rates(struct pl_json root, struct membership *m,
                                struct pl_err *err)
{
	struct pl_json rates = {0};
	enum pl_code code = pl_json_object(root, "rates", PL_JSON_OPTIONAL, &rates, err);
	int64_t fenced = 0;

	if (code != PL_OK || rates.node == NULL)
		return code;
	code = parse_rate(rates, "writes_per_s", 1e15, &m->writes_per_s, err);
	if (code == PL_OK)
		code = parse_rate(rates, "busy", 1, &m->busy, err);
	if (code == PL_OK)
		code = pl_json_int_in(rates, "fenced", PL_JSON_OPTIONAL,
		                      (struct pl_json_range){0, INT64_MAX}, &fenced, err);
	m->fenced = (uint64_t)fenced;
	return code;
}

/* The element of that name, which may be a new one; NULL with PL_INVALID. */
static struct membership_config *config_of(struct membership *m, struct pl_json item,
                                           struct pl_err *err)
{
	struct pl_span name = pl_span_str(pl_json_key(item));
	struct membership_config *config = m->config;
	struct pl_err why;

	for (uint32_t i = 0; i < m->config_count; i++, config++)
		if (pl_span_eq(config->name, name))
			return config;
	if (names_check(NAMES_CONFIG, name, &why) != PL_OK) {
		pl_json_fail(item, PL_INVALID, err, "%s", why.msg);
		return NULL;
	}
	if (m->config_count == MEMBERSHIP_CONFIGS_MAX) {
		pl_json_fail(item, PL_INVALID, err, "want at most %d configurations",
		             MEMBERSHIP_CONFIGS_MAX);
		return NULL;
	}
	m->config_count++;
	*config = (struct membership_config){.name = name};
	return config;
}

static enum pl_code parse_versions(struct pl_json root, struct membership *m,
                                   struct pl_err *err)
{
	struct pl_json versions = {0};
	enum pl_code code =
		pl_json_object(root, "config", PL_JSON_OPTIONAL, &versions, err);

	PL_JSON_EACH (item, versions) {
		struct membership_config *config = config_of(m, item, err);
		int64_t version = 0;

		if (config == NULL)
			return PL_INVALID;
		code = pl_json_as_int(item, (struct pl_json_range){0, KEYS_VERSION_MAX},
		                      &version, err);
		if (code != PL_OK)
			return code;
		config->version = (uint64_t)version;
	}
	return code;
}

static enum pl_code parse_refused(struct pl_json root, struct membership *m,
                                  struct pl_err *err)
{
	struct pl_json refused = {0};
	enum pl_code code =
		pl_json_object(root, "refused", PL_JSON_OPTIONAL, &refused, err);

	PL_JSON_EACH (item, refused) {
		struct membership_config *config = config_of(m, item, err);
		const char *text = NULL;

		if (config == NULL)
			return PL_INVALID;
		code = pl_json_as_string(item, &text, err);
		if (code != PL_OK)
			return code;
		config->refused = pl_span_str(text);
		if (config->refused.len == 0 ||
		    config->refused.len > MEMBERSHIP_REFUSED_MAX)
			return pl_json_fail(item, PL_INVALID, err, "want 1 to %d bytes",
			                    MEMBERSHIP_REFUSED_MAX);
	}
	return code;
}

static enum pl_code parse_all(struct pl_json root, struct pl_span id,
                              struct pl_arena *arena, struct membership *m,
                              struct pl_err *err)
{
	int64_t v = 0;
	enum pl_code code = pl_json_int_in(root, "v", PL_JSON_REQUIRED,
	                                   (struct pl_json_range){1, 1}, &v, err);

	if (code == PL_OK)
		code = parse_process(root, id, m, err);
	if (code == PL_OK)
		code = parse_partitions(root, arena, m, err);
	if (code == PL_OK)
		code = parse_loads(root, arena, m, err);
	if (code == PL_OK)
		code = parse_rates(root, m, err);
	if (code == PL_OK)
		code = membership_work_parse(root, arena, &m->work, err);
	if (code == PL_OK)
		code = parse_versions(root, m, err);
	return code == PL_OK ? parse_refused(root, m, err) : code;
}

enum pl_code membership_parse(struct pl_span id, struct pl_span json,
                              struct pl_arena *arena, struct membership *out,
                              struct pl_err *err)
{
	struct membership m = {0};
	struct pl_json root = {0};
	enum pl_code code = pl_json_parse(arena, json, &limits, &root, err);

	if (code == PL_OK && pl_json_type(root) != PL_JSON_OBJECT)
		code = pl_json_fail(root, PL_INVALID, err, "want an object");
	if (code == PL_OK)
		code = parse_all(root, id, arena, &m, err);
	if (code != PL_OK)
		return code;
	*out = m;
	return PL_OK;
}
