/* A term that no registry has room for holds up no other pods, and is reported. */
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

static void put_pod(const char *namespace, const char *name, unsigned values, bool global)
{
	static char json[2 << 20], in[1 << 20];
	char key[64];
	size_t len = (size_t)snprintf(in, sizeof in,
	                              "\"labelSelector\":{\"matchExpressions\":[{\"key\":"
	                              "\"app\",\"operator\":\"In\",\"values\":[\"%s\"",
	                              name);

	for (unsigned k = 0; k < values; k++)
		len += (size_t)snprintf(in + len, sizeof in - len,
		                        ",\"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
		                        "zzzzzzzzzzzz-%04u\"",
		                        k);
	(void)snprintf(in + len, sizeof in - len, "]}]}");
	(void)snprintf(key, sizeof key, "/schedules/0001/%s/%s/spec", namespace, name);
	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":"
		"\"u-%s\",\"labels\":{\"app\":\"%s\"}},\"spec\":{\"affinity\":{"
		"\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
		"\"topologyKey\":\"host\",%s%s}]}},\"containers\":[{\"name\":\"c\"}]}}",
		namespace, name, name, name, global ? "\"namespaceSelector\":{}," : "",
		in);
	rig_put(&rig, key, json);
}

static void run_for_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 500)
		rig_run_idle(&rig);
}

static const char *state_of(const char *namespace, const char *name)
{
	char key[64];

	(void)snprintf(key, sizeof key, "/schedules/0001/%s/%s/state", namespace, name);
	return rig_value(&rig, key);
}

static void up(void)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-0", "64");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
}

enum { FEW = 64 };

/* huge and small come together; the registry has room for small only. */
static void small_goes(bool global, bool with_huge)
{
	const char *of = global ? "other" : "web";
	char name[16];

	up();
	for (unsigned i = 0; i < FEW; i++) {
		(void)snprintf(name, sizeof name, "f-%u", i);
		put_pod("web", name, 285, global);
	}
	run_for_ms(20000);
	T_TRUE(strstr(state_of("web", "f-63"), "\"Bound\"") != NULL);
	if (with_huge)
		put_pod("web", "huge", 285, global);
	put_pod(of, "small", 1, global);
	run_for_ms(20000);
	T_TRUE(strstr(state_of(of, "small"), "\"Bound\"") != NULL);
	rig_close(&rig);
}

T_CASE_SECONDS(a_term_that_fits_is_registered_after_one_that_does_not, 120)
{
	small_goes(false, false);
}

T_CASE_SECONDS(a_term_that_fits_is_registered_beside_one_that_does_not, 120)
{
	small_goes(false, true);
}

T_CASE_SECONDS(a_term_that_fits_is_registered_in_the_global_registry, 120)
{
	small_goes(true, true);
}

/* A rule of more than 16 KiB. */
T_CASE_SECONDS(a_spec_with_a_rule_that_is_too_large_is_malformed, 120)
{
	up();
	put_pod("web", "large", 400, false);
	run_for_ms(20000);
	T_EQ(rig.malformed, 1);
	T_EQ(rig.troubles, 0);
	T_STR(rig.said, "/schedules/0001/web/large/spec: spec: a rule about other pods "
	                "takes more than 16384 bytes");
	rig_close(&rig);
}

/* -- gangs' names ------------------------------------------------------------ */

static void gang_named(const char *gang, bool malformed)
{
	char json[1024];

	up();
	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"m\",\"uid\":\"u-m\","
		"\"annotations\":{\"placet.io/gang\":\"%s\"}},\"spec\":{"
		"\"containers\":[{\"name\":\"c\"}]}}",
		gang);
	rig_put(&rig, "/schedules/0001/web/m/spec", json);
	run_for_ms(20000);
	T_EQ(rig.troubles, 0);
	T_EQ(rig.malformed, malformed);
	T_EQ(state_of("web", "m")[0] != 0, !malformed);
	rig_close(&rig);
}

T_CASE(a_gang_with_a_valid_name_is_tried)
{
	gang_named("a", false);
}

T_CASE(a_gang_name_that_fits_no_key_is_malformed)
{
	gang_named("My_Gang", true);
}
