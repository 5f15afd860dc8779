#include "coord/config/config_edit.h"
#include "coord/config/config_read.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct pl_err err;
static char text[8192];
static size_t text_len;
static bool done;

#define SAY(...)     \
	(text_len += \
	 (size_t)snprintf(text + text_len, sizeof text - text_len, __VA_ARGS__))

static void on_found(void *ctx, const struct config_found *found,
                     const struct pl_err *why)
{
	(void)ctx;
	T_TRUE(!done);
	done = true;
	T_TRUE((found == NULL) == (why != NULL));
	if (why != NULL) {
		SAY("%s: %s\n", pl_code_name(why->code), why->msg);
		return;
	}
	SAY("current %" PRIu64 "%s%s\n", found->current,
	    found->current_err.code == PL_OK ? "" : ", ", found->current_err.msg);
	for (size_t i = 0; i < found->count; i++) {
		const struct config_version *v = &found->versions[i];

		SAY("%s%" PRIu64 " by '" PL_SPAN_FMT "' why '" PL_SPAN_FMT
		    "' " PL_SPAN_FMT "%s\n",
		    v->current ? "*" : " ", v->version, PL_SPAN_ARG(v->by),
		    PL_SPAN_ARG(v->why), PL_SPAN_ARG(v->config), v->refused.msg);
	}
	if (found->more)
		SAY("and more\n");
}

static const char *reports(bool history, uint64_t version, uint32_t limit)
{
	struct config_read_opts opts = {
		.name = CONFIG_COORD, .version = version, .limit = limit};

	done = false;
	text_len = 0;
	text[0] = 0;
	T_OK(history ? config_history_start(kit.kv, &opts, on_found, NULL, NULL, &err)
	             : config_read_start(kit.kv, &opts, on_found, NULL, NULL, &err),
	     &err);
	T_TRUE(!done);
	kit_run(&kit, kit.now_ms);
	T_TRUE(done);
	return text;
}

static void on_edited(void *ctx, uint64_t version, const struct pl_err *why)
{
	(void)ctx;
	(void)version;
	T_TRUE(why == NULL);
}

static void edit(unsigned settle_ms)
{
	char json[64];
	struct config_edit_opts opts = {.name = CONFIG_COORD,
	                                .by = PL_SPAN_LIT("bob"),
	                                .why = PL_SPAN_LIT("so"),
	                                .expect_version = -1};

	(void)snprintf(json, sizeof json, "{\"settle_ms\":%u}", settle_ms);
	opts.config = pl_span_str(json);
	T_OK(config_edit_start(kit.kv, &opts, on_edited, NULL, NULL, &err), &err);
	kit_run(&kit, kit.now_ms);
}

T_CASE(nothing_there_is_the_default)
{
	kit_open(&kit, NULL);
	T_TRUE(strstr(reports(false, 0, 0),
	              "current 0\n*0 by '' why '' {\"handover_ms\":2000,") != NULL);
	T_STR(reports(true, 0, 0), "current 0\n");
	T_STR(reports(false, 3, 0),
	      "not found: configuration 'coord': version 3 is not there\n");
	kit_close(&kit);
}

T_CASE(versions_have_author_and_reason)
{
	kit_open(&kit, NULL);
	for (unsigned i = 1; i <= 3; i++)
		edit(i);
	T_STR(reports(false, 0, 0),
	      "current 3\n*3 by 'bob' why 'so' {\"settle_ms\":3}\n");
	T_STR(reports(false, 1, 0),
	      "current 3\n 1 by 'bob' why 'so' {\"settle_ms\":1}\n");
	T_STR(reports(true, 0, 0),
	      "current 3\n*3 by 'bob' why 'so' \n 2 by 'bob' why 'so' \n"
	      " 1 by 'bob' why 'so' \n");
	T_STR(reports(true, 0, 1), "current 3\n*3 by 'bob' why 'so' \nand more\n");
	kit_close(&kit);
}

T_CASE(errors_are_reported_beside_the_rest)
{
	kit_open(&kit, NULL);
	edit(1);
	(void)kit_put(
		&kit, "/config/coord/0000000002",
		"{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"config\":{\"x\":1}}");
	(void)kit_put(&kit, "/config/coord/0000000003", "garbage");
	(void)kit_put(&kit, "/config/coord/current", "{\"v\":2}");
	T_STR(reports(true, 0, 0),
	      "current 0, current: v: want 1, got 2\n"
	      " 3 by '' why '' JSON, line 1, column 1: want a value\n"
	      " 2 by '' why '' config.x: unknown field\n 1 by 'bob' why 'so' \n");
	T_STR(reports(false, 2, 0), "current 0, current: v: want 1, got 2\n"
	                            " 2 by '' why '' {\"x\":1}config.x: unknown field\n");
	T_STR(reports(false, 0, 0),
	      "invalid argument: configuration 'coord': current: v: "
	      "want 1, got 2\n");
	(void)kit_put(&kit, "/config/coord/current", "{\"v\":1,\"version\":9}");
	T_STR(reports(false, 0, 0),
	      "not found: configuration 'coord': version 9 is not there\n");
	kit_close(&kit);
}

/* More than one page of keys, and more than one batch of versions. */
T_CASE(a_long_history)
{
	char key[64];
	const char *got;
	unsigned lines = 0;

	kit_open(&kit, NULL);
	for (unsigned i = 1; i <= 2345; i++) {
		(void)snprintf(key, sizeof key, "/config/coord/%010u", i);
		(void)kit_put(&kit, key, "{}");
	}
	edit(7);
	got = reports(true, 0, 40);
	T_TRUE(strncmp(got, "current 2346\n*2346 by 'bob' why 'so' \n 2345 by ", 47) ==
	       0);
	for (const char *at = got; *at != 0; at++)
		lines += *at == '\n';
	T_EQ(lines, 1 + 40 + 1);
	T_TRUE(strstr(got, " 2307 by ") != NULL && strstr(got, "and more\n") != NULL);
	kit_close(&kit);
}

T_CASE(canceled)
{
	struct config_read_opts opts = {.name = CONFIG_COORD};
	struct config_read *read = NULL;

	for (unsigned steps = 0; steps < 4; steps++) {
		kit_open(&kit, NULL);
		edit(1);
		done = false;
		T_OK(config_read_start(kit.kv, &opts, on_found, NULL, &read, &err), &err);
		for (unsigned i = 0; i < steps && !done; i++)
			(void)memkv_step(kit.mem, kit.now_ms, 1);
		if (!done)
			config_read_cancel(read);
		kit_run(&kit, kit.now_ms);
		T_TRUE(done);
		kit_close(&kit);
	}
}
