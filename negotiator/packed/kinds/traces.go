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

	// pbs is what the server of PBS and Torque writes, and what its qstat prints.
	pbs = text("the accounting log of PBS or Torque", toSWF, `^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];`)

	pbsLog = text("the log of a server of PBS or Torque", "give the accounting log's data: "+toSWF,
		`^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(\.\d+)?;[0-9a-fA-F]{4};`)

	qstat = text("the table of jobs that qstat prints", toSWF,
		`^Job Id: \S+`, `(?i)^Job[ _-]?ID[ \t]+(Name|Username|prior)[ \t]+\w`)

	// gridEngine is the accounting of SGE and its successors, one job a line or as qacct prints it. JSON and
	// ads in one line have as many colons, and begin with a bracket.
	gridEngine = text("the accounting of Grid Engine", toSWF,
		`^[^:\s{\[<]+(:[^:\n]*){40}`, `^=+\r?\nqname[ \t]`)

	lsf = text("the accounting of LSF", toSWF,
		`^"JOB_[A-Z0-9_]+"[ \t]+"`, `^JOBID[ \t]+USER[ \t]+STAT[ \t]+QUEUE\b`)

	// slurm is what sacct prints: columns with a title JobID, fields between bars, or a state behind the
	// number of a job. A job line of SWF may have any text behind its 18 numbers, such as lists with bars.
	slurm = general("the accounting of Slurm, as sacct prints it", toSWF,
		`(?i)^([a-z][\w.%]*[| \t]+)*JobID(Raw)?%?\d*(\||[ \t]+\w|[ \t]*\r?\n)`,
		`(?i)^"?([a-z][\w.%]*"?[,;]"?)*JobID(Raw)?"?[,;][^\n]*\b(JobName|State|Elapsed(Raw)?|(Alloc|Req|N)CPUS|Account|`+
			`ExitCode|NNodes|(Alloc|Req)(TRES|Mem)|Timelimit(Raw)?)\b`,
		`^\d+([._+]\w+|_\[[^\]]*\])?[ \t]+[^\n]*\b(COMPLETED|CANCELLED|FAILED|TIMEOUT|RUNNING|PENDING|OUT_OF_ME|NODE_FAIL)`,
		`^\w[^\s;=|]*\|[^\n=|]*\|[^\n=|]*\|`)

	// slurmJSON is what sacct, squeue and sinfo print with --json.
	slurmJSON = text("the accounting of Slurm, as sacct --json or squeue --json prints it", toSWF,
		`^\{(?s:.*)"(meta|jobs|nodes|sinfo)"\s*:(?s:.*)`+
			`"(?i:slurm|openapi\\?/[^"]*|account|allocation_nodes|job_id|job_state)"\s*[:,]`,
		`^\{\s*"meta"\s*:\s*\{(?s:.*)"(?i:plugin|slurm)"\s*:`,
		`^\{\s*"jobs"\s*:\s*\[\s*\]\s*(\}|,\s*"(meta|warnings|errors|last_\w+)"\s*:)`)

	// Batsim is a workload of the simulator Batsim. It has jobs and no ads.
	Batsim = read(text("a workload of Batsim", asIs, `^\{(?s:.*)"(nb_res|subtime|profiles)"\s*:`))

	// gwf is the format of the Grid Workloads Archive, whose 29 fields begin as those of SWF.
	gwf = text("a trace in the Grid Workloads Format",
		"make SWF of it: keep fields 1 to 16, with numbers for names, put -1 -1 behind them, and ; for #",
		`(?i)^((#|;)[^\n]*\n)*[#;]?[ \t]*JobID[ \t]+SubmitTime\b[^\n]*\b(OrigSiteID|JobStructure)`,
		`(?i)^(#[^\n]*\n)*#[^\n]*\b(GWF|Grid Workloads? (Archive|Format))\b`,
		`(?i)^(#[^\n]*\n|;[^\n]*\n|\s)*\d+([ \t]+[^\s;]+){17}[ \t]+(UNITARY|BOT|DAG)\b`,
		`^(#[^\n]*\n|;[^\n]*\n|\s)*\d+([ \t]+[^\s;{}]+){28}[ \t]*\r?\n`)

	// webPage is what a server sends instead of a file that it does not have.
	webPage = text("a web page", "fetch the file itself", `(?i)^(<!DOCTYPE html|<html)\b`)
)

// names is a table with column names in its first line: words without signs of ads, and below them at
// least one number in a line of as many fields.
var names = &Kind{
	Holds: "a table with column names", Jobs: "print ads, with -long in place of -af; or " + namedOrSWF, Slots: SlotAds,
	General: true, recognises: isTable,
}
