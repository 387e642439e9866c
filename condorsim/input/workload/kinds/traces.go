package kinds

import "bytes"

// yaml is what people write for condorsim and the negotiator: a key and a colon.
var yaml = text("YAML, as descriptions of pools, sweeps and configurations are",
	"give a pool with --pool, and a sweep to condorsim sweep", `^(#[^\n]*\n\s*)*(---\s|[a-z_]\w*[ \t]*:([ \t\r\n]|$))`)

// lineEnds is text in which no line ends. What begins with a bracket needs no lines.
var lineEnds = &Kind{
	"text whose lines end with a carriage return alone", toLines, toLines, func(head []byte) bool {
		return len(head) > 0 && !bytes.ContainsAny(head[:1], "[{<") && bytes.Count(head, []byte("\r")) > 1 &&
			bytes.IndexByte(head, '\n') < 0
	},
}

// What other programs write of jobs.
var (
	// csv is a table of any program.
	csv = text("comma-separated values", toSWF, `^[\w"'][^\s;=,]*,[^\n;=]*,[^\n;=]*,`)

	// pbs is the accounting log of PBS and Torque.
	pbs = text("the accounting log of PBS or Torque", toSWF, `^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];`)

	// slurm is what sacct prints: columns with a title JobID, or fields between bars. A job line of SWF
	// may have any text behind its 18 numbers, such as lists with bars.
	slurm = text("the accounting of Slurm, as sacct prints it", toSWF,
		`(?i)^([a-z][\w.%]*[| \t]+)*JobID(Raw)?%?\d*(\||[ \t]+\w|[ \t]*\r?\n)`,
		`^\w[^\s;=|]*\|[^\n=|]*\|[^\n=|]*\|`)

	// slurmJSON is what sacct, squeue and sinfo print with --json.
	slurmJSON = text("the accounting of Slurm, as sacct --json or squeue --json prints it", toSWF,
		`^\{(?s:.*)"(meta|jobs|nodes|sinfo)"\s*:(?s:.*)`+
			`"(?i:slurm|openapi\\?/[^"]*|account|allocation_nodes|job_id|job_state)"\s*[:,]`,
		`^\{\s*"meta"\s*:\s*\{(?s:.*)"(?i:plugin|slurm)"\s*:`)

	// batsim is a workload of the simulator Batsim.
	batsim = text("a workload of Batsim", toSWF, `^\{(?s:.*)"(nb_res|subtime|profiles)"\s*:`)

	// gwf is the format of the Grid Workloads Archive, whose 29 fields begin as those of SWF.
	gwf = text("a trace in the Grid Workloads Format",
		"make SWF of it: keep fields 1 to 16, with numbers for names, put -1 -1 behind them, and ; for #",
		`(?i)^((#|;)[^\n]*\n)*[#;]?[ \t]*JobID[ \t]+SubmitTime\b[^\n]*\b(OrigSiteID|JobStructure)`,
		`(?i)^(#[^\n]*\n)*#[^\n]*\b(GWF|Grid Workloads? (Archive|Format))\b`,
		`(?i)^(#[^\n]*\n|;[^\n]*\n|\s)*\d+([ \t]+[^\s;]+){17}[ \t]+(UNITARY|BOT|DAG)\b`)

	// webPage is what a server sends instead of a file that it does not have.
	webPage = text("a web page", "fetch the file itself", `(?i)^(<!DOCTYPE html|<html)\b`)
)

// names is a table with column names in its first line: words without signs of ads, and below them at
// least one number in a line of as many fields.
var names = &Kind{
	"a table with column names",
	"print ads, with -long in place of -af; or " + toSWF, SlotAds, isTable,
}
