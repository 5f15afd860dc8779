/* Keys and values of the load: each key has a class and a number, each value names
 * the operations that made it. */
#ifndef TESTS_FAULTLAB_NAME_H
#define TESTS_FAULTLAB_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/span.h"

enum {
	HIST_KEY_SIZE = 32,
	HIST_VALUE_SIZE = 1024,
	HIST_LIST_MAX = 64, /* elements; then a list is full */
};

/* A class of keys: the letter in "/lab/r/00000012". */
enum hist_class {
	HIST_ALL = 0, /* of a stream: all classes */
	HIST_REGISTER = 'r',
	HIST_LIST = 'l',
	HIST_UNIQUE = 'u', /* created once, each by one operation */
	HIST_BLIND = 'b',  /* put without any compare */
	HIST_LEASED = 'e',
};

/* A key: class and number in one; 0 is no key. */
typedef uint64_t hist_key;

static inline hist_key hist_key_of(enum hist_class class, uint32_t number)
{
	return (uint64_t) class << 32 | number;
}

static inline enum hist_class hist_class_of(hist_key key)
{
	return (enum hist_class)(key >> 32);
}

#define HIST_PREFIX "/lab/"
struct pl_span hist_key_text(hist_key key, char at[static HIST_KEY_SIZE]);
bool hist_key_parse(struct pl_span text, hist_key *out);
/* The prefix of the keys of a class, or of all keys with HIST_ALL. */
struct pl_span hist_class_prefix(enum hist_class class, char at[static HIST_KEY_SIZE]);

/* A value is a list of operation ids, "3,17,20": the last one wrote it. Others
 * than lists have one element. The hash stands for the whole content. */
struct hist_value {
	uint32_t writer; /* 0: no value */
	uint32_t count;
	uint64_t hash;
};

struct hist_value hist_value_add(struct hist_value before, uint32_t writer);
bool hist_value_parse(struct pl_span text, struct hist_value *out);
bool hist_value_eq(struct hist_value a, struct hist_value b);

#endif
