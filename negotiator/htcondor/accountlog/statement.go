package accountlog

import (
	"math"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// The kinds of records.
const (
	accountPrefix  = "Accountant."
	customerPrefix = "Customer."
	resourcePrefix = "Resource."
)

// known are the attributes of a customer's record that have a meaning here, or need none.
var known = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq(`Priority PriorityFactor Ceiling Floor ResourcesUsed WeightedResourcesUsed
		HierWeightedResourcesUsed AccumulatedUsage WeightedAccumulatedUsage UnchargedTime WeightedUnchargedTime
		BeginUsageTime LastUsageTime SubmitterLimit SubmitterShare MyType TargetType CurrentTime
		CeilingLeaseExpiration CeilingPreLeaseValue FloorLeaseExpiration FloorPreLeaseValue
		PriorityFactorLeaseExpiration PriorityFactorPreLeaseValue`) {
		known[strings.ToLower(name)] = true
	}
}

// Notes are what is worth telling of a log besides the statement.
type Notes struct {
	// Unknown counts the records and attributes that mean nothing here, by what they are.
	Unknown map[string]int
}

// Statement returns what the log says of the accounting. halfLife is PRIORITY_HALFLIFE in seconds.
//
// As for HTCondor when it starts, what submitters use is what the matches in the log say. Usage
// that waits for HTCondor's next update (UnchargedTime) is charged at once, and priorities follow
// it as far as it is short beside the half-life.
func (l *Log) Statement(halfLife float64) (accountant.Statement, Notes) {
	notes := Notes{Unknown: map[string]int{}}
	use := map[string]accountant.Use{}
	var s accountant.Statement
	for _, key := range l.keys() {
		found := l.ads[key]
		switch {
		case key == accountPrefix:
			s.Updated = found.whole("LastUpdateTime", 0)
		case strings.HasPrefix(key, resourcePrefix):
			if user, ok := found["remoteuser"].value.Text(); ok {
				u := use[user]
				use[user] = accountant.Use{Slots: u.Slots + 1, Weight: u.Weight + found.number("SlotWeight", 1)}
			}
		case !strings.HasPrefix(key, customerPrefix):
			kind, _, _ := strings.Cut(key, ".")
			notes.Unknown["record "+backfill.Printable(kind, shown)]++
		}
	}
	for _, key := range l.keys() {
		if name, customer := strings.CutPrefix(key, customerPrefix); customer {
			r := l.ads[key].record(name, halfLife, &notes)
			if strings.Contains(name, "@") { // a group uses what its submitters use
				r.Use = use[name]
			}
			s.Records = append(s.Records, r)
		}
	}
	return s, notes
}

// record returns what the record of a customer says.
func (a ad) record(name string, halfLife float64, notes *Notes) accountant.Record {
	for lower, attr := range a {
		if !known[lower] {
			notes.Unknown["attribute "+backfill.Printable(attr.name, shown)]++
		}
	}
	r := accountant.Record{
		Name: name, Real: a.number("Priority", 0), Factor: a.number("PriorityFactor", 0),
		Used: a.number("AccumulatedUsage", 0), Begin: a.whole("BeginUsageTime", 0), Last: a.whole("LastUsageTime", 0),
		Ceiling: max(-1, a.whole("Ceiling", -1)), Floor: max(0, a.whole("Floor", 0)), Leases: a.leases(),
	}
	r.Weighted = a.number("WeightedAccumulatedUsage", r.Used)
	uncharged := a.number("WeightedUnchargedTime", 0)
	r.Used += a.number("UnchargedTime", 0)
	r.Weighted += uncharged
	r.Real = max(0, r.Real+uncharged*math.Ln2/halfLife)
	return r
}

// leasable are the attributes of a customer that can be leased (since 25.11 the ceiling, since 25.12
// the others), and what was there before a lease if the log does not say it.
var leasable = []struct {
	attribute, what string
	before          float64
}{
	{"Ceiling", accountant.LeasedCeiling, -1},
	{"Floor", accountant.LeasedFloor, 0},
	{"PriorityFactor", accountant.LeasedFactor, 0},
}

// Endings of the names of a lease's attributes.
const (
	leaseEnd    = "LeaseExpiration"
	leaseBefore = "PreLeaseValue"
)

// leases returns the leases that have not ended, nil if there are none.
func (a ad) leases() map[string]accountant.Lease {
	var all map[string]accountant.Lease
	for _, l := range leasable {
		until := a.whole(l.attribute+leaseEnd, 0)
		if until <= 0 {
			continue
		}
		if all == nil {
			all = map[string]accountant.Lease{}
		}
		all[l.what] = accountant.Lease{Until: until, Before: a.number(l.attribute+leaseBefore, l.before)}
	}
	return all
}

// number returns the value of an attribute, or another if it is not a number.
func (a ad) number(name string, missing float64) float64 {
	if v, ok := a[strings.ToLower(name)].value.Number(); ok {
		return v
	}
	return missing
}

// whole returns the value of an attribute as a whole number, or another if it is not a number.
func (a ad) whole(name string, missing int64) int64 {
	v := math.Trunc(a.number(name, float64(missing)))
	switch {
	case math.IsNaN(v):
		return missing
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	}
	return int64(v)
}
