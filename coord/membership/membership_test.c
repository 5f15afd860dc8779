#include <stdio.h>

#include "coord/membership/membership.h"
#include "store/keys/keys.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static const char whole[] =
	"{\"v\":1,\"id\":\"east-0\",\"instance\":\"0123456789abcdef0123456789abcdef\","
	"\"state\":\"active\",\"host\":\"h1\",\"pid\":4711,\"boot\":\"b-1\","
	"\"version\":\"0.1.0\",\"api\":\"10.0.0.1:7400\",\"zone\":\"z1\",\"weight\":1000,\"salt\":17,"
	"\"started\":\"2026-11-21T05:00:00.000Z\",\"partitions\":[3,17],\"loads\":[120,"
	"95],\"rates\":{\"writes_per_s\":12.5,\"fenced\":0,\"busy\":0.03},"
	"\"work\":{\"placed\":812,\"pending\":7,\"conflicts\":3,\"txns\":90,"
	"\"txns_failed\":2,\"lag_ms\":4,\"placed_per_s\":31.5,\"conflicts_per_s\":0.1,"
	"\"causes\":{\"alloc\":{\"placements\":3,\"txns\":2}},\"nodes\":[{\"cluster\":"
	"\"east\",\"node\":\"n-7\",\"cause\":\"alloc\",\"count\":3,\"over\":1,\"at\":"
	"\"2026-11-21T05:00:00.000Z\"}],\"aside\":[{\"cluster\":\"east\",\"node\":"
	"\"n-9\",\"cause\":\"node\",\"until\":\"2026-11-21T05:00:10.000Z\"}]},\"config\":{"
	"\"coord\":3,\"weights\":12},\"refused\":{\"coord\":\"version 4: "
	".handover_ms: must be 1 to 60000\"}}";

static const char least[] =
	"{\"v\":1,\"id\":\"east-0\",\"instance\":\"0123456789abcdef0123456789abcdef\","
	"\"state\":\"joining\",\"pid\":1,\"weight\":1,"
	"\"started\":\"2026-11-21T05:00:00.000Z\",\"partitions\":[]}";

static struct pl_arena arena;
static struct pl_buf buf;
static struct pl_err err;
static struct membership m;

static enum pl_code parse(const char *json)
{
	pl_arena_done(&arena);
	pl_arena_init(&arena, 0, 0);
	err = (struct pl_err){0};
	return membership_parse(PL_SPAN_LIT("east-0"), pl_span_str(json), &arena, &m,
	                        &err);
}

static const char *print(void)
{
	pl_buf_done(&buf);
	pl_buf_init(&buf, MEMBERSHIP_BYTES_MAX);
	T_OK(membership_print(&m, &buf, &err), &err);
	T_OK(pl_buf_add(&buf, pl_span("", 1)), NULL);
	return (const char *)buf.at;
}

static void done(void)
{
	pl_buf_done(&buf);
	pl_arena_done(&arena);
}

/* The record, with one piece of it replaced. */
static const char *with(const char *from, const char *to)
{
	static char text[sizeof whole + 65536];
	const char *at = strstr(whole, from);

	T_TRUE(at != NULL);
	(void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, to,
	               at + strlen(from));
	return text;
}

T_CASE(the_record_of_the_header_is_read_and_written)
{
	T_OK(parse(whole), &err);
	T_SPAN(m.id, PL_SPAN_LIT("east-0"));
	T_STR(m.instance, "0123456789abcdef0123456789abcdef");
	T_EQ(m.state, MEMBERSHIP_ACTIVE);
	T_SPAN(m.host, PL_SPAN_LIT("h1"));
	T_EQ(m.pid, 4711);
	T_SPAN(m.boot, PL_SPAN_LIT("b-1"));
	T_SPAN(m.version, PL_SPAN_LIT("0.1.0"));
	T_SPAN(m.api, PL_SPAN_LIT("10.0.0.1:7400"));
	T_SPAN(m.zone, PL_SPAN_LIT("z1"));
	T_EQ(m.weight, 1000);
	T_EQ(m.salt, 17);
	T_EQ(m.started_ms, 1795237200000);
	T_EQ(m.partition_count, 2);
	T_EQ(m.partitions[1], 17);
	T_EQ(m.loads[1], 95);
	T_NEAR(m.writes_per_s, 12.5, 0);
	T_TRUE(m.work.known);
	T_EQ(m.work.placed, 812);
	T_NEAR(m.work.placed_per_s, 31.5, 0);
	T_EQ(m.work.causes[0].txns, 2);
	T_SPAN(m.work.nodes[0].name, PL_SPAN_LIT("n-7"));
	T_EQ(m.work.asides[0].at_ms, 1795237210000);
	T_NEAR(m.busy, 0.03, 0);
	T_EQ(m.config_count, 2);
	T_EQ(m.config[0].version, 3);
	T_SPAN(m.config[0].refused,
	       PL_SPAN_LIT("version 4: .handover_ms: must be 1 to 60000"));
	T_EQ(m.config[1].refused.len, 0);
	T_STR(print(), whole);
	done();
}

