#include "store/kv/relist_page_size.h"
#include "tests/harness/t.h"

static struct relist_page_size pages;

/* A page of that many keys, with names and values of so many bytes. */
static void see(size_t count, size_t bytes)
{
	static struct kv_record records[RELIST_PAGE_MAX];
	static char text[1 << 20];

	T_TRUE(count <= RELIST_PAGE_MAX && bytes <= sizeof text);
	for (size_t i = 0; i < count; i++)
		records[i] = (struct kv_record){.key = pl_span(text, bytes / 2),
		                                .value = pl_span(text, bytes / 2)};
	relist_page_size_observe(&pages, records, count);
}

T_CASE(first_page_has_the_default_size)
{
	pages = (struct relist_page_size){0};
	T_EQ(relist_page_size_keys(&pages), RELIST_PAGE_FIRST);
	see(0, 0);
	see(RELIST_PAGE_MIN - 1, 100);
	T_EQ(relist_page_size_keys(&pages), RELIST_PAGE_FIRST);
}

T_CASE(page_size_follows_the_bytes_of_keys)
{
	static const size_t bytes[] = {500, 2000, 20000};

	pages = (struct relist_page_size){0};
	for (size_t i = 0; i < 3; i++) {
		uint64_t keys;

		see(relist_page_size_keys(&pages), bytes[i]);
		keys = relist_page_size_keys(&pages);
		T_TRUE(keys * bytes[i] <= RELIST_PAGE_BYTES);
		T_TRUE(keys * (bytes[i] + 100) >= RELIST_PAGE_BYTES);
	}
}

T_CASE(page_size_stays_within_its_bounds)
{
	pages = (struct relist_page_size){0};
	see(RELIST_PAGE_MIN, 10);
	T_EQ(relist_page_size_keys(&pages), RELIST_PAGE_MAX);
	/* Few keys, but large ones. */
	see(5, 1 << 20);
	T_EQ(relist_page_size_keys(&pages), RELIST_PAGE_MIN);
}

T_CASE(late_pages_are_halved)
{
	pages = (struct relist_page_size){0};
	relist_page_size_halve(&pages);
	T_EQ(relist_page_size_keys(&pages), RELIST_PAGE_FIRST / 2);
	for (int i = 0; i < 10; i++)
		relist_page_size_halve(&pages);
	T_EQ(relist_page_size_keys(&pages), RELIST_PAGE_MIN);
}
