#include "coord/cli/pods/served.h"

#include "coord/cli/config/config_ops.h"

/* Of pods, and of profiles, that name nobody. */
static const char fallback[] = "default-scheduler";

static struct pl_span scheduler_of(struct pl_json object)
{
	const char *name = "";

	(void)!pl_json_string(object, "schedulerName", PL_JSON_OPTIONAL, &name, NULL);
	return pl_span_str(name[0] != 0 ? name : fallback);
}

void served_read(struct served *served, struct store_session *session)
{
	struct config_found found;
	struct pl_json content;
	struct pl_err err;

	*served = (struct served){0};
	if (config_ops_read(session, CONFIG_SCHEDULER, 0, &found, &err) != PL_OK ||
	    config_ops_content(session, CONFIG_SCHEDULER, &found, &content, &err) !=
	            PL_OK)
		return;
	served->profiles = pl_json_member(content, "profiles");
	served->known = true;
}

static bool has_profile(const struct served *served, struct pl_span scheduler)
{
	struct pl_json profile = pl_json_first(served->profiles);

	if (profile.node == NULL)
		return pl_span_eq(scheduler, pl_span_str(fallback));
	for (; profile.node != NULL; profile = pl_json_next(profile))
		if (pl_span_eq(scheduler_of(profile), scheduler))
			return true;
	return false;
}

struct pl_span served_nobody(const struct served *served, struct pl_span spec,
                             struct pl_arena *arena)
{
	struct pl_span scheduler;
	struct pl_json pod;

	if (!served->known || pl_json_parse(arena, spec, NULL, &pod, NULL) != PL_OK)
		return (struct pl_span){0};
	scheduler = scheduler_of(pl_json_member(pod, "spec"));
	return has_profile(served, scheduler) ? (struct pl_span){0} : scheduler;
}
