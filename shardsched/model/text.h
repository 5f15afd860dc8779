/*
 * Text checks: what Kubernetes allows in names, keys and values.
 *
 * A check returns a set of bits, one for each sentence that the API server would report,
 * since one text can be wrong in several ways; 0: the text is valid.
 */
#ifndef SHARDSCHED_MODEL_TEXT_H
#define SHARDSCHED_MODEL_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/span.h"

/* X(name, sentence) */
#define TEXT_FAULT_MAP(X)                                                              \
	X(LABEL_CHARS, "want a-z, 0-9 and '-', a letter or digit at both ends")        \
	X(LABEL_DOTS, "want no dots")                                                  \
	X(LABEL_LONG, "want at most 63 bytes")                                         \
	X(SUBDOMAIN_CHARS, "want labels of a-z, 0-9 and '-' with dots between them")   \
	X(SUBDOMAIN_LONG, "want at most 253 bytes")                                    \
	X(KEY_PARTS, "want a name, or a domain, one slash and a name")                 \
	X(KEY_PREFIX_EMPTY, "want a domain before the slash")                          \
	X(KEY_PREFIX_CHARS, "want a domain of a-z, 0-9, '-' and '.' before the slash") \
	X(KEY_PREFIX_LONG, "want at most 253 bytes before the slash")                  \
	X(KEY_EMPTY, "want a name")                                                    \
	X(KEY_LONG, "want at most 63 bytes in the name")                               \
	X(KEY_CHARS, "want letters, digits, '-', '_' and '.', a letter or digit at "   \
	             "both ends of the name")                                          \
	X(VALUE_LONG, "want at most 63 bytes")                                         \
	X(VALUE_CHARS, "want letters, digits, '-', '_' and '.', a letter or digit at " \
	               "both ends, or nothing")                                        \
	X(PORT_LONG, "want at most 15 bytes")                                          \
	X(PORT_CHARS, "want only a-z, 0-9 and '-'")                                    \
	X(PORT_LETTER, "want a letter in it")                                          \
	X(PORT_HYPHENS, "want no two hyphens in a row")                                \
	X(PORT_ENDS, "want no hyphen at an end")

#define TEXT_FAULT_ENUM(name, sentence) TEXT_##name,
enum text_fault { TEXT_FAULT_MAP(TEXT_FAULT_ENUM) TEXT_FAULT_COUNT };

/* The sentence for a fault. */
const char *text_fault_sentence(enum text_fault fault);

/* An RFC 1123 label, as a container's name. */
uint32_t text_label(struct pl_span text);
/* An RFC 1123 subdomain, as a pod's name. */
uint32_t text_subdomain(struct pl_span text);
/* A qualified name, as a label's key. */
uint32_t text_key(struct pl_span text);
/* A label's value. */
uint32_t text_value(struct pl_span text);
/* A port's name. */
uint32_t text_port(struct pl_span text);

/* Decimal digits with a sign or none, within 64 bits, and nothing else. */
bool text_int(struct pl_span text, int64_t *out);

static inline bool text_ends(struct pl_span text, struct pl_span end)
{
	return text.len >= end.len &&
	       pl_span_eq(pl_span(text.at + text.len - end.len, end.len), end);
}

bool text_has(struct pl_span text, struct pl_span part);

#endif
