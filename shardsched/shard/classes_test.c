/* Pods with claims of their own: one registered class, and a class for each pod in the
 * queue. */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "store/base/fault.h"
#include "tests/support/shardsched/shard/sched_rig.h"

enum { PODS = 5, REST_MS = 20000 /* longer than the longest backoff */ };

static struct rig rig;

static void replica(unsigned i, const char *cpu)
{
	char name[16], more[160];

	(void)snprintf(name, sizeof name, "db-%u", i);
	(void)snprintf(more, sizeof more,
	               ",\"volumes\":[{\"name\":\"data\",\"persistentVolumeClaim\":{"
	               "\"claimName\":\"data-db-%u\"}}]",
	               i);
	rig_replica(&rig, 1, name, cpu, more);
}

static void up(void)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "16");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	for (unsigned i = 0; i < PODS; i++)
		replica(i, "1");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	sched_check(rig.sched);
}

static struct sched_pod *pod(unsigned i)
{
	char name[16];

	(void)snprintf(name, sizeof name, "db-%u", i);
	return pod_find(rig.sched, 1, PL_SPAN_LIT("web"), pl_span_str(name));
}

static bool is_bound(unsigned i)
{
	char name[16];
	int phase;

	(void)snprintf(name, sizeof name, "db-%u", i);
	(void)rig_state(&rig, 1, name, &phase);
	return phase == STATE_BOUND;
}

static void put(const char *json)
{
	struct parse parse = {.model = &rig.sched->model, .arena = &rig.sched->arena};
	struct queue_event event = {.kind = QUEUE_EV_PVC_ADDED};
	struct claim claim;

	pl_arena_reset(&rig.sched->arena);
	T_OK(claim_parse(&parse, pl_span_str(json), &claim, &rig.err), &rig.err);
	event.object = claim.name;
	event.detail = claim.namespace;
	T_OK(catalog_put_claim(&rig.sched->snapshot.catalog, &claim, &rig.err), &rig.err);
	queue_event(rig.sched->queue, &event);
	rig.now_ms += REST_MS;
}

/* The claim is bound to a volume that can be reached from every node. */
static void claim_comes(unsigned i)
{
	struct parse parse = {.model = &rig.sched->model, .arena = &rig.sched->arena};
	struct volume volume;
	char json[320];

	pl_arena_reset(&rig.sched->arena);
	T_OK(volume_parse(&parse, PL_SPAN_LIT("{\"metadata\":{\"name\":\"v\"}}"), &volume,
	                  &rig.err),
	     &rig.err);
	T_OK(catalog_put_volume(&rig.sched->snapshot.catalog, &volume, &rig.err),
	     &rig.err);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"data-db-%u\","
	               "\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"yes\"}},"
	               "\"spec\":{\"volumeName\":\"v\"}}",
	               i);
	put(json);
	rig.now_ms += REST_MS;
}

T_CASE(pods_with_own_claims_share_a_class_and_wait_alone)
{
	struct queue_stats stats;

	up();
	sched_queue_stats(rig.sched, &stats);
	T_EQ(stats.pods[QUEUE_WAITING], PODS);
	T_EQ(stats.classes_waiting, PODS);
	T_EQ(rig.sched->class_registry->count, 1);
	for (unsigned i = 1; i < PODS; i++) {
		T_TRUE(pod(i)->spec == pod(0)->spec);
		T_TRUE(pod(i)->queue.class != pod(0)->queue.class);
		T_TRUE(pool_class_of(pod(i)->queue.class) ==
		       pool_class_of(pod(0)->queue.class));
	}
	rig_close(&rig);
}

