/*
 * Small stories of shards for a human reader: a shard joins, leaves, dies, is paused
 * beyond its lease; and etcd has no leader for a while. And a seed tells the same story
 * every time.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/t.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/proc.h"
#include "tests/sim/seed.h"

enum { TTL_S = 4, PARTITIONS = 6, CONVERGE_MS = 6000 };

static struct world world;
static char *text;
static size_t text_len;

static void on_failed(struct world *w, const char *check, const char *why)
{
	(void)fflush(w->story.out);
	t_fail(__FILE__, __LINE__, "%s: %s", check, why);
}

static void print_title(const char *words)
{
	(void)fprintf(world.story.out, "-- %s\n", words);
}

static void run_for(uint64_t ms)
{
	world_run(&world, world.agenda.now_ms + ms);
}

/* Starts shards and waits until they have converged, without a story. */
static void begin_story(unsigned shards)
{
	struct plan plan = {.shards = shards,
	                    .partitions = PARTITIONS,
	                    .ttl_s = TTL_S,
	                    .work_ms = 100,
	                    .link = {.delay_min_ms = 2, .delay_max_ms = 2}};

	world.failed = on_failed;
	world.items_max = UINT64_MAX;
	world_open(&world, &plan, 1, &(struct story){.terse = true});
	for (unsigned i = 0; i < shards; i++)
		(void)nemesis_join(&world);
	run_for(CONVERGE_MS);
	world.story.out = open_memstream(&text, &text_len);
	T_TRUE(world.story.out != NULL);
}

/* Ends the story and compares it with the golden file. */
static void end_story(const char *golden)
{
	FILE *out = world.story.out;

	world.story.out = NULL;
	(void)fclose(out);
	world.recovering = true;
	world.recovery_ms = world.agenda.now_ms;
	world_touch(&world);
	run_for(CONVERGE_MS);
	T_EQ(world.change_ms, 0);
	PROC_EACH (proc, &world)
		proc_leave(proc);
	run_for(CONVERGE_MS);
	world_close(&world);
	t_golden(golden, text);
	free(text);
}

T_CASE(join)
{
	begin_story(2);
	print_title("s2 joins s0 and s1");
	(void)nemesis_join(&world);
	run_for(2000);
	end_story("sim/join.txt");
}

T_CASE(leave)
{
	begin_story(3);
	print_title("s1 leaves");
	proc_leave(proc_of(&world, 1));
	run_for(2000);
	end_story("sim/leave.txt");
}

T_CASE(crash)
{
	begin_story(3);
	print_title("s1 dies; its lease goes after 4 s at most");
	proc_crash(proc_of(&world, 1));
	run_for(6000);
	end_story("sim/crash.txt");
}

T_CASE(pause_beyond_the_ttl)
{
	begin_story(3);
	print_title("s1 stands still for 7 s, which is longer than its lease");
	simkv_pause(proc_of(&world, 1)->sim, false);
	run_for(7000);
	print_title("it goes on");
	simkv_resume(proc_of(&world, 1)->sim);
	run_for(3000);
	end_story("sim/pause.txt");
}

T_CASE(leader_loss)
{
	begin_story(2);
	print_title("etcd has no leader for 2 s: doubt, but nothing is lost");
	simstore_lose_leader(&world.store, 2000);
	run_for(4000);
	print_title("and for 8 s, which is longer than a lease is safe");
	simstore_lose_leader(&world.store, 8000);
	run_for(12000);
	end_story("sim/leader_loss.txt");
}

static void on_seed_failed(void *ctx, const char *check, const char *why)
{
	(void)ctx;
	t_fail(__FILE__, __LINE__, "%s: %s", check, why);
}

/* Runs the seed in a process of its own, so that only the seed is the same. */
static void write_story(FILE *out, uint64_t seed)
{
	struct seed_result result = {0};
	pid_t pid = fork();
	int status = 0;

	T_TRUE(pid >= 0);
	if (pid == 0) {
		T_TRUE(seed_run(&(struct seed_opts){.seed = seed,
		                                    .request = {.profile = "mixed"},
		                                    .story = {.out = out, .wire = true},
		                                    .failed = on_seed_failed},
		                &result));
		(void)fprintf(out, "%llx\n", (unsigned long long)result.digest);
		(void)fflush(out);
		_exit(0);
	}
	T_EQ(waitpid(pid, &status, 0), pid);
	T_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	rewind(out);
}

T_CASE_SECONDS(a_seed_repeats_byte_for_byte, 60)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		FILE *first = tmpfile(), *second = tmpfile();
		uint64_t bytes = 0;
		int c;

		T_TRUE(first != NULL && second != NULL);
		write_story(first, seed);
		write_story(second, seed);
		while ((c = getc(first)) != EOF) {
			T_EQ(getc(second), c);
			bytes++;
		}
		T_EQ(getc(second), EOF);
		T_TRUE(bytes > 10000);
		(void)fclose(first);
		(void)fclose(second);
	}
}
