/*
 * One pass over text whose grammar was checked, so each byte says what comes: nothing is
 * checked again, and nothing but memory can fail. Most of a document are short strings.
 * They lie one behind the other in a block of the document's size, since a string is
 * never longer than its text, quotes included.
 */
#include "store/base/json_build.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdlib.h>

#include "store/base/json_plain.h"
#include "store/base/json_tree.h"

enum {
	NODES_AT_ONCE = 16,
	EXACT_DIGITS = 15, /* whole numbers that a double holds exactly */
	NUMBER_ROOM = 64,  /* the scan refuses longer ones */
};

struct json_builder {
	struct pl_arena *arena;
	const uint8_t *at, *end;
	char *strings; /* where the next string goes */
	struct cJSON *nodes;
	size_t nodes_left;
	/* The containers around the next value, the innermost last. */
	struct cJSON *up[PL_JSON_DEPTH_MAX];
	size_t depth;
	char *name; /* of the next value */
};

static size_t bytes_left(const struct json_builder *b)
{
	return (size_t)(b->end - b->at);
}

/* -- strings ------------------------------------------------------------------------- */

static uint32_t hex_digit(uint8_t byte)
{
	return byte <= '9' ? (uint32_t)byte - '0' : (uint32_t)(byte | 0x20) - 'a' + 10;
}

static uint32_t take_hex4(struct json_builder *b)
{
	uint32_t unit = 0;

	for (unsigned i = 0; i < 4; i++)
		unit = unit << 4 | hex_digit(*b->at++);
	return unit;
}

