/* The part of an object's metadata that the server decides. */
#include <inttypes.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/api/verbs/change.h"
#include "store/base/timestamp.h"
#include "store/keys/names.h"

enum { SUFFIX_LEN = 5, GENERATED_MAX = 58, NAMES_MAX = 8 };

static struct pl_arena *arena_of(struct change *change)
{
	return &change->request->arena;
}

static bool fail_request(struct change *change, const char *why)
{
	struct api_status status = status_bad_request(pl_span_str(why));

	answer_status(change->request, &status);
	return false;
}

static bool fail_memory(struct change *change)
{
	answer_no_memory(change->request);
	return false;
}

struct cJSON *wanted_meta(struct change *change)
{
	return json_get_object(arena_of(change), change->wanted.root, "metadata");
}

struct pl_span meta_text(const struct cJSON *object, const char *name)
{
	struct cJSON *node = object == NULL ? NULL : json_get(object, name);
	struct pl_json value = {.node = node};
	const char *text = "";

	if (node == NULL || pl_json_type(value) != PL_JSON_STRING ||
	    pl_json_as_string(value, &text, NULL) != PL_OK)
		return (struct pl_span){0};
	return pl_span_str(text);
}

bool meta_set(struct change *change, struct cJSON *object, const char *name,
              struct pl_span text)
{
	return json_set(arena_of(change), object, name,
	                json_new_string(arena_of(change), text));
}

/* OpenSSL takes long for a few bytes and hardly longer for many. */
static void draw_random(struct api *api, uint8_t *out, size_t len)
{
	if (api->random_left < len) {
		api->random_left = sizeof api->random;
		if (RAND_bytes(api->random, sizeof api->random) != 1)
			for (size_t i = 0; i < sizeof api->random; i++)
				api->random[i] = (uint8_t)pl_rng_next(&api->rng);
	}
	api->random_left -= len;
	memcpy(out, api->random + api->random_left, len);
}

void object_new_uid(struct api *api, char out[CHANGE_UID_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t raw[16];
	char *to = out;

	draw_random(api, raw, sizeof raw);
	raw[6] = (uint8_t)((raw[6] & 0x0f) | 0x40); /* version 4 */
	raw[8] = (uint8_t)((raw[8] & 0x3f) | 0x80);
	for (unsigned i = 0; i < sizeof raw; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = digits[raw[i] >> 4];
		*to++ = digits[raw[i] & 0x0f];
	}
	*to = 0;
}

void new_uid(struct change *change, char out[CHANGE_UID_SIZE])
{
	object_new_uid(change->request->api, out);
}

/* Whole seconds, as Kubernetes writes times. */
void api_time_now(const struct api *api, char out[CHANGE_TIME_SIZE])
{
	char text[PL_TIMESTAMP_SIZE];

	(void)pl_timestamp_print(api->wall_ms(api->clock_ctx), text);
	(void)snprintf(out, CHANGE_TIME_SIZE, "%.19sZ", text);
}

void time_now(struct change *change, char out[CHANGE_TIME_SIZE])
{
	api_time_now(change->request->api, out);
}

/* -- names ------------------------------------------------------------------------------ */

static bool generate_name(struct change *change, struct cJSON *meta, struct pl_span base)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	struct pl_rng *rng = &change->request->api->rng;
	char suffix[SUFFIX_LEN + 1] = {0};
	char *name;

	for (unsigned i = 0; i < SUFFIX_LEN; i++)
		suffix[i] = letters[pl_rng_below(rng, sizeof letters - 1)];
	if (base.len > GENERATED_MAX)
		base.len = GENERATED_MAX;
	name = pl_arena_printf(arena_of(change), PL_SPAN_FMT "%s", PL_SPAN_ARG(base),
	                       suffix);
	if (name == NULL || !meta_set(change, meta, "name", pl_span_str(name)))
		return false;
	change->names++;
	change->request->path.name = pl_span_str(name);
	return true;
}

bool meta_another_name(struct change *change)
{
	struct cJSON *meta = json_get(change->wanted.root, "metadata");

	return change->names > 0 && change->names < NAMES_MAX &&
	       generate_name(change, meta, meta_text(meta, "generateName"));
}

/* The namespace of the path is the object's. */
static bool settle_namespace(struct change *change, struct cJSON *meta)
{
	const struct request_path *path = &change->request->path;
	struct pl_span own = meta_text(meta, "namespace");

	if (!path->resource->namespaced) {
		if (own.len > 0)
			return fail_request(change,
			                    "namespace is not allowed on this type");
		return true;
	}
	if (own.len > 0 && !pl_span_eq(own, path->namespace))
		return fail_request(change,
		                    "the namespace of the provided object does not "
		                    "match the namespace sent on the request");
	if (!meta_set(change, meta, "namespace", path->namespace))
		return fail_memory(change);
	return true;
}

static bool settle_name(struct change *change, struct cJSON *meta)
{
	struct request *request = change->request;
	struct pl_span name = meta_text(meta, "name");
	struct pl_span base = meta_text(meta, "generateName");

	if (request->path.name.len > 0) {
		if (name.len > 0 && !pl_span_eq(name, request->path.name))
			return fail_request(
				change,
				pl_arena_printf(arena_of(change),
			                        "the name of the object (" PL_SPAN_FMT
			                        ") does not match the name on the URL "
			                        "(" PL_SPAN_FMT ")",
			                        PL_SPAN_ARG(name),
			                        PL_SPAN_ARG(request->path.name)));
		return meta_set(change, meta, "name", request->path.name) ||
		       fail_memory(change);
	}
	if (name.len == 0 && base.len > 0) {
		if (!generate_name(change, meta, base))
			return fail_memory(change);
		name = meta_text(meta, "name");
	}
	if (name.len == 0) {
		static const char why[] =
			"Required value: name or generateName is required";
		const struct status_cause cause = {.type = "FieldValueRequired",
		                                   .field = PL_SPAN_LIT("metadata.name"),
		                                   .message = pl_span_str(why)};
		struct status_about about = {.group = request->path.resource->group,
		                             .resource = request->path.resource->kind};
		struct api_status status =
			status_invalid(arena_of(change), about, &cause, 1);

		answer_status(request, &status);
		return false;
	}
	request->path.name = name; /* messages name the object */
	return true;
}

