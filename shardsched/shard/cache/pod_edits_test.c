/*
 * Edits as a shard takes them (ADR 29): of pods that wait, of decisions in flight, and of
 * pods that have a place.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

#define GATE ",\"schedulingGates\":[{\"name\":\"hold\"}]"
#define SPEC_A "/schedules/0000/web/a/spec"
#define STATE_A "/schedules/0000/web/a/state"

static void begin(const char *cpu)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", cpu);
	rig_own(&rig, 0);
}

/* As rig_pod, with an annotation. */
static void put_note(const char *cpu, unsigned note)
{
	char json[1024], more[64];
	const char *labels, *at = rig_pod_json("a", cpu, "");

	(void)snprintf(more, sizeof more, "\"annotations\":{\"note\":\"%u\"},", note);
	labels = strstr(at, "\"name\":");
	T_TRUE(labels != NULL);
	(void)snprintf(json, sizeof json, "%.*s%s%s", (int)(labels - at), at, more,
	               labels);
	rig_put(&rig, SPEC_A, json);
}

static const struct sched_pod *pod_a(void)
{
	return pod_find(rig.sched, 0, PL_SPAN_LIT("web"), PL_SPAN_LIT("a"));
}

T_CASE(a_pod_whose_gate_is_removed_is_placed)
{
	begin("4");
	rig_pod(&rig, 0, "a", "1", GATE);
	rig_run_idle(&rig);
	T_TRUE(strncmp(rig_where(&rig, 0, "a"), "n-", 2) != 0);
	/* The edit deletes the state that says so. */
	rig_del(&rig, STATE_A);
	rig_pod(&rig, 0, "a", "1", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "a"), "n-1");
	rig_close(&rig);
}

/* The pod stands where it stood in the queue: it is not taken out, nor tried again. */
T_CASE(a_note_on_a_waiting_pod_does_not_disturb_the_queue)
{
	struct sched_figures before, after;
	struct queue_pod place;

	begin("1");
	rig_pod(&rig, 0, "a", "2", "");
	rig_run_idle(&rig);
	T_EQ(pod_a()->stage, POD_QUEUED);
	place = pod_a()->queue;
	sched_figures(rig.sched, &before);
	for (unsigned note = 0; note < 3; note++) {
		put_note("2", note);
		rig_run_idle(&rig);
	}
	T_EQ(pod_a()->rev[FACT_SPEC],
	     rig_get(&rig.store, PL_SPAN_LIT(SPEC_A))->mod_revision);
	T_EQ(memcmp(&place, &pod_a()->queue, sizeof place), 0);
	sched_figures(rig.sched, &after);
	T_EQ(after.txns, before.txns);
	T_EQ(after.decided, before.decided);
	rig_close(&rig);
}

/* The request is edited so that the pod fits, as an edit does it: without its state. */
T_CASE(a_waiting_pod_that_is_edited_begins_anew)
{
	begin("1");
	rig_pod(&rig, 0, "a", "2", "");
	rig_run_idle(&rig);
	T_TRUE(strncmp(rig_where(&rig, 0, "a"), "n-", 2) != 0);
	rig_del(&rig, STATE_A);
	rig_pod(&rig, 0, "a", "1", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "a"), "n-1");
	rig_close(&rig);
}

/* The transaction for the old pod is out while the pod is edited. */
T_CASE(a_decision_in_flight_fails_and_is_made_anew)
{
	struct sched_figures figures;

	begin("4");
	rig_pod(&rig, 0, "a", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	T_EQ(pod_a()->stage, POD_COMMITTING);
	rig_pod(&rig, 0, "a", "2", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "a"), "n-1");
	T_EQ(rig_alloc(&rig, 0, "n-1").used.cpu_milli, 2000);
	sched_figures(rig.sched, &figures);
	T_TRUE(figures.txns_failed > 0);
	rig_close(&rig);
}

/* A client of the API binds the pod to n-2 while this shard's decision is out. */
T_CASE(a_pod_that_a_client_binds_is_left_there)
{
	struct sched_figures figures;

	begin("4");
	rig_pod(&rig, 0, "a", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	T_EQ(pod_a()->stage, POD_COMMITTING);
	rig_node(&rig, 0, "n-2", "4");
	rig_put(&rig, STATE_A,
	        "{\"v\":1,\"uid\":\"u-a\",\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":"
	        "\"n-2\",\"shard\":\"api-1\",\"since\":\"2026-11-21T09:00:00.000Z\"}");
	rig_put(&rig, "/alloc/0000/east/n-2",
	        "{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"},\"pods\":{\"0000\":"
	        "{\"web\":[\"a\"]}}}");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "a"), "n-2");
	T_EQ(pod_a()->stage, POD_IDLE);
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 0);
	T_EQ(rig.malformed, 0);
	sched_figures(rig.sched, &figures);
	T_TRUE(figures.txns_failed > 0);
	sched_check(rig.sched);
	/* The room that the pod takes there is counted. */
	rig_pod(&rig, 0, "b", "4", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "b"), "n-1");
	rig_close(&rig);
}

/* A bound pod's class follows. */
T_CASE(labels_of_a_placed_pod_follow)
{
	const struct spec *was;

	begin("4");
	rig_pod(&rig, 0, "a", "1", "");
	rig_run_idle(&rig);
	was = pod_a()->spec;
	put_note("1", 1);
	rig_run_idle(&rig);
	T_TRUE(pod_a()->spec == was);
	rig_pod(&rig, 0, "a", "1", ",\"tolerations\":[{\"operator\":\"Exists\"}]");
	rig_run_idle(&rig);
	T_TRUE(pod_a()->spec != was);
	sched_check(rig.sched);
	T_STR(rig_where(&rig, 0, "a"), "n-1");
	rig_close(&rig);
}