static char *put_utf8(char *to, uint32_t point)
{
	if (point < 0x80) {
		*to++ = (char)point;
		return to;
	}
	if (point < 0x800) {
		*to++ = (char)(0xc0 | point >> 6);
	} else if (point < 0x10000) {
		*to++ = (char)(0xe0 | point >> 12);
		*to++ = (char)(0x80 | (point >> 6 & 0x3f));
	} else {
		*to++ = (char)(0xf0 | point >> 18);
		*to++ = (char)(0x80 | (point >> 12 & 0x3f));
		*to++ = (char)(0x80 | (point >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (point & 0x3f));
	return to;
}

/* Behind "\u": a unit, and the second half of a pair. */
static char *take_unicode(struct json_builder *b, char *to)
{
	uint32_t point = take_hex4(b);

	if (point >= 0xd800 && point <= 0xdbff) {
		b->at += 2; /* the scan has seen the other half */
		point = 0x10000 + ((point - 0xd800) << 10 | (take_hex4(b) - 0xdc00));
	}
	return put_utf8(to, point);
}

static char *take_escape(struct json_builder *b, char *to)
{
	uint8_t byte = b->at[1];

	b->at += 2;
	switch (byte) {
	case 'u':
		return take_unicode(b, to);
	case 'b':
		*to = '\b';
		break;
	case 'f':
		*to = '\f';
		break;
	case 'n':
		*to = '\n';
		break;
	case 'r':
		*to = '\r';
		break;
	case 't':
		*to = '\t';
		break;
	default: /* the byte itself: a quote, a backslash, a slash */
		*to = (char)byte;
		break;
	}
	return to + 1;
}

/* Takes a string with its quotes. */
static char *take_string(struct json_builder *b)
{
	char *out = b->strings, *to = out;

	for (b->at++; *b->at != '"';) {
		size_t run = pl_json_plain_run(b->at, bytes_left(b));

		if (run == 0 && *b->at == '\\') {
			to = take_escape(b, to);
			continue;
		}
		run += run == 0; /* a byte of a longer character */
		memcpy(to, b->at, run);
		to += run;
		b->at += run;
	}
	b->at++;
	*to = 0;
	b->strings = to + 1;
	return out;
}

/* -- numbers ------------------------------------------------------------------------- */

static bool is_number_byte(uint8_t byte)
{
	return (byte >= '0' && byte <= '9') || byte == '-' || byte == '+' ||
	       byte == '.' || byte == 'e' || byte == 'E';
}

/* Whether it is a whole number with few digits. */
static bool small_number(struct pl_span text, double *out)
{
	bool negative = text.at[0] == '-';
	int64_t value = 0;

	if (text.len > EXACT_DIGITS)
		return false;
	for (size_t i = negative; i < text.len; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
		value = value * 10 + (text.at[i] - '0');
	}
	*out = negative ? -(double)value : (double)value;
	return true;
}

static double take_number(struct json_builder *b)
{
	struct pl_span text = pl_span(b->at, 0);
	char room[NUMBER_ROOM];
	double value;

	while (b->at < b->end && is_number_byte(*b->at))
		b->at++;
	text.len = (size_t)(b->at - text.at);
	if (small_number(text, &value))
		return value;
	PL_ASSERT(text.len < sizeof room);
	memcpy(room, text.at, text.len);
	room[text.len] = 0;
	return strtod(room, NULL);
}

static void put_number(struct cJSON *node, double value)
{
	node->valuedouble = value;
	if (value >= INT_MAX)
		node->valueint = INT_MAX;
	else if (value <= INT_MIN)
		node->valueint = INT_MIN;
	else
		node->valueint = (int)value;
}

/* -- nodes --------------------------------------------------------------------------- */

/* Nodes come in blocks, but no more of them than there can be values. */
static struct cJSON *node_new(struct json_builder *b)
{
	size_t most = bytes_left(b) / 2 + 1;

	if (b->nodes_left == 0) {
		b->nodes_left = most < NODES_AT_ONCE ? most : NODES_AT_ONCE;
		b->nodes = pl_arena_zalloc(b->arena, b->nodes_left, sizeof *b->nodes);
		if (b->nodes == NULL)
			return NULL;
	}
	b->nodes_left--;
	return b->nodes++;
}

static void link_node(struct json_builder *b, struct cJSON *node)
{
	struct cJSON *parent;

	if (b->depth == 0)
		return;
	parent = b->up[b->depth - 1];
	node->string = b->name;
	b->name = NULL;
	if (parent->child == NULL) {
		parent->child = node->prev = node;
		return;
	}
	node->prev = parent->child->prev;
	node->prev->next = node;
	parent->child->prev = node;
}

static void open_node(struct json_builder *b, struct cJSON *node, int type)
{
	PL_ASSERT(b->depth < PL_JSON_DEPTH_MAX);
	node->type = type;
	b->up[b->depth++] = node;
	b->at++;
}

static void word_node(struct json_builder *b, struct cJSON *node, int type, size_t len)
{
	node->type = type;
	b->at += len;
}

/* The value that begins here; a container is open then. */
static void fill_node(struct json_builder *b, struct cJSON *node)
{
	switch (*b->at) {
	case '{':
		open_node(b, node, cJSON_Object);
		return;
	case '[':
		open_node(b, node, cJSON_Array);
		return;
	case '"':
		node->type = cJSON_String;
		node->valuestring = take_string(b);
		return;
	case 't':
		word_node(b, node, cJSON_True, 4);
		node->valueint = 1; /* as cJSON has it */
		return;
	case 'f':
		word_node(b, node, cJSON_False, 5);
		return;
	case 'n':
		word_node(b, node, cJSON_NULL, 4);
		return;
	default:
		node->type = cJSON_Number;
		put_number(node, take_number(b));
		return;
	}
}

/* -- the document ------------------------------------------------------------------------ */

static bool is_between(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' ||
	       byte == ',' || byte == ':';
}

static bool wants_name(const struct json_builder *b)
{
	return b->depth > 0 && b->name == NULL &&
	       b->up[b->depth - 1]->type == cJSON_Object;
}

/* Goes on to the next value: closes containers, and takes the value's name. False: the
 * outermost one is closed. */
static bool next_value(struct json_builder *b)
{
	for (;;) {
		while (is_between(*b->at))
			b->at++;
		if (*b->at == '}' || *b->at == ']') {
			b->at++;
			if (--b->depth == 0)
				return false;
		} else if (wants_name(b)) {
			b->name = take_string(b);
		} else {
			return true;
		}
	}
}

const struct cJSON *json_build(struct pl_arena *arena, struct pl_span text)
{
	struct json_builder b = {
		.arena = arena, .at = text.at, .end = text.at + text.len};
	struct cJSON *root = NULL;

	b.strings = pl_arena_alloc(arena, text.len);
	if (b.strings == NULL)
		return NULL;
	while (next_value(&b)) {
		struct cJSON *node = node_new(&b);

		if (node == NULL)
			return NULL;
		root = root == NULL ? node : root;
		link_node(&b, node);
		fill_node(&b, node);
		if (b.depth == 0) /* a scalar alone */
			break;
	}
	return root;
}
