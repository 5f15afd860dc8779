/* For tests with real processes: an etcd of their own, a view of it, and crews. */
#ifndef TESTS_COORD_CREW_KIT_H
#define TESTS_COORD_CREW_KIT_H

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

struct crew {
	struct etcd_rig rig;
	struct daemon_fixture_view view;
	struct daemon_fixture_process process[DAEMON_FIXTURE_PROCESSES_MAX];
	uint32_t partitions;
};

static struct crew crew;

static void daemon_fixture_up(unsigned members, uint32_t partitions)
{
	struct etcd_launch_opts launch = {.members = members, .no_fsync = true};

	etcd_rig_up(&crew.rig, &launch, NULL);
	crew.partitions = partitions;
	T_OK(daemon_fixture_view_open(&crew.view, crew.rig.kv, partitions, &crew.rig.err),
	     &crew.rig.err);
}

static void daemon_fixture_down(void)
{
	T_STR(crew.view.wrong, "");
	for (unsigned i = 0; i < DAEMON_FIXTURE_PROCESSES_MAX; i++) {
		if (crew.process[i].pid == 0)
			continue;
		daemon_fixture_signal(&crew.process[i], SIGKILL);
		(void)daemon_fixture_wait(&crew.process[i]);
	}
	kv_unwatch(crew.rig.kv, crew.view.watch);
	etcd_rig_until(&crew.rig, &crew.view.ended);
	etcd_rig_down(&crew.rig);
}

/* The process with that number, called by that name. */
static void daemon_fixture_run(unsigned number, const char *name, const char *shards)
{
	const char *dir = etcd_launch_dir(crew.rig.launch);
	char log[DAEMON_FIXTURE_PATH_SIZE], partitions[16];
	const char *const args[] = {"--etcd",
	                            etcd_launch_endpoints(crew.rig.launch),
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
	(void)snprintf(partitions, sizeof partitions, "%u", crew.partitions);
	T_OK(daemon_fixture_start(&crew.process[number], log, args, &crew.rig.err),
	     &crew.rig.err);
}

/* Runs the loop until it holds; the case's own limit ends it otherwise. */
#define DAEMON_FIXTURE_UNTIL(holds)                        \
	do {                                               \
		T_STR(crew.view.wrong, "");                \
		if (holds)                                 \
			break;                             \
		(void)uv_run(&crew.rig.loop, UV_RUN_ONCE); \
	} while (true)

static inline bool daemon_fixture_all_owned(void)
{
	return crew.view.owned == crew.partitions;
}

static inline bool daemon_fixture_says(const char *id, const char *words)
{
	const char *record = daemon_fixture_record(&crew.view, id);

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

	T_OK(config_edit_start(crew.rig.kv, &opts, daemon_fixture_on_edited, &edit, NULL,
	                       &crew.rig.err),
	     &crew.rig.err);
	etcd_rig_until(&crew.rig, &edit.done);
	T_CODE(edit.err.code, PL_OK, &edit.err);
	return edit.version;
}

static inline uint64_t daemon_fixture_roll_back(enum config_name name, uint64_t to)
{
	struct config_edit_opts opts = daemon_fixture_edit_opts(name, "");
	struct daemon_fixture_edit edit = {0};

	opts.to_version = to;
	T_OK(config_rollback_start(crew.rig.kv, &opts, daemon_fixture_on_edited, &edit,
	                           NULL, &crew.rig.err),
	     &crew.rig.err);
	etcd_rig_until(&crew.rig, &edit.done);
	T_CODE(edit.err.code, PL_OK, &edit.err);
	return edit.version;
}

#endif
