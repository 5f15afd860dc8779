/* The harness seen from outside: what it says of cases that go wrong. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/t.h"

static char output[1 << 16];

/* With the environment given in front, as a shell has it; gives the status. */
static int run_program(const char *env, const char *program, const char *args)
{
	char command[2048];
	FILE *pipe;
	int status;

	(void)snprintf(command, sizeof command, "%s '%s' %s 2>&1", env, program, args);
	pipe = popen(command, "r"); // NOLINT(cert-env33-c): our own words
	T_TRUE(pipe != NULL);
	output[fread(output, 1, sizeof output - 1, pipe)] = 0;
	status = pclose(pipe);
	T_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int run_sample(const char *env, const char *args)
{
	return run_program(env, getenv("T_SAMPLE"), args);
}

/* A script of tests/harness. */
static const char *harness_script(const char *name)
{
	static char path[512];

	(void)snprintf(path, sizeof path, "%s/tests/harness/%s", getenv("T_ROOT"), name);
	return path;
}

static void output_has(const char *text)
{
	if (strstr(output, text) == NULL)
		t_fail(__FILE__, __LINE__, "no '%s' in\n%s", text, output);
}

static void sample_fails(const char *name, const char *text)
{
	char line[128];

	T_EQ(run_sample("T_SLOW=1", name), 1); /* not the value of this process */
	output_has("1..1\n");
	(void)snprintf(line, sizeof line, "\nnot ok 1 - %s\n", name);
	output_has(line);
	output_has(text);
}

T_CASE(a_passing_case_is_quiet)
{
	T_EQ(run_sample("", "passes"), 0);
	T_STR(output, "1..1\nok 1 - passes\n");
	T_EQ(run_sample("T_VERBOSE=1", "passes"), 0);
	output_has("# passes: only seen with T_VERBOSE\n");
}

T_CASE(failures_are_explained)
{
	sample_fails("fails_int", "# fails_int: said before\n# fails_int: second line\n");
	output_has("sample.c:");
	output_has(": -1 is -1, want 2\n");
	sample_fails("fails_str",
	             "is\n# fails_str:   'one', want\n# fails_str:   'two'\n");
	sample_fails("fails_null", "is NULL, want two\n");
	sample_fails("fails_mem",
	             "\"abc\" has 3 bytes, want 3; at byte 2\n# fails_mem:   63 , "
	             "want\n# fails_mem:   64 \n");
	sample_fails("fails_near", "1.0 is 1, want 2 within 0.5\n");
	sample_fails("fails_near_nan", "want 0 within 1\n");
	sample_fails("fails_code", "is 'deadline exceeded', want 'ok': after 5 ms\n");
	sample_fails("fails_true", ": 1 == 2\n");
	sample_fails("aborts", "# aborts: ended by signal 6 (Aborted)\n");
	sample_fails("exits_early", "not ok");
}

T_CASE(a_seed_is_shown_and_taken)
{
	sample_fails("fails_seeded", "T_SEED=1 repeats this\n");
	T_EQ(run_sample("T_SEED=0x10", "fails_seeded"), 1);
	output_has("T_SEED=16 repeats this\n");
	output_has("is 16, want -1");
	T_EQ(run_sample("T_SEED=x", "fails_seeded"), 1);
	output_has("T_SEED='x' is no number");
}

T_CASE(coverage_is_demanded_of_the_fixed_seed)
{
	sample_fails("reaches_less", ": not reached: 1 == 2\n");
	T_EQ(run_sample("T_SEED=2 T_VERBOSE=1", "reaches_less"), 0);
	output_has(": not reached: 1 == 2\n");
}

T_CASE(random_cases_are_run_with_many_seeds)
{
	char path[] = "/tmp/harness-XXXXXX", command[1024];
	int fd = mkstemp(path);
	FILE *file;

	T_TRUE(fd >= 0);
	file = fdopen(fd, "w");
	T_TRUE(file != NULL);
	(void)fprintf(file,
	              "[{\"name\":\"sample\",\"cmd\":[\"%s\",\"passes\","
	              "\"reaches_less\",\"fails_s*\"],\"env\":{\"T_A\":\"b\"},"
	              "\"suite\":[\"placet:s\"],\"timeout\":9,\"protocol\":\"tap\","
	              "\"workdir\":null}]",
	              getenv("T_SAMPLE"));
	(void)fclose(file);
	(void)snprintf(command, sizeof command,
	               "%s --seeds 2 --from 7 --suite s --jobs 1 samp", path);
	T_EQ(run_program("", harness_script("seeds"), command), 1);
	output_has("2 random cases in 1 tests\n");
	output_has("FAILED: sample fails_seeded, seed 7\n");
	output_has("FAILED: sample fails_seeded, seed 8\n");
	output_has("is 8, want -1\n    T_A=b T_SEED=8 ");
	output_has("\n2 passed, 2 failed\n");
	(void)snprintf(command, sizeof command, "%s --suite other", path);
	T_EQ(run_program("", harness_script("seeds"), command), 1);
	output_has("\n0 passed, 0 failed\n");
	(void)unlink(path);
}

/* A line of meson's log: the sample's case failed when it ran beside others. */
static void log_failure(FILE *file, const char *test, const char *name)
{
	(void)fprintf(file,
	              "{\"name\": \"%s\", \"command\": [\"%s\"], \"env\": {}, "
	              "\"result\": \"ERROR\", \"stdout\": \"1..2\\nok 1 - other\\nnot ok "
	              "2 - %s\\n\", \"stderr\": \"# %s: the first failure\\n\"}\n",
	              test, getenv("T_SAMPLE"), name, name);
}

T_CASE(a_case_that_passes_alone_after_it_failed_is_flaky)
{
	char build[] = "/tmp/harness-XXXXXX", path[128], command[160];
	FILE *file;

	T_TRUE(mkdtemp(build) != NULL);
	T_EQ(run_program("", harness_script("tally"), build), 0);
	output_has("0 1 0 0\n"); /* meson has left no log */
	(void)snprintf(command, sizeof command, "mkdir %s/meson-logs", build);
	T_EQ(system(command), 0); // NOLINT(cert-env33-c): our own words
	(void)snprintf(path, sizeof path, "%s/meson-logs/testlog.json", build);
	file = fopen(path, "w");
	T_TRUE(file != NULL);
	log_failure(file, "chance", "passes");
	log_failure(file, "fault", "fails_int");
	(void)fclose(file);
	T_EQ(run_program("", harness_script("tally"), build), 0);
	output_has("\nflaky: chance passes  (its first failure: ");
	output_has("\n3 1 1 0\n");
	T_TRUE(strstr(output, "flaky: fault") == NULL);
	(void)snprintf(path, sizeof path, "%s/flaky/chance.txt", build);
	file = fopen(path, "r");
	T_TRUE(file != NULL);
	output[fread(output, 1, sizeof output - 1, file)] = 0;
	(void)fclose(file);
	output_has("# passes: the first failure\n");
	(void)snprintf(command, sizeof command, "rm -r %s", build);
	T_EQ(system(command), 0); // NOLINT(cert-env33-c): our own words
}

T_CASE(a_case_that_hangs_is_ended)
{
	sample_fails("hangs",
	             "# hangs: about to hang\n# hangs: has not ended after 1 s\n");
	T_EQ(run_sample("T_SLOW=2", "hangs"), 1);
	output_has("has not ended after 2 s\n");
}

/* A process that was killed and whose parent is gone may still be a zombie of
 * init for a moment; the harness reaped it, so it is gone at once. */
static void leaves_nothing(const char *name, int status)
{
	char path[] = "/tmp/harness-XXXXXX", env[64];
	int fd = mkstemp(path);
	long pid = 0;
	FILE *file;

	T_TRUE(fd >= 0);
	(void)snprintf(env, sizeof env, "SAMPLE_PID_FILE=%s", path);
	T_EQ(run_sample(env, name), status);
	output_has(": left 1 processes behind\n");
	file = fdopen(fd, "r");
	T_TRUE(file != NULL && fscanf(file, "%ld", &pid) == 1); // NOLINT(cert-err34-c)
	(void)fclose(file);
	(void)unlink(path);
	T_TRUE(kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

T_CASE(no_process_survives_its_case)
{
	leaves_nothing("leaves_child", 0);
	leaves_nothing("hangs_with_child", 1);
}

T_CASE(cases_are_chosen_by_name)
{
	T_EQ(run_sample("", "--list"), 0);
	T_TRUE(strncmp(output, "passes\nfails_int\n", 17) == 0);
	T_EQ(run_sample("", "passes 'fails_n*'"), 1);
	output_has("1..4\nok 1 - passes\n");
	output_has("\nnot ok 4 - fails_near_nan\n");
	T_EQ(run_sample("", "nothing_like_it"), 2);
	output_has("no such case");
	T_EQ(run_sample("T_DEBUG=1", "passes"), 0);
	output_has("only seen with T_VERBOSE\nok 1 - passes\n");
}

static int run_golden(const char *env, const char *story, const char *root)
{
	char all[256];

	(void)snprintf(all, sizeof all, "SAMPLE_STORY='%s' T_ROOT=%s %s", story, root,
	               env);
	return run_sample(all, "golden");
}

T_CASE(golden_files_are_compared_and_rewritten)
{
	char root[] = "/tmp/harness-XXXXXX", command[64];

	T_TRUE(mkdtemp(root) != NULL);
	T_EQ(run_golden("", "a\nb\n", root), 1);
	output_has("T_UPDATE=1 creates it");
	T_EQ(run_golden("T_UPDATE=1", "a\nb\n", root), 0);
	T_EQ(run_golden("", "a\nb\n", root), 0);
	T_EQ(run_golden("", "a\nbc\n", root), 1);
	output_has("story.txt:2: it is\n# golden:   'bc', want\n# golden:   'b'\n");
	T_EQ(run_golden("", "a\nb\nc", root), 1);
	output_has("story.txt:3: it is\n# golden:   'c', want\n# golden:   ''\n");
	T_EQ(run_golden("", "a\nb", root), 1);
	output_has("story.txt:2: ");
	T_EQ(run_golden("", "a\n", root), 1);
	(void)snprintf(command, sizeof command, "rm -r %s", root);
	T_EQ(system(command), 0); // NOLINT(cert-env33-c): our own words
}
