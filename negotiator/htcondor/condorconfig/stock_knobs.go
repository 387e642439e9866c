package condorconfig

// honoured mean the same here, but for what the note says.
var honoured = []StockKnobs{
	{Names: "NEGOTIATOR_NAME, NEGOTIATOR_ADDRESS_FILE", Note: "only a restart changes it"},
	{
		Names: "NEGOTIATOR_LOG, MAX_NUM_NEGOTIATOR_LOG, MAX_NUM_NEGOTIATOR_MATCH_LOG, " +
			"NEGOTIATOR_UPDATE_INTERVAL, NEGOTIATOR_SLOT_CONSTRAINT, NEGOTIATOR_JOB_CONSTRAINT, " +
			"NEGOTIATOR_SUBMITTER_CONSTRAINT, NEGOTIATOR_MATCH_EXPRS, PRIORITY_HALFLIFE, " +
			"NICE_USER_PRIO_FACTOR, REMOTE_PRIO_FACTOR, ACCOUNTANT_LOCAL_DOMAIN, <NAME>_LIMIT, " +
			"CONCURRENCY_LIMIT_DEFAULT, CONCURRENCY_LIMIT_DEFAULT_<NAME>, GROUP_NAMES, " +
			"GROUP_QUOTA_<groupname>, GROUP_QUOTA_DYNAMIC_<groupname>, GROUP_PRIO_FACTOR_<groupname>, " +
			"GROUP_ACCEPT_SURPLUS, GROUP_ACCEPT_SURPLUS_<groupname>, GROUP_AUTOREGROUP, " +
			"GROUP_AUTOREGROUP_<groupname>, NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION, " +
			"NEGOTIATOR_STRICT_ENFORCE_QUOTA, NEGOTIATOR_DISCOUNT_SUSPENDED_RESOURCES, " +
			"FORCE_NEGOTIATOR_SLOT_WEIGHT, NEGOTIATOR_USE_SLOT_WEIGHTS",
		Note: asThere,
	},
	{
		Names: "NEGOTIATION_CYCLE_STATS_LENGTH, NEGOTIATOR_ADVERTISE_ACCOUNTING, MAX_NEGOTIATOR_LOG, " +
			"MAX_NEGOTIATOR_MATCH_LOG, TRUNC_NEGOTIATOR_LOG_ON_OPEN, TRUNC_NEGOTIATOR_MATCH_LOG_ON_OPEN",
		Note: asThere,
	},
	{
		Names: "NEGOTIATOR_READ_CONFIG_BEFORE_CYCLE",
		Note:  "all that `condor_reconfig` changes counts, and only if something has changed",
	},
	{
		Names: "NEGOTIATOR_TIMEOUT",
		Note: "where a file sets it (else 20 s), for each wait for another daemon; a whole answer of a schedd " +
			"may take 30 s, or that much if it is more",
	},
	{
		Names: "NEGOTIATOR_IGNORE_JOB_RANKS",
		Note:  "with `BACKFILL_PLACEMENT = rank`; the others take no heed of `Rank` anyway",
	},
	{
		Names: "NEGOTIATOR_DEPTH_FIRST",
		Note: "of slots that a job ranks alike the fullest is filled first, also if this is `False`; under " +
			"`BACKFILL_PLACEMENT = spread` the emptiest",
	},
	{
		Names: "NEGOTIATOR_ATTRS, NEGOTIATOR_EXPRS",
		Note:  "what the ad has itself stays, such as its `Name`",
	},
	{
		Names: "NEGOTIATOR_CYCLE_DELAY",
		Note: "where a file sets it; HTCondor's default of 20 s, which suits cycles that take minutes, does " +
			"not count. `BACKFILL_CYCLE_DELAY` comes before it",
	},
	{
		Names: "NEGOTIATOR_MIN_INTERVAL",
		Note:  "where a file sets it; HTCondor's default of 5 s does not count",
	},
	{
		Names: "COLLECTOR_HOST_FOR_NEGOTIATOR",
		Note: "its collectors are asked first (the stock negotiator asks any, but with `HAD_USE_PRIMARY`). " +
			"If none answers, the one that does is asked from then on",
	},
	{
		Names: "NEGOTIATOR_DEBUG",
		Note:  "`D_FULLDEBUG` for debug lines, `D_ALL` or `:2` for all; other flags change nothing",
	},
	{Names: "NEGOTIATOR_MATCH_LOG", Note: "a rejection is there when its reason is new, not in each cycle"},
	{Names: "NEGOTIATOR_INTERVAL", Note: "counts if nothing happens; `BACKFILL_INTERVAL` comes before it"},
	{Names: "NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD", Note: "0 if it is no number, with which the stock negotiator ends"},
	{
		Names: "NEGOTIATOR_PRE_JOB_RANK, NEGOTIATOR_POST_JOB_RANK",
		Note:  "with `BACKFILL_PLACEMENT = rank`; HTCondor's default counts as not set",
	},
	{
		Names: "NEGOTIATOR_CLASSAD_USER_MAP_NAMES",
		Note: "for `userMap` in `START`, `Requirements` and ranks when jobs are matched. " +
			"`condor_reconfig` reads the files again; if what they say has changed, all jobs are " +
			"matched anew. A file that cannot be read is an error, and so is a path that does not begin " +
			"with `/`. `userMap` alone heeds the maps `GROUP_PREFIX` (submitters keep their names) and " +
			"`PRIORITY_FACTOR_AUTHORIZATION` (only administrators set factors)",
	},
	{
		Names: "CLASSAD_USER_MAPFILE_<name>, CLASSAD_USER_MAPDATA_<name>, CLASSAD_USER_MAP_PREFIX_<name>",
		Note:  "as there; a line that cannot be read is left out with a warning",
	},
	{Names: "DEFAULT_PRIO_FACTOR", Note: "counts for all users for whom nobody set a factor, known ones too"},
	{
		Names: "GROUP_SORT_EXPR",
		Note: "by default groups share by use over quota; otherwise one after the other gets its quota, " +
			"then surplus",
	},
	{
		Names: "NEGOTIATOR_CONSIDER_PREEMPTION, PREEMPTION_REQUIREMENTS, PREEMPTION_RANK, " +
			"ALLOW_PSLOT_PREEMPTION, NEGOTIATOR_CROSS_SLOT_PRIOS",
		Note: "as there, see [Preemption](README.md#preemption)",
	},
	{
		Names: "NEGOTIATOR_CONSIDER_EARLY_PREEMPTION",
		Note:  "the plan knows the instant at which retirement ends",
	},
	{
		Names: "SLOT_WEIGHT",
		Note: "a job that runs counts as what its slots say in `SlotWeight`, at least one where that is " +
			"`Cpus`; one that waits as the least that it can get",
	},
	{
		Names: "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT, GROUP_DYNAMIC_MACH_CONSTRAINT",
		Note:  "for quotas and shares; a partitionable slot counts with its parts",
	},
	{
		Names: "NEGOTIATOR_IGNORE_USER_PRIORITIES",
		Note: "as there: who has the best priority has all that he wants, then comes the next. For no " +
			"priorities at all, `BACKFILL_ORDER = fcfs`",
	},
	{
		Names: "USE_GLOBAL_JOB_PRIOS",
		Note: "a submitter's jobs come in the order of `JobPrio` over all schedds, set or not; with " +
			"`NEGOTIATOR_IGNORE_USER_PRIORITIES` also those of submitters of the same priority. For all " +
			"users' jobs, `BACKFILL_ORDER = expr:JobPrio`",
	},
}

