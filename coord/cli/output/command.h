/* A command of placet: its words, its help, and what runs it. */
#ifndef COORD_CLI_OUTPUT_COMMAND_H
#define COORD_CLI_OUTPUT_COMMAND_H

enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* the command ran, and failed or found something wrong */
	EXIT_USAGE = 2,  /* the command line is wrong */
};

struct options_spec;

struct command {
	const char *words; /* "store check" */
	const char *summary;
	/* argv[0] is the last of the words. */
	enum exit_code (*run)(int argc, char **argv);
	const struct options_spec *spec; /* NULL: it reads its options by itself */
};

extern const struct command shards_command;
extern const struct command partitions_command;
extern const struct command shard_drain_command;
extern const struct command shard_undrain_command;
extern const struct command shard_evict_command;
extern const struct command config_get_command;
extern const struct command config_set_command;
extern const struct command config_diff_command;
extern const struct command config_history_command;
extern const struct command config_rollback_command;
extern const struct command store_check_command;
extern const struct command eval_command;
extern const struct command explain_command;
extern const struct command explain_pod_command;
extern const struct command plan_command;
extern const struct command top_conflicts_command;
extern const struct command replay_command;
extern const struct command store_restored_command;
extern const struct command nodes_apply_command;
extern const struct command nodes_cordon_command;
extern const struct command nodes_uncordon_command;
extern const struct command nodes_delete_command;
extern const struct command nodes_drain_command;
extern const struct command sim_cluster_command;
extern const struct command submit_command;
extern const struct command get_pods_command;
extern const struct command get_nodes_command;
extern const struct command delete_pod_command;
extern const struct command evict_pod_command;
extern const struct command get_budgets_command;
extern const struct command get_pdb_command;
extern const struct command delete_budget_command;
extern const struct command delete_pdb_command;
extern const struct command wait_command;
extern const struct command fsck_command;
extern const struct command token_create_command;
extern const struct command token_list_command;
extern const struct command token_revoke_command;
extern const struct command kubeconfig_command;
extern const struct command up_command;

#endif