/* -- versions ---------------------------------------------------------------------------- */

/* Takes the resourceVersion out of the wanted object. */
static bool take_version(struct change *change, struct cJSON *meta)
{
	struct pl_span version = meta_text(meta, "resourceVersion");

	change->wanted_revision = 0;
	if (version.len > 0 && !pl_span_eq(version, PL_SPAN_LIT("0")) &&
	    !request_number(version, &change->wanted_revision))
		return fail_request(change, "metadata.resourceVersion: must be a number");
	(void)json_remove(meta, "resourceVersion");
	(void)json_remove(meta, "selfLink");
	return true;
}

bool meta_of_new(struct change *change)
{
	struct cJSON *meta = wanted_meta(change);
	char uid[CHANGE_UID_SIZE], time[CHANGE_TIME_SIZE];

	if (meta == NULL)
		return fail_memory(change);
	if (!take_version(change, meta) || !settle_namespace(change, meta) ||
	    !settle_name(change, meta))
		return false;
	if (change->wanted_revision != 0)
		return fail_request(
			change,
			"resourceVersion should not be set on objects to be created");
	(void)json_remove(meta, "deletionTimestamp");
	(void)json_remove(meta, "deletionGracePeriodSeconds");
	new_uid(change, uid);
	time_now(change, time);
	if (!meta_set(change, meta, "uid", pl_span_str(uid)) ||
	    !meta_set(change, meta, "creationTimestamp", pl_span_str(time)))
		return fail_memory(change);
	if (json_get(change->wanted.root, "spec") != NULL &&
	    !json_set(arena_of(change), meta, "generation",
	              json_new_number(arena_of(change), 1)))
		return fail_memory(change);
	return true;
}

/* The tree of the current object as the API shows it. */
static bool current_tree(struct change *change, struct json_tree *out)
{
	struct pl_buf buf;
	struct pl_err err = {0};
	struct pl_json_limits limits = pl_json_limits_default;
	enum pl_code code;

	limits.bytes = 16 << 20;
	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	code = object_write(&change->current, &buf);
	if (code == PL_OK)
		code = json_tree_parse(arena_of(change), pl_buf_span(&buf), &limits, out,
		                       &err);
	pl_buf_done(&buf);
	return code == PL_OK;
}

static bool keep_member(struct change *change, struct cJSON *to, const struct cJSON *from,
                        const struct json_tree *tree, const char *name)
{
	struct cJSON *old = from == NULL ? NULL : json_get(from, name);

	if (old == NULL) {
		(void)json_remove(to, name);
		return true;
	}
	return json_set(arena_of(change), to, name,
	                json_new_copy(arena_of(change), json_tree_value(tree, old)));
}

bool meta_of_changed(struct change *change)
{
	static const char *const kept[] = {"uid", "creationTimestamp",
	                                   "deletionTimestamp",
	                                   "deletionGracePeriodSeconds", "generation"};
	struct cJSON *meta = wanted_meta(change), *old_meta;
	struct json_tree old;
	struct pl_span uid;

	if (meta == NULL || !current_tree(change, &old))
		return fail_memory(change);
	if (!take_version(change, meta) || !settle_namespace(change, meta) ||
	    !settle_name(change, meta))
		return false;
	old_meta = json_get(old.root, "metadata");
	uid = meta_text(meta, "uid");
	if (uid.len > 0 && !pl_span_eq(uid, meta_text(old_meta, "uid"))) {
		struct api_status status = status_conflict(
			arena_of(change), request_about(change->request),
			pl_span_str(pl_arena_printf(
				arena_of(change),
				"Precondition failed: UID in precondition: " PL_SPAN_FMT
				", UID in object meta: " PL_SPAN_FMT,
				PL_SPAN_ARG(uid),
				PL_SPAN_ARG(meta_text(old_meta, "uid")))));

		answer_status(change->request, &status);
		return false;
	}
	for (unsigned i = 0; i < sizeof kept / sizeof kept[0]; i++)
		if (!keep_member(change, meta, old_meta, &old, kept[i]))
			return fail_memory(change);
	/* A status is written through its own path, and a spec is not. */
	if ((change->request->path.resource->subresources & SCHEMA_SUB_STATUS) != 0) {
		bool ok = true;

		if (!change->is_status) {
			ok = keep_member(change, change->wanted.root, old.root, &old,
			                 "status");
		} else {
			ok = keep_member(change, change->wanted.root, old.root, &old,
			                 "spec");
		}
		if (!ok)
			return fail_memory(change);
	}
	if (!change->is_status && json_get(old.root, "spec") != NULL &&
	    !json_equal(json_tree_value(&old, json_get(old.root, "spec")),
	                pl_json_member(json_tree_root(&change->wanted), "spec"))) {
		struct cJSON *number = json_get(meta, "generation");
		double generation = 0;

		if (number != NULL)
			(void)!pl_json_as_double((struct pl_json){.node = number},
			                         &generation, NULL);
		if (!json_set(arena_of(change), meta, "generation",
		              json_new_number(arena_of(change), generation + 1)))
			return fail_memory(change);
	}
	return true;
}
