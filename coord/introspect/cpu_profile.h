/*
 * A CPU profile: the stacks of all threads of the process, sampled 100 times a second of
 * CPU time (gperftools' profiler), without root and without a restart. The result is
 * what pprof reads, with the memory map of the process behind the samples.
 *
 * There is one profile of the process at a time.
 */
#ifndef COORD_INTROSPECT_CPU_PROFILE_H
#define COORD_INTROSPECT_CPU_PROFILE_H

#include <uv.h>

#include "store/base/buf.h"
#include "store/base/err.h"

enum { CPU_PROFILE_SECONDS_MAX = 300, CPU_PROFILE_BYTES_MAX = 64 << 20 };

struct cpu_profile;

/* profile is NULL after a failure; it is borrowed, and the object is freed afterwards. */
typedef void cpu_profile_fn(void *ctx, const struct pl_buf *profile,
                            const struct pl_err *err);

/* PL_EXISTS: another profile is taken. done is called on the loop, once, later. */
PL_NODISCARD enum pl_code cpu_profile_start(uv_loop_t *loop, unsigned seconds,
                                            cpu_profile_fn *done, void *ctx,
                                            struct cpu_profile **out, struct pl_err *err);
/* done is not called any more. */
void cpu_profile_cancel(struct cpu_profile *profile);

#endif
