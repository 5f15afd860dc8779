#ifndef BENCH_LIVE_FILL_INT_H
#define BENCH_LIVE_FILL_INT_H

#include "bench/live/fill.h"
#include "shardsched/model/model.h"
#include "shardsched/records/pod_location.h"

struct filler {
	const struct fill_opts *opts;
	struct fill_result *result;
	uv_loop_t loop;
	struct kv *kv;
	struct pl_arena arena;
	struct model model;
	struct load_object object; /* the current object */
	uint32_t next, end;
	uint64_t told;
	double say_s;
	bool over;
};

void filler_say(struct filler *f, const char *what, uint64_t count, uint64_t of);
void filler_on_done(void *ctx, const struct pl_err *err);
void filler_run(struct filler *f);
/* The location of the current pod. */
void filler_location(struct filler *f, struct pod_location *out);

/* before.c: puts nodes with the pods that are placed before. */
void fill_before(struct filler *f);

#endif
