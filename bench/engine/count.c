/*
 * Instructions of a basic decision, counted by callgrind: a figure that does not depend
 * on what else the machine does. The program runs itself under valgrind and counts what
 * happens within count_decide.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/engine/bench.h"
#include "bench/engine/scene.h"

enum { NODES = 5000, PODS = 50 };

/* Not static: callgrind switches on at this name. */
void count_decide(struct scene *scene, struct fw_class *class, struct cycle_outcome *out);

__attribute__((noinline)) void count_decide(struct scene *scene, struct fw_class *class,
                                            struct cycle_outcome *out)
{
	scene_decide(scene, class, out);
}

static void run_child(bool cache)
{
	static const char json[] =
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"bench\",\"labels\":{"
		"\"app\":\"web\"}},\"spec\":{\"priority\":0,\"containers\":[{\"name\":"
		"\"c\",\"image\":\"app:1\",\"resources\":{\"requests\":{\"cpu\":\"100m\","
		"\"memory\":\"500Mi\"}}}]}}";
	struct cycle_outcome outcome;
	const struct spec *spec;
	struct fw_class *class;
	struct scene scene;

	scene_init(&scene, NODES, cache);
	spec = scene_spec(&scene, json);
	class = scene_class(&scene, spec);
	scene_decide(&scene, class, &outcome);
	for (unsigned i = 0; i < PODS; i++) {
		count_decide(&scene, class, &outcome);
		if (outcome.result != CYCLE_NODE)
			exit(1);
		scene_place(&scene, spec, outcome.node);
	}
	scene_class_close(&scene, class);
	model_unref(&scene.model, MODEL_SPECS, spec);
	scene_done(&scene);
}

void bench_count_child(const char *how)
{
	run_child(strcmp(how, "cache") == 0);
}

/* NOLINTBEGIN(cert-env33-c): a bench, which runs itself under a tool */
static bool have_valgrind(void)
{
	return system("valgrind --version >/dev/null 2>&1") == 0;
}

/* The number in callgrind's line "Collected : N"; -1: there is no such line. */
static double collected_count(const char *how)
{
	char self[512], command[1024], line[512];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	double count = -1;
	FILE *from;

	if (len < 0)
		return -1;
	self[len] = 0;
	(void)snprintf(command, sizeof command,
	               "valgrind --tool=callgrind --callgrind-out-file=/dev/null "
	               "--collect-atstart=no --toggle-collect=count_decide '%s' "
	               "--count-child %s 2>&1",
	               self, how);
	from = popen(command, "r");
	while (from != NULL && fgets(line, sizeof line, from) != NULL) {
		const char *at = strstr(line, "Collected :");

		if (at != NULL)
			count = strtod(at + strlen("Collected :"), NULL);
	}
	if (from != NULL && pclose(from) != 0)
		return -1;
	return count;
}
/* NOLINTEND(cert-env33-c) */

void bench_count(const struct engine_bench_opts *opts)
{
	(void)opts;
	if (!have_valgrind()) {
		(void)fprintf(stderr, "# count: left out, there is no valgrind\n");
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		double count = collected_count(i == 0 ? "plain" : "cache");
		char fields[120];

		if (count < 0)
			bench_check(PL_UNSUPPORTED, NULL, "callgrind");
		(void)snprintf(fields, sizeof fields,
		               "\"op\":\"decide\",\"nodes\":%d,\"pods\":%d,\"profile\":"
		               "\"basic\",\"cache\":%s",
		               NODES, PODS, i == 0 ? "false" : "true");
		bench_emit(fields, "instructions_per_pod", count / PODS, "1");
	}
}
