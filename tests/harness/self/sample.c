/* Cases that go wrong in every way, for harness_test to look at from outside. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/harness/t.h"

T_CASE(passes)
{
	(void)printf("only seen with T_VERBOSE\n");
	T_EQ(1, 1);
	T_STR("a", "a");
	T_STR((const char *)NULL, NULL);
	T_MEM("ab", "ac", 1);
	T_NEAR(1.0, 1.1, 0.2);
	T_OK(PL_OK, NULL);
}

T_CASE(fails_int)
{
	(void)printf("said before\nsecond line\n");
	T_EQ(-1, 2);
}

T_CASE(fails_str)
{
	T_STR("one", "two");
}

T_CASE(fails_null)
{
	T_STR((const char *)NULL, "two");
}

T_CASE(fails_mem)
{
	T_MEM("abc", "abd", 3);
}

T_CASE(fails_near)
{
	T_NEAR(1.0, 2.0, 0.5);
}

T_CASE(fails_near_nan)
{
	T_NEAR(0.0 / (double)(getpid() == 0), 0.0, 1.0);
}

T_CASE(fails_code)
{
	struct pl_err err = {0};

	T_OK(pl_err_set(&err, PL_TIMEOUT, "after 5 ms"), &err);
}

T_CASE(fails_seeded)
{
	T_EQ((int64_t)t_seed(), -1);
}

T_CASE(reaches_less)
{
	(void)t_seed();
	T_REACHED(1 == 1);
	T_REACHED(1 == 2);
}

T_CASE(fails_true)
{
	T_TRUE(1 == 2);
}

T_CASE(aborts)
{
	(void)signal(SIGABRT, SIG_DFL);
	abort();
}

T_CASE(exits_early)
{
	exit(3);
}

T_CASE_SECONDS(hangs, 1)
{
	(void)printf("about to hang\n");
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}

/* A child in a session of its own, as a server is started. Its number goes where
 * the test can find it. */
static void leave_child(void)
{
	const char *path = getenv("SAMPLE_PID_FILE");
	FILE *file;
	int ready[2];
	char byte;
	pid_t pid;

	T_EQ(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		(void)setsid();
		(void)close(ready[0]);
		(void)close(ready[1]);
		for (;;)
			(void)pause();
	}
	/* Before its session is its own, the child is killed with the case's group. */
	(void)close(ready[1]);
	T_EQ(read(ready[0], &byte, 1), 0);
	T_TRUE(path != NULL);
	file = fopen(path, "w");
	T_TRUE(file != NULL);
	(void)fprintf(file, "%ld", (long)pid);
	(void)fclose(file);
}

T_CASE(leaves_child)
{
	leave_child();
}

T_CASE_SECONDS(hangs_with_child, 1)
{
	leave_child();
	for (;;)
		(void)pause();
}

T_CASE(golden)
{
	t_golden("sample/story.txt", getenv("SAMPLE_STORY"));
}
