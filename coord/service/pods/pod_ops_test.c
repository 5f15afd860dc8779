/* Removing pods, and waiting until they are bound or gone. */
#include "coord/service/pods/pod_remove.h"
#include "coord/service/pods/pods_bound.h"
#include "coord/service/pods/pods_gone.h"
#include "store/keys/partition.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 8 };

static struct kit kit;
static struct service service;
static unsigned dones, next;
static struct pl_err failure;
static uint64_t withheld;
static char text[512];
static struct pod_name names[2];

static void on_done(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	dones++;
	failure = err == NULL ? (struct pl_err){0} : *err;
}

static uint32_t partition_of(const struct pod_name *pod)
{
	uint32_t partition;

	T_OK(partition_of_pod(pod->namespace, pod->name, PARTITIONS, &partition, NULL),
	     NULL);
	return partition;
}

static const char *key_of(const struct pod_name *pod, const char *leaf)
{
	static char key[160];

	(void)snprintf(key, sizeof key,
	               "/schedules/%04u/" PL_SPAN_FMT "/" PL_SPAN_FMT "/%s",
	               partition_of(pod), PL_SPAN_ARG(pod->namespace),
	               PL_SPAN_ARG(pod->name), leaf);
	return key;
}

static void put_spec(const struct pod_name *pod)
{
	char json[300];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"" PL_SPAN_FMT
	               "\",\"name\":\"" PL_SPAN_FMT
	               "\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{"
	               "\"name\":\"c\",\"image\":\"i\"}]}}",
	               PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name));
	(void)kit_put(&kit, key_of(pod, "spec"), json);
}

static void put_bound(const struct pod_name *pod)
{
	(void)kit_put(&kit, key_of(pod, "state"),
	              "{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"cluster\":\"east\","
	              "\"node\":\"n-1\",\"shard\":\"s\",\"epoch\":\"1\",\"since\":"
	              "\"2026-11-21T09:00:00.000Z\"}");
}

static void drop(const struct pod_name *pod, const char *leaf)
{
	(void)kit_delete(&kit, kv_key(pl_span_str(key_of(pod, leaf))));
}

static void up(void)
{
	kit_open(&kit, NULL);
	for (unsigned i = 0; i < 2; i++)
		names[i] = (struct pod_name){PL_SPAN_LIT("shop"),
		                             i == 0 ? PL_SPAN_LIT("web-0")
		                                    : PL_SPAN_LIT("web-1")};
	service = (struct service){.kv = kit.kv,
	                           .partitions = PARTITIONS,
	                           .timeout_ms = 1000,
	                           .user = "ann@host"};
	dones = next = 0;
	text[0] = 0;
	withheld = 0;
	failure = (struct pl_err){0};
	for (unsigned i = 0; i < 2; i++)
		put_spec(&names[i]);
}

/* -- removing ------------------------------------------------------------- */

static enum pl_code on_next(void *ctx, struct pod_name *out, struct pl_err *err)
{
	(void)ctx;
	(void)err;
	if (next == 2)
		return PL_NOTFOUND;
	*out = names[next++];
	return PL_OK;
}

static void on_outcome(void *ctx, const struct pod_name *pod, uint32_t partition,
                       enum pod_request_outcome outcome, const char *why)
{
	size_t len = strlen(text);

	(void)ctx;
	(void)why;
	T_EQ(partition, partition_of(pod));
	(void)snprintf(text + len, sizeof text - len, PL_SPAN_FMT ":%d ",
	               PL_SPAN_ARG(pod->name), (int)outcome);
}

static void on_removed(void *ctx, uint64_t pods, const struct pl_err *err)
{
	withheld = pods;
	on_done(ctx, err);
}

static struct pod_remove *start_remove(enum pod_request_verb verb, uint64_t timeout_ms)
{
	const struct pod_remove_opts opts = {.verb = verb,
	                                     .timeout_ms = timeout_ms,
	                                     .next = on_next,
	                                     .outcome = on_outcome,
	                                     .done = on_removed};
	struct pod_remove *remove;

	T_OK(pod_remove_start(&service, &opts, &remove, &kit.err), &kit.err);
	T_EQ(dones, 0);
	return remove;
}

static const char *outcomes(int first, int second)
{
	static char want[64];

	(void)snprintf(want, sizeof want, "web-0:%d web-1:%d ", first, second);
	return want;
}

T_CASE(pods_without_a_place_are_deleted_at_once)
{
	up();
	drop(&names[1], "spec");
	(void)start_remove(POD_REQUEST_DELETE, 0);
	kit_until(&kit, 100);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	T_TRUE(strstr(text, "web-0:0 ") != NULL && POD_REQUEST_GONE == 0);
	T_TRUE(strstr(text, "web-1:3 ") != NULL && POD_REQUEST_ABSENT == 3);
	kit_close(&kit);
}

