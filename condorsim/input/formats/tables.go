package formats

// toSWF is what to do with formats of other programs that are not read.
const toSWF = "convert it to SWF, which condorsim workload formats describes"

// queue is what condor_history and condor_q print without options.
var queue = &Format{
	Holds:      "the table that condor_history and condor_q print for people",
	Recognises: begins(`^(-- Schedd[^\n]*\s+)?(ID\s+)?OWNER\s+\w`),
	Instead:    "print ads: with -long, -json or -xml",
}

// csv is a table of any program.
var csv = &Format{
	Holds:      "comma-separated values",
	Recognises: begins(`^[\w"'][^\s;=,]*,[^\n;=]*,[^\n;=]*,`),
	Instead:    toSWF,
}
