/* For tests with real processes: an etcd of their own, a view of it, and crews. */
#ifndef TESTS_COORD_CREW_KIT_H
#define TESTS_COORD_CREW_KIT_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/config/config_edit.h"
#include "coord/daemon/crew.h"
#include "store/base/clock.h"
#include "store/etcd/rig.h"
#include "tests/harness/t.h"

#define CREW_TTL "3s"
enum { CREW_TTL_MS = 3000, CREW_PROCESSES_MAX = 4 };

struct crew {
	struct rig rig;
	struct crew_view view;
	struct crew_process process[CREW_PROCESSES_MAX];
	uint32_t partitions;
};

static struct crew crew;

static void crew_up(unsigned members, uint32_t partitions)
{
	struct etcd_launch_opts launch = {.members = members, .no_fsync = true};

	rig_up(&crew.rig, &launch, NULL);
	crew.partitions = partitions;
	T_OK(crew_view_open(&crew.view, crew.rig.kv, partitions, &crew.rig.err),
	     &crew.rig.err);
}

static void crew_down(void)
{
	T_STR(crew.view.wrong, "");
	for (unsigned i = 0; i < CREW_PROCESSES_MAX; i++) {
		if (crew.process[i].pid == 0)
			continue;
		crew_signal(&crew.process[i], SIGKILL);
		(void)crew_wait(&crew.process[i]);
	}
	kv_unwatch(crew.rig.kv, crew.view.watch);
	rig_until(&crew.rig, &crew.view.ended);
	rig_down(&crew.rig);
}

/* The process with that number, called by that name. */
static void crew_run(unsigned number, const char *name, const char *shards)
{
	const char *dir = etcd_launch_dir(crew.rig.launch);
	char log[CREW_PATH_SIZE], partitions[16];
	const char *const args[] = {"--etcd",
	                            etcd_launch_endpoints(crew.rig.launch),
	                            "--name",
	                            name,
	                            "--shards",
	                            shards,
	                            "--ttl",
	                            CREW_TTL,
	                            "--partitions",
	                            partitions,
	                            "--log-format",
	                            "json",
	                            "--log-level",
	                            "debug",
	                            NULL};

	(void)snprintf(log, sizeof log, "%s/placetd-%u.log", dir, number);
	(void)snprintf(partitions, sizeof partitions, "%u", crew.partitions);
	T_OK(crew_start(&crew.process[number], log, args, &crew.rig.err), &crew.rig.err);
}

/* Runs the loop until it holds; the case's own limit ends it otherwise. */
#define CREW_UNTIL(holds)                                  \
	do {                                               \
		T_STR(crew.view.wrong, "");                \
		if (holds)                                 \
			break;                             \
		(void)uv_run(&crew.rig.loop, UV_RUN_ONCE); \
	} while (true)

static inline bool crew_all_owned(void)
{
	return crew.view.owned == crew.partitions;
}

static inline bool crew_says(const char *id, const char *words)
{
	const char *record = crew_record(&crew.view, id);

	return record != NULL && strstr(record, words) != NULL;
}

static inline bool crew_active(const char *id)
{
	return crew_says(id, "\"state\":\"active\"");
}

struct crew_edit {
	bool done;
	uint64_t version;
	struct pl_err err;
};

static inline void crew_on_edited(void *ctx, uint64_t version, const struct pl_err *err)
{
	struct crew_edit *edit = ctx;

	edit->done = true;
	edit->version = version;
	if (err != NULL)
		edit->err = *err;
}

static inline struct config_edit_opts crew_edit_opts(enum config_name name,
                                                     const char *json)
{
	return (struct config_edit_opts){.name = name,
	                                 .config = pl_span_str(json),
	                                 .by = PL_SPAN_LIT("test"),
	                                 .why = PL_SPAN_LIT(""),
	                                 .at_ms = pl_clock_wall_ms(),
	                                 .expect_version = -1};
}

static inline uint64_t crew_configure(enum config_name name, const char *json)
{
	struct config_edit_opts opts = crew_edit_opts(name, json);
	struct crew_edit edit = {0};

	T_OK(config_edit_start(crew.rig.kv, &opts, crew_on_edited, &edit, NULL,
	                       &crew.rig.err),
	     &crew.rig.err);
	rig_until(&crew.rig, &edit.done);
	T_CODE(edit.err.code, PL_OK, &edit.err);
	return edit.version;
}

static inline uint64_t crew_roll_back(enum config_name name, uint64_t to)
{
	struct config_edit_opts opts = crew_edit_opts(name, "");
	struct crew_edit edit = {0};

	opts.to_version = to;
	T_OK(config_rollback_start(crew.rig.kv, &opts, crew_on_edited, &edit, NULL,
	                           &crew.rig.err),
	     &crew.rig.err);
	rig_until(&crew.rig, &edit.done);
	T_CODE(edit.err.code, PL_OK, &edit.err);
	return edit.version;
}

#endif
