package eventlog

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// ads iterates over the events of a log of ads. The last one may be an error.
func (r *reader) ads(text io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		for ad, err := range classad.ReadAds(&unparted{lines: bufio.NewReader(text), read: &r.lines}, r.name) {
			if err != nil {
				yield(event{}, fmt.Errorf("read the event log: %w", err))
				return
			}
			e, err := r.ofAd(ad)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// ofAd returns the event that an ad is of.
func (r *reader) ofAd(ad *classad.ClassAd) (event, error) {
	e := event{line: ad.StreamLine(), node: -1, cluster: -1, proc: -1}
	for _, one := range []struct {
		attr string
		to   *int64
	}{{"EventTypeNumber", &e.kind}, {"Cluster", &e.cluster}, {"Proc", &e.proc}} {
		n, fine := ad.Int(one.attr)
		if _, given := ad.Lookup(one.attr); !given && !ofJobs(e.kind) && one.to != &e.kind {
			continue // the head of the log of a pool, and other events of no job
		}
		if !fine {
			return e, &workload.Error{
				File: r.name, Line: e.line, Problem: one.attr + " of the event is missing, or no whole number",
				Hint: "correct or delete the event",
			}
		}
		*one.to = n
	}
	written, _ := ad.Text("EventTime")
	at, fine := r.clock.read(written)
	if !fine {
		return e, &workload.Error{
			File: r.name, Line: e.line, Text: written, Problem: fmt.Sprintf("EventTime: %.40q is no date", written),
			Hint: "dates are written such as 2024-06-01T10:00:00; correct or delete the event",
		}
	}
	e.at = at
	if node, given := ad.Int("Node"); given && (e.kind == nodeExecutes || e.kind == nodeTerminated) {
		e.node = node
	}
	e.says = said(e.kind, ad)
	return e, nil
}

// said returns what the ad of an event says of its job, in the terms of job ads.
func said(kind int64, ad *classad.ClassAd) *classad.ClassAd {
	says := classad.New()
	number := func(attr, from string) {
		if _, given := ad.Real(from); given {
			expression, _ := ad.Lookup(from)
			says.Set(attr, expression)
		}
	}
	switch kind {
	case adInformation:
		return ad
	case imageSize:
		number("MemoryUsage", "MemoryUsage")
		number("ResidentSetSize", "ResidentSetSize")
	case executes, nodeExecutes:
		for _, name := range []string{"Cpus", "Memory", "GPUs", "Disk"} {
			const inside = "Inside"
			if ad.SetExpr(inside, "ExecuteProps."+name) == nil {
				if n, given := ad.Int(inside); given {
					says.SetInt(name+"Provisioned", n)
				}
			}
		}
	case terminated, nodeTerminated, evicted:
		for _, name := range []string{"Cpus", "Memory", "GPUs", "Disk"} {
			number("Request"+name, "Request"+name)
			number(name+"Provisioned", name)
			number(name+"Usage", name+"Usage")
		}
	}
	return says
}

// unparted reads a text with nothing in place of the lines of three points that may stand between events, so
// that lines keep their numbers. It counts them.
type unparted struct {
	lines *bufio.Reader
	left  []byte
	read  *int
	inner bool // of a line: what was read before is its beginning
}

// Read reads a part of the text.
func (u *unparted) Read(b []byte) (int, error) {
	for len(u.left) == 0 {
		part, err := u.lines.ReadSlice('\n')
		ended := bytes.HasSuffix(part, []byte("\n"))
		if !u.inner && len(part) > 0 {
			*u.read++
		}
		if !u.inner && ended && string(bytes.TrimRight(part, " \t\r\n")) == "..." {
			part = part[len(part)-1:]
		}
		if u.inner = !ended; len(part) == 0 {
			return 0, err
		}
		u.left = part
	}
	n := copy(b, u.left)
	u.left = u.left[n:]
	return n, nil
}
