/*
 * Changes of placet.io's own objects. None is written as it is given: a configuration gets a
 * new version with its history, a shard's wishes become such versions, too, and a shard that
 * is deleted loses its lease.
 *
 *	configs   spec          a new version of the configuration
 *	shards    spec.drained  a version of `shards`, as `placet shard drain` writes it
 *	          spec.weight   a version of `weights`
 *	          DELETE        the lease is revoked, as by `placet shard evict`
 */
#include <stdio.h>

#include "coord/api/verbs/change.h"
#include "coord/config/config_edit.h"
#include "coord/config/config_record.h"
#include "coord/service/shards/shard_drain.h"
#include "coord/service/shards/shard_evict.h"
#include "coord/service/tokens/token_edit.h"
#include "store/kv/calls.h"

enum { WHY_MAX = 1000, CONFIG_BYTES_MAX = 1 << 20 };

static int64_t wall_ms(const struct request *request)
{
	return request->api->wall_ms(request->api->clock_ctx);
}

/* -- the answer ------------------------------------------------------------------------- */

static void changed_fresh(struct request *request)
{
	struct object object;
	struct api_status status;

	if (request_object(request, &object)) {
		answer_object(request, 200, &object);
		return;
	}
	status = status_not_found(&request->arena, request_about(request));
	answer_status(request, &status);
}

/* The configuration's revision is known: what the informer hears of it by itself is enough,
 * also where the store cannot tell how far a watch is. */
static void on_current(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct change *change = ctx;
	struct request *request = change->request;
	struct cache *configs = request->api->sources->source[SOURCE_CONFIGS].cache;

	change->call = NULL;
	if (err != NULL)
		answer_store_error(request, err);
	else if (result->get.count == 0)
		changed_fresh(request); /* the default is in force */
	else
		request_wait(request, configs, result->get.records[0].mod_revision,
		             changed_fresh);
	request_unbusy(request);
}

