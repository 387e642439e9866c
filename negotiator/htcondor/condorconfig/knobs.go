package condorconfig

import (
	"cmp"
	"fmt"
	"strings"
)

// Knob is a name in HTCondor's configuration that the negotiator reads.
type Knob struct {
	Name    string
	Kind    Kind
	Default string // used if the knob is not set; HTCondor's own defaults take precedence
	Doc     string
}

// Knobs returns the negotiator's own knobs, then HTCondor's knobs that it reads.
func Knobs() []Knob { return knobs }

var knobs = []Knob{
	{"BACKFILL_POLICY", Text, "", "The policy's name, a plugin's path, or auto, which chooses. ibb where nothing is said."},
	{
		"BACKFILL_POLICY_OPTIONS", Pairs, "",
		"Options of the policy, NAME=VALUE NAME=\"A VALUE\"; negotiator policies lists them.",
	},
	{"BACKFILL_FALLBACK", Text, "", "The linked-in policy that decides where the first cannot."},
	{"BACKFILL_ORDER", Text, "", "The queue's order: fairshare (by HTCondor's user priorities; where nothing " +
		"is said, whatever order the policy names), fcfs, sjf… or expr:EXPRESSION."},
	{
		"BACKFILL_PLAN_DEPTH", Whole, "10000",
		"The most waiting jobs that conservative, pc, dc and slack promise a start; the others start beside them. 0: all.",
	},
	{
		"BACKFILL_REORDER", Bool, "true",
		"Promise starts in the queue's order, not in the order in which jobs were submitted.",
	},
	{"BACKFILL_PLACEMENT", Text, "", "How slots are chosen: rank, pack or spread."},
	{
		"BACKFILL_ESTIMATES", Text, "",
		"The estimator of run times: requested (where nothing is said), user, project, combined, selective, tsafrir " +
			"or file:PATH.",
	},
	{"BACKFILL_ESTIMATES_ORDER", Text, "", "Another one for the queue's order."},
	{
		"BACKFILL_ESTIMATES_BACKFILL", Text,
		"", "Another one for how long a waiting job is taken to run; not with a policy that gives guarantees.",
	},
	{
		"BACKFILL_ESTIMATES_RUNNING", Text,
		"", "Another one for when running jobs are taken to end; not with a policy that gives guarantees.",
	},
	{
		"BACKFILL_ESTIMATES_OPTIONS", Pairs,
		"", "Options of the estimators, NAME=VALUE NAME=VALUE, such as threshold=20 user-key=JobBatchName.",
	},
	{"BACKFILL_HISTORY", Text, "", "A trace or job ads to learn run times from beforehand."},
	{
		"BACKFILL_ESTIMATE_ATTRIBUTES", List, "",
		"Job attributes that may hold the expected run time in seconds; the first that is a number above 0 counts.",
	},
	{"BACKFILL_DEFAULT_ESTIMATE", Seconds, "", "What is planned with for jobs that have none of them."},
	{
		"BACKFILL_START_SLACK", Seconds, "",
		"By how much each job's place in the plan is longer than its estimate: transfers, the startd's delay.",
	},
	{"BACKFILL_PLUGIN_DIRS", List, "", "Where plugins, backfill-NAME, are looked for."},
	{"BACKFILL_IN_PROCESS", Bool, "false", "Link the policy in instead of running it in a process of its own."},
	{"BACKFILL_CONFIG", Text, "", "A YAML file with whatever else can be set; knobs come after it."},
	{"BACKFILL_OBSERVE", Bool, "false", "Plan and publish, but match nothing: beside another negotiator."},
	{
		"BACKFILL_OTHER_SLOT_CONSTRAINT", Expression,
		"", "The NEGOTIATOR_SLOT_CONSTRAINT of HTCondor's own negotiator, where that is at work beside this one.",
	},
	{"BACKFILL_INTERVAL", Seconds, "", "Seconds between cycles if nothing happens; else NEGOTIATOR_INTERVAL."},
	{
		"BACKFILL_CYCLE_DELAY", Seconds, "1",
		"Seconds between the end of a cycle and the next at least, whoever asks for one.",
	},
	{
		"BACKFILL_LEASE_TIME", Seconds, "1200",
		"For how long a claim may serve more jobs of its user than the one it is given for; 0: each claim is for one job.",
	},
	{"BACKFILL_STATE", Text, "$(SPOOL)/backfill", "The folder where guarantees and usage outlive the process."},
	{
		"BACKFILL_FUTURES", Whole, "32",
		"In how many futures starts are looked for, with run times drawn from past ones, to tell their range. 1: none.",
	},
	{"BACKFILL_REASONS", Bool, "true", "Tell schedds why jobs wait, which condor_q -better-analyze shows."},
	{"BACKFILL_RESOURCES", List, "", "The resources that jobs request, Cpus first."},
	{"BACKFILL_HTTP", Text, "", "HOST:PORT where metrics and start times are told; none where nothing is said."},

	{"COLLECTOR_HOST", List, "", "The pool's collectors; the port 0 is that in COLLECTOR_ADDRESS_FILE."},
	{"COLLECTOR_ADDRESS_FILE", Text, "", "Where the collector of this machine writes its address."},
	{"NEGOTIATOR_NAME", Text, "", "The negotiator's name in the pool; the host's where nothing is said."},
	{"NEGOTIATOR_LOG", Text, "$(LOG)/NegotiatorLog", "The log file."},
	{"MAX_NEGOTIATOR_LOG", Bytes, "10 Mb", "The log's size at which a new one is begun; 0: never."},
	{
		"MAX_NUM_NEGOTIATOR_LOG", Whole, "1",
		"How many old logs are kept; one is called .old, of several each bears the time.",
	},
	{"NEGOTIATOR_MATCH_LOG", Text, "", "A file with a line for each match and each reason why a job waits."},
	{"MAX_NEGOTIATOR_MATCH_LOG", Bytes, "10 Mb", "Its size at which a new one is begun; 0: never."},
	{"MAX_NUM_NEGOTIATOR_MATCH_LOG", Whole, "1", "How many old ones are kept."},
	{"NEGOTIATOR_DEBUG", List, "", "D_FULLDEBUG logs debug lines as well, D_ALL or a level of :2 traces."},
	{"NEGOTIATOR_INTERVAL", Seconds, "60", "Seconds between cycles if nothing happens."},
	{"NEGOTIATOR_UPDATE_INTERVAL", Seconds, "300", "Seconds between two updates of the Negotiator ad at most."},
	{"NEGOTIATOR_ADDRESS_FILE", Text, "$(LOG)/.negotiator_address", "Where the command port's address is written."},
	{"NEGOTIATOR_SLOT_CONSTRAINT", Expression, "", "Only slots of which this expression is true are seen."},
	{"NEGOTIATOR_JOB_CONSTRAINT", Expression, "", "Only jobs of which this expression is true are seen."},
	{
		"NEGOTIATOR_SUBMITTER_CONSTRAINT", Expression, "",
		"Only jobs of submitters of whose ads this expression is true are planned.",
	},
	{
		"NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD", Text, "0",
		"Slots get no jobs this many seconds before their DaemonShutdown or DaemonShutdownFast is true; 0 or less: none.",
	},
	{
		"NEGOTIATOR_PRE_JOB_RANK", Rank, "",
		"Of the slots that a job may use, those with the largest value come first, whatever the job's Rank says; MY is " +
			"the slot, TARGET the job. HTCondor's own default counts as not set.",
	},
	{
		"NEGOTIATOR_POST_JOB_RANK", Rank, "",
		"Of the slots that a job ranks alike, those with the largest value come first. The same counts as not set.",
	},
	{
		"NEGOTIATOR_MATCH_EXPRS", List, "",
		"Knobs whose values, expressions, are added to each matched slot's ad, as NegotiatorMatchExprNAME.",
	},
	{"SPOOL", Text, "", "HTCondor's folder of state."},
	{"LOG", Text, "", "HTCondor's folder of logs."},
	{"FULL_HOSTNAME", Text, "", "This machine's name."},
	{"NETWORK_INTERFACE", Text, "", "The address, or a pattern of it, on which the command port listens."},
	{"BIND_ALL_INTERFACES", Bool, "true", "Listen on all addresses, and tell that of NETWORK_INTERFACE."},
	{"IP_ADDRESS", Text, "127.0.0.1", "This machine's address, as HTCondor found it."},
	{"UID_DOMAIN", Text, "", "The domain of this machine's users."},
	{"TRUST_DOMAIN", Text, "$(UID_DOMAIN)", "Who signs the pool's tokens."},
	{"CONDOR_IDS", Text, "", "UID.GID of the user that the negotiator becomes when it is started as root; else " +
		"that of the user condor."},
	{
		"SEC_CLIENT_AUTHENTICATION_METHODS", List, "$(SEC_DEFAULT_AUTHENTICATION_METHODS)",
		"How we show who we are; CLAIMTOBE, FS and IDTOKENS are known here.",
	},
	{"SEC_DEFAULT_AUTHENTICATION_METHODS", List, "FS, IDTOKENS", "The same, where nothing else is said."},
	{"SEC_CLIENT_AUTHENTICATION", Text, "$(SEC_DEFAULT_AUTHENTICATION)", "NEVER, OPTIONAL, PREFERRED or REQUIRED."},
	{"SEC_DEFAULT_AUTHENTICATION", Text, "PREFERRED", "The same, where nothing else is said."},
	{"SEC_CLIENT_ENCRYPTION", Text, "$(SEC_DEFAULT_ENCRYPTION)", "NEVER, OPTIONAL, PREFERRED or REQUIRED."},
	{"SEC_DEFAULT_ENCRYPTION", Text, "PREFERRED", "The same, where nothing else is said."},
	{"SEC_CLIENT_INTEGRITY", Text, "$(SEC_DEFAULT_INTEGRITY)", "NEVER, OPTIONAL, PREFERRED or REQUIRED."},
	{"SEC_DEFAULT_INTEGRITY", Text, "PREFERRED", "The same, where nothing else is said."},
	{"SEC_TOKEN_SYSTEM_DIRECTORY", Text, "/etc/condor/tokens.d", "Our tokens."},
	{"SEC_TOKEN_DIRECTORY", Text, "", "Our tokens, where the negotiator stands alone and is not root."},
	{"SEC_PASSWORD_DIRECTORY", Text, "/etc/condor/passwords.d", "Signing keys, for the tokens of those who call us."},
	{"SEC_TOKEN_POOL_SIGNING_KEY_FILE", Text, "$(SEC_PASSWORD_FILE)", "The pool's own signing key."},
	{"SEC_TOKEN_REVOCATION_EXPR", Expression, "", "Of the claims of tokens that are no longer accepted, it is true. A " +
		"token of which it is neither true nor false is refused as well."},
	{"SEC_TOKEN_MAX_AGE", Text, "-1", "How many seconds ago tokens of those who call us may have been issued; -1: any."},
	{"ALLOW_READ", List, "", "Who may ask: condor_userprio, explain. Patterns USER@DOMAIN/HOST with *, HOST an " +
		"address, a network or a name, which is looked up at condor_reconfig."},
	{"ALLOW_WRITE", List, "", "Who may have cycles begun."},
	{"ALLOW_DAEMON", List, "", "Which daemons may have cycles begun."},
	{"ALLOW_NEGOTIATOR", List, "", "Implies that they may ask."},
	{"ALLOW_ADMINISTRATOR", List, "", "Who may change priorities."},
}

// AtStart returns the knobs whose changes take effect only after a restart.
func AtStart() []string {
	return []string{
		"NEGOTIATOR_NAME", "NEGOTIATOR_ADDRESS_FILE", "FULL_HOSTNAME", "NETWORK_INTERFACE",
		"BIND_ALL_INTERFACES", "IP_ADDRESS",
		"IN_LOWPORT", "IN_HIGHPORT", "LOWPORT", "HIGHPORT", "CONDOR_IDS",
	}
}

// knobNamed returns the knob of that name, ignoring case; false if the table has none.
func knobNamed(name string) (Knob, bool) {
	for _, k := range knobs {
		if strings.EqualFold(k.Name, name) {
			return k, true
		}
	}
	return Knob{}, false
}

// Help returns the text about the negotiator's own knobs for a command's help.
func Help() string {
	var text strings.Builder
	text.WriteString("Knobs in HTCondor's configuration, and what they are where nothing is said:\n\n")
	for _, k := range knobs {
		if strings.HasPrefix(k.Name, prefix) {
			fmt.Fprintf(&text, "  %-25s %s (%s)\n", k.Name, k.Doc, cmp.Or(k.Default, string(k.Kind)))
		}
	}
	return text.String()
}
