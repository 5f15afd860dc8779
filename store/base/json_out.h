/*
 * JSON written straight into a buffer: for values that are written often.
 *
 * Commas are its business, names and values the caller's. The first failure
 * sticks (PL_LIMIT: the buffer's maximum, PL_NOMEM) and what follows does
 * nothing, so a value is written without a check a line:
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
 * What it writes is always well-formed UTF-8 JSON on one line, without spaces:
 * bytes that are not UTF-8 become U+FFFD. Calls in an order that could not be
 * JSON are our own fault and assert.
 */
#ifndef STORE_BASE_JSON_OUT_H
#define STORE_BASE_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/buf.h"
#include "store/base/json.h"

enum { PL_JSON_OUT_DEPTH_MAX = 63 };

/* Borrows buf and adds to what is in it. */
struct pl_json_out {
	struct pl_buf *buf;
	enum pl_code code;
	uint32_t depth;
	uint64_t objects; /* a bit a level: object or array */
	bool some;        /* something stands before on this level */
	bool named;       /* a name waits for its value */
};

void pl_json_out_init(struct pl_json_out *out, struct pl_buf *buf);

/* One whole value was written, or why not: then the buffer holds a part of it. */
PL_NODISCARD enum pl_code pl_json_out_done(struct pl_json_out *out);

void pl_json_out_object(struct pl_json_out *out);
void pl_json_out_array(struct pl_json_out *out);
/* Ends the innermost of them. */
void pl_json_out_end(struct pl_json_out *out);

void pl_json_out_name(struct pl_json_out *out, const char *name);
void pl_json_out_name_span(struct pl_json_out *out, struct pl_span name);

void pl_json_out_string(struct pl_json_out *out, struct pl_span text);
void pl_json_out_str(struct pl_json_out *out, const char *text);
void pl_json_out_bool(struct pl_json_out *out, bool value);
void pl_json_out_null(struct pl_json_out *out);

/* For numbers that stay within +-(2^53 - 1): others are written as strings, as
 * the reader wants them. */
void pl_json_out_int(struct pl_json_out *out, int64_t value);
/* For numbers that may pass that: always a string, so that a field has one type. */
void pl_json_out_int_string(struct pl_json_out *out, int64_t value);
/* The shortest text that reads back as the same number. It must be finite. */
void pl_json_out_double(struct pl_json_out *out, double value);

/* A whole value that is JSON already. */
void pl_json_out_raw(struct pl_json_out *out, struct pl_span json);
/* A value that was read. PL_LIMIT when it is deeper than can be written. */
void pl_json_out_value(struct pl_json_out *out, struct pl_json value);

#endif
