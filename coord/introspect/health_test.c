#include <stdio.h>

#include "coord/introspect/health.h"
#include "tests/harness/t.h"

static bool good(void *ctx, char why[HEALTH_WHY_SIZE])
{
	(void)ctx;
	(void)why;
	return true;
}

static bool bad(void *ctx, char why[HEALTH_WHY_SIZE])
{
	(void)snprintf(why, HEALTH_WHY_SIZE, "%s", (const char *)ctx);
	return false;
}

static const struct health_check server[] = {
	{.name = "ping", .paths = HEALTH_LIVEZ | HEALTH_READYZ, .good = good},
	{.name = "store", .paths = HEALTH_READYZ, .good = good},
};

static char lost[] = "its lease is lost";

static struct health_check shards[] = {
	{.name = "shard/a-0", .paths = HEALTH_READYZ, .good = good},
	{.name = "loop/a-0", .paths = HEALTH_LIVEZ, .good = good},
};

static bool tells_reasons = true;

static void answers(const char *path, const char *query, int want_status,
                    const char *want)
{
	struct health_checks lists[] = {{server, 2}, {shards, 2}};
	struct health_question question = {pl_span_str(path), pl_span_str(query),
	                                   tells_reasons};
	struct pl_buf out;
	int status = 0;

	pl_buf_init(&out, 4096);
	T_TRUE(health_is_path(pl_span_str(path)));
	T_EQ(health_answer(lists, 2, &question, &out, &status), PL_OK);
	T_EQ(status, want_status);
	T_SPAN(pl_buf_span(&out), pl_span_str(want));
	pl_buf_done(&out);
}

static void shards_are(bool well)
{
	shards[0].good = well ? good : bad;
	shards[0].ctx = lost;
}

T_CASE(a_healthy_process_says_ok)
{
	shards_are(true);
	answers("/livez", "", 200, "ok");
	answers("/readyz", "timeout=10s", 200, "ok");
	answers("/healthz", "", 200, "ok");
	answers("/readyz/store", "", 200, "ok");
}

T_CASE(verbose_names_every_check_of_the_path)
{
	shards_are(true);
	answers("/readyz", "verbose", 200,
	        "[+]ping ok\n[+]store ok\n[+]shard/a-0 ok\nreadyz check passed\n");
	answers("/livez", "verbose=true", 200,
	        "[+]ping ok\n[+]loop/a-0 ok\nlivez check passed\n");
}

T_CASE(a_bad_check_says_why)
{
	shards_are(false);
	answers("/livez", "", 200, "ok");
	answers("/readyz", "", 500,
	        "[+]ping ok\n[+]store ok\n[-]shard/a-0 failed: its lease is lost\n"
	        "readyz check failed\n");
	answers("/readyz/shard/a-0", "", 500,
	        "[-]shard/a-0 failed: its lease is lost\nreadyz check failed\n");
	answers("/healthz", "", 500,
	        "[+]ping ok\n[+]store ok\n[-]shard/a-0 failed: its lease is lost\n"
	        "healthz check failed\n");
}

T_CASE(strangers_are_told_no_reason)
{
	shards_are(false);
	tells_reasons = false;
	answers("/readyz", "verbose", 500,
	        "[+]ping ok\n[+]store ok\n[-]shard/a-0 failed: reason withheld\n"
	        "readyz check failed\n");
	tells_reasons = true;
}

T_CASE(checks_are_excluded_by_name)
{
	shards_are(false);
	answers("/readyz", "exclude=shard/a-0", 200, "ok");
	answers("/readyz", "verbose&exclude=shard/a-0&exclude=none", 200,
	        "[+]ping ok\n[+]store ok\n[+]shard/a-0 excluded: ok\nreadyz check passed\n");
}

T_CASE(a_check_that_is_not_there_is_not_found)
{
	answers("/readyz/nothing", "", 404, "404 page not found\n");
	answers("/livez/store", "", 404, "404 page not found\n");
}

T_CASE(other_paths_are_not_of_health)
{
	static const char *const others[] = {"/",          "/live", "/livezz", "/readyz2",
	                                     "/api/livez", "livez", ""};

	for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
		T_TRUE(!health_is_path(pl_span_str(others[i])));
}

T_CASE(memory_that_fails_is_told)
{
	struct health_checks list = {server, 2};
	struct health_question question = {PL_SPAN_LIT("/readyz"), PL_SPAN_LIT("verbose"),
	                                   true};
	struct pl_buf out;
	int status = 0;

	pl_buf_init(&out, 8);
	T_EQ(health_answer(&list, 1, &question, &out, &status), PL_LIMIT);
	pl_buf_done(&out);
}
