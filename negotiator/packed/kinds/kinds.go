// Package kinds says what a text looks like that is not read, or not everywhere, and what to do instead.
// All that reads files of users asks [Of] before it complains of a line: "line 1 is no number" helps nobody who gave
// an event log, a table or an archive.
//
// A kind is a [Kind] in a file of its relatives, and a line in [All].
package kinds

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind is a kind of file that is recognised, and not read wherever something else is wanted.
type Kind struct {
	// Holds is what such a file holds: "the table that condor_status prints for people".
	Holds string
	// Jobs and Slots say what to do where jobs or slots are wanted.
	Jobs, Slots string
	// General says that a dialect of a format that is read may look the same.
	General bool
	// Read says that its jobs are read: it is refused only where slots or ads are wanted. Then Jobs says how
	// what is read is printed.
	Read bool

	recognises func(head []byte) bool
}

// What to do instead.
const (
	toSWF = "convert it to SWF, which condorsim workload formats describes"
	// namedOrSWF is for tables, which are read if their columns have names of SWF.
	namedOrSWF = "give it columns of numbers, named submit, run, procs and so on, or " + toSWF

	jobAds   = "print the jobs' ads: condor_history -long, or condor_q -long"
	textFile = "give a text file"
	exported = "write out what it holds as text"
	toLines  = `convert it: tr "\r" "\n"`
	asIs     = "give it where jobs are wanted"
	sacct    = "print the jobs that ended with sacct -a -P"
	toUTF8   = "convert it: iconv -f UTF-16 -t UTF-8"

	// showNodes is what to do where a pool of Slurm is wanted.
	showNodes = "print the nodes: scontrol show node"
	// SlotAds is what to do where slots are wanted.
	SlotAds = "print the slots' ads: condor_status -long"
)

// All lists the kinds, general ones first: of those that recognise a text the last counts.
func All() []*Kind {
	return append([]*Kind{
		lineEnds, yaml, names, csv, queue, status, headed, submit, dag, PBS, pbsLog, pbsNodes, pbsTable, slurmRows, slurm, slurmTable,
		qstat, gridEngine, lsf, squeue, slurmJSON, squeueJSON, slurmNodes, Batsim, GWF, EventLog, jobQueue, webPage,
	}, noTexts()...)
}

// Of returns the kind of a text that begins with head, which may end anywhere; nil if it is none of
// them. Comments above may tell what it is, or not.
func Of(head []byte) *Kind {
	head = bytes.TrimLeft(head, blanks)
	return last(All(), head, bare(head))
}

// bare returns a text without the comments above it.
func bare(head []byte) []byte {
	for bytes.HasPrefix(head, []byte("#")) {
		_, head, _ = bytes.Cut(head, []byte("\n"))
		head = bytes.TrimLeft(head, blanks)
	}
	return head
}

// Recognises reports whether a text is of the kind, by how it begins.
func (k *Kind) Recognises(head []byte) bool {
	head = bytes.TrimLeft(head, blanks)
	return k.recognises(head) || k.recognises(bare(head))
}

const blanks = " \t\r\n"

// last returns the last kind of a list that recognises one of some texts; nil if none does.
func last(list []*Kind, heads ...[]byte) (found *Kind) {
	for _, k := range list {
		if slices.ContainsFunc(heads, k.recognises) {
			found = k
		}
	}
	return found
}

// read marks a kind whose jobs are read.
func read(k *Kind) *Kind {
	k.Read = true
	return k
}

// ofSlurm returns a kind of what Slurm writes, whose nodes make a pool.
func ofSlurm(k *Kind) *Kind {
	k.Slots = showNodes
	return k
}

// Ads says what to do where ads are wanted, of whatever they are.
func (k *Kind) Ads() string {
	if k.Slots == SlotAds || k.Slots == showNodes {
		return "print ads: with -long, -json or -xml"
	}
	return k.Slots
}

// Problem says what a file of the kind is, for an error.
func (k *Kind) Problem() string {
	if k.Read {
		return "looks like " + k.Holds + ", which holds jobs"
	}
	return "looks like " + k.Holds + ", which is not read"
}

// text returns a kind of text, which matches one of some expressions. Slots are to be had from
// condor_status, whatever the kind. The expressions are compiled when a text is first asked about, since most
// processes never do.
func text(holds, jobs string, expressions ...string) *Kind {
	expression := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(strings.Join(expressions, "|")) })
	return &Kind{Holds: holds, Jobs: jobs, Slots: SlotAds, recognises: func(head []byte) bool { return expression().Match(head) }}
}

// whatever returns a kind of text with which the same is to be done for jobs and for slots.
func whatever(holds, instead string, expressions ...string) *Kind {
	k := text(holds, instead, expressions...)
	k.Slots = instead
	return k
}

// general returns a kind of text as which a dialect of a format that is read may look.
func general(holds, jobs string, expressions ...string) *Kind {
	k := text(holds, jobs, expressions...)
	k.General = true
	return k
}