#define BUDGET(allowed)                                                                \
	"{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"}," \
	"\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}}"

T_CASE(withheld_pods_are_asked_again_until_the_time_is_up)
{
	up();
	put_bound(&names[0]);
	put_bound(&names[1]);
	(void)kit_put(&kit, "/budgets/shop/web", BUDGET());
	(void)start_remove(POD_REQUEST_EVICT, 2000);
	kit_until(&kit, 1000);
	T_EQ(dones, 0);
	T_STR(text, outcomes(POD_REQUEST_WITHHELD, POD_REQUEST_WITHHELD));
	kit_until(&kit, 4000);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_TIMEOUT, &failure);
	T_EQ(withheld, 2);
	kit_close(&kit);
}

/* One pod more than a transaction takes, so that a round needs two. */
enum { MANY_PODS = POD_REQUEST_BATCH_MAX + 1 };

static unsigned many_next, many_outcomes;

static struct pod_name nth_pod(unsigned i)
{
	static char name[16];
	int len = snprintf(name, sizeof name, "many-%03u", i);

	return (struct pod_name){PL_SPAN_LIT("shop"), pl_span(name, (size_t)len)};
}

static enum pl_code on_next_of_many(void *ctx, struct pod_name *out, struct pl_err *err)
{
	(void)ctx;
	(void)err;
	if (many_next == MANY_PODS)
		return PL_NOTFOUND;
	*out = nth_pod(many_next++);
	return PL_OK;
}

static void on_outcome_of_many(void *ctx, const struct pod_name *pod, uint32_t partition,
                               enum pod_request_outcome outcome, const char *why)
{
	(void)ctx;
	(void)pod;
	(void)partition;
	(void)why;
	T_EQ(outcome, POD_REQUEST_WITHHELD);
	many_outcomes++;
}

static void start_eviction_of_many(uint64_t timeout_ms)
{
	const struct pod_remove_opts opts = {.verb = POD_REQUEST_EVICT,
	                                     .timeout_ms = timeout_ms,
	                                     .next = on_next_of_many,
	                                     .outcome = on_outcome_of_many,
	                                     .done = on_removed};
	struct pod_remove *remove;

	many_next = many_outcomes = 0;
	T_OK(pod_remove_start(&service, &opts, &remove, &kit.err), &kit.err);
}

/* In the second round the first transaction's pods are withheld, and then the store stops
 * to answer: how many are withheld is not known. */
T_CASE(a_store_without_an_answer_is_not_the_end_of_the_time)
{
	struct faulty_rule refuse = {
		.what = FAULTY_REFUSE, .per_mille = 1000, .code = PL_TIMEOUT};
	struct pod_name last;

	up();
	for (unsigned i = 0; i < MANY_PODS; i++) {
		struct pod_name pod = nth_pod(i);

		put_spec(&pod);
		put_bound(&pod);
	}
	(void)kit_put(&kit, "/budgets/shop/web", BUDGET());
	last = nth_pod(MANY_PODS - 1);
	refuse.prefix = pl_span_str(key_of(&last, ""));
	T_OK(faulty_open(kit.kv, 1, &refuse, 1, &kit.kv, &kit.err), &kit.err);
	service.kv = kit.kv;
	faulty_pause(kit.kv, true);
	start_eviction_of_many(300000);
	kit_until(&kit, 400);
	T_EQ(many_outcomes, MANY_PODS);
	faulty_pause(kit.kv, false);
	kit_until(&kit, 200000);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_TIMEOUT, &failure);
	T_EQ(withheld, 0);
	kit_close(&kit);
}

T_CASE(a_budget_that_goes_lets_withheld_pods_go)
{
	up();
	put_bound(&names[0]);
	put_bound(&names[1]);
	(void)kit_put(&kit, "/budgets/shop/web", BUDGET());
	(void)start_remove(POD_REQUEST_EVICT, 0);
	kit_until(&kit, 1000);
	text[0] = 0;
	T_EQ(kit_delete(&kit, kv_key(PL_SPAN_LIT("/budgets/shop/web"))), 1);
	kit_until(&kit, 3000);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	T_STR(text, outcomes(POD_REQUEST_ACCEPTED, POD_REQUEST_ACCEPTED));
	kit_close(&kit);
}

