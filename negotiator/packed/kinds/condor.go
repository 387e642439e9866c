package kinds

// What HTCondor writes for people and for itself, besides ads.
var (
	// queue is what condor_history and condor_q print without options.
	queue = text("the table that condor_history and condor_q print for people",
		"print ads: with -long, -json or -xml",
		`^(-- Schedd[^\n]*\s+)?(ID\s+)?OWNER\s+\w`, `^(-- Schedd[^\n]*\s+)?Total for `)

	// status is what condor_status prints without options, with its totals alone, or of other daemons.
	status = text("the table that condor_status prints for people", jobAds,
		`^(Name|Machine)[ \t]+(OpSys|Platform|Machine|MyType|HealthState|LoadAv|RunningJobs)\b`,
		`^MyType[ \t]+TargetType[ \t]+Name\b`, `^(Machines|Total)[ \t]+Owner[ \t]+(Claimed|Unclaimed)\b`,
		`^\S+[ \t]+(LINUX|WINDOWS|OSX|macOS|FREEBSD\d*)[ \t]+(X86_64|INTEL|(?i:aarch64)|ppc64\w*)\b`)

	// headed is ads below the head of a table, as old versions print them.
	headed = whatever("ads below the head of a table", "delete the lines above the first ad",
		`^MyType[ \t]+TargetType[ \t]*\r?\n\s*[A-Za-z_]\w*[ \t]*=`)

	// EventLog is the log that a submit file names, in each of its forms.
	EventLog = read(text("the event log of HTCondor, which the submit file names as log", asIs,
		`^\d{3} \(-?\d+\.-?\d+\.-?\d+\) \d+[-/]\d+`,
		`^[\[{](?s:[^\]}]*)"EventTypeNumber"\s*:`,
		`^\[?\s*([A-Za-z_]\w*[ \t]*=[^\n]*\n\s*)*EventTypeNumber[ \t]*=`, `^\[(?s:[^\]]*)\bEventTypeNumber[ \t]*=`,
		`^(<[?!][^>]*>\s*|<\w+>\s*)*<c>(?s:.*?)<a n="EventTypeNumber">`))

	// jobQueue is the log of a schedd, of the accountant or the collector: numbers of operations on ads.
	jobQueue = text("a log of ads that HTCondor keeps for itself, such as job_queue.log", jobAds,
		`^107 \d+ CreationTimestamp `, `^10[1-4] \S+ [A-Za-z_]\w*`, `^105[ \t]*\r?\n10[1-7]\b`)

	// submit is a submit file: one of its commands, or a line with queue, below others.
	submit = text("a submit file of HTCondor", jobAds,
		`(?i)^([a-z_#+][^\n]*\n\s*)*(`+
			`queue([ \t]+[^=\s][^\n]*|[ \t]*)|universe[ \t]*=[ \t]*[a-z]+[ \t]*|`+
			`(executable|(should_)?transfer_\w+|when_to_transfer_output|request_(cpus|memory|disk|gpus)|`+
			`(container|docker)_image)[ \t]*=[^=\n][^\n]*)\r?(\n|$)`)

	// dag is the input file of DAGMan: one of its commands, below others and comments.
	dag = text("a DAG file of HTCondor", jobAds,
		`(?i)^((#[^\n]*|[a-z_]+[ \t][^=\n]*|)\n\s*)*(`+
			`(job|final|provisioner|service)[ \t]+\S+[ \t]+\S*[./{@]|subdag[ \t]+external[ \t]|`+
			`splice[ \t]+\S+[ \t]+\S*[./]|parent[ \t][^=\n]*[ \t]child[ \t]|`+
			`submit-description[ \t]+\S+[ \t]+[{@]|vars[ \t]+\S+[ \t]+(prepend[ \t]+|append[ \t]+)?[a-z_+]\w*[ \t]*=|`+
			`script[ \t]+(defer[ \t][^\n]*)?(pre|post|hold)[ \t]|abort-dag-on[ \t]|`+
			`(category[ \t]+\S+[ \t]+\S+|(maxjobs|retry|priority)[ \t]+\S+[ \t]+-?\d+|env[ \t]+(get|set)[ \t][^\n]*|`+
			`(include|config|dot|node_status_file|jobstate_log|save_point_file)[ \t]+[^\s:=]\S*|reject)[ \t]*\r?(\n|$))`)
)
