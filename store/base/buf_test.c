#include "store/base/buf.h"
#include "tests/harness/torture.h"

static struct pl_buf buf;

T_CASE(adds_up_to_its_maximum_and_not_a_byte_more)
{
	char text[200];

	memset(text, 'x', sizeof text);
	for (size_t max = 1; max < sizeof text; max++) {
		pl_buf_init(&buf, max);
		T_OK(pl_buf_add(&buf, pl_span(text, max)), NULL);
		T_CODE(pl_buf_add(&buf, pl_span(text, 1)), PL_LIMIT, NULL);
		T_OK(pl_buf_add(&buf, pl_span(NULL, 0)), NULL);
		T_EQ(buf.len, max);
		T_TRUE(buf.cap <= max);
		pl_buf_done(&buf);
		T_CODE(pl_buf_add(&buf, pl_span(text, max + 1)), PL_LIMIT, NULL);
		T_EQ(buf.len, 0);
	}
}

T_CASE(grows_while_it_keeps_what_it_has)
{
	pl_buf_init(&buf, 100000);
	for (unsigned i = 0; i < 20000; i++)
		T_OK(pl_buf_printf(&buf, "%05u", i), NULL);
	T_EQ(buf.len, 100000);
	T_MEM(buf.at + 61725, "12345", 5);
	T_CODE(pl_buf_printf(&buf, "x"), PL_LIMIT, NULL);
	pl_buf_done(&buf);
}

T_CASE(printing_may_fill_it_to_the_last_byte)
{
	pl_buf_init(&buf, 5);
	T_CODE(pl_buf_printf(&buf, "%d", 123456), PL_LIMIT, NULL);
	T_EQ(buf.len, 0);
	T_OK(pl_buf_printf(&buf, "%d", 12345), NULL);
	T_SPAN(pl_buf_span(&buf), PL_SPAN_LIT("12345"));
	T_OK(pl_buf_printf(&buf, "%s", ""), NULL);
	pl_buf_done(&buf);
}

T_CASE(printing_nothing_into_nothing_is_fine)
{
	pl_buf_init(&buf, 8);
	T_OK(pl_buf_printf(&buf, "%s", ""), NULL);
	T_EQ(buf.len, 0);
	pl_buf_done(&buf);
}

T_CASE(drops_from_the_front)
{
	pl_buf_init(&buf, 100);
	T_OK(pl_buf_add_str(&buf, "abcdef"), NULL);
	pl_buf_drop(&buf, 0);
	pl_buf_drop(&buf, 2);
	T_SPAN(pl_buf_span(&buf), PL_SPAN_LIT("cdef"));
	pl_buf_drop(&buf, 4);
	T_EQ(buf.len, 0);
	pl_buf_done(&buf);
}

T_CASE(clearing_keeps_memory_up_to_the_limit)
{
	pl_buf_init(&buf, 100000);
	T_OK(pl_buf_reserve(&buf, 100), NULL);
	pl_buf_clear(&buf, 4096);
	T_TRUE(buf.at != NULL && buf.len == 0);
	T_OK(pl_buf_reserve(&buf, 50000), NULL);
	pl_buf_clear(&buf, 4096);
	T_TRUE(buf.at == NULL && buf.cap == 0 && buf.max == 100000);
	T_OK(pl_buf_add_str(&buf, "again"), NULL);
	pl_buf_done(&buf);
	pl_buf_done(&buf);
}

static enum pl_code fill(void)
{
	enum pl_code code = PL_OK;

	pl_buf_init(&buf, 5000);
	for (int i = 0; i < 500 && code == PL_OK; i++) {
		size_t len = buf.len;

		code = i % 2 == 0 ? pl_buf_add_str(&buf, "0123456789")
		                  : pl_buf_printf(&buf, "%010d", i);
		T_EQ(buf.len, code == PL_OK ? len + 10 : len);
	}
	pl_buf_done(&buf);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(fill, false);
}
