/* For tests with real processes: an etcd of their own, a view of its keys, and daemons. */
#ifndef TESTS_COORD_DAEMONS_FIXTURE_H
#define TESTS_COORD_DAEMONS_FIXTURE_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/config/config_edit.h"
#include "store/base/clock.h"
#include "tests/harness/t.h"
#include "tests/support/coord/daemon/daemon_fixture.h"
#include "tests/support/store/etcd/etcd_rig.h"

#define DAEMON_FIXTURE_TTL "3s"
enum { DAEMON_FIXTURE_TTL_MS = 3000, DAEMON_FIXTURE_PROCESSES_MAX = 4 };

struct daemons {
	struct etcd_rig rig;
	struct daemon_fixture_view view;
	struct daemon_fixture_process process[DAEMON_FIXTURE_PROCESSES_MAX];
	uint32_t partitions;
};

static struct daemons daemons;

static void daemon_fixture_up(unsigned members, uint32_t partitions)
{
	struct etcd_launch_opts launch = {.members = members, .no_fsync = true};

	etcd_rig_up(&daemons.rig, &launch, NULL);
	daemons.partitions = partitions;
	T_OK(daemon_fixture_view_open(&daemons.view, daemons.rig.kv, partitions,
	                              &daemons.rig.err),
	     &daemons.rig.err);
}

static void daemon_fixture_down(void)
{
	T_STR(daemons.view.wrong, "");
	for (unsigned i = 0; i < DAEMON_FIXTURE_PROCESSES_MAX; i++) {
		if (daemons.process[i].pid == 0)
			continue;
		daemon_fixture_signal(&daemons.process[i], SIGKILL);
		(void)daemon_fixture_wait(&daemons.process[i]);
	}
	kv_unwatch(daemons.rig.kv, daemons.view.watch);
	etcd_rig_until(&daemons.rig, &daemons.view.ended);
	etcd_rig_down(&daemons.rig);
}

/* Starts process number `number` as `--name name`. */
static void daemon_fixture_run(unsigned number, const char *name, const char *shards)
{
	const char *dir = etcd_launch_dir(daemons.rig.launch);
	char log[DAEMON_FIXTURE_PATH_SIZE], partitions[16];
	const char *const args[] = {"--etcd",
	                            etcd_launch_endpoints(daemons.rig.launch),
	                            "--name",
	                            name,
	                            "--shards",
	                            shards,
	                            "--ttl",
	                            DAEMON_FIXTURE_TTL,
	                            "--partitions",
	                            partitions,
	                            "--log-format",
	                            "json",
	                            "--log-level",
	                            "debug",
	                            NULL};

	(void)snprintf(log, sizeof log, "%s/placetd-%u.log", dir, number);
	(void)snprintf(partitions, sizeof partitions, "%u", daemons.partitions);
	T_OK(daemon_fixture_start(&daemons.process[number], log, args, &daemons.rig.err),
	     &daemons.rig.err);
}

/* Runs the loop until the condition holds; the limit of the test case ends it otherwise. */
#define DAEMON_FIXTURE_UNTIL(holds)                           \
	do {                                                  \
		T_STR(daemons.view.wrong, "");                \
		if (holds)                                    \
			break;                                \
		(void)uv_run(&daemons.rig.loop, UV_RUN_ONCE); \
	} while (true)

static inline bool daemon_fixture_all_owned(void)
{
	return daemons.view.owned == daemons.partitions;
}

static inline bool daemon_fixture_says(const char *id, const char *words)
{
	const char *record = daemon_fixture_record(&daemons.view, id);

	return record != NULL && strstr(record, words) != NULL;
}

static inline bool daemon_fixture_active(const char *id)
{
	return daemon_fixture_says(id, "\"state\":\"active\"");
}

struct daemon_fixture_edit {
	bool done;
	uint64_t version;
	struct pl_err err;
};

static inline void daemon_fixture_on_edited(void *ctx, uint64_t version,
                                            const struct pl_err *err)
{
	struct daemon_fixture_edit *edit = ctx;

	edit->done = true;
	edit->version = version;
	if (err != NULL)
		edit->err = *err;
}

static inline struct config_edit_opts daemon_fixture_edit_opts(enum config_name name,
                                                               const char *json)
{
	return (struct config_edit_opts){.name = name,
	                                 .config = pl_span_str(json),
	                                 .by = PL_SPAN_LIT("test"),
	                                 .why = PL_SPAN_LIT(""),
	                                 .at_ms = pl_clock_wall_ms(),
	                                 .expect_version = -1};
}

static inline uint64_t daemon_fixture_configure(enum config_name name, const char *json)
{
	struct config_edit_opts opts = daemon_fixture_edit_opts(name, json);
	struct daemon_fixture_edit edit = {0};

	T_OK(config_edit_start(daemons.rig.kv, &opts, daemon_fixture_on_edited, &edit,
	                       NULL, &daemons.rig.err),
	     &daemons.rig.err);
	etcd_rig_until(&daemons.rig, &edit.done);
	T_CODE(edit.err.code, PL_OK, &edit.err);
	return edit.version;
}

static inline uint64_t daemon_fixture_roll_back(enum config_name name, uint64_t to)
{
	struct config_edit_opts opts = daemon_fixture_edit_opts(name, "");
	struct daemon_fixture_edit edit = {0};

	opts.to_version = to;
	T_OK(config_rollback_start(daemons.rig.kv, &opts, daemon_fixture_on_edited, &edit,
	                           NULL, &daemons.rig.err),
	     &daemons.rig.err);
	etcd_rig_until(&daemons.rig, &edit.done);
	T_CODE(edit.err.code, PL_OK, &edit.err);
	return edit.version;
}

#endif
