#include <stdio.h>

#include "coord/session/session.h"
#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"

enum { TTL_S = 3 };

static struct etcd_rig rig;
static int64_t dead_pid;

/* A process with a shard, and a client of its own. */
struct etcd_shard {
	struct kv *kv;
	struct session *session;
	bool up, refused, closed;
	char why[PL_ERR_MSG_SIZE];
};

static bool pid_lives(void *ctx, int64_t pid)
{
	(void)ctx;
	return pid != dead_pid;
}

static void on_note(void *ctx, const struct session_note *note)
{
	struct etcd_shard *shard = ctx;

	if (note->err != NULL)
		(void)snprintf(shard->why, sizeof shard->why, "%s", note->err->msg);
	if (note->what == SESSION_UP)
		shard->up = true;
	if (note->what == SESSION_DOWN || note->what == SESSION_CLOSED)
		shard->up = false;
	if (note->what == SESSION_REFUSED)
		shard->refused = true;
	if (note->what == SESSION_CLOSED)
		shard->closed = true;
}

static void start(struct etcd_shard *shard, int64_t pid, char instance)
{
	struct membership self = {.id = PL_SPAN_LIT("east-0"),
	                          .host = PL_SPAN_LIT("h1"),
	                          .boot = PL_SPAN_LIT("b1"),
	                          .pid = pid,
	                          .weight = 1000,
	                          .started_ms = 1795237200000};
	struct session_opts opts = {.self = &self,
	                            .ttl_s = TTL_S,
	                            .refresh_ms = 1000,
	                            .seed = t_seed() + (uint64_t)pid,
	                            .pid_lives = pid_lives};

	memset(self.instance, instance, MEMBERSHIP_INSTANCE_SIZE - 1);
	*shard = (struct etcd_shard){.kv = etcd_rig_open(&rig, NULL)};
	T_OK(session_open(shard->kv, &opts, on_note, shard, &shard->session, &rig.err),
	     &rig.err);
}

static void end(struct etcd_shard *shard)
{
	session_close(shard->session);
	etcd_rig_until(&rig, &shard->closed);
	etcd_rig_close(&rig, shard->kv);
}

T_CASE_SECONDS(the_second_of_an_id_is_refused_and_a_restart_need_not_wait, 60)
{
	struct etcd_shard first, second, third;
	uint64_t before;

	etcd_rig_up(&rig, NULL, NULL);
	start(&first, 1, 'a');
	etcd_rig_until(&rig, &first.up);
	start(&second, 2, 'b');
	etcd_rig_until(&rig, &second.refused);
	T_TRUE(!second.up && first.up);
	T_TRUE(strstr(second.why, "host h1, pid 1") != NULL);
	end(&second);
	T_TRUE(strstr(etcd_rig_get(&rig, "/shards/east-0"), "\"pid\":1,") != NULL);
	/* As if it had been killed. */
	session_abandon(first.session);
	etcd_rig_until(&rig, &first.closed);
	etcd_rig_close(&rig, first.kv);
	dead_pid = 1;
	before = kv_now_ms(rig.kv);
	start(&third, 3, 'c');
	etcd_rig_until(&rig, &third.up);
	T_TRUE(kv_now_ms(rig.kv) - before < TTL_S * 1000 / 2);
	T_TRUE(strstr(etcd_rig_get(&rig, "/shards/east-0"), "\"pid\":3,") != NULL);
	end(&third);
	T_TRUE(etcd_rig_get(&rig, "/shards/east-0") == NULL);
	etcd_rig_down(&rig);
}

/* Whether the owner lives can not be found out: its lease expires, and not before. */
T_CASE_SECONDS(a_lost_owner_keeps_the_id_for_its_ttl, 60)
{
	struct etcd_shard first, second;

	etcd_rig_up(&rig, NULL, NULL);
	start(&first, 1, 'a');
	etcd_rig_until(&rig, &first.up);
	session_abandon(first.session);
	etcd_rig_until(&rig, &first.closed);
	etcd_rig_close(&rig, first.kv);
	start(&second, 2, 'b');
	etcd_rig_until(&rig, &second.up);
	T_TRUE(!second.refused);
	end(&second);
	etcd_rig_down(&rig);
}

/* An operator deletes or overwrites the record: it is put again, under the same lease. */
T_CASE_SECONDS(a_record_removed_by_hand_comes_back, 60)
{
	struct kv_req del = kv_op_delete(kv_key(PL_SPAN_LIT("/shards/east-0")));
	struct etcd_shard shard;
	int64_t lease;

	etcd_rig_up(&rig, NULL, NULL);
	start(&shard, 1, 'a');
	etcd_rig_until(&rig, &shard.up);
	lease = session_lease(shard.session);
	for (unsigned i = 0; i < 2; i++) {
		if (i == 0)
			T_OK(etcd_rig_call(&rig, &del, ETCD_RIG_TIMEOUT_MS, NULL),
			     &rig.err);
		else
			(void)etcd_rig_put(&rig, "/shards/east-0", "nonsense");
		shard.up = false;
		session_look(shard.session);
		while (etcd_rig_get(&rig, "/shards/east-0") == NULL ||
		       strstr(etcd_rig_get(&rig, "/shards/east-0"), "\"pid\":1,") == NULL)
			(void)uv_run(&rig.loop, UV_RUN_ONCE);
	}
	etcd_rig_until(&rig, &shard.up);
	T_EQ(session_lease(shard.session), lease);
	end(&shard);
	etcd_rig_down(&rig);
}
