#include "coord/introspect/cpu_profile.h"

#include <errno.h>
#include <gperftools/profiler.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/base/alloc.h"

struct cpu_profile {
	uv_timer_t timer;
	int file; /* in memory */
	cpu_profile_fn *done;
	void *ctx;
};

static atomic_flag taken = ATOMIC_FLAG_INIT;

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void stop(struct cpu_profile *profile)
{
	ProfilerStop();
	atomic_flag_clear(&taken);
	uv_close((uv_handle_t *)&profile->timer, on_timer_closed);
}

static enum pl_code read_file(int file, struct pl_buf *out, struct pl_err *err)
{
	uint8_t piece[16384];
	off_t at = 0;
	ssize_t got;

	while ((got = pread(file, piece, sizeof piece, at)) > 0) {
		if (pl_buf_add(out, pl_span(piece, (size_t)got)) != PL_OK)
			return pl_err_set(err, PL_LIMIT, "the profile is too large");
		at += got;
	}
	return got == 0 ? PL_OK : pl_err_set(err, PL_IO, "profile: %s", strerror(errno));
}

static void on_time(uv_timer_t *timer)
{
	struct cpu_profile *profile = timer->data;
	cpu_profile_fn *done = profile->done;
	void *ctx = profile->ctx;
	int file = profile->file;
	struct pl_err err = {0};
	struct pl_buf bytes;

	stop(profile);
	pl_buf_init(&bytes, CPU_PROFILE_BYTES_MAX);
	if (read_file(file, &bytes, &err) == PL_OK)
		done(ctx, &bytes, NULL);
	else
		done(ctx, NULL, &err);
	pl_buf_done(&bytes);
	(void)close(file);
}

static enum pl_code start(struct cpu_profile *profile, struct pl_err *err)
{
	char path[32];

	profile->file = memfd_create("cpu-profile", MFD_CLOEXEC);
	if (profile->file < 0)
		return pl_err_set(err, PL_IO, "profile: %s", strerror(errno));
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", profile->file);
	if (ProfilerStart(path) != 0)
		return PL_OK;
	(void)close(profile->file);
	return pl_err_set(err, PL_IO, "the profiler does not start");
}

enum pl_code cpu_profile_start(uv_loop_t *loop, unsigned seconds, cpu_profile_fn *done,
                               void *ctx, struct cpu_profile **out, struct pl_err *err)
{
	struct cpu_profile *profile;

	if (seconds == 0 || seconds > CPU_PROFILE_SECONDS_MAX)
		return pl_err_set(err, PL_INVALID, "seconds: want 1 to %d",
		                  CPU_PROFILE_SECONDS_MAX);
	if (atomic_flag_test_and_set(&taken))
		return pl_err_set(err, PL_EXISTS, "another profile is being taken");
	profile = pl_calloc(1, sizeof *profile);
	if (profile == NULL || start(profile, err) != PL_OK) {
		free(profile);
		atomic_flag_clear(&taken);
		return profile == NULL ? pl_err_set(err, PL_NOMEM, "no memory")
		                       : err->code;
	}
	profile->done = done;
	profile->ctx = ctx;
	profile->timer.data = profile;
	(void)uv_timer_init(loop, &profile->timer);
	(void)uv_timer_start(&profile->timer, on_time, (uint64_t)seconds * 1000, 0);
	*out = profile;
	return PL_OK;
}

void cpu_profile_cancel(struct cpu_profile *profile)
{
	(void)close(profile->file);
	stop(profile);
}
