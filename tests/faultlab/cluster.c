#include "tests/faultlab/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/kv/calls.h"
#include "tests/support/store/etcd/etcd_users.h"

/* Elections within a second, so that a run sees many of them. */
enum { HEARTBEAT_MS = 50, ELECTION_MS = 500, ASK_MS = 400, FRESH_MS = 1200 };

/* A probe asks one member for the leader. */
struct probe {
	struct cluster *cluster;
	struct kv *kv;
	struct pl_timer timer;
	uint64_t member_id;
	uint64_t leader_id;
	uint64_t term;
	uint64_t seen_ms;
	bool asking;
};

struct cluster {
	struct cluster_opts opts;
	uv_loop_t *loop;
	struct etcd_launch *launch;
	struct probe probe[CLUSTER_MEMBERS];
	char version[CLUSTER_VERSION_SIZE];
	unsigned open;
	bool closing;
};

static void ask_later(struct probe *probe)
{
	if (!probe->cluster->closing)
		pl_timer_set(&probe->timer, kv_now_ms(probe->kv) + ASK_MS);
}

static void on_status(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct probe *probe = ctx;

	probe->asking = false;
	if (err == NULL) {
		probe->member_id = result->header.member_id;
		probe->leader_id = result->status.leader;
		probe->term = result->header.raft_term;
		probe->seen_ms = kv_now_ms(probe->kv);
		(void)snprintf(probe->cluster->version, CLUSTER_VERSION_SIZE, "%s",
		               result->status.version);
	}
	ask_later(probe);
}

static void probe_members(void *ctx)
{
	struct probe *probe = ctx;

	if (probe->asking)
		return;
	probe->asking =
		kv_status(probe->kv, ASK_MS, on_status, probe, NULL, NULL) == PL_OK;
	if (!probe->asking)
		ask_later(probe);
}

/* A ghost's address is in no certificate: the name that all have is checked. */
static void let_in(const struct cluster *cluster, struct etcd_opts *opts)
{
	if (!cluster->opts.secure)
		return;
	opts->tls = (struct tls_files){
		.ca_file = etcd_launch_ca_file(cluster->launch),
		.cert_file = etcd_launch_cert_file(cluster->launch),
		.key_file = etcd_launch_key_file(cluster->launch),
		.server_name = "localhost",
	};
	opts->user = ETCD_USERS_NAME;
	opts->password = ETCD_USERS_PASSWORD;
}

static enum pl_code probe_open(struct cluster *cluster, unsigned member,
                               struct pl_err *err)
{
	struct probe *probe = &cluster->probe[member];
	struct etcd_opts opts = {.endpoints =
	                                 etcd_launch_endpoint(cluster->launch, member)};
	enum pl_code code;

	let_in(cluster, &opts);
	code = etcd_open(cluster->loop, &opts, &probe->kv, err);

	if (code != PL_OK)
		return code;
	cluster->open++;
	probe->cluster = cluster;
	code = pl_timer_init(&probe->timer, kv_timers(probe->kv), probe_members, probe);
	if (code == PL_OK)
		ask_later(probe);
	return code;
}

enum pl_code cluster_open(uv_loop_t *loop, const struct cluster_opts *opts,
                          struct cluster **out, struct pl_err *err)
{
	struct cluster *cluster = pl_calloc(1, sizeof *cluster);
	const char *ip[CLUSTER_MEMBERS];
	int netns[CLUSTER_MEMBERS];
	struct etcd_launch_opts launch = {.members = CLUSTER_MEMBERS,
	                                  .no_fsync = true,
	                                  .heartbeat_ms = HEARTBEAT_MS,
	                                  .election_ms = ELECTION_MS,
	                                  .tls = opts->secure,
	                                  .on_exit = opts->on_exit,
	                                  .ctx = opts->ctx};
	enum pl_code code;