/* Shows the object as the informer has it once it has the configuration. */
static void answer_changed(struct change *change, enum config_name name)
{
	struct request *request = change->request;
	struct keys_text key;
	struct kv_get get;
	struct pl_err err = {0};

	config_current_key(name, &key);
	get = (struct kv_get){.keys = kv_key(keys_span(&key))};
	if (kv_get(request->api->kv, &get, request->api->service.timeout_ms, on_current,
	           change, &change->call, &err) == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}

static void answer_failed(struct change *change, const struct pl_err *err)
{
	if (err->code == PL_CONFLICT && change->wanted_revision == 0 &&
	    change->again != NULL && ++change->tries < REQUEST_TRIES_MAX &&
	    change->again(change))
		return;
	if (err->code == PL_CONFLICT)
		change_conflict(change);
	else
		answer_store_error(change->request, err);
}

/* "configuration 'coord': spec.balancer.interval_ms: must be ..." has the path in it. */
static void answer_config_fault(struct change *change, const struct pl_err *err)
{
	struct request *request = change->request;
	struct schema_report *report = change->report;
	const char *prefix = strstr(err->msg, "': "), *text = err->msg, *colon;
	char *field, *message;

	if (strncmp(text, "configuration '", 15) == 0 && prefix != NULL)
		text = prefix + 3;
	colon = strncmp(text, "spec", 4) == 0 ? strstr(text, ": ") : NULL;
	field = colon == NULL ? pl_arena_printf(&request->arena, "spec")
	                      : pl_arena_printf(&request->arena, "%.*s",
	                                        (int)(colon - text), text);
	message = pl_arena_printf(&request->arena, "Invalid value: %s",
	                          colon == NULL ? text : colon + 2);
	if (field == NULL || message == NULL) {
		answer_no_memory(request);
		return;
	}
	report->cause_count = 1;
	report->cause[0] = (struct schema_cause){.type = "FieldValueInvalid",
	                                         .field = pl_span_str(field),
	                                         .message = pl_span_str(message)};
	change_invalid(change);
}

/* -- versions of configurations ------------------------------------------------------------ */

static void on_edited(void *ctx, uint64_t version, const struct pl_err *err)
{
	struct change *change = ctx;
	struct request *request = change->request;

	(void)version;
	if (err == NULL)
		answer_changed(change, change->config);
	else
		answer_failed(change, err);
	request_unbusy(request);
}

/* The version that was read, by the key of the entry; 0: the default. */
static uint64_t version_of(const struct object *object)
{
	const struct cache_entry *entry = object->part[OBJECT_MAIN];
	struct keys_id id = {0};

	if (entry == object_no_entry || keys_parse(entry->key, &id, NULL) != PL_OK)
		return 0;
	return id.version;
}

static void edit_config(struct change *change, enum config_name name, struct pl_span json,
                        uint64_t version)
{
	struct request *request = change->request;
	const struct config_edit_opts opts = {
		.name = name,
		.config = json,
		.by = request->user_name,
		.why = pl_span_str(request->verb == REQUEST_PATCH
	                                   ? "patched over the API"
	                                   : "updated over the API"),
		.at_ms = wall_ms(request),
		.expect_version = (int64_t)version,
		.timeout_ms = request->api->service.timeout_ms,
	};
	struct config_edit *edit;
	struct pl_err err = {0};

	change->config = name;
	if (config_edit_start(request->api->kv, &opts, on_edited, change, &edit, &err) ==
	    PL_OK)
		request->busy++;
	else if (err.code == PL_INVALID)
		answer_config_fault(change, &err);
	else
		answer_store_error(request, &err);
}

/* False: it has been answered. */
static bool check_config(struct change *change, enum config_name name,
                         struct pl_json content)
{
	struct config_value value;
	struct pl_err err = {0};
	enum pl_code code =
		config_parse(name, content, &change->request->arena, &value, &err);

	if (code == PL_OK)
		return true;
	if (code == PL_NOMEM)
		answer_no_memory(change->request);
	else
		answer_config_fault(change, &err);
	return false;
}

/* A value as JSON, in the arena; empty: it can not be printed. */
static struct pl_span print_value(struct request *request, struct pl_json value)
{
	struct pl_json_out out;
	struct pl_span text = {0};
	struct pl_buf buf;

	pl_buf_init(&buf, CONFIG_BYTES_MAX);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, value);
	if (pl_json_out_done(&out) == PL_OK)
		text = pl_arena_dup(&request->arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	return text;
}

void commit_config(struct change *change)
{
	struct request *request = change->request;
	struct pl_json content = pl_json_member(json_tree_root(&change->wanted), "spec");
	enum config_name name;
	struct pl_span text;
	struct pl_err err = {0};

	if (config_name_parse(request->path.name, &name, &err) != PL_OK) {
		struct api_status status =
			status_not_found(&request->arena, request_about(request));

		answer_status(request, &status);
		return;
	}
	if (pl_json_type(content) != PL_JSON_OBJECT) {
		(void)pl_err_set(&err, PL_INVALID, "spec: must be an object");
		answer_config_fault(change, &err);
		return;
	}
	if (!check_config(change, name, content))
		return;
	text = print_value(request, content);
	if (text.len == 0)
		answer_no_memory(request);
	else if (change->dry_run)
		answer_json(request, 200, change->stored);
	else
		edit_config(change, name, text, version_of(&change->current));
}

/* -- shards -------------------------------------------------------------------------------- */

/* The factors with the shard's as it is wanted; 1000, which is the default, is left out. */
static struct pl_span print_factors(struct request *request,
                                    const struct config_weights *weights, uint32_t wanted)
{
	struct pl_span id = request->path.name, text = {0};
	struct config_value value = {.name = CONFIG_WEIGHTS};
	struct config_factor *factors = pl_arena_zalloc(
		&request->arena, (size_t)weights->factor_count + 1, sizeof *factors);
	struct config_factor own = {.id = id, .factor = wanted};
	bool placed = wanted == MEMBERSHIP_WEIGHT_ONE;
	uint32_t count = 0;
	struct pl_buf buf;
	struct pl_err err = {0};

	if (factors == NULL)
		return text;
	for (uint32_t i = 0; i < weights->factor_count; i++) {
		int order = pl_span_cmp(id, weights->factors[i].id);

		if (!placed && order <= 0) {
			factors[count++] = own;
			placed = true;
		}
		if (order != 0)
			factors[count++] = weights->factors[i];
	}
	if (!placed)
		factors[count++] = own;
	value.weights =
		(struct config_weights){.factors = factors, .factor_count = count};
	pl_buf_init(&buf, CONFIG_BYTES_MAX);
	if (config_print(&value, &buf, &err) == PL_OK)
		text = pl_arena_dup(&request->arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	return text;
}

static struct pl_json wanted_spec(struct change *change)
{
	return pl_json_member(json_tree_root(&change->wanted), "spec");
}

/* The weight goes last: its end answers. */
static void change_weight(struct change *change)
{
	struct request *request = change->request;
	struct sources *sources = request->api->sources;
	const struct shard_wishes *wishes = &sources->wishes[sources->wishes_now];
	struct pl_json weight = pl_json_member(wanted_spec(change), "weight");
	uint32_t now = config_factor(&wishes->weights, request->path.name);
	struct pl_json_range range = {1, MEMBERSHIP_WEIGHT_MAX};
	const struct schema_resource *configs = schema_resource_find(
		PL_SPAN_LIT("placet.io"), PL_SPAN_LIT("v1"), PL_SPAN_LIT("configs"));
	struct object object = {.part = {object_no_entry}};
	struct pl_span text;
	int64_t wanted = now;

	if (pl_json_type(weight) == PL_JSON_NUMBER)
		(void)!pl_json_as_int(weight, range, &wanted, NULL);
	if ((uint32_t)wanted == now) {
		answer_changed(change, CONFIG_SHARDS);
		return;
	}
	text = print_factors(request, &wishes->weights, (uint32_t)wanted);
	if (!source_get(sources, configs, (struct pl_span){0}, PL_SPAN_LIT("weights"),
	                &object))
		object.part[OBJECT_MAIN] = object_no_entry;
	if (text.len == 0)
		answer_no_memory(request);
	else
		edit_config(change, CONFIG_WEIGHTS, text, version_of(&object));
}

static void on_drained(void *ctx, const struct shard_drain_result *result,
                       const struct pl_err *err)
{
	struct change *change = ctx;
	struct request *request = change->request;

	(void)result;
	if (err == NULL)
		change_weight(change);
	else
		answer_failed(change, err);
	request_unbusy(request);
}

static bool wants_drained(struct change *change)
{
	struct pl_json drained = pl_json_member(wanted_spec(change), "drained");
	bool yes = false;

	if (pl_json_type(drained) == PL_JSON_BOOL)
		(void)!pl_json_as_bool(drained, &yes, NULL);
	return yes;
}

/* A weight that no configuration can have is refused before anything is written. */
static bool check_weight(struct change *change)
{
	struct pl_json weight = pl_json_member(wanted_spec(change), "weight");
	struct pl_json_range range = {1, MEMBERSHIP_WEIGHT_MAX};
	struct pl_err err = {0};
	int64_t wanted;

	if (pl_json_type(weight) != PL_JSON_NUMBER ||
	    pl_json_as_int(weight, range, &wanted, &err) == PL_OK)
		return true;
	(void)pl_err_set(&err, PL_INVALID, "spec.weight: must be 1 to %d",
	                 MEMBERSHIP_WEIGHT_MAX);
	answer_config_fault(change, &err);
	return false;
}

/* The service in the name of the one who asks, as long as the request. NULL: no memory. */
static struct service *own_service(struct request *request)
{
	struct service *own = pl_arena_alloc(&request->arena, sizeof *own);

	if (own == NULL)
		return NULL;
	*own = request->api->service;
	own->user = (const char *)request->user_name.at;
	return own;
}

static void change_shard(struct change *change)
{
	struct request *request = change->request;
	struct service *service = own_service(request);
	const struct shard_wishes *wishes = change->current.wishes;
	bool drained = wants_drained(change);
	const struct shard_drain_opts opts = {.id = request->path.name,
	                                      .undrain = !drained,
	                                      .why = "wanted over the API",
	                                      .wall_ms = wall_ms(request),
	                                      .done = on_drained,
	                                      .ctx = change};
	struct shard_drain *drain;
	struct pl_err err = {0};

	if (!check_weight(change))
		return;
	if (service == NULL)
		answer_no_memory(request);
	else if (change->dry_run)
		answer_json(request, 200, change->stored);
	else if (wishes != NULL &&
	         config_drains(&wishes->shards, request->path.name) == drained)
		change_weight(change);
	else if (shard_drain_start(service, &opts, &drain, &err) == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}

static void on_evicted(void *ctx, const struct pl_err *err)
{
	struct change *change = ctx;
	struct request *request = change->request;
	struct api_status status =
		status_deleted(request_about(request), (struct pl_span){0});

	if (err == NULL)
		answer_status(request, &status);
	else
		answer_failed(change, err);
	request_unbusy(request);
}

static void evict_shard(struct change *change)
{
	struct request *request = change->request;
	const struct cache_entry *entry = change->current.part[OBJECT_MAIN];
	struct shard_info *shard = pl_arena_zalloc(&request->arena, 1, sizeof *shard);
	struct shard_evict *evict;
	struct pl_err err = {0};

	if (shard == NULL) {
		answer_no_memory(request);
		return;
	}
	shard->member.id = request->path.name;
	shard->mod_revision = entry->mod_revision;
	shard->lease = entry->lease;
	if (change->dry_run)
		answer_object(request, 200, &change->current);
	else if (shard_evict_start(&request->api->service, shard, on_evicted, change,
	                           &evict, &err) == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}

void commit_shard(struct change *change)
{
	if (change->kind == CHANGE_DELETE)
		evict_shard(change);
	else
		change_shard(change);
}

/* -- tokens -------------------------------------------------------------------------------- */

static void on_revoked(void *ctx, const struct pl_err *err)
{
	struct change *change = ctx;
	struct request *request = change->request;
	struct api_status status =
		status_deleted(request_about(request), (struct pl_span){0});

	if (err == NULL)
		answer_status(request, &status);
	else
		answer_failed(change, err);
	request_unbusy(request);
}

void commit_token(struct change *change)
{
	struct request *request = change->request;
	struct token_edit *edit;
	struct pl_err err = {0};

	if (token_delete_start(&request->api->service, request->path.name, on_revoked,
	                       change, &edit, &err) == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}
