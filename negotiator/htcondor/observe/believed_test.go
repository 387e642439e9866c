package observe

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who is believed about an attribute of a job that has started, since its user may edit its ad.
const (
	htcondor = "HTCondor refuses to edit it"
	slots    = "slots' ads, if any names the job; see package track, witness.go"
	clock    = "our clock, from the first look that saw the run; see package track, lasted.go"
	planned  = "what the job was planned by, and charged, when it was started"
	clusters = "the schedd's numbers of clusters; see package track, submitted.go"
	harmless = "the ad: only the job's own user can lose by it"
	waits    = "the ad: it counts only while the job waits"
	stays    = "the ad: it counts when the job is queued, and a running job stays what it was"
	inRooms  = "the ad, as the schedd itself does, for its limits of jobs that run or transfer"
)

// believed has every attribute that schedds are asked for by default. What else is asked for is
// what expressions refer to: that is part of what the job was planned by.
var believed = map[string]string{
	"user": htcondor, "owner": htcondor,

	"jobstatus": slots, "remotehost": slots, "remotehosts": slots, "jobuniverse": slots,

	"jobcurrentstartdate": clock, "jobcurrentstartexecutingdate": clock, "jobstartdate": clock, "shadowbday": clock,
	"remotewallclocktime": clock, "currenttime": clock,

	"acctgroup": planned, "accountinggroup": planned, "projectname": planned, "qos": planned, "minhosts": planned, "maxhosts": planned,
	"requirements": planned, "rank": planned, "concurrencylimits": planned, "requestcpus": planned, "requestmemory": planned,
	"periodicremove": planned, "periodichold": planned,
	"deferraltime": planned, "deferralpreptime": planned, "deferralwindow": planned, "scheddinterval": planned,

	"qdate": clusters,

	"jobprio": waits, "jobcooldownexpiration": waits, "currenthosts": waits, "numjobstarts": waits,

	// A new shadow counts as a new run, of which one is believed; a slot's end frees the job's own
	// promise.
	"numshadowstarts": harmless, "vacatereasoncode": harmless,

	"backfillscavenger": stays, "niceuser": stays, "maxjobretirementtime": stays,
	"jobmaxvacatetime": harmless, // at most what the machine gives it

	"scheduler": inRooms, "transferringinput": inRooms, "transferqueued": inRooms,
}

// TestEveryAttributeHasAWitness fails when a job's ad is asked for more, until somebody has decided
// who is believed about it while the job runs.
func TestEveryAttributeHasAWitness(t *testing.T) {
	o := quiet()
	settled := maps.Clone(believed)
	for _, name := range slices.Concat(o.s.Schema.Estimates, o.s.Schema.Limits, o.s.Schema.LabelAttributes()) {
		settled[strings.ToLower(name)] = planned
	}
	require.Equal(t, slices.Sorted(maps.Keys(settled)), slices.Sorted(maps.Keys(o.jobAttributes.base)))
}
