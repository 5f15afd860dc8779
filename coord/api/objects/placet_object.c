/*
 * The objects of placet.io, from Placet's own records: what a record says of the present is
 * the status; what people may want to be otherwise is the spec. A record that can not be read
 * is shown with the reason in status.malformed.
 */
#include <stdio.h>

#include "coord/api/objects/object_writer.h"
#include "coord/api/objects/shard_wishes.h"
#include "coord/config/config_record.h"
#include "coord/membership/holder.h"
#include "coord/membership/membership.h"
#include "coord/service/tokens/token_record.h"
#include "shardsched/model/object.h"
#include "shardsched/records/gang_record.h"
#include "store/base/json_put.h"
#include "store/base/json_scan.h"
#include "store/base/timestamp.h"
#include "store/keys/keys.h"

enum { RECORD_ARENA_MAX = 32 << 20 };

/* One object while it is written. */
struct placet_writer {
	struct object_writer *writer;
	const struct object *object;
	struct pl_span value;
	struct pl_json_out out; /* of the status */
	struct pl_arena arena;
};

/* Whole seconds, as Kubernetes writes times. */
static void put_time(struct pl_json_out *out, const char *name, int64_t ms)
{
	char text[PL_TIMESTAMP_SIZE];

	(void)pl_timestamp_print(ms, text);
	text[19] = 'Z';
	pl_json_put_text(out, name, pl_span(text, 20));
}

static void status_begin(struct placet_writer *placet)
{
	object_name(placet->writer, "status");
	pl_json_out_init(&placet->out, placet->writer->buf);
	pl_json_out_object(&placet->out);
}

static void status_end(struct placet_writer *placet)
{
	enum pl_code code;

	pl_json_out_end(&placet->out);
	code = pl_json_out_done(&placet->out);
	if (placet->writer->code == PL_OK)
		placet->writer->code = code;
}

static void put_malformed(struct placet_writer *placet, const struct pl_err *err)
{
	if (err->code == PL_NOMEM && placet->writer->code == PL_OK)
		placet->writer->code = PL_NOMEM;
	pl_json_put_text(&placet->out, "malformed", pl_span_str(err->msg));
}

/* -- shards -------------------------------------------------------------------------------- */

static void put_rates(struct pl_json_out *out, const struct membership *member)
{
	pl_json_out_name(out, "rates");
	pl_json_out_object(out);
	pl_json_put_double(out, "writesPerSecond", member->writes_per_s);
	pl_json_put_int(out, "fenced", (int64_t)member->fenced);
	pl_json_put_double(out, "busy", member->busy);
	pl_json_out_end(out);
}

static void put_work(struct pl_json_out *out, const struct membership_work *work)
{
	if (!work->known)
		return;
	pl_json_out_name(out, "work");
	pl_json_out_object(out);
	pl_json_put_int(out, "placed", (int64_t)work->placed);
	pl_json_put_double(out, "placedPerSecond", work->placed_per_s);
	pl_json_put_int(out, "pending", (int64_t)work->pending);
	pl_json_put_int(out, "conflicts", (int64_t)work->conflicts);
	pl_json_put_double(out, "conflictsPerSecond", work->conflicts_per_s);
	pl_json_put_int(out, "lagMilliseconds", (int64_t)work->lag_ms);
	pl_json_out_end(out);
}

static void put_configs(struct pl_json_out *out, const struct membership *member)
{
	pl_json_out_name(out, "config");
	pl_json_out_object(out);
	for (uint32_t i = 0; i < member->config_count; i++) {
		pl_json_out_name_span(out, member->config[i].name);
		pl_json_out_int(out, (int64_t)member->config[i].version);
	}
	pl_json_out_end(out);
	pl_json_out_name(out, "refused");
	pl_json_out_object(out);
	for (uint32_t i = 0; i < member->config_count; i++) {
		if (member->config[i].refused.len == 0)
			continue;
		pl_json_out_name_span(out, member->config[i].name);
		pl_json_out_string(out, member->config[i].refused);
	}
	pl_json_out_end(out);
}

static void put_member(struct pl_json_out *out, const struct membership *member)
{
	pl_json_put_text(out, "state", pl_span_str(membership_state_name(member->state)));
	pl_json_put_text(out, "host", member->host);
	pl_json_put_int(out, "pid", member->pid);
	pl_json_put_text(out, "version", member->version);
	pl_json_put_text(out, "address", member->api);
	pl_json_put_text(out, "zone", member->zone);
	put_time(out, "startTime", member->started_ms);
	pl_json_out_name(out, "partitions");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < member->partition_count; i++)
		pl_json_out_int(out, member->partitions[i]);
	pl_json_out_end(out);
	put_rates(out, member);
	put_work(out, &member->work);
	put_configs(out, member);
}

