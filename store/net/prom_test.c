#include <math.h>
#include <stdio.h>

#include "store/net/prom.h"
#include "tests/harness/t.h"

/* Reads the first sample of a text; returns its code. */
static enum pl_code first(const char *text, struct prom_sample *sample,
                          struct pl_err *err)
{
	struct prom_reader reader;

	prom_init(&reader, pl_span_str(text));
	return prom_next(&reader, sample, err);
}

T_CASE(samples_with_labels_and_timestamps)
{
	struct prom_sample s;
	struct pl_span value;

	T_EQ(first("# HELP x y\n\n  a:b_1 {le=\"0.5\", x=\"q\\\"\\n\\\\\",} 2.5e3 -12 \n",
	           &s, NULL),
	     PL_OK);
	T_TRUE(pl_span_eq(s.name, PL_SPAN_LIT("a:b_1")));
	T_EQ(s.label_count, 2);
	T_TRUE(prom_label(&s, "le", &value));
	T_TRUE(pl_span_eq(value, PL_SPAN_LIT("0.5")));
	T_TRUE(prom_label(&s, "x", &value));
	T_TRUE(pl_span_eq(value, PL_SPAN_LIT("q\\\"\\n\\\\")));
	T_TRUE(!prom_label(&s, "y", &value));
	T_EQ(s.value, 2500);
	T_TRUE(s.has_time);
	T_EQ(s.time_ms, -12);
	T_EQ(first("x{} NaN", &s, NULL), PL_OK);
	T_TRUE(isnan(s.value));
	T_EQ(first("x +Inf", &s, NULL), PL_OK);
	T_TRUE(isinf(s.value) && s.value > 0);
}

T_CASE(several_samples_and_the_end)
{
	struct prom_reader reader;
	struct prom_sample s;

	prom_init(&reader, PL_SPAN_LIT("a 1\n# c\nb 2\n\nc 3"));
	for (int i = 1; i <= 3; i++) {
		T_EQ(prom_next(&reader, &s, NULL), PL_OK);
		T_EQ(s.value, i);
	}
	T_EQ(prom_next(&reader, &s, NULL), PL_NOTFOUND);
	T_EQ(prom_next(&reader, &s, NULL), PL_NOTFOUND);
}

T_CASE(malformed_lines_are_refused)
{
	static const char *const bad[] = {"1a 2",
	                                  "a",
	                                  "a b",
	                                  "a 0x10",
	                                  "a infinity",
	                                  "a 1 2 3",
	                                  "a 1 x",
	                                  "a{b} 1",
	                                  "a{b=c} 1",
	                                  "a{b=\"c\" 1",
	                                  "a{b=\"c} 1",
	                                  "a{b=\"\\x\"} 1",
	                                  "a{1=\"\"} 1",
	                                  "a{,} 1",
	                                  "a{b=\"c\"d=\"e\"} 1",
	                                  "a{b=\"\xff\"} 1",
	                                  "a{b:c=\"\"} 1",
	                                  "a 1.2.3",
	                                  "a 1\r",
	                                  "{} 1",
	                                  "a{b=\"",
	                                  "a{b=\"\\"};
	struct prom_sample s;
	struct pl_err err;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		err = (struct pl_err){0};
		if (first(bad[i], &s, &err) != PL_INVALID)
			t_fail(__FILE__, __LINE__, "accepted: %s", bad[i]);
		T_TRUE(strncmp(err.msg, "line 1: ", 8) == 0);
	}
}

static enum pl_code with_labels(unsigned count)
{
	char text[1024] = "a{";
	struct prom_sample s;
	size_t len = 2;

	for (unsigned i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, "l=\"\",");
	(void)snprintf(text + len, sizeof text - len, "} 1");
	return first(text, &s, NULL);
}

T_CASE(too_many_labels)
{
	T_EQ(with_labels(PROM_LABELS_MAX), PL_OK);
	T_EQ(with_labels(PROM_LABELS_MAX + 1), PL_INVALID);
}
