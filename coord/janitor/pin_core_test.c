#include "coord/janitor/pin_core.h"
#include "tests/harness/t.h"

static struct pin_core core;
static struct pin_actions actions;

static void tell(struct pin_event event)
{
	pin_step(&core, &event, &actions);
}

static void begin(void)
{
	pin_core_init(&core, 1);
	tell((struct pin_event){.type = PIN_EV_LEASE, .now_ms = 10, .lease = 7});
	T_EQ(actions.item[0].type, PIN_DO_PUT);
	T_EQ(actions.item[0].lease, 7);
}

static void answer(uint64_t now, int64_t lease, int64_t revision)
{
	tell((struct pin_event){.type = PIN_EV_ANSWER,
	                        .now_ms = now,
	                        .lease = lease,
	                        .create_revision = revision});
}

T_CASE(held_and_lost)
{
	begin();
	answer(20, 7, 90);
	T_EQ(actions.item[0].type, PIN_REPORT_HELD);
	T_EQ(actions.item[0].revision, 90);
	tell((struct pin_event){.type = PIN_EV_LEASE, .now_ms = 30, .lease = 7});
	T_EQ(actions.count, 0);
	tell((struct pin_event){.type = PIN_EV_GONE, .now_ms = 40, .code = PL_NOLEASE});
	T_EQ(actions.item[0].type, PIN_REPORT_LOST);
	tell((struct pin_event){.type = PIN_EV_GONE, .now_ms = 50, .code = PL_NOLEASE});
	T_EQ(actions.count, 0);
}

T_CASE(unknown_is_sent_again)
{
	begin();
	tell((struct pin_event){.type = PIN_EV_FAILED, .now_ms = 20, .code = PL_UNKNOWN});
	T_EQ(actions.item[0].type, PIN_REPORT_TROUBLE);
	tell((struct pin_event){.type = PIN_EV_TIMEOUT,
	                        .now_ms = pin_deadline_ms(&core)});
	T_EQ(actions.item[0].type, PIN_DO_PUT);
	answer(200, 7, 60); /* created by the first attempt */
	T_EQ(core.revision, 60);
	T_TRUE(pin_deadline_ms(&core) == UINT64_MAX);
}

T_CASE(a_name_of_another_client)
{
	begin();
	answer(20, 8, 60);
	T_EQ(actions.item[0].type, PIN_REPORT_LOST);
	T_EQ(actions.item[0].code, PL_EXISTS);
}

T_CASE(lease_gone_while_putting)
{
	begin();
	tell((struct pin_event){.type = PIN_EV_GONE, .now_ms = 20, .code = PL_NOLEASE});
	T_EQ(actions.item[0].type, PIN_REPORT_LOST);
	answer(30, 7, 60);
	T_EQ(actions.count, 0);
	T_EQ(core.revision, 0);
}