static void write_shard(struct placet_writer *placet)
{
	const struct object *object = placet->object;
	const struct shard_wishes *wishes = object->wishes;
	struct membership member;
	struct pl_err err = {0};
	char lease[24];

	object_name(placet->writer, "spec");
	pl_json_out_init(&placet->out, placet->writer->buf);
	pl_json_out_object(&placet->out);
	if (wishes != NULL) {
		pl_json_put_int(&placet->out, "weight",
		                config_factor(&wishes->weights, object->name));
		pl_json_out_name(&placet->out, "drained");
		pl_json_out_bool(&placet->out,
		                 config_drains(&wishes->shards, object->name));
	}
	pl_json_out_end(&placet->out);
	if (pl_json_out_done(&placet->out) != PL_OK)
		placet->writer->code = PL_NOMEM;
	status_begin(placet);
	if (membership_parse(object->name, placet->value, &placet->arena, &member,
	                     &err) == PL_OK)
		put_member(&placet->out, &member);
	else
		put_malformed(placet, &err);
	(void)snprintf(lease, sizeof lease, "%llx",
	               (unsigned long long)object->part[OBJECT_MAIN]->lease);
	pl_json_put_text(&placet->out, "lease", pl_span_str(lease));
	status_end(placet);
}

/* -- partitions ------------------------------------------------------------------------- */

static void write_partition(struct placet_writer *placet)
{
	const struct object *object = placet->object;
	struct holder holder;
	struct pl_err err = {0};
	int64_t number = 0;

	for (size_t i = 0; i < object->name.len; i++)
		number = number * 10 + (object->name.at[i] - '0');
	status_begin(placet);
	pl_json_put_int(&placet->out, "number", number);
	if (object->part[OBJECT_MAIN] == object_no_entry) {
		status_end(placet);
		return;
	}
	if (holder_parse(placet->value, &holder, &err) == PL_OK)
		pl_json_put_text(&placet->out, "shard", pl_span_str(holder.shard));
	else
		put_malformed(placet, &err);
	pl_json_put_int(&placet->out, "epoch",
	                object->part[OBJECT_MAIN]->create_revision);
	status_end(placet);
}

/* -- configurations --------------------------------------------------------------------- */

/* The content that is in force where none was written. */
static void put_default(struct placet_writer *placet)
{
	enum config_name name;
	struct config_value value;
	struct pl_buf text;
	struct pl_err err = {0};

	if (config_name_parse(placet->object->name, &name, &err) != PL_OK)
		return;
	config_default(name, &value);
	pl_buf_init(&text, 1 << 20);
	if (config_print(&value, &text, &err) == PL_OK)
		object_member_raw(placet->writer, "spec", pl_buf_span(&text));
	else
		placet->writer->code = PL_NOMEM;
	pl_buf_done(&text);
}

static void write_config(struct placet_writer *placet)
{
	const struct cache_entry *entry = placet->object->part[OBJECT_MAIN];
	struct config_record record = {0};
	struct pl_err err = {0};
	struct keys_id id = {0};
	bool is_default = entry == object_no_entry, readable = false;

	if (is_default) {
		put_default(placet);
	} else {
		(void)!keys_parse(entry->key, &id, NULL);
		readable = config_record_parse(placet->value, &placet->arena, &record,
		                               &err) == PL_OK;
		if (readable)
			object_member_raw(placet->writer, "spec",
			                  object_member(placet->value, "config"));
	}
	status_begin(placet);
	pl_json_put_int(&placet->out, "version", (int64_t)id.version);
	if (readable) {
		put_time(&placet->out, "time", record.at_ms);
		pl_json_put_text(&placet->out, "by", record.by);
		pl_json_put_text(&placet->out, "why", record.why);
	} else if (!is_default) {
		put_malformed(placet, &err);
	}
	status_end(placet);
}

/* -- gangs ------------------------------------------------------------------------------- */

static void put_gang_node(struct pl_json_out *out, const struct gang_record_node *node)
{
	pl_json_out_object(out);
	pl_json_put_text(out, "cluster", node->cluster);
	pl_json_put_text(out, "node", node->name);
	pl_json_put_int(out, "partition", node->partition);
	pl_json_out_name(out, "pods");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < node->pods; i++) {
		pl_json_out_object(out);
		pl_json_put_text(out, "name", node->pod[i].name);
		pl_json_put_int(out, "revision", node->pod[i].spec_rev);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
	pl_json_out_end(out);
}