// notHeeded would have a meaning and have none. Usual is their value by default, of which nobody is warned.
var notHeeded = []StockKnobs{
	{
		Names: "MATCH_WORKING_CM_SLOTS", Usual: "false",
		Note: "a partitionable slot that a schedd has claimed as a whole gets no jobs from here, as by " +
			"default. Such claims are for a negotiator on the schedd's side (`SCHEDD_LOCAL_CM`), which is " +
			"HTCondor's own",
	},
}

// notApplicable could change nothing here.
var notApplicable = []StockKnobs{
	{
		Names: "MANAGE_CEILING, MANAGE_FLOOR, MANAGE_PRIORITY_FACTOR",
		Note: "no knobs, but commands that `condor_userprio` of HTCondor 25.11 sends (see README.md, " +
			"Versions)",
	},
	{Names: "NEGOTIATOR", Note: "condor_master reads it: the path of this executable"},
	{Names: "NEGOTIATOR_ARGS", Note: "condor_master reads it; `-f`, `-t`, `-n` and `-local-name` are understood"},
	{Names: "NEGOTIATOR_HOST", Note: "nobody reads it any more"},
	{Names: "NEGOTIATOR_DEBUG_WAIT", Note: "it stops the stock executable for a debugger"},
	{Names: "NEGOTIATOR_UPDATE_AFTER_CYCLE", Note: "the ad follows each cycle within seconds"},
	{
		Names: "NEGOTIATOR_MAX_TIME_PER_CYCLE, NEGOTIATOR_MAX_TIME_PER_SCHEDD",
		Note:  "a cycle asks schedds side by side, and waits a few seconds for slow ones",
	},
	{Names: "NEGOTIATOR_MAX_TIME_PER_PIESPIN", Note: "there is no pie: all jobs are planned at once"},
	{
		Names: "NEGOTIATOR_MAX_TIME_PER_SUBMITTER",
		Note:  "queues are read as a whole; expensive Requirements have a limit of their own",
	},
	{Names: "NEGOTIATOR_SOCKET_CACHE_SIZE", Note: "connections are not kept, sessions are"},
	{
		Names: "NEGOTIATOR_RESOURCE_REQUEST_LIST_SIZE, USE_RESOURCE_REQUEST_COUNTS, " +
			"NEGOTIATOR_PREFETCH_REQUESTS, NEGOTIATOR_PREFETCH_REQUESTS_MAX_TIME, " +
			"NEGOTIATOR_PREFETCH_REQUESTS_TIMEOUT",
		Note: "schedds are not asked for requests: queues are read",
	},
	{Names: "NEGOTIATOR_NUM_THREADS", Note: "each kind of slot is matched once; one core is enough"},
	{Names: "NEGOTIATOR_MATCHLIST_CACHING", Note: "each autocluster and kind of slot is matched once, always"},
	{Names: "STARTD_AD_REEVAL_EXPR", Note: "the newest ad of a slot counts, always"},
	{
		Names: "REMOVE_SIGNIFICANT_ATTRIBUTES, REMOVE_SIGNIFICANT_ATTRIBUTES_REGEX",
		Note:  "autoclusters are made here, of what is looked at",
	},
	{
		Names: "STARTD_JOB_ATTRS, SYSTEM_STARTD_JOB_ATTRS",
		Note:  "it would add significant attributes; they are found in expressions here",
	},
	{Names: "STARTD_JOB_EXPRS", Note: "the old name of `STARTD_JOB_ATTRS`"},
	{Names: "NEGOTIATOR_INFORM_STARTD", Note: "startds are told by the schedds that claim them, as by default"},
	{Names: "NEGOTIATOR_USE_NONBLOCKING_STARTD_CONTACT", Note: "startds are not contacted"},
	{Names: "MAX_GLOBAL_JOB_PRIOS", Note: "schedds read it for `USE_GLOBAL_JOB_PRIOS`"},
	{Names: "SCHEDD_ASSUME_NEGOTIATOR_GONE, FLOCK_NEGOTIATOR_HOSTS", Note: "schedds read it"},
	{Names: "NEGOTIATE_ALL_JOBS_IN_CLUSTER", Note: "schedds read it, and any job can be matched here"},
	{Names: "CLAIM_WORKLIFE", Note: "startds read it; at least `BACKFILL_LEASE_TIME` for claims that are lent"},
	{Names: "SCHEDD_PREEMPTION_RANK, SCHEDD_PREEMPTION_REQUIREMENTS", Note: "schedds read it, for gangs"},
	{
		Names: "PREEMPTION_REQUIREMENTS_STABLE, PREEMPTION_RANK_STABLE",
		Note:  "it says that a value may be kept; each cycle evaluates anew",
	},
	{
		Names: "STARTD_RESOURCE_PREFIX",
		Note:  "startds read it; `NEGOTIATOR_CROSS_SLOT_PRIOS` knows slots by their `SlotID`",
	},
	{Names: "RANK", Note: "startds read it, and tell it in their ads: it is heeded, see [Preemption](README.md#preemption)"},
	{
		Names: "SEC_ENABLE_MATCH_PASSWORD_AUTHENTICATION",
		Note:  "claim ids go to schedds as startds made them; schedd and startd heed it",
	},
	{
		Names: "NICE_USER_ACCOUNTING_GROUP_NAME",
		Note:  "condor_submit reads it; names that begin with `nice-user` have that factor",
	},
	{Names: "ACCOUNTANT_HOST", Note: "schedds and startds read it"},
	{Names: "ACCOUNTANT_DATABASE_FILE", Note: "usage is in the folder of `BACKFILL_STATE`"},
	{Names: "MAX_ACCOUNTANT_DATABASE_SIZE", Note: "the folder's file does not grow with time"},
	{Names: "NEGOTIATOR_STATE_FILE", Note: "condor_had and condor_replication read it"},
	{
		Names: "USERPRIO_USE_NEGOTIATOR_MODULAR_QUERY",
		Note:  "condor_userprio reads it; both ways of asking are answered",
	},
	{Names: "NEGOTIATOR_USE_WEIGHTED_DEMAND", Note: "demand is counted from the queues, in cores"},
	{Names: "GROUP_QUOTA_ROUND_ROBIN_RATE", Note: "groups and users take turns job by job"},
	{Names: "HFS_ROUND_ROBIN_RATE", Note: "the old name of `GROUP_QUOTA_ROUND_ROBIN_RATE`"},
	{Names: "GROUP_QUOTA_MAX_ALLOCATION_ROUNDS", Note: "surplus is divided once, among those who can use it"},
	{Names: "HFS_MAX_ALLOCATION_ROUNDS", Note: "the old name of `GROUP_QUOTA_MAX_ALLOCATION_ROUNDS`"},
	{
		Names: "NEG_SLEEP, INSERT_NEGOTIATOR_CYCLE_TEST_DURATION",
		Note:  "it makes the stock negotiator wait, for its tests",
	},
}
