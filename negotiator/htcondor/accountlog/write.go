package accountlog

import (
	"bytes"
	"math"
	"strconv"

	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// Write returns a statement as a log, which begins anew at a Unix time and has been written so many
// times. Numbers have all their digits.
//
// A factor that was not set is left out; HTCondor then sets what its configuration says. What
// submitters use is written as matches of slots that do not exist. HTCondor charges them from the
// time of the statement until its first cycle, in which it finds the real ones.
//
// HTCondor ends leases of ceilings since 25.11 and the others since 25.12; for those before, what is
// leased holds until it is set again.
func Write(s accountant.Statement, sequence, created int64) []byte {
	w := &writer{}
	w.line(opHead, strconv.FormatInt(sequence, 10), "CreationTimestamp", strconv.FormatInt(created, 10))
	w.begin(accountPrefix)
	w.whole("LastUpdateTime", s.Updated)
	for _, r := range s.Records {
		w.customer(r)
	}
	slots := 0
	for _, r := range s.Records {
		if r.IsGroup {
			continue
		}
		for i := range r.Use.Slots {
			slots++
			w.begin(resourcePrefix + "slot" + strconv.Itoa(slots) + "@before-export")
			w.set("RemoteUser", string(ast.AppendString(nil, r.Name, ast.Line)))
			w.real("SlotWeight", part(r.Use, i))
			w.whole("StartTime", s.Updated)
		}
	}
	return w.Bytes()
}

// part returns the weight of the i-th slot in use. All parts together are exactly the whole weight
// if that is a whole number.
func part(u accountant.Use, i int) float64 {
	each := math.Floor(u.Weight / float64(u.Slots))
	if i == 0 {
		return u.Weight - each*float64(u.Slots-1)
	}
	return each
}

// writer writes records.
type writer struct {
	bytes.Buffer
	key string // of the present one
}

func (w *writer) line(op int, words ...string) {
	w.WriteString(strconv.Itoa(op))
	for _, word := range words {
		w.WriteByte(' ')
		w.WriteString(word)
	}
	w.WriteByte('\n')
}

func (w *writer) begin(key string) {
	w.key = key
	w.line(opNew, key, "*", "*")
}

func (w *writer) set(name, value string) { w.line(opSet, w.key, name, value) }

func (w *writer) whole(name string, v int64) { w.set(name, strconv.FormatInt(v, 10)) }

func (w *writer) real(name string, v float64) {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if v == math.Trunc(v) {
		text += ".0"
	}
	w.set(name, text)
}

// customer writes the record of a submitter or a group.
func (w *writer) customer(r accountant.Record) {
	w.begin(customerPrefix + r.Name)
	w.real("Priority", r.Real)
	if r.Factor != 0 {
		w.real("PriorityFactor", r.Factor)
	}
	if _, leased := r.Leases[accountant.LeasedCeiling]; r.Ceiling >= 0 || leased {
		w.whole("Ceiling", r.Ceiling)
	}
	if r.Floor > 0 {
		w.whole("Floor", r.Floor)
	}
	for _, l := range leasable {
		lease, leased := r.Leases[l.what]
		if !leased {
			continue
		}
		w.whole(l.attribute+leaseEnd, lease.Until)
		if l.what == accountant.LeasedFactor {
			w.real(l.attribute+leaseBefore, lease.Before)
		} else {
			w.whole(l.attribute+leaseBefore, int64(lease.Before))
		}
	}
	w.whole("ResourcesUsed", int64(r.Use.Slots))
	w.real("WeightedResourcesUsed", r.Use.Weight)
	if r.IsGroup {
		w.real("HierWeightedResourcesUsed", r.Subtree)
	}
	w.whole("UnchargedTime", 0)
	w.real("WeightedUnchargedTime", 0)
	w.real("AccumulatedUsage", r.Used)
	w.real("WeightedAccumulatedUsage", r.Weighted)
	if r.Begin != 0 {
		w.whole("BeginUsageTime", r.Begin)
	}
	if r.Last != 0 {
		w.whole("LastUsageTime", r.Last)
	}
}
