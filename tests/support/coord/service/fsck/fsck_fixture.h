/* A fixture for tests of fsck: checks and repairs the store of fsck_store.h. */
#ifndef TESTS_SUPPORT_COORD_SERVICE_FSCK_FSCK_FIXTURE_H
#define TESTS_SUPPORT_COORD_SERVICE_FSCK_FSCK_FIXTURE_H

#include "coord/service/fsck/fsck.h"
#include "coord/service/fsck/repair.h"
#include "store/base/fault.h"
#include "tests/support/coord/service/fsck/fsck_store.h"

static struct fsck *fsck;
static int64_t wall_ms = 1000;
static struct result {
	bool over;
	struct pl_err err;
	int64_t revision;
	unsigned found[FSCK_CODE_COUNT], total, pages;
	char text[TEXT_SIZE];
} r;
static struct mended {
	bool over;
	struct pl_err err;
	unsigned count[REPAIR_REFUSED + 1];
	char why[TEXT_SIZE];
} m;

/* -- checking ---------------------------------------------------------------------- */

static inline void on_found(void *ctx, const struct fsck_finding *finding)
{
	size_t len = strlen(r.text);

	(void)ctx;
	T_TRUE(finding->key.len > 0 && finding->what[0] != 0);
	r.found[finding->code]++;
	r.total++;
	(void)snprintf(r.text + len, sizeof r.text - len, "%s " PL_SPAN_FMT ": %s\n",
	               fsck_code_word(finding->code), PL_SPAN_ARG(finding->key),
	               finding->what);
}

static inline void on_progress(void *ctx, const struct fsck_counts *counts)
{
	(void)ctx;
	(void)counts;
	r.pages++;
}

static inline void on_done(void *ctx, int64_t revision, const struct pl_err *err)
{
	(void)ctx;
	r.over = true;
	r.revision = revision;
	if (err != NULL)
		r.err = *err;
}

static inline void run_until(const bool *over)
{
	while (!*over) {
		if (memkv_next_ms(kit.mem) > kit.now_ms)
			kit.now_ms = memkv_next_ms(kit.mem);
		kit_run(&kit, kit.now_ms);
	}
}

static inline enum pl_code start(void)
{
	struct fsck_opts opts = {.partitions = PARTITIONS,
	                         .by = PL_SPAN_LIT("tester"),
	                         .wall_ms = wall_ms,
	                         .seed = 7,
	                         .page_keys = 3,
	                         .timeout_ms = 1000,
	                         .found = on_found,
	                         .progress = on_progress,
	                         .done = on_done};

	memset(&r, 0, sizeof r);
	return fsck_open(kit.kv, &opts, &fsck, &kit.err);
}

static inline void check(void)
{
	fsck_free(fsck);
	fsck = NULL;
	T_OK(start(), &kit.err);
	run_until(&r.over);
	T_CODE(r.err.code, PL_OK, &r.err);
}

static inline void down(void)
{
	kit_close(&kit);
	fsck_free(fsck);
	fsck = NULL;
}

/* Checks, and wants this finding count times and no other finding. */
static inline void finds(enum fsck_code code, unsigned count)
{
	check();
	if (r.found[code] != count || r.total != count)
		t_fail(__FILE__, __LINE__, "want %u of %s, found:\n%s", count,
		       fsck_code_word(code), r.text);
}

static inline void clean(void)
{
	check();
	if (r.total != 0)
		t_fail(__FILE__, __LINE__, "found:\n%s", r.text);
}

static inline void on_mended(void *ctx, const struct repair_result *result)
{
	size_t len = strlen(m.why);

	(void)ctx;
	m.count[result->outcome]++;
	T_EQ(result->outcome == REPAIR_REFUSED, result->why != NULL);
	if (result->why != NULL)
		(void)snprintf(m.why + len, sizeof m.why - len, "%s\n", result->why);
}

static inline void on_mend_done(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	m.over = true;
	if (err != NULL)
		m.err = *err;
}

static inline enum pl_code repair_start(bool dry)
{
	struct repair_opts opts = {.core = fsck_core(fsck),
	                           .partitions = PARTITIONS,
	                           .revision = r.revision,
	                           .dry_run = dry,
	                           .timeout_ms = 100,
	                           .report = on_mended,
	                           .done = on_mend_done};
	struct repair *repair;

	memset(&m, 0, sizeof m);
	return repair_open(kit.kv, &opts, &repair, &kit.err);
}

static inline void repair(bool dry)
{
	T_OK(repair_start(dry), &kit.err);
	run_until(&m.over);
	T_CODE(m.err.code, PL_OK, &m.err);
}

/* Repairs, first as a dry run. Wants count repairs, and a clean store afterwards. */
static inline void mends(unsigned count)
{
	int64_t before = memkv_revision(kit.mem);

	repair(true);
	T_EQ(memkv_revision(kit.mem), before);
	T_EQ(m.count[REPAIR_WOULD], count);
	repair(false);
	if (m.count[REPAIR_DONE] != count || m.count[REPAIR_REFUSED] != 0)
		t_fail(__FILE__, __LINE__, "%u of %u mended: %s", m.count[REPAIR_DONE],
		       count, m.why);
	clean();
	down();
}

static inline void mends_not(void)
{
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 0);
	down();
}

/* Finds and repairs, dry, with each allocation failing in turn. */
static inline void without_memory(void)
{
	for (uint64_t nth = 1;; nth++) {
		enum pl_code code;
		bool fired;

		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = start();
		if (code == PL_OK)
			run_until(&r.over);
		if (code == PL_OK && r.err.code == PL_OK && repair_start(true) == PL_OK)
			run_until(&m.over);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		if (code == PL_OK)
			fsck_free(fsck);
		fsck = NULL;
		if (!fired)
			break;
	}
}

#endif
