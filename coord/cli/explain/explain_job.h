/* An explain job is what placet explain does with its files: read, decide, explain,
 * record. */
#ifndef COORD_CLI_EXPLAIN_EXPLAIN_JOB_H
#define COORD_CLI_EXPLAIN_EXPLAIN_JOB_H

#include "shardsched/engine/engine.h"

enum { EXPLAIN_FILES_MAX = 64 };

enum explain_format { EXPLAIN_TEXT, EXPLAIN_JSON, EXPLAIN_DOT };

struct explain_job {
	const char *subjects[EXPLAIN_FILES_MAX]; /* the pods in question */
	const char *clusters[EXPLAIN_FILES_MAX]; /* all else */
	unsigned subject_count, cluster_count;
	const char *config; /* NULL: the default */
	const char *record; /* NULL: none */
	enum explain_format format;
	int64_t seed;

	/* While it goes on: */
	struct engine *engine;
	struct pl_arena arena;
	struct pl_buf config_json;
	struct pl_buf out; /* the text to be printed */
	struct pl_buf log;
	struct pl_buf one_line;
	uint64_t unread, pods;
	uint64_t nowhere; /* pods without a node */
};

PL_NODISCARD enum pl_code explain_format_parse(const char *text, enum explain_format *out,
                                               struct pl_err *err);

/* The fields up to seed are the caller's; explain_job_done follows in any case. */
PL_NODISCARD enum pl_code explain_job_run(struct explain_job *job, struct pl_err *err);
void explain_job_done(struct explain_job *job);

#endif