T_CASE(absent_fields_have_a_meaning)
{
	T_OK(parse(least), &err);
	T_EQ(m.partition_count, 0);
	T_EQ(m.config_count, 0);
	T_EQ(m.host.len, 0);
	T_OK(parse(with(",\"loads\":[120,95]", "")), &err);
	T_EQ(m.loads[0] + m.loads[1], 0);
	T_OK(parse(with("\"v\":1", "\"v\":1,\"later\":{\"deep\":[[{}]]}")), &err);
	T_OK(parse(with("\"config\":{\"coord\":3,\"weights\":12},", "")), &err);
	T_EQ(m.config_count, 1);
	T_EQ(m.config[0].version, 0);
	done();
}

struct wrong {
	const char *from, *to, *says;
};

static const struct wrong wrongs[] = {
	{"\"v\":1", "\"v\":2", "v: want 1 to 1"},
	{"\"v\":1,", "", "v"},
	{"\"id\":\"east-0\"", "\"id\":\"east-1\"", "id: the key is of shard 'east-0'"},
	{"\"id\":\"east-0\"", "\"id\":7", "id"},
	{"0123456789abcdef\"", "0123456789abcdeF\"", "instance: want 32 hex digits"},
	{"0123456789abcdef\"", "\"", "instance: want 32 hex digits"},
	{"\"active\"", "\"busy\"", "state: want joining, active or draining"},
	{"4711", "-1", "pid: want 0 to"},
	{"4711", "4294967296", "pid: want 0 to"},
	{"\"pid\":4711,", "", "pid"},
	{"\"h1\"", "{}", "host"},
	{"\"weight\":1000", "\"weight\":0", "weight: want 1 to 1000000"},
	{"\"weight\":1000", "\"weight\":1.5", "weight"},
	{"\"salt\":17", "\"salt\":-1", "salt: want 0 to 4294967295"},
	{"\"weight\":1000", "\"weight\":1000,\"weight\":1000", "weight"},
	{"05:00:00.000Z", "25:00:00.000Z", "started: '2026-11-21T25"},
	{"[3,17]", "[17,3]", "partitions[1]: want 18 to 4095"},
	{"[3,17]", "[3,3]", "partitions[1]"},
	{"[3,17]", "[3,4096]", "partitions[1]"},
	{"[3,17]", "7", "partitions"},
	{"[120,95]", "[120]", "loads: want one for each partition"},
	{"[120,95]", "[120,-1]", "loads[1]"},
	{"12.5", "-1", "rates.writes_per_s: want 0 to"},
	{"0.03", "1.5", "rates.busy: want 0 to 1"},
	{"\"fenced\":0", "\"fenced\":-1", "rates.fenced"},
	{"\"coord\":3", "\"coord\":-3", "config.coord"},
	{"\"coord\":3", "\"co/ord\":3", "configuration 'co/ord'"},
	{"\"version 4: .handover_ms: must be 1 to 60000\"", "\"\"",
         "refused.coord: want 1 to"},
	{"\"version 4: .handover_ms: must be 1 to 60000\"", "4", "refused.coord"},
	{"\"placed\":812", "\"placed\":-1", "work.placed"},
	{"\"placed_per_s\":31.5", "\"placed_per_s\":-3", "work.placed_per_s"},
	{"{\"placements\":3,\"txns\":2}", "3", "work.causes.alloc"},
	{"\"node\":\"n-7\",", "", "work.nodes[0].node"},
	{"\"until\":\"2026", "\"until\":\"x", "work.aside[0].until"},
	{"{\"v\":1,", "[{\"v\":1,", NULL},
};

T_CASE(everything_else_is_refused_with_its_path)
{
	for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
		struct membership before = m;

		T_CODE(parse(with(wrongs[i].from, wrongs[i].to)), PL_INVALID, &err);
		if (wrongs[i].says != NULL && strstr(err.msg, wrongs[i].says) == NULL)
			t_fail(__FILE__, __LINE__, "'%s' does not say '%s'", err.msg,
			       wrongs[i].says);
		T_MEM(&m, &before, sizeof m);
	}
	T_CODE(parse("[]"), PL_INVALID, &err);
	T_CODE(parse(""), PL_INVALID, &err);
	done();
}

