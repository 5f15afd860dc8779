/*
 * Replays a corpus without libFuzzer: every file as it is, cut off at every
 * length (at most CUTS_MAX of them, spread evenly), and with single bytes
 * changed by a seeded choice. The same inputs in every run.
 *
 * Each file is one TAP case. A crash ends the process: what was being fed is
 * then named on stderr, so that it can be fed again.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/rng.h"
#include "tests/fuzz/fuzz.h"

enum {
	FILES_MAX = 1000,
	FILE_SIZE_MAX = 1 << 20,
	CUTS_MAX = 256,
	MUTATIONS_MAX = 256,
	RUNS_MAX = 60000, /* for a whole corpus */
	FILE_SECONDS_MAX = 60,
};

static const char *now_file;
static char now_what[64];

static void write_text(const char *text)
{
	ssize_t put = write(STDERR_FILENO, text, strlen(text));

	(void)put; /* the process ends: an error cannot be reported */
}

static void say_what(void)
{
	write_text("# fuzz input: ");
	write_text(now_file);
	write_text(", ");
	write_text(now_what);
	write_text("\n");
}

static void on_signal(int sig)
{
	say_what();
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

/* Present when the sanitizers are: they end the process without a signal. */
/* NOLINTNEXTLINE(readability-identifier-naming): not our name */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static void watch_for_death(void)
{
	static const int sigs[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};

	if (__sanitizer_set_death_callback != NULL) {
		__sanitizer_set_death_callback(say_what);
		(void)signal(SIGALRM, on_signal);
		(void)signal(SIGABRT, on_signal);
		return;
	}
	for (size_t i = 0; i < sizeof sigs / sizeof sigs[0]; i++)
		(void)signal(sigs[i], on_signal);
}

/* From a block of exactly that size, so that reading past it is seen. */
static void feed_target(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size == 0 ? 1 : size);

	if (exact == NULL)
		abort();
	if (size != 0)
		memcpy(exact, data, size);
	(void)LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static void feed_cuts(const uint8_t *data, size_t size, size_t most)
{
	size_t step = size / most + 1;

	for (size_t len = 0; len < size; len += step) {
		(void)snprintf(now_what, sizeof now_what, "cut to %zu bytes", len);
		feed_target(data, len);
	}
}

static void feed_mutations(uint8_t *data, size_t size, size_t most)
{
	struct pl_rng rng;

	pl_rng_init(&rng, size);
	for (size_t i = 0; i < most && size != 0; i++) {
		size_t at = (size_t)pl_rng_below(&rng, size);
		uint8_t was = data[at];

		data[at] = (uint8_t)(was ^ pl_rng_between(&rng, 1, 255));
		(void)snprintf(now_what, sizeof now_what, "byte %zu changed to 0x%02x",
		               at, data[at]);
		feed_target(data, size);
		data[at] = was;
	}
}

static const char *replay(const char *path, size_t runs)
{
	static uint8_t data[FILE_SIZE_MAX + 1];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (file == NULL)
		return "cannot open it";
	size = fread(data, 1, sizeof data, file);
	(void)fclose(file);
	if (size > FILE_SIZE_MAX)
		return "too large for a corpus";
	(void)alarm(FILE_SECONDS_MAX);
	(void)snprintf(now_what, sizeof now_what, "as it is");
	feed_target(data, size);
	feed_cuts(data, size, runs / 2 < CUTS_MAX ? runs / 2 : CUTS_MAX);
	feed_mutations(data, size, runs / 2 < MUTATIONS_MAX ? runs / 2 : MUTATIONS_MAX);
	(void)alarm(0);
	return NULL;
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	struct dirent **list = NULL;
	int failed = 0;
	int count = argc == 2 ? scandir(argv[1], &list, is_file, alphasort) : -1;

	if (count < 1 || count > FILES_MAX) {
		(void)printf("1..1\nnot ok 1 - a corpus of 1 to %d files\n", FILES_MAX);
		return 1;
	}
	watch_for_death();
	(void)printf("1..%d\n", count);
	for (int i = 0; i < count; i++) {
		size_t runs = RUNS_MAX / (size_t)count;
		static char path[4096];
		const char *fault;

		(void)snprintf(path, sizeof path, "%s/%s", argv[1], list[i]->d_name);
		now_file = path;
		fault = replay(path, runs < 4 ? 4 : runs);
		if (fault != NULL)
			(void)printf("# %s: %s\n", path, fault);
		(void)printf("%sok %d - %s\n", fault == NULL ? "" : "not ", i + 1,
		             list[i]->d_name);
		(void)fflush(stdout);
		failed += fault != NULL;
		free(list[i]);
	}
	free(list);
	return failed != 0;
}
