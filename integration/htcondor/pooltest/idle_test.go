package pooltest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// TestIdleBesideWork looks every five seconds for a minute at a machine of four cores, of which
// some are free, and a job that wants one core.
func TestIdleBesideWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		free   func(look int) int
		job    string // more of its ad
		other  string // another job
		slot   string // more of the slot's ad
		events string
		gap    int // a look at which nobody answered
		want   string
	}{
		"free all the time":       {want: "slot slot1@n1@pool.test was idle from 00:00:00 to 00:00:35 beside job 1.0, which fits it and may run"},
		"busy all the time":       {free: func(int) int { return 0 }},
		"free for thirty seconds": {free: func(look int) int { return 2 * min(1, look%7) }},
		"free twice":              {gap: 3, want: "from 00:00:20 to 00:00:55"},
		"nobody answers for long": {gap: 3, free: func(look int) int { return max(0, 6-look) }},
		"in use between looks": {events: `
			12 execute 2.0 n1 slot1_1 4
			13 end 2.0
			33 execute 3.0 n1 slot1_1 4
			34 end 3.0
			52 execute 4.0 n1 slot1_1 4
			53 end 4.0`},
		"one core is in use between looks": {events: "2 execute 2.0 n1 slot1_1 1\n3 end 2.0\n33 execute 3.0 n1 slot1_1 1", want: "beside job 1.0"},
		"came back from running":           {job: "EnteredCurrentStatus = " + second(35)},
		"cools down":                       {job: "JobCoolDownExpiration = " + second(1000)},
		"cooled down at last":              {job: "JobCoolDownExpiration = " + second(10), want: "from 00:00:10 to 00:00:45"},
		"deferred":                         {job: "DeferralTime = " + second(1000)},
		"has a limit":                      {job: `ConcurrencyLimits = "matlab"`},
		"of a group":                       {job: `AccountingGroup = "physics"`},
		"a gang":                           {job: "JobUniverse = 11"},
		"wants another machine":            {job: `Requirements = TARGET.Machine == "n2"`},
		"the slot wants others":            {slot: "Start = false"},
		"opens later":                      {slot: "Start = time() >= " + second(20), want: "from 00:00:20 to 00:00:55"},
		"closes early":                     {slot: "Start = CurrentTime < " + second(30)},
		"the slot sleeps":                  {slot: "Offline = true"},
		"the machine is gone":              {slot: "LastHeardFrom = " + second(7)},
		"a wide job waits":                 {other: "RequestCpus = 4"},
		"one waits that never fits":        {other: "RequestCpus = 5", want: "beside job 1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var looks []Look
			for i := range 13 {
				free, at := 2, midnight.Add(time.Duration(i)*lookEvery)
				if c.free != nil {
					free = c.free(i)
				}
				look := Look{At: at}
				if i != c.gap || i == 0 {
					look.Slots = ads(t, fmt.Sprintf("Name = \"slot1@n1@pool.test\"\nMachine = \"n1\"\nPartitionableSlot = true\n"+
						"Start = true\nRequirements = Start && TARGET.RequestCpus <= Cpus\n"+
						"LastHeardFrom = %d\nTotalSlotCpus = 4\nCpus = %d\n%s", at.Unix(), free, c.slot))
					look.Jobs = append(waiting(t, 1, c.job), waiting(t, 9, c.other)...)
					if c.other == "" {
						look.Jobs = look.Jobs[:1]
					}
				}
				looks = append(looks, look)
			}
			var a Audit
			if c.events != "" {
				a = Examine(Evidence{Events: story(t, c.events), Capacity: map[string]Resources{"n1": {4, 4000}}})
				a.Violations = nil
			}
			a.idleBesideWork(looks)
			if c.want == "" {
				require.Empty(t, a.Violations)
				return
			}
			require.Len(t, a.Violations, 1)
			require.Contains(t, a.Violations[0], c.want)
		})
	}
}

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func second(n int64) string { return strconv.FormatInt(midnight.Unix()+n, 10) }

func waiting(t *testing.T, cluster int, more string) []*classad.ClassAd {
	t.Helper()
	return ads(t, fmt.Sprintf("ClusterId = %d\nProcId = 0\nGlobalJobId = \"pool.test#%d.0#1\"\nJobStatus = 1\nJobUniverse = 5\n"+
		"RequestCpus = 1\nRequirements = TARGET.Cpus >= RequestCpus\nEnteredCurrentStatus = 0\n%s", cluster, cluster, more))
}

func ads(t *testing.T, text string) []*classad.ClassAd {
	t.Helper()
	var all []*classad.ClassAd
	for ad, err := range classad.ReadAds(strings.NewReader(text), "ads") {
		require.NoError(t, err)
		all = append(all, ad)
	}
	return all
}
