package formats

// slurm is what sacct prints: columns with a title JobID, or fields between bars. A job line of SWF
// may have any text behind its 18 numbers, such as lists with bars.
var slurm = &Format{
	Holds: "the accounting of Slurm, as sacct prints it",
	Recognises: begins(
		`(?i)^([a-z][\w.%]*[| \t]+)*JobID(Raw)?%?\d*(\||[ \t]+\w|[ \t]*\r?\n)`,
		`^\w[^\s;=|]*\|[^\n=|]*\|[^\n=|]*\|`,
	),
	Instead: toSWF,
}