T_CASE(cancel_ends_a_removal_in_a_pause)
{
	struct pod_remove *remove;

	up();
	put_bound(&names[0]);
	put_bound(&names[1]);
	(void)kit_put(&kit, "/budgets/shop/web", BUDGET());
	remove = start_remove(POD_REQUEST_EVICT, 0);
	kit_until(&kit, 100);
	pod_remove_cancel(remove);
	T_EQ(dones, 0);
	kit_until(&kit, 101);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	kit_close(&kit);
}

/* -- waiting until they are gone ------------------------------------------ */

static void on_trouble(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	(void)err;
}

static void start_gone(struct pods_gone *gone, uint64_t timeout_ms)
{
	const struct pods_gone_opts opts = {
		.timeout_ms = timeout_ms, .trouble = on_trouble, .done = on_done};

	pods_gone_init(gone);
	for (unsigned i = 0; i < 2; i++)
		T_OK(pods_gone_add(gone, partition_of(&names[i]), &names[i], &kit.err),
		     &kit.err);
	T_OK(pods_gone_start(gone, &service, &opts, &kit.err), &kit.err);
}

T_CASE(a_wait_ends_when_all_pods_are_gone)
{
	static struct pods_gone gone;

	up();
	drop(&names[0], "spec");
	start_gone(&gone, 0);
	kit_until(&kit, 100);
	T_EQ(dones, 0);
	T_EQ(gone.left.count, 1);
	drop(&names[1], "spec");
	kit_until(&kit, 200);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	pods_gone_done(&gone);
	kit_close(&kit);
}

T_CASE(a_wait_for_pods_that_stay_ends_with_its_time)
{
	static struct pods_gone gone;

	up();
	start_gone(&gone, 500);
	kit_until(&kit, 600);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_TIMEOUT, &failure);
	T_EQ(gone.left.count, 2);
	pods_gone_done(&gone);
	kit_close(&kit);
}

/* -- waiting until they are bound ----------------------------------------- */

static struct pods_bound bound;
static unsigned left;

static uint64_t now_us(void)
{
	return kit.now_ms * 1000;
}

static void on_lost(void *ctx, struct pl_span pod, const char *why)
{
	size_t len = strlen(text);

	(void)ctx;
	(void)snprintf(text + len, sizeof text - len, PL_SPAN_FMT " %s ",
	               PL_SPAN_ARG(pod), why);
}

static bool on_left(void *ctx, struct pl_span pod, uint32_t partition)
{
	(void)ctx;
	(void)pod;
	(void)partition;
	left++;
	return true;
}

static void start_bound(bool all, const struct label_query *query)
{
	const struct pods_bound_opts opts = {.all = all,
	                                     .query = query,
	                                     .timeout_ms = 500,
	                                     .now_us = now_us,
	                                     .lost = on_lost,
	                                     .left = on_left,
	                                     .trouble = on_trouble,
	                                     .done = on_done};

	left = 0;
	pods_bound_init(&bound);
	for (unsigned i = 0; i < 2 && !all; i++)
		T_OK(pods_bound_add(&bound, partition_of(&names[i]), &names[i], &kit.err),
		     &kit.err);
	T_OK(pods_bound_start(&bound, &service, &opts, &kit.err), &kit.err);
}

T_CASE(a_wait_ends_when_all_pods_are_bound)
{
	up();
	put_bound(&names[0]);
	start_bound(false, NULL);
	kit_until(&kit, 100);
	T_EQ(dones, 0);
	T_EQ(bound.bound, 1);
	put_bound(&names[1]);
	kit_until(&kit, 200);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(bound.bound, 2);
	pods_bound_done(&bound);
	kit_close(&kit);
}

T_CASE(a_pod_that_goes_before_it_is_bound_is_lost)
{
	up();
	put_bound(&names[0]);
	start_bound(false, NULL);
	kit_until(&kit, 100);
	drop(&names[1], "spec");
	kit_until(&kit, 200);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(bound.lost, 1);
	T_STR(text, "shop/web-1 is gone ");
	pods_bound_done(&bound);
	kit_close(&kit);
}

T_CASE(pods_that_are_not_bound_in_time_are_named)
{
	struct label_query query = {0};

	up();
	T_OK(label_query_parse(PL_SPAN_LIT("app=web"), &query, &kit.err), &kit.err);
	put_bound(&names[0]);
	start_bound(true, &query);
	kit_until(&kit, 600);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_TIMEOUT, &failure);
	T_EQ(pods_bound_total(&bound), 2);
	T_EQ(left, 1);
	pods_bound_done(&bound);
	kit_close(&kit);
}

T_CASE(cancel_ends_a_wait_through_done)
{
	up();
	start_bound(true, NULL);
	pods_bound_cancel(&bound);
	T_EQ(dones, 0);
	kit_until(&kit, 100);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	pods_bound_done(&bound);
	kit_close(&kit);
}