	if (cluster == NULL)
		return pl_err_set(err, PL_NOMEM, "cluster");
	cluster->opts = *opts;
	cluster->loop = loop;
	for (unsigned i = 0; opts->wire != NULL && i < CLUSTER_MEMBERS; i++) {
		ip[i] = wire_ip(opts->wire, i);
		netns[i] = wire_netns(opts->wire, i);
		launch.host_ip = ip;
		launch.host_netns_fd = netns;
	}
	code = etcd_launch_start_wait(loop, &launch, &cluster->launch, err);
	if (code == PL_OK && opts->secure)
		code = etcd_users_enable(cluster->launch, err);
	for (unsigned i = 0; i < CLUSTER_MEMBERS && code == PL_OK; i++)
		code = probe_open(cluster, i, err);
	if (code != PL_OK) {
		cluster_close(cluster);
		return code;
	}
	*out = cluster;
	return PL_OK;
}

static void on_closed(void *ctx)
{
	struct cluster *cluster = ctx;

	cluster->open--;
}

void cluster_close(struct cluster *cluster)
{
	if (cluster == NULL)
		return;
	cluster->closing = true;
	for (unsigned i = 0; i < CLUSTER_MEMBERS; i++) {
		pl_timer_done(&cluster->probe[i].timer);
		if (cluster->probe[i].kv != NULL)
			kv_close(cluster->probe[i].kv, on_closed, cluster);
	}
	while (cluster->open > 0)
		(void)uv_run(cluster->loop, UV_RUN_ONCE);
	if (cluster->launch != NULL)
		etcd_launch_stop_wait(cluster->launch);
	free(cluster);
}

/* The leader according to the member with the highest term that answered lately. */
int cluster_leader(const struct cluster *cluster)
{
	uint64_t term = 0, leader = 0;

	for (unsigned i = 0; i < CLUSTER_MEMBERS; i++) {
		const struct probe *probe = &cluster->probe[i];

		if (probe->leader_id != 0 && probe->term > term &&
		    kv_now_ms(probe->kv) < probe->seen_ms + FRESH_MS) {
			term = probe->term;
			leader = probe->leader_id;
		}
	}
	for (unsigned i = 0; i < CLUSTER_MEMBERS; i++)
		if (leader != 0 && cluster->probe[i].member_id == leader)
			return (int)i;
	return -1;
}

const char *cluster_version(const struct cluster *cluster)
{
	return cluster->version;
}

struct etcd_launch *cluster_launch(struct cluster *cluster)
{
	return cluster->launch;
}

/* "http://10.77.0.1:2379" as the ghost dials it: "http://10.77.1.1:2379". */
static int write_url(const struct cluster *cluster, bool ghost, unsigned member, char *at,
                     size_t size)
{
	const char *url = etcd_launch_endpoint(cluster->launch, member);
	char ip[WIRE_IP_SIZE];

	if (!ghost || cluster->opts.wire == NULL)
		return snprintf(at, size, "%s", url);
	wire_ghost_ip(cluster->opts.wire, 0, member, ip);
	return snprintf(at, size, "%s://%s%s", cluster->opts.secure ? "https" : "http",
	                ip, strrchr(url, ':'));
}

enum pl_code cluster_client(struct cluster *cluster, bool ghost, unsigned index,
                            struct kv **out, struct pl_err *err)
{
	char urls[CLUSTER_URLS_SIZE];
	struct etcd_opts opts = {.endpoints = urls, .connect_timeout_ms = 1000};
	size_t len = 0;

	for (unsigned i = 0; i < CLUSTER_MEMBERS; i++) {
		if (i > 0)
			urls[len++] = ',';
		len += (size_t)write_url(cluster, ghost, (index + i) % CLUSTER_MEMBERS,
		                         urls + len, sizeof urls - len);
		PL_ASSERT(len < sizeof urls - 1);
	}
	let_in(cluster, &opts);
	return etcd_open(cluster->loop, &opts, out, err);
}
