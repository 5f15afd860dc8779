#include <math.h>

#include "coord/membership/membership_int.h"
#include "store/base/json_out.h"
#include "store/base/timestamp.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"

static const char *const state_names[] = {
	[MEMBERSHIP_JOINING] = "joining",
	[MEMBERSHIP_ACTIVE] = "active",
	[MEMBERSHIP_DRAINING] = "draining",
};

const char *membership_state_name(enum membership_state state)
{
	PL_ASSERT((unsigned)state <= MEMBERSHIP_DRAINING);
	return state_names[state];
}

bool membership_instance_ok(struct pl_span text)
{
	if (text.len != MEMBERSHIP_INSTANCE_SIZE - 1)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		uint8_t byte = text.at[i];

		if ((byte < '0' || byte > '9') && (byte < 'a' || byte > 'f'))
			return false;
	}
	return true;
}

static struct pl_span cut_text(struct pl_span text, size_t max)
{
	if (text.len > max)
		text.len = max;
	return text;
}

/* Leaves the field out if the text is empty. An invalid byte of UTF-8 becomes three
 * bytes when it is written, so a text that is read may be three times as long as what
 * was given. */
static void print_text(struct pl_json_out *out, const char *name, struct pl_span text)
{
	if (text.len == 0)
		return;
	pl_json_out_name(out, name);
	pl_json_out_string(out, cut_text(text, MEMBERSHIP_TEXT_MAX / 3));
}

static void print_int(struct pl_json_out *out, const char *name, int64_t value)
{
	pl_json_out_name(out, name);
	pl_json_out_int(out, value);
}

static void print_double(struct pl_json_out *out, const char *name, double value)
{
	pl_json_out_name(out, name);
	pl_json_out_double(out, isfinite(value) && value > 0 ? value : 0);
}

static void print_process(const struct membership *m, struct pl_json_out *out)
{
	char stamp[PL_TIMESTAMP_SIZE];

	print_int(out, "v", 1);
	print_text(out, "id", m->id);
	pl_json_out_name(out, "instance");
	pl_json_out_str(out, m->instance);
	pl_json_out_name(out, "state");
	pl_json_out_str(out, membership_state_name(m->state));
	print_text(out, "host", m->host);
	print_int(out, "pid", m->pid);
	print_text(out, "boot", m->boot);
	print_text(out, "version", m->version);
	print_text(out, "api", m->api);
	print_text(out, "zone", m->zone);
	print_int(out, "weight", m->weight);
	if (m->salt != 0)
		print_int(out, "salt", m->salt);
	pl_json_out_name(out, "started");
	pl_json_out_str(out, pl_timestamp_print(m->started_ms, stamp));
}

static void print_work(const struct membership *m, struct pl_json_out *out)
{
	pl_json_out_name(out, "partitions");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < m->partition_count; i++)
		pl_json_out_int(out, m->partitions[i]);
	pl_json_out_end(out);
	if (m->loads != NULL) {
		pl_json_out_name(out, "loads");
		pl_json_out_array(out);
		for (uint32_t i = 0; i < m->partition_count; i++)
			pl_json_out_int(out, m->loads[i]);
		pl_json_out_end(out);
	}
	pl_json_out_name(out, "rates");
	pl_json_out_object(out);
	print_double(out, "writes_per_s", m->writes_per_s);
	pl_json_out_name(out, "fenced");
	pl_json_out_int(out, (int64_t)(m->fenced & INT64_MAX));
	print_double(out, "busy", m->busy > 1 ? 1 : m->busy);
	pl_json_out_end(out);
}

static void print_configs(const struct membership *m, struct pl_json_out *out)
{
	bool refused = false;

	if (m->config_count == 0)
		return;
	pl_json_out_name(out, "config");
	pl_json_out_object(out);
	for (uint32_t i = 0; i < m->config_count; i++) {
		pl_json_out_name_span(out, m->config[i].name);
		pl_json_out_int(out, (int64_t)m->config[i].version);
		refused = refused || m->config[i].refused.len != 0;
	}
	pl_json_out_end(out);
	if (!refused)
		return;
	pl_json_out_name(out, "refused");
	pl_json_out_object(out);
	for (uint32_t i = 0; i < m->config_count; i++) {
		if (m->config[i].refused.len == 0)
			continue;
		pl_json_out_name_span(out, m->config[i].name);
		pl_json_out_string(
			out, cut_text(m->config[i].refused, MEMBERSHIP_REFUSED_MAX / 3));
	}
	pl_json_out_end(out);
}

static void check_record(const struct membership *m)
{
	PL_ASSERT(m->config_count <= MEMBERSHIP_CONFIGS_MAX);
	for (uint32_t i = 0; i < m->config_count; i++)
		PL_ASSERT(names_check(NAMES_CONFIG, m->config[i].name, NULL) == PL_OK &&
		          m->config[i].version <= KEYS_VERSION_MAX);
	for (uint32_t i = 0; i < m->partition_count; i++)
		PL_ASSERT(m->partitions[i] < KEYS_PARTITIONS_MAX &&
		          (i == 0 || m->partitions[i - 1] < m->partitions[i]));
}

enum pl_code membership_print(const struct membership *m, struct pl_buf *buf,
                              struct pl_err *err)
{
	struct pl_json_out out;
	enum pl_code code = names_check(NAMES_SHARD, m->id, err);

	if (code != PL_OK)
		return code;
	if (!membership_instance_ok(pl_span_str(m->instance)) || m->weight == 0 ||
	    m->weight > MEMBERSHIP_WEIGHT_MAX || m->pid < 0 ||
	    m->pid > MEMBERSHIP_PID_MAX)
		return pl_err_set(err, PL_INVALID,
		                  "record of shard " PL_SPAN_FMT
		                  ": instance, weight or pid out of range",
		                  PL_SPAN_ARG(m->id));
	check_record(m);
	pl_json_out_init(&out, buf);
	pl_json_out_object(&out);
	print_process(m, &out);
	print_work(m, &out);
	membership_work_print(&m->work, &out);
	print_configs(m, &out);
	pl_json_out_end(&out);
	code = pl_json_out_done(&out);
	if (code != PL_OK)
		return pl_err_set(err, code, "record of shard " PL_SPAN_FMT,
		                  PL_SPAN_ARG(m->id));
	return PL_OK;
}
