#include "coord/api/schema/schema_place.h"

#include <stdio.h>

enum { FRAMES_MAX = 64 };

struct text {
	char at[SCHEMA_PLACE_MAX];
	size_t len;
};

static void add(struct text *text, const char *format_part, const char *part)
{
	size_t room = sizeof text->at - text->len;
	int more;

	if (*part == '\0' && *format_part == '\0')
		return;
	more = snprintf(text->at + text->len, room, "%s%s", format_part, part);
	text->len += (size_t)more < room ? (size_t)more : room - 1;
}

static void add_frame(struct text *text, const struct schema_place *place)
{
	char number[32];

	if (place->name != NULL && place->in_map) {
		add(text, "[", place->name);
		add(text, "]", "");
	} else if (place->name != NULL) {
		add(text, text->len == 0 ? "" : ".", place->name);
	} else {
		snprintf(number, sizeof number, "%zu]", place->index);
		add(text, "[", number);
	}
}

static const char *print(struct pl_arena *arena, const struct schema_place *place,
                         bool names_only)
{
	const struct schema_place *frame[FRAMES_MAX];
	struct text text = {.len = 0};
	size_t count = 0;

	for (; place != NULL && place->up != NULL && count < FRAMES_MAX;
	     place = place->up)
		if (!names_only || (place->name != NULL && !place->in_map))
			frame[count++] = place;
	while (count > 0)
		add_frame(&text, frame[--count]);
	text.at[text.len] = '\0';
	return pl_arena_printf(arena, "%s", text.at);
}

const char *schema_place_path(struct pl_arena *arena, const struct schema_place *place)
{
	return print(arena, place, false);
}

const char *schema_place_names(struct pl_arena *arena, const struct schema_place *place)
{
	return print(arena, place, true);
}
