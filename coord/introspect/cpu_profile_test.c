#include <string.h>

#include "coord/introspect/cpu_profile.h"
#include "tests/harness/t.h"

/* The words of the file's head: no count, three words of header, a version, the period in
 * microseconds, padding. */
static void is_profile(const struct pl_buf *bytes)
{
	uintptr_t head[5];

	T_TRUE(bytes != NULL && bytes->len > sizeof head);
	memcpy(head, bytes->at, sizeof head);
	T_EQ(head[0], 0);
	T_EQ(head[1], 3);
	T_EQ(head[2], 0);
	T_EQ(head[3], 10000);
	T_TRUE(memmem(bytes->at, bytes->len, "r-xp", 4) != NULL);
}

static void on_done(void *ctx, const struct pl_buf *bytes, const struct pl_err *err)
{
	unsigned *calls = ctx;

	T_TRUE(err == NULL);
	is_profile(bytes);
	(*calls)++;
}

static void on_wrong(void *ctx, const struct pl_buf *bytes, const struct pl_err *err)
{
	(void)ctx;
	(void)bytes;
	(void)err;
	t_fail(__FILE__, __LINE__, "a cancelled profile has called back");
}

T_CASE(one_profile_at_a_time)
{
	struct cpu_profile *first = NULL, *second = NULL;
	struct pl_err err = {0};
	unsigned calls = 0;
	uv_loop_t loop;

	T_EQ(uv_loop_init(&loop), 0);
	T_OK(cpu_profile_start(&loop, 1, on_done, &calls, &first, &err), &err);
	T_EQ(cpu_profile_start(&loop, 1, on_done, &calls, &second, &err), PL_EXISTS);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	T_EQ(calls, 1);
	T_OK(cpu_profile_start(&loop, 1, on_done, &calls, &second, &err), &err);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	T_EQ(calls, 2);
	T_EQ(uv_loop_close(&loop), 0);
}

T_CASE(a_cancelled_profile_is_silent)
{
	struct cpu_profile *profile = NULL;
	struct pl_err err = {0};
	uv_loop_t loop;

	T_EQ(uv_loop_init(&loop), 0);
	for (unsigned i = 0; i < 2; i++) {
		T_OK(cpu_profile_start(&loop, CPU_PROFILE_SECONDS_MAX, on_wrong, NULL,
		                       &profile, &err),
		     &err);
		cpu_profile_cancel(profile);
	}
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	T_EQ(uv_loop_close(&loop), 0);
}

T_CASE(seconds_are_bounded)
{
	struct cpu_profile *profile = NULL;
	struct pl_err err = {0};
	uv_loop_t loop;

	T_EQ(uv_loop_init(&loop), 0);
	T_EQ(cpu_profile_start(&loop, 0, on_wrong, NULL, &profile, &err), PL_INVALID);
	T_EQ(cpu_profile_start(&loop, 301, on_wrong, NULL, &profile, &err), PL_INVALID);
	T_EQ(uv_loop_close(&loop), 0);
}
