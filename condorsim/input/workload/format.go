package workload

import (
	"bufio"
	"bytes"
	"regexp"
)

// Format is what a file of jobs holds.
type Format int

// The formats. What nobody recognises counts as SWF, whose reader says what is wrong.
const (
	FormatSWF      Format = iota
	FormatAds             // HTCondor's job ads
	FormatInstance        // see [Instance]
)

// foreign are formats that are recognised and not read, by how a text begins, and what to do. A job
// line of SWF may have any text behind its 18 numbers, such as lists with commas.
var foreign = []struct {
	begins     *regexp.Regexp
	what, hint string
}{
	{regexp.MustCompile(`^\{(?s:.*)"(nb_res|subtime|profiles)"\s*:`), "a workload of Batsim", toSWF},
	{regexp.MustCompile(`(?i)^([a-z][\w.%]*[| \t]+)*JobID(Raw)?%?\d*(\||[ \t]+\w|[ \t]*\r?\n)`), slurm, toSWF},
	{regexp.MustCompile(`^\w[^\s;=|]*\|[^\n=|]*\|[^\n=|]*\|`), slurm, toSWF},
	{regexp.MustCompile(`^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];`), "the accounting log of PBS or Torque", toSWF},
	{
		regexp.MustCompile(`^(-- Schedd[^\n]*\s+)?(ID\s+)?OWNER\s+\w`),
		"the table that condor_history and condor_q print for people", "print ads: with -long, -json or -xml",
	},
	{regexp.MustCompile(`^[\w"'][^\s;=,]*,[^\n;=]*,[^\n;=]*,`), "comma-separated values", toSWF},
}

const (
	slurm = "the accounting of Slurm, as sacct prints it"
	toSWF = "convert it to SWF, which condorsim workload formats describes"
)

var (
	instanceBegins = regexp.MustCompile(`^\{(?s:.*)"(processors|jobs|expected)"\s*:`)
	// adsBegin matches an attribute, a bracket of any form, or what HTCondor prints above and between
	// ads.
	adsBegin = regexp.MustCompile(`^(\*\*\*|-- |#|//|[\[{<]|[A-Za-z_][\w.]*\s*=)`)
)

// Recognise says what a text holds, by how it begins; the text is still to be read. It returns an
// *Error for the formats of other programs that are known and not read.
func Recognise(text *bufio.Reader, name string) (Format, error) {
	head, _ := text.Peek(1 << 12) // the end of a short text is no error, others come again
	head = bytes.TrimLeft(head, " \t\r\n")
	for _, f := range foreign {
		if f.begins.Match(head) {
			return 0, &Error{File: name, Problem: "looks like " + f.what + ", which is not read", Hint: f.hint}
		}
	}
	switch {
	case instanceBegins.Match(head):
		return FormatInstance, nil
	case adsBegin.Match(head):
		return FormatAds, nil
	default:
		return FormatSWF, nil
	}
}

// noSWF returns an error for a text that is something else.
func noSWF(text *bufio.Reader, name string) error {
	format, err := Recognise(text, name)
	if err != nil {
		return err
	}
	what := map[Format]string{FormatAds: "job ads", FormatInstance: "an instance"}[format]
	if what == "" {
		return nil
	}
	return &Error{
		File: name, Problem: "holds " + what + ", and a trace in SWF is asked for",
		Hint: "condorsim workload convert makes one of it",
	}
}
