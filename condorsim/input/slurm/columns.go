package slurm

import (
	"strings"
	"time"
)

// column is a column of sacct that is read.
type column struct {
	name string
	// read notes what a row says there.
	read func(r *record, text string, zone *time.Location) error
	hint string // what to do about a value that cannot be read
	// free says that people choose the text, in which the delimiter may occur.
	free bool
}

// columns are the columns that are read, by their names as sacct writes them. Others are ignored.
var columns = []column{
	{name: "JobID", read: func(r *record, text string, _ *time.Location) error { return r.readID(text) }},
	{name: "JobIDRaw", read: func(r *record, text string, _ *time.Location) error { return r.readRaw(text) }},
	text("Cluster", func(r *record) *string { return &r.cluster }),
	text("User", func(r *record) *string { return &r.user }),
	text("Account", func(r *record) *string { return &r.account }),
	text("Partition", func(r *record) *string { return &r.partition }),
	text("QOS", func(r *record) *string { return &r.qos }),
	{name: "JobName", free: true, read: func(r *record, text string, _ *time.Location) error {
		r.name = text
		return nil
	}},
	{name: "State", read: func(r *record, text string, _ *time.Location) error {
		r.state = stateOf(text)
		return nil
	}},

	date("Submit", func(r *record) *int64 { return &r.submit }),
	date("Eligible", func(r *record) *int64 { return &r.eligible }),
	date("Start", func(r *record) *int64 { return &r.start }),
	date("End", func(r *record) *int64 { return &r.end }),
	{name: "Elapsed", read: func(r *record, text string, _ *time.Location) error {
		n, err := readSpan(text, minute)
		if r.elapsed < 0 { // else ElapsedRaw has it
			r.elapsed = n
		}
		return err
	}},
	{name: "ElapsedRaw", read: func(r *record, text string, _ *time.Location) (err error) {
		r.elapsed, err = readSpan(text, 1)
		return err
	}},
	{name: "Timelimit", read: func(r *record, text string, _ *time.Location) (err error) {
		n, err := readLimit(text)
		if r.limit == 0 { // else TimelimitRaw has it
			r.limit = n
		}
		return err
	}},
	{name: "TimelimitRaw", read: func(r *record, text string, _ *time.Location) (err error) {
		r.limit, err = readLimit(text)
		return err
	}},

	amount("AllocCPUS", func(r *record) *int64 { return &r.allocated.cpus }),
	{name: "NCPUS", read: func(r *record, text string, _ *time.Location) error { return keep(&r.allocated.cpus, text) }},
	amount("ReqCPUS", func(r *record) *int64 { return &r.requested.cpus }),
	amount("NNodes", func(r *record) *int64 { return &r.nodes }),
	{name: "AllocNodes", read: func(r *record, text string, _ *time.Location) error { return keepNodes(r, text) }},
	{name: "ReqNodes", read: func(r *record, text string, _ *time.Location) error { return keepNodes(r, text) }},
	{name: "ReqMem", read: func(r *record, text string, _ *time.Location) (err error) {
		r.memory, err = readMemory(text)
		return err
	}},
	{name: "AllocTRES", read: func(r *record, text string, _ *time.Location) error { return r.allocated.readTRES(text) }},
	{name: "ReqTRES", read: func(r *record, text string, _ *time.Location) error { return r.requested.readTRES(text) }},
	{name: "AllocGRES", read: func(r *record, text string, _ *time.Location) error {
		n, err := readGRES(text)
		if r.allocated.anyGPUs() < 0 { // else AllocTRES has them
			r.allocated.gpus = n
		}
		return err
	}},
	{name: "ReqGRES", read: func(r *record, text string, _ *time.Location) (err error) {
		r.gpusOfNode, err = readGRES(text)
		return err
	}},

	asks("Constraints", func(r *record) *bool { return &r.constraints }),
	asks("Reservation", func(r *record) *bool { return &r.reservation }),
	asks("Licenses", func(r *record) *bool { return &r.licenses }),
}

// freeTexts are columns that are not read and in which the delimiter may occur.
var freeTexts = []string{
	"comment", "admincomment", "systemcomment", "submitline", "workdir", "extra", "stdout", "stderr", "stdin",
}

func text(name string, place func(r *record) *string) column {
	return column{name: name, read: func(r *record, text string, _ *time.Location) error {
		*place(r) = text
		return nil
	}}
}

func date(name string, place func(r *record) *int64) column {
	return column{
		name: name, hint: "print dates as sacct does unless SLURM_TIME_FORMAT is set, or with SLURM_TIME_FORMAT=%s",
		read: func(r *record, text string, zone *time.Location) (err error) {
			*place(r), err = readDate(text, zone)
			return err
		},
	}
}

func amount(name string, place func(r *record) *int64) column {
	return column{name: name, read: func(r *record, text string, _ *time.Location) (err error) {
		if text != "" {
			*place(r), err = amountIn(text, one)
		}
		return err
	}}
}

func asks(name string, place func(r *record) *bool) column {
	return column{name: name, read: func(r *record, text string, _ *time.Location) error {
		*place(r) = !unsaid(text)
		return nil
	}}
}

// keep notes an amount that is not yet known.
func keep(amount *int64, text string) error {
	if text == "" {
		return nil
	}
	n, err := amountIn(text, one)
	if *amount < 0 {
		*amount = n
	}
	return err
}

func keepNodes(r *record, text string) error {
	nodes := r.nodes - 1 // 0 is unknown
	if r.nodes > 0 {
		return nil
	}
	err := keep(&nodes, text)
	r.nodes = max(nodes, 0)
	return err
}

// columnOf returns the column of a name; nil if it is not read. Case does not count.
func columnOf(name string) *column {
	for i := range columns {
		if strings.EqualFold(columns[i].name, name) {
			return &columns[i]
		}
	}
	return nil
}

// Command is the command that prints what is read, all jobs since a day.
const Command = "sacct -a -X -P -S 2024-01-01 -o " +
	"JobID,JobIDRaw,User,Account,Partition,QOS,JobName,State,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw," +
	"AllocCPUS,ReqCPUS,NNodes,ReqMem,AllocTRES,ReqTRES"

// needed are the columns without which a job cannot be run: one of each list.
var needed = [][]string{
	{"JobID", "JobIDRaw"},
	{"Submit", "Eligible"},
	{"ElapsedRaw", "Elapsed", "End"},
	{"AllocCPUS", "ReqCPUS", "NCPUS", "AllocTRES", "ReqTRES"},
}

// wanted are the columns without which results mean something else, and what.
var wanted = [][2]string{
	{"State", "jobs that were cancelled, or run again, are taken for others"},
	{"Start", "what really happened is not known"},
	{"Eligible", "jobs that were held, or waited for others, arrive when they were submitted"},
}
