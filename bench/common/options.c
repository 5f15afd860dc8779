#include "bench/common/options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/report.h"
#include "store/base/num.h"

enum { OPT_FIRST = 1000, OPT_JSON = 'j', OPT_HELP = 'h', HELP_COLUMN = 22 };

void bench_refuse(const char *fmt, ...)
{
	va_list args;

	(void)fprintf(stderr, "bench: ");
	va_start(args, fmt);
	(void)vfprintf(stderr, fmt, args);
	va_end(args);
	(void)fprintf(stderr, " (--help)\n");
	exit(BENCH_USAGE);
}

/* -- help ------------------------------------------------------------------- */

static bool takes_value(const struct bench_option *option)
{
	return option->kind != BENCH_ON && option->kind != BENCH_OFF;
}

static void print_default(const struct bench_option *option)
{
	const char *text, *space = option->help[0] == 0 ? "" : " ";

	switch (option->kind) {
	case BENCH_COUNT:
		if (*(const uint32_t *)option->at != 0)
			(void)printf("%s(default %" PRIu32 ")", space,
			             *(const uint32_t *)option->at);
		return;
	case BENCH_SEED:
		(void)printf("%s(default %" PRIu64 ")", space,
		             *(const uint64_t *)option->at);
		return;
	case BENCH_REAL:
		(void)printf("%s(default %g)", space, *(const double *)option->at);
		return;
	case BENCH_TEXT:
		text = *(const char *const *)option->at;
		if (text != NULL)
			(void)printf("%s(default %s)", space, text);
		return;
	case BENCH_WORD:
		(void)printf("%s(default %s)", space,
		             option->words[*(const unsigned *)option->at]);
		return;
	case BENCH_ON:
	case BENCH_OFF:
		return;
	}
}

/* Lines after the first begin where that does. */
static void print_lines(const char *text)
{
	for (const char *at = text; *at != 0; at++) {
		(void)putchar(*at);
		if (*at == '\n')
			(void)printf("%*s", HELP_COLUMN, "");
	}
}

static void print_option(const struct bench_option *option)
{
	const char *value = option->value == NULL ? "N" : option->value;
	int used = printf("  --%s%s%s", option->name, takes_value(option) ? " " : "",
	                  takes_value(option) ? value : "");

	(void)printf("%*s", used < HELP_COLUMN - 1 ? HELP_COLUMN - used : 1, "");
	print_lines(option->help);
	if (option->kind == BENCH_WORD) {
		(void)printf("\n%*sone of:", HELP_COLUMN, "");
		for (unsigned i = 0; option->words[i] != NULL; i++)
			(void)printf("%s%s", i == 0 ? " " : ", ", option->words[i]);
	}
	print_default(option);
	(void)printf("\n");
}

static _Noreturn void print_help(const struct bench_usage *usage)
{
	(void)printf("usage: bench/run %s [--json] [options]\n\n%s\n", usage->name,
	             usage->about);
	for (unsigned i = 0; i < usage->count; i++)
		print_option(&usage->options[i]);
	if (usage->more != NULL)
		(void)printf("\n%s", usage->more);
	exit(BENCH_OK);
}

/* -- values ----------------------------------------------------------------- */

static void check_bounds(const struct bench_option *option, double value)
{
	double high = option->high;

	if (high <= 0 && option->kind == BENCH_COUNT)
		high = UINT32_MAX;
	if (value < option->low || (high > 0 && value > high))
		bench_refuse("--%s: %s is not from %.10g to %.10g", option->name, optarg,
		             option->low, high);
}

static uint64_t parse_whole(const struct bench_option *option)
{
	struct pl_err err = {0};
	uint64_t number = 0;

	if (pl_num_u64(pl_span_str(optarg), &number, &err) != PL_OK)
		bench_refuse("--%s: %s", option->name, err.msg);
	return number;
}

static double parse_real(const struct bench_option *option)
{
	char *end = NULL;
	double number = strtod(optarg, &end);

	if (end == optarg || *end != 0)
		bench_refuse("--%s: %s is no number", option->name, optarg);
	return number;
}

static unsigned parse_word(const struct bench_option *option)
{
	for (unsigned i = 0; option->words[i] != NULL; i++)
		if (strcmp(option->words[i], optarg) == 0)
			return i;
	bench_refuse("--%s: there is no %s", option->name, optarg);
}

static void take_option(const struct bench_option *option)
{
	uint64_t number;
	double fraction;

	switch (option->kind) {
	case BENCH_COUNT:
		number = parse_whole(option);
		check_bounds(option, (double)number);
		*(uint32_t *)option->at = (uint32_t)number;
		return;
	case BENCH_SEED:
		*(uint64_t *)option->at = parse_whole(option);
		return;
	case BENCH_REAL:
		fraction = parse_real(option);
		check_bounds(option, fraction);
		*(double *)option->at = fraction;
		return;
	case BENCH_TEXT:
		*(const char **)option->at = optarg;
		return;
	case BENCH_WORD:
		*(unsigned *)option->at = parse_word(option);
		return;
	case BENCH_ON:
	case BENCH_OFF:
		*(bool *)option->at = option->kind == BENCH_ON;
		return;
	}
}

void bench_options(const struct bench_usage *usage, int argc, char **argv)
{
	struct option options[BENCH_OPTIONS_MAX + 3] = {
		{"json", no_argument, NULL, OPT_JSON},
		{"help", no_argument, NULL, OPT_HELP},
	};
	int option;

	PL_ASSERT(usage->count <= BENCH_OPTIONS_MAX);
	bench_name = usage->name;
	for (unsigned i = 0; i < usage->count; i++)
		options[i + 2] = (struct option){
			.name = usage->options[i].name,
			.has_arg = takes_value(&usage->options[i]) ? required_argument
		                                                   : no_argument,
			.val = OPT_FIRST + (int)i,
		};
	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == OPT_HELP)
			print_help(usage);
		if (option == '?') /* getopt said what is wrong */
			bench_refuse("want other options");
		if (option >= OPT_FIRST)
			take_option(&usage->options[option - OPT_FIRST]);
	}
	if (optind < argc)
		bench_refuse("%s: what is that?", argv[optind]);
}
