/*
 * Random gangs in random clusters. Placed members are really put on their nodes and
 * checked. A gang without room is searched for exhaustively: one of equal members must
 * really have none, and for unequal ones a rare miss is allowed.
 */
#include "shardsched/gang/gang.h"
#include "tests/support/shardsched/preempt/preempt_rig.h"

enum { NODES = 5, MOST = 6, ROUNDS = 1200 };

static struct pl_rng rng;

static uint32_t below(uint32_t bound)
{
	return (uint32_t)pl_rng_below(&rng, bound);
}

static bool chance(uint32_t percent)
{
	return pl_rng_chance(&rng, percent, 100);
}

static struct pod pod[MOST];
static struct gang_member member[MOST];
static uint32_t members, kind_of[MOST], kinds;
static bool rules, domain;
static struct gang *gang;
static struct gang_opts opts;

static void put_nodes(void)
{
	uint32_t nodes = 1 + below(NODES);

	for (uint32_t i = 0; i < nodes; i++) {
		struct rig_text text = {{0}, 0};

		rig_say(&text, "{'metadata':{'name':'n%u','labels':{'host':'n%u'", i, i);
		if (chance(90))
			rig_say(&text, ",'rack':'r%u'", below(3));
		rig_say(&text,
		        "}},'status':{'allocatable':{'cpu':'%u','memory':'%uGi','pods':"
		        "'%u'}}}",
		        1 + below(6), 1 + below(6), 1 + below(5));
		(void)put_node(text.at);
	}
}

static struct {
	uint32_t cpu, memory;
	bool apart;
} kind[MOST];

/* The rules are about members of the gang only. */
static void make_gang(int turn)
{
	uint32_t least;

	members = 1 + below(MOST);
	least = chance(60) ? members : 1 + below(members);
	kinds = 1 + below(3);
	domain = chance(40);
	rules = chance(30);
	for (uint32_t i = 0; i < kinds; i++) {
		kind[i].cpu = 1 + below(4);
		kind[i].memory = 1 + below(4);
		kind[i].apart = rules && chance(50);
	}
	for (uint32_t i = 0; i < members; i++) {
		struct rig_text text = {{0}, 0};
		uint32_t k = below(kinds);

		rig_say(&text,
		        "{'metadata':{'name':'m%u','namespace':'d','labels':{'app':'k%u-%d'},"
		        "'annotations':{'placet.io/gang':'g','placet.io/gang-min':'%u'%s}},"
		        "'spec':{'containers':[{'name':'c','image':'i','resources':{"
		        "'requests':{'cpu':'%u','memory':'%uGi'}}}]",
		        i, k, turn, least,
		        domain ? ",'placet.io/gang-domain':'rack'" : "", kind[k].cpu,
		        kind[k].memory);
		if (kind[k].apart)
			rig_say(&text,
			        ",'affinity':{'podAntiAffinity':{"
			        "'requiredDuringSchedulingIgnoredDuringExecution':[{"
			        "'topologyKey':'host','labelSelector':{'matchLabels':{"
			        "'app':'k%u-%d'}}}]}}",
			        k, turn);
		rig_say(&text, "}}");
		kind_of[i] = k;
		pod[i] = pod_from(text.at);
		member[i].class = rig_class(pod[i].spec);
		member[i].self = rig_self(&pod[i]);
	}
}

/* -- an exhaustive search ---------------------------------------------------------------- */

static struct {
	int64_t cpu, memory, pods;
	uint32_t rack;
	uint32_t of_kind[MOST];
} room[NODES];

static bool takes(uint32_t slot, uint32_t k)
{
	return room[slot].cpu >= (int64_t)kind[k].cpu * 1000 &&
	       room[slot].memory >= (int64_t)kind[k].memory << 30 &&
	       room[slot].pods > 0 && !(kind[k].apart && room[slot].of_kind[k] > 0);
}

static void take(uint32_t slot, uint32_t k, int sign)
{
	room[slot].cpu -= sign * (int64_t)kind[k].cpu * 1000;
	room[slot].memory -= sign * ((int64_t)kind[k].memory << 30);
	room[slot].pods -= sign;
	room[slot].of_kind[k] += (uint32_t)sign;
}

/* How many of the members from from on find room in that rack, at most. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as there are members */
static uint32_t most_from(uint32_t from, uint32_t rack, uint32_t want)
{
	uint32_t best, got;

	if (from == members || want == 0)
		return 0;
	best = most_from(from + 1, rack, want);
	for (uint32_t i = 0; i < snapshot.slots && best < want; i++) {
		if ((rack != 0 && room[i].rack != rack) || !takes(i, kind_of[from]))
			continue;
		take(i, kind_of[from], 1);
		got = 1 + most_from(from + 1, rack, want - 1);
		take(i, kind_of[from], -1);
		best = got > best ? got : best;
	}
	return best;
}

