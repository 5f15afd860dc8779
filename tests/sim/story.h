/*
 * The story of a run for a human reader, a line for each event:
 *
 *	[  12.345] n3     owns 7, epoch 41
 *
 * Silent runs pay nothing for it: a seed that fails is simply run again with its story.
 */
#ifndef TESTS_SIM_STORY_H
#define TESTS_SIM_STORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "store/base/compiler.h"

struct story {
	FILE *out; /* NULL: silent */
	const uint64_t *now_ms;
	bool wire;  /* also every request, answer and note */
	bool terse; /* without errors that are only retried */
};

PL_PRINTF(3, 4)
void story_print(struct story *story, const char *who, const char *fmt, ...);

#define STORY(story, who, ...)                                    \
	do {                                                      \
		if ((story)->out != NULL)                         \
			story_print((story), (who), __VA_ARGS__); \
	} while (0)
#define STORY_WIRE(story, who, ...)                               \
	do {                                                      \
		if ((story)->out != NULL && (story)->wire)        \
			story_print((story), (who), __VA_ARGS__); \
	} while (0)

#endif
