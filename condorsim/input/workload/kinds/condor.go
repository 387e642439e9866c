package kinds

// What HTCondor writes for people and for itself, besides ads.
var (
	// queue is what condor_history and condor_q print without options.
	queue = text("the table that condor_history and condor_q print for people",
		"print ads: with -long, -json or -xml",
		`^(-- Schedd[^\n]*\s+)?(ID\s+)?OWNER\s+\w`, `^(-- Schedd[^\n]*\s+)?Total for `)

	// status is what condor_status prints without options, with its totals alone, or of other daemons.
	status = text("the table that condor_status prints for people", jobAds,
		`^(My)?(Name|Machine|MyType)[ \t]+(OpSys|Platform|Machine|MyType|TargetType|HealthState|LoadAv|RunningJobs)\b`,
		`^(Machines|Total)[ \t]+Owner[ \t]+(Claimed|Unclaimed)\b`)

	// eventLog is the log that a submit file names, in each of its three forms.
	eventLog = text("the event log of HTCondor, which the submit file names as log", jobAds,
		`^\d{3} \(\d+\.-?\d+\.-?\d+\) \d+[-/]\d+`,
		`^[\[{](?s:[^\]}]*)"EventTypeNumber"\s*:`,
		`^(<[?!][^>]*>\s*|<(classads|events)>\s*)*<c>(?s:.*?)<a n="EventTypeNumber">`)

	// jobQueue is the log of a schedd, of the accountant or the collector: numbers of operations on ads.
	jobQueue = text("a log of ads that HTCondor keeps for itself, such as job_queue.log", jobAds,
		`^107 \d+ CreationTimestamp `, `^10[1-4] \S+ [A-Za-z_]\w*`, `^105[ \t]*\r?\n10[1-7]\b`)

	// submit is a submit file: one of its commands, or a line with queue, below others.
	submit = text("a submit file of HTCondor", jobAds,
		`(?i)^([a-z_#+][^\n]*\n\s*)*(`+
			`queue([ \t]+[^=\s][^\n]*|[ \t]*)|universe[ \t]*=[ \t]*[a-z]+[ \t]*|`+
			`(executable|(should_)?transfer_\w+|when_to_transfer_output|request_(cpus|memory|disk|gpus)|`+
			`(container|docker)_image)[ \t]*=[^=\n][^\n]*)\r?(\n|$)`)

	// dag is the input file of DAGMan.
	dag = text("a DAG file of HTCondor", jobAds,
		`(?i)^((#[^\n]*|[a-z_]+[ \t][^=\n]*|)\n\s*)*(job[ \t]+\S+[ \t]+\S*[./{@]|subdag[ \t]+external[ \t]|`+
			`splice[ \t]+\S+[ \t]+\S*[./]|parent[ \t][^=\n]*[ \t]child[ \t])`)
)