/* A waiting pod keeps little: what its plugins prepare is dropped when others come. */
T_CASE(waiting_pods_with_own_claims_keep_little)
{
	enum { READY = 2, UNLIKE = 12 };
	char name[16], cpu[16];
	const struct class_registry *class_registry;

	rig_open(&rig, &(struct sched_opts){.ready_classes = READY});
	rig_node(&rig, 0, "n-1", "1");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	for (unsigned i = 0; i < UNLIKE; i++) {
		(void)snprintf(name, sizeof name, "u-%u", i);
		(void)snprintf(cpu, sizeof cpu, "%um", 2000 + i);
		rig_pod(&rig, 1, name, cpu, "");
	}
	rig_deliver_all(&rig);
	class_registry = rig.sched->class_registry;
	T_EQ(class_registry->count, UNLIKE);
	T_EQ(class_registry->ready_count, 0);
	rig_run_idle(&rig);
	T_EQ(class_registry->count, UNLIKE);
	T_EQ(class_registry->ready_count, READY);
	rig_node(&rig, 0, "n-2", "64"); /* the node helps each of them, prepared or not */
	rig_deliver_all(&rig);
	rig.now_ms += REST_MS;
	rig_run_idle(&rig);
	rig_deliver_all(&rig);
	T_EQ(class_registry->count, READY);
	for (unsigned i = 0; i < UNLIKE; i++) {
		int phase;

		(void)snprintf(name, sizeof name, "u-%u", i);
		(void)rig_state(&rig, 1, name, &phase);
		T_EQ(phase, STATE_BOUND);
	}
	sched_check(rig.sched);
	rig_close(&rig);
}

/* Neither the oldest pod nor any other is tried instead. */
T_CASE(only_the_pod_whose_claim_comes_is_tried)
{
	uint32_t attempts[PODS];

	up();
	for (unsigned i = 0; i < PODS; i++)
		attempts[i] = pod(i)->queue.attempts;
	claim_comes(3);
	rig_run_idle(&rig);
	for (unsigned i = 0; i < PODS; i++) {
		T_EQ(is_bound(i), i == 3);
		T_TRUE(i == 3 || pod(i)->queue.attempts == attempts[i]);
	}
	rig_deliver_all(&rig);
	claim_comes(0);
	rig_run_idle(&rig);
	T_TRUE(is_bound(0) && !is_bound(1));
	sched_check(rig.sched);
	rig_close(&rig);
}

/* The shared class and the pods' own classes change lanes, wherever a rule begins to
 * select them. */
T_CASE(shared_and_own_classes_change_lanes)
{
	up();
	rig_pod(&rig, 1, "rule", "1",
	        ",\"affinity\":{\"podAntiAffinity\":{"
	        "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":"
	        "\"zone\",\"labelSelector\":{\"matchLabels\":{\"set\":\"db\"}}}]}}");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	for (unsigned i = 0; i < PODS; i++) {
		T_TRUE(class_rules_of(pool_class_of(pod(i)->queue.class))->lane !=
		       LANE_PLAIN);
		T_EQ(pod(i)->queue.class->lane,
		     class_rules_of(pool_class_of(pod(i)->queue.class))->lane);
	}
	replica(PODS, "1");
	rig_deliver_all(&rig);
	T_EQ(pod(PODS)->queue.class->lane, pod(0)->queue.class->lane);
	claim_comes(2);
	rig_run_idle(&rig);
	T_TRUE(is_bound(2) && !is_bound(1));
	sched_check(rig.sched);
	rig_close(&rig);
}

T_CASE(edited_deleted_and_lost_pods_leave_nothing)
{
	up();
	replica(1, "2");
	rig_del(&rig, "/schedules/0001/web/db-2/spec");
	rig_del(&rig, "/schedules/0001/web/db-2/state");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	sched_check(rig.sched);
	T_TRUE(pod(2) == NULL && pod(1)->spec != pod(0)->spec);
	T_OK(sched_configure(rig.sched, &(struct sched_settings){.sort = QUEUE_BY_SLA},
	                     &rig.err),
	     &rig.err);
	sched_check(rig.sched);
	claim_comes(4);
	rig_run_idle(&rig);
	T_TRUE(is_bound(4));
	rig_lost(&rig, 1);
	sched_check(rig.sched);
	rig_close(&rig);
}

T_CASE(pods_wait_for_memory_for_their_class)
{
	bool fired = true;

	up();
	for (uint64_t nth = 1; fired; nth++) {
		replica(PODS, nth % 2 == 0 ? "1" : "2");
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		rig_deliver_all(&rig);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		sched_check(rig.sched);
	}
	rig_run_idle(&rig);
	sched_check(rig.sched);
	T_EQ(pod(PODS)->queue.place, QUEUE_WAITING);
	rig_close(&rig);
}