static void write_gang(struct placet_writer *placet)
{
	struct pl_json_out *out = &placet->out;
	struct gang_record record;
	struct pl_err err = {0};

	status_begin(placet);
	if (gang_record_parse(placet->value, &placet->arena, &record, &err) != PL_OK) {
		put_malformed(placet, &err);
		status_end(placet);
		return;
	}
	pl_json_put_text(out, "phase", pl_span_str(gang_phase_word(record.phase)));
	pl_json_put_text(out, "shard", record.shard);
	pl_json_put_int(out, "epoch", record.epoch);
	if (record.phase == GANG_PHASE_RESERVING)
		put_time(out, "until", record.until_ms);
	pl_json_out_name(out, "nodes");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < record.nodes; i++)
		put_gang_node(out, &record.node[i]);
	pl_json_out_end(out);
	status_end(placet);
}

/* -- clusters ---------------------------------------------------------------------------- */

/* Nothing writes these keys yet: what is known by name is shown. */
static void write_cluster(struct placet_writer *placet)
{
	static const struct {
		const char *stored, *shown;
	} wanted[] = {{"kind", "kind"},
	              {"endpoint", "endpoint"},
	              {"policy", "policy"},
	              {"weight", "weight"},
	              {"cordon", "cordoned"}};
	struct object_writer *writer = placet->writer;
	struct pl_err err = {0};
	bool readable =
		pl_json_scan(placet->value, &pl_json_limits_default, &err) == PL_OK &&
		placet->value.at[0] == '{';
	struct pl_span health = {0};

	object_name(writer, "spec");
	object_open(writer);
	for (unsigned i = 0; readable && i < sizeof wanted / sizeof wanted[0]; i++) {
		struct pl_span json = object_member(placet->value, wanted[i].stored);

		if (json.len > 0)
			object_member_raw(writer, wanted[i].shown, json);
	}
	object_close(writer);
	object_name(writer, "status");
	object_open(writer);
	if (readable)
		health = object_member(placet->value, "health");
	else
		object_member_string(writer, "health", PL_SPAN_LIT("malformed"));
	if (!readable)
		object_member_string(writer, "message", pl_span_str(err.msg));
	if (health.len > 0)
		object_member_raw(writer, "health", health);
	object_close(writer);
}

/* -- tokens -------------------------------------------------------------------------------- */

static void put_token_spec(struct object_writer *writer,
                           const struct token_record *record)
{
	struct pl_json_out out;
	enum pl_code code;

	object_name(writer, "spec");
	pl_json_out_init(&out, writer->buf);
	pl_json_out_object(&out);
	pl_json_put_text(&out, "user", record->user);
	if (record->group_count > 0) {
		pl_json_out_name(&out, "groups");
		pl_json_out_array(&out);
		for (size_t i = 0; i < record->group_count; i++)
			pl_json_out_string(&out, record->groups[i]);
		pl_json_out_end(&out);
	}
	if (record->expires_ms != 0)
		pl_json_put_int(&out, "expirationSeconds",
		                (record->expires_ms - record->created_ms) / 1000);
	pl_json_out_end(&out);
	code = pl_json_out_done(&out);
	if (writer->code == PL_OK)
		writer->code = code;
}

/* The digest of the secret is not shown. */
static void write_token(struct placet_writer *placet)
{
	struct token_record record = {0};
	struct pl_err err = {0};
	bool readable =
		token_record_parse(placet->value, &placet->arena, &record, &err) == PL_OK;

	put_token_spec(placet->writer, &record);
	status_begin(placet);
	if (!readable)
		put_malformed(placet, &err);
	if (record.created_ms != 0)
		put_time(&placet->out, "creationTimestamp", record.created_ms);
	if (record.expires_ms != 0)
		put_time(&placet->out, "expirationTimestamp", record.expires_ms);
	pl_json_put_text(&placet->out, "createdBy", record.by);
	status_end(placet);
}

void object_write_placet(struct object_writer *writer, const struct object *object)
{
	static const struct {
		const char *plural;
		void (*write)(struct placet_writer *placet);
	} kinds[] = {{"shards", write_shard},     {"partitions", write_partition},
	             {"configs", write_config},   {"gangs", write_gang},
	             {"clusters", write_cluster}, {"tokens", write_token}};
	struct placet_writer placet = {.writer = writer,
	                               .object = object,
	                               .value = object->part[OBJECT_MAIN]->value};

	object_put_metadata(writer, object, NULL, NULL, (struct pl_span){0});
	if (writer->code != PL_OK)
		return;
	pl_arena_init(&placet.arena, 8 << 10, RECORD_ARENA_MAX);
	for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].plural, object->resource->plural) == 0)
			kinds[i].write(&placet);
	pl_arena_done(&placet.arena);
}
