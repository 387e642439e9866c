package kinds

import "bytes"

// yaml is what people write for condorsim and the negotiator: a key and a colon.
var yaml = text("YAML, as descriptions of pools, sweeps and configurations are",
	"give a pool with --pool, and a sweep to condorsim sweep", `^(#[^\n]*\n\s*)*(---\s|[a-z_]\w*[ \t]*:([ \t\r\n]|$))`)

// lineEnds is text in which no line ends. What begins with a bracket needs no lines.
var lineEnds = &Kind{
	Holds: "text whose lines end with a carriage return alone", Jobs: toLines, Slots: toLines,
	recognises: func(head []byte) bool {
		return len(head) > 0 && !bytes.ContainsAny(head[:1], "[{<") && bytes.Count(head, []byte("\r")) > 1 &&
			bytes.IndexByte(head, '\n') < 0
	},
}

// What other programs write of jobs.
var (
	// csv is a table of any program.
	csv = general("comma-separated values", namedOrSWF, `^[\w"'][^\s;=,]*,[^\n;=]*,[^\n;=]*,`)

	// PBS is the accounting that the server of PBS and Torque writes.
	PBS = read(text("the accounting log of PBS or Torque", asIs, `^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];`))

	pbsLog = text("the log of a server of PBS or Torque", "give the accounting log, server_priv/accounting/YYYYMMDD",
		`^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(\.\d+)?;[0-9a-fA-F]{4};`)

	qstat = text("the table of jobs that qstat prints", toSWF,
		`^Job Id: \S+`, `(?i)^Job[ _-]?ID[ \t]+(Name|Username|prior)[ \t]+\w`)

	// pbsNodes is what pbsnodes prints, of which pools are made, and pbsTable what it prints for people.
	pbsNodes = text("the nodes of a cluster of PBS or Torque", "give it with --pool, and jobs as accounting logs",
		`^[^\s=:;{}\[\]<>]+[ \t]*\r?\n([ \t]+[\w.-]+ = [^\n]*\n)*[ \t]+(state|np|ntype|pcpus|Mom|resources_available\.\w+) = `,
		`^\{(?s:.*)"pbs_(version|server)"\s*:(?s:.*)"nodes"\s*:`)

	pbsTable = whatever("the table of nodes that pbsnodes prints for people", "print it with pbsnodes -a",
		`^vnode[ \t]+(state|host|queue)[ \t]`, `^mem +ncpus +nmics +ngpus\s*\n`)

	// gridEngine is the accounting of SGE and its successors, one job a line or as qacct prints it. JSON and
	// ads in one line have as many colons, and begin with a bracket.
	gridEngine = text("the accounting of Grid Engine", toSWF,
		`^[^:\s{\[<]+(:[^:\n]*){40}`, `^=+\r?\nqname[ \t]`)

	lsf = text("the accounting of LSF", toSWF,
		`^"JOB_[A-Z0-9_]+"[ \t]+"`, `^JOBID[ \t]+USER[ \t]+STAT[ \t]+QUEUE\b`)

	// slurm is what sacct prints with -P: columns with a title JobID. A job line of SWF may have any text behind
	// its 18 numbers, such as lists with bars.
	slurm = ofSlurm(read(general("the accounting of Slurm, as sacct prints it", sacct,
		`(?i)^([a-z]\w*\|)*JobID(Raw)?\|`, `(?i)^([a-z]\w*\|)+JobID(Raw)?\r?\n`,
		`(?i)^"?([a-z][\w.%]*"?[,;\t]"?)*JobID(Raw)?"?[,;\t][^\n]*\b(JobName|State|Elapsed(Raw)?|(Alloc|Req|N)CPUS|Account|`+
			`ExitCode|NNodes|(Alloc|Req)(TRES|Mem)|Timelimit(Raw)?)\b`)))

	// slurmTable is what sacct prints for people, in columns of a fixed width in which texts are cut off.
	slurmTable = ofSlurm(general("the table that sacct prints for people, in which texts are cut off", "print it with -P: sacct -a -P",
		`(?i)^([a-z][\w.%]*[ \t]+)*JobID(Raw)?%?\d*([ \t]+\w|[ \t]*\r?\n[ \t]*-)`,
		`^\d+([._+]\w+|_\[[^\]]*\])?[ \t]+[^\n]*\b(COMPLETED|CANCELLED|FAILED|TIMEOUT|RUNNING|PENDING|OUT_OF_ME|NODE_FAIL)`))

	// slurmRows is a table without titles.
	slurmRows = ofSlurm(general("rows of sacct without titles", "print the titles: sacct -P without --noheader",
		`^\w[^\s;=|]*\|[^\n=|]*\|[^\n=|]*\|`))

	// squeue is what squeue prints, whose default columns are these.
	squeue = ofSlurm(text("the queue of Slurm, as squeue prints it", sacct,
		`^JOBID[ \t|]+PARTITION[ \t|]+NAME\b`, `^JOBID\b[^\n]*\bNODELIST\(REASON\)`))

	// slurmJSON is what sacct prints with --json.
	slurmJSON = ofSlurm(read(text("the accounting of Slurm, as sacct --json prints it", sacct,
		`^\{(?s:.*)"(meta|jobs)"\s*:(?s:.*)"(?i:slurm|openapi\\?/[^"]*|account|allocation_nodes|job_id)"\s*[:,]`,
		`^\{\s*"meta"\s*:\s*\{(?s:.*)"(?i:plugin|slurm)"\s*:`,
		`^\{\s*"jobs"\s*:\s*\[\s*\]\s*(\}|,\s*"(meta|warnings|errors|last_\w+)"\s*:)`)))

	// squeueJSON is what other commands print with --json.
	squeueJSON = ofSlurm(text("the queue or the nodes of Slurm, as squeue, scontrol and sinfo print them with --json",
		"print jobs that ended: sacct -a --json",
		`^\{(?s:.*)"(jobs|nodes|sinfo)"\s*:(?s:.*)"(job_state|accrue_time|admin_comment)"\s*:`,
		`^\{(?s:.*)"(nodes|sinfo)"\s*:(?s:.*)"(?i:slurm|openapi\\?/[^"]*)"\s*[:,]`,
		`^\{(?s:.*)"(squeue|sinfo|scontrol)"`))

	// slurmNodes is nodes, of which pools are made.
	slurmNodes = text("the nodes of a cluster of Slurm", "give it with --pool, and jobs as sacct -a -P prints them",
		`^NodeName=\S+\s`, `^[A-Z_|; \t]*\b(NODELIST|HOSTNAMES)\b[A-Z_|; \t]*\b(CPUS|STATE|PARTITION|NODES|MEMORY)\b`,
		`^PARTITION[ \t|]+(AVAIL|NODES|CPUS|STATE|NODELIST|TIMELIMIT)\b`)

	// Batsim is a workload of the simulator Batsim. It has jobs and no ads.
	Batsim = read(text("a workload of Batsim", asIs, `^\{(?s:.*)"(nb_res|subtime|profiles)"\s*:`))

	// GWF is the format of the Grid Workloads Archive, whose 29 fields begin as those of SWF.
	GWF = read(text("a trace in the Grid Workloads Format", asIs,
		`(?i)^((#|;)[^\n]*\n)*[#;]?[ \t]*JobID[ \t]+SubmitTime\b[^\n]*\b(OrigSiteID|JobStructure)`,
		`(?i)^(#[^\n]*\n)*#[^\n]*\b(GWF|Grid Workloads? (Archive|Format))\b`,
		`(?i)^(#[^\n]*\n|;[^\n]*\n|\s)*\d+([ \t]+[^\s;]+){17}[ \t]+(UNITARY|BOT|DAG)\b`,
		`^(#[^\n]*\n|;[^\n]*\n|\s)*\d+([ \t]+[^\s;{}]+){28}[ \t]*\r?\n`))

	// webPage is what a server sends instead of a file that it does not have.
	webPage = text("a web page", "fetch the file itself", `(?i)^(<!DOCTYPE html|<html)\b`)
)

// names is a table with column names in its first line: words without signs of ads, and below them at
// least one number in a line of as many fields.
var names = &Kind{
	Holds: "a table with column names", Jobs: "print ads, with -long in place of -af; or " + namedOrSWF, Slots: SlotAds,
	General: true, recognises: isTable,
}
