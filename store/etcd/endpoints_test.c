#include "store/etcd/endpoints.h"
#include "tests/harness/t.h"

static struct endpoints list;
static struct pl_err err;

static void refused(const char *text, const char *words)
{
	T_EQ(endpoints_parse(&list, text, &err), PL_INVALID);
	if (strstr(err.msg, words) == NULL)
		t_fail(__FILE__, __LINE__, "'%s' says '%s', want '%s'", text, err.msg,
		       words);
}

T_CASE(reads_names_addresses_and_ports)
{
	T_EQ(endpoints_parse(&list, "http://10.0.0.1:2380,etcd-2,http://[::1]:99/", &err),
	     PL_OK);
	T_EQ(list.count, 3);
	T_TRUE(!list.tls);
	T_STR(list.at[0].host, "10.0.0.1");
	T_EQ(list.at[0].port, 2380);
	T_STR(list.at[1].host, "etcd-2");
	T_EQ(list.at[1].port, 2379);
	T_STR(list.at[2].host, "::1");
	T_EQ(list.at[2].port, 99);
	T_EQ(endpoints_parse(&list, "https://a,https://b", &err), PL_OK);
	T_TRUE(list.tls);
}

T_CASE(refuses_malformed_endpoints)
{
	refused("", "none given");
	refused("http://", "'http://'");
	refused("http://a,", "''");
	refused("http://a:0", "a:0");
	refused("http://a:65536", "a:65536");
	refused("http://a:12x", "a:12x");
	refused("http://a b", "a b");
	refused("http://[::1", "[::1");
	refused("http://[::1]x", "[::1]x");
	refused("http://::1", "::1");
	refused("ftp://a", "ftp://a");
	refused("http://a,https://b", "must be http or all https");
	refused("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", "more than 16");
}

T_CASE(moves_on_at_once_and_backs_off_when_all_have_failed)
{
	struct pl_err why = {.code = PL_UNAVAIL};
	struct pl_rng rng;
	uint64_t at = 0;

	pl_rng_init(&rng, 1);
	T_EQ(endpoints_parse(&list, "a,b,c", &err), PL_OK);
	T_EQ(endpoints_pick(&list, -1, 100, &at), 0);
	T_EQ(at, 100);
	endpoints_failed(&list, 0, &why, 100, &rng);
	T_EQ(endpoints_pick(&list, 0, 100, &at), 1);
	T_EQ(at, 100);
	endpoints_failed(&list, 1, &why, 100, &rng);
	endpoints_failed(&list, 2, &why, 100, &rng);
	(void)endpoints_pick(&list, 2, 100, &at);
	T_TRUE(at > 100 && at <= 100 + ENDPOINT_AVOID_FIRST_MS);
	endpoints_worked(&list, 1);
	T_EQ(endpoints_pick(&list, 1, 100, &at), 1);
	T_EQ(at, 100);
}

T_CASE(waits_longer_each_time_up_to_a_bound)
{
	struct pl_err why = {.code = PL_UNAVAIL};
	struct pl_rng rng;
	uint64_t at = 0, before = 0;

	pl_rng_init(&rng, 2);
	T_EQ(endpoints_parse(&list, "a", &err), PL_OK);
	for (unsigned i = 0; i < 40; i++) {
		endpoints_failed(&list, 0, &why, 0, &rng);
		T_EQ(endpoints_pick(&list, 0, 0, &at), 0);
		T_TRUE(at <= ENDPOINT_AVOID_MAX_MS);
		T_TRUE(i > 3 || at >= before / 2);
		before = at;
	}
	T_TRUE(at >= ENDPOINT_AVOID_MAX_MS / 2);
}

T_CASE(fails_for_good_only_when_no_member_can_recover)
{
	struct pl_err tls = {.code = PL_TLS}, down = {.code = PL_UNAVAIL};
	struct pl_rng rng;

	pl_rng_init(&rng, 3);
	T_EQ(endpoints_parse(&list, "https://a,https://b", &err), PL_OK);
	endpoints_failed(&list, 0, &tls, 0, &rng);
	T_TRUE(!endpoints_failed_for_good(&list, &err));
	endpoints_failed(&list, 1, &down, 0, &rng);
	T_TRUE(!endpoints_failed_for_good(&list, &err));
	endpoints_failed(&list, 1, &tls, 0, &rng);
	T_TRUE(endpoints_failed_for_good(&list, &err));
	T_EQ(err.code, PL_TLS);
}