T_CASE(bounds)
{
	char text[MEMBERSHIP_TEXT_MAX + 8], many[40000] = "{";
	size_t len = 1;

	memset(text, 'x', sizeof text);
	text[0] = '"';
	text[MEMBERSHIP_TEXT_MAX + 2] = 0;
	text[MEMBERSHIP_TEXT_MAX + 1] = '"';
	T_OK(parse(with("\"h1\"", text)), &err);
	text[MEMBERSHIP_TEXT_MAX + 1] = 'x';
	text[MEMBERSHIP_TEXT_MAX + 2] = '"';
	text[MEMBERSHIP_TEXT_MAX + 3] = 0;
	T_CODE(parse(with("\"h1\"", text)), PL_INVALID, &err);
	for (int i = 0; i <= MEMBERSHIP_CONFIGS_MAX; i++)
		len += (size_t)snprintf(many + len, sizeof many - len, "%s\"c%d\":1",
		                        i == 0 ? "" : ",", i);
	(void)snprintf(many + len, sizeof many - len, "}");
	T_CODE(parse(with("{\"coord\":3,\"weights\":12}", many)), PL_INVALID, &err);
	many[0] = '[';
	len = 1;
	for (int i = 0; i <= KEYS_PARTITIONS_MAX; i++)
		len += (size_t)snprintf(many + len, sizeof many - len, "%s%d",
		                        i == 0 ? "" : ",", i);
	(void)snprintf(many + len, sizeof many - len, "]");
	T_CODE(parse(with("[3,17]", many)), PL_INVALID, &err);
	done();
}

/* The largest possible record can be read again. */
T_CASE(the_largest_record_fits)
{
	static uint16_t partitions[KEYS_PARTITIONS_MAX];
	static uint32_t loads[KEYS_PARTITIONS_MAX];
	static char id[254], noise[4096];
	static char names[MEMBERSHIP_CONFIGS_MAX][64];

	memset(id, 'a', 253);
	for (size_t i = 60; i < 240; i += 60)
		id[i] = '.';
	memset(noise, 0xff, sizeof noise);
	m = (struct membership){.id = pl_span(id, 253),
	                        .instance = "0123456789abcdef0123456789abcdef",
	                        .state = MEMBERSHIP_DRAINING,
	                        .pid = MEMBERSHIP_PID_MAX,
	                        .weight = MEMBERSHIP_WEIGHT_MAX,
	                        .started_ms = INT64_MAX,
	                        .partitions = partitions,
	                        .loads = loads,
	                        .partition_count = KEYS_PARTITIONS_MAX,
	                        .writes_per_s = 1e-300,
	                        .busy = 7,
	                        .fenced = UINT64_MAX,
	                        .config_count = MEMBERSHIP_CONFIGS_MAX};
	m.host = m.boot = m.version = m.api = m.zone = pl_span(noise, sizeof noise);
	for (uint32_t i = 0; i < KEYS_PARTITIONS_MAX; i++) {
		partitions[i] = (uint16_t)i;
		loads[i] = UINT32_MAX;
	}
	for (size_t i = 0; i < MEMBERSHIP_CONFIGS_MAX; i++) {
		memset(names[i], 'b' + (int)i, 63);
		m.config[i] = (struct membership_config){
			.name = pl_span(names[i], 63),
			.version = KEYS_VERSION_MAX,
			.refused = pl_span(noise, sizeof noise)};
	}
	(void)print();
	pl_arena_init(&arena, 0, 0);
	T_OK(membership_parse(pl_span(id, 253), pl_span(buf.at, buf.len - 1), &arena, &m,
	                      &err),
	     &err);
	T_EQ(m.partition_count, KEYS_PARTITIONS_MAX);
	T_EQ(m.loads[KEYS_PARTITIONS_MAX - 1], UINT32_MAX);
	T_NEAR(m.busy, 1, 0);
	done();
}

T_CASE(an_invalid_record_is_not_written)
{
	struct membership good;

	T_OK(parse(whole), &err);
	good = m;
	pl_buf_init(&buf, MEMBERSHIP_BYTES_MAX);
	m.weight = 0;
	T_CODE(membership_print(&m, &buf, &err), PL_INVALID, &err);
	m = good;
	m.pid = -1;
	T_CODE(membership_print(&m, &buf, &err), PL_INVALID, &err);
	m = good;
	m.instance[3] = 'G';
	T_CODE(membership_print(&m, &buf, &err), PL_INVALID, &err);
	m = good;
	m.id = PL_SPAN_LIT("East");
	T_CODE(membership_print(&m, &buf, &err), PL_INVALID, &err);
	m = good;
	buf.max = 100;
	T_CODE(membership_print(&m, &buf, &err), PL_LIMIT, &err);
	done();
}

static enum pl_code torture(void)
{
	enum pl_code code = parse(whole);

	pl_buf_done(&buf);
	pl_buf_init(&buf, MEMBERSHIP_BYTES_MAX);
	if (code == PL_OK)
		code = membership_print(&m, &buf, &err);
	done();
	pl_arena_init(&arena, 0, 0);
	return code;
}

T_CASE(without_memory)
{
	t_torture(torture, false);
}