static bool could(void)
{
	uint32_t need = (uint32_t)pod[0].spec->template->gang_min;

	for (uint32_t i = 0; i < snapshot.slots; i++) {
		const struct node_row *row = &snapshot.row[i];

		memset(&room[i], 0, sizeof room[i]);
		room[i].cpu = row->alloc.cpu_milli - row->used.cpu_milli;
		room[i].memory = row->alloc.memory - row->used.memory;
		room[i].pods = row->alloc.pods - row->used.pods;
		room[i].rack = labels_get(row->node.labels, id("rack"));
	}
	if (!domain)
		return most_from(0, 0, need) == need;
	for (uint32_t i = 0; i < snapshot.slots; i++)
		if (room[i].rack != 0 && most_from(0, room[i].rack, need) == need)
			return true;
	return false;
}

/* -- what was placed --------------------------------------------------------------------- */

static void look(const struct gang_outcome *out)
{
	uint32_t placed[MOST], count = 0, rack = 0;

	for (uint32_t i = 0; i < members; i++) {
		uint32_t slot = out->slot[i];
		struct pod_on_node there = on_node(&pod[i]);
		uint32_t here;

		if (slot == SNAPSHOT_NONE)
			continue;
		here = labels_get(snapshot.row[slot].node.labels, id("rack"));
		T_TRUE(!domain || (here == out->domain && (count == 0 || here == rack)));
		rack = here;
		for (uint32_t k = 0; k < i && kind[kind_of[i]].apart; k++)
			T_TRUE(kind_of[k] != kind_of[i] || out->slot[k] != slot);
		T_OK(snapshot_pod_add(&snapshot, slot, &there, &placed[count++], &err),
		     &err);
	}
	T_EQ(count, out->placed);
	T_TRUE(count >= (uint32_t)pod[0].spec->template->gang_min);
	for (uint32_t i = 0; i < snapshot.slots; i++) {
		const struct node_row *row = &snapshot.row[i];

		T_TRUE(row->used.cpu_milli <= row->alloc.cpu_milli);
		T_TRUE(row->used.memory <= row->alloc.memory);
		T_TRUE(row->used.pods <= row->alloc.pods);
	}
	while (count > 0)
		snapshot_pod_remove(&snapshot, placed[--count]);
}

static uint32_t placed_gangs, refused_gangs, missed_gangs;

static void same(const struct gang_outcome *a, const uint32_t *slots,
                 const struct gang_outcome *b)
{
	T_EQ(a->result, b->result);
	T_EQ(a->placed, b->placed);
	T_EQ(a->domain, b->domain);
	T_EQ(a->blocked, b->blocked);
	T_EQ(a->work, b->work);
	if (b->result == GANG_PLACED)
		T_MEM(slots, b->slot, members * sizeof *slots);
}

static void judge(struct cycle *plain)
{
	struct gang_outcome out, again;
	uint32_t slots[MOST] = {0}, before = snapshot.placed_count;
	bool possible = could();

	T_OK(gang_decide(gang, rig.cycle, member, members, &opts, &out, &err), &err);
	T_EQ(snapshot.placed_count, before);
	if (out.result == GANG_PLACED)
		memcpy(slots, out.slot, members * sizeof *slots);
	/* The decision is repeated without cached results. */
	T_OK(gang_decide(gang, plain, member, members, &opts, &again, &err), &err);
	same(&out, slots, &again);
	T_OK(gang_decide(gang, rig.cycle, member, members, &opts, &again, &err), &err);
	same(&out, slots, &again);
	if (out.result == GANG_PLACED) {
		T_TRUE(possible);
		look(&again);
		placed_gangs++;
		return;
	}
	T_EQ(out.result, GANG_NO_ROOM);
	T_TRUE(out.blocked < members || out.domains == 0);
	refused_gangs += !possible;
	missed_gangs += possible;
	T_TRUE(!possible || kinds > 1);
}

static void round_of(uint64_t seed)
{
	struct cycle_opts cycle_opts = {.snapshot = &snapshot};
	struct cycle *plain;

	pl_rng_init(&rng, seed);
	rig_begin("", true);
	T_OK(cycle_new(&cycle_opts, &plain, &err), &err);
	opts = (struct gang_opts){.draw = pl_rng_next(&rng)};
	put_nodes();
	for (int i = 0; i < 3; i++) {
		make_gang(i);
		judge(plain);
		/* Some members stay, in the way of the next gang. */
		for (uint32_t k = 0; k < members; k++)
			if (chance(30) && takes(k % snapshot.slots, kind_of[k])) {
				(void)rig_put_placed(k % snapshot.slots, &pod[k]);
				take(k % snapshot.slots, kind_of[k], 1);
			}
		rig_close_classes();
		for (uint32_t k = 0; k < members; k++)
			pod_drop(&model, &pod[k]);
	}
	cycle_free(plain);
	rig_end();
}

T_CASE_SECONDS(random_gangs_are_placed_or_have_no_room, 120)
{
	T_OK(gang_new(&gang, &err), &err);
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		round_of(seed);
	gang_free(gang);
	T_TRUE(placed_gangs > ROUNDS / 2 && refused_gangs > ROUNDS / 2);
	T_TRUE(missed_gangs * 50 < placed_gangs);
}
