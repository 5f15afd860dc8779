/*
 * A JSON writer straight into a buffer, for values that are written often.
 *
 * The writer sets the commas; the caller gives names and values. The first failure sticks
 * (PL_LIMIT: the buffer's maximum; PL_NOMEM) and later calls do nothing, so a caller
 * checks only once:
 *
 *	struct pl_json_out out;
 *
 *	pl_json_out_init(&out, &buf);
 *	pl_json_out_object(&out);
 *	pl_json_out_name(&out, "v");
 *	pl_json_out_int(&out, 1);
 *	pl_json_out_end(&out);
 *	code = pl_json_out_done(&out);
 *
 * The output is always well-formed UTF-8 JSON on one line without spaces; bytes that are
 * not UTF-8 become U+FFFD. A sequence of calls that cannot make JSON is a bug of the
 * caller and asserts.
 */
#ifndef STORE_BASE_JSON_OUT_H
#define STORE_BASE_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/buf.h"
#include "store/base/json.h"

enum { PL_JSON_OUT_DEPTH_MAX = 63 };

/* The writer borrows buf and appends to it. */
struct pl_json_out {
	struct pl_buf *buf;
	enum pl_code code;
	uint32_t depth;
	uint64_t objects; /* one bit a level: 1 is an object, 0 an array */
	bool some;        /* this level has a value already */
	bool named;       /* a name has been written, and its value is due */
};

void pl_json_out_init(struct pl_json_out *out, struct pl_buf *buf);

/* PL_OK: one whole value has been written. On failure the buffer holds a part of it. */
PL_NODISCARD enum pl_code pl_json_out_done(struct pl_json_out *out);

void pl_json_out_object(struct pl_json_out *out);
void pl_json_out_array(struct pl_json_out *out);
/* Ends the innermost object or array. */
void pl_json_out_end(struct pl_json_out *out);

void pl_json_out_name(struct pl_json_out *out, const char *name);
void pl_json_out_name_span(struct pl_json_out *out, struct pl_span name);

void pl_json_out_string(struct pl_json_out *out, struct pl_span text);
void pl_json_out_str(struct pl_json_out *out, const char *text);
void pl_json_out_bool(struct pl_json_out *out, bool value);
void pl_json_out_null(struct pl_json_out *out);

/* For numbers within +-(2^53 - 1). A larger number is written as a string, as the reader
 * wants it. */
void pl_json_out_int(struct pl_json_out *out, int64_t value);
/* For numbers that may pass 2^53: always a string, so that the field has one type. */
void pl_json_out_int_string(struct pl_json_out *out, int64_t value);
/* Writes the shortest text that reads back as the same number. The number must be
 * finite. */
void pl_json_out_double(struct pl_json_out *out, double value);

/* Writes a whole value that is JSON already. */
void pl_json_out_raw(struct pl_json_out *out, struct pl_span json);
/* Writes a value that was read. PL_LIMIT: it is too deep. */
void pl_json_out_value(struct pl_json_out *out, struct pl_json value);

#endif
