package claims

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// BenchmarkManyKindsRefused is a look at a pool whose schedd has dropped the matches of that many jobs,
// no two of which are planned by the same: any user can submit such jobs.
func BenchmarkManyKindsRefused(b *testing.B) {
	for _, n := range []int{500, 4000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var names []string
			for i := range n {
				names = append(names, fmt.Sprintf("slot1@n%d", i))
			}
			d := newDesk(b, names...)
			for i := range n {
				spec := specBy(b, "u@x")
				spec.Ad.SetInt("RequestDisk", int64(i))
				spec.Text = spec.Ad.String()
				key := observe.JobKey{Schedd: "s", Cluster: int64(i + 1)}
				d.schedd.Groups = append(d.schedd.Groups, &observe.Group{
					Spec: spec, Status: observe.Idle, Submit: 1_600_000_000, Jobs: []observe.JobKey{key},
				})
			}
			d.look()
			i := 0
			for j := range d.belief.Jobs() {
				at := negotiator.Placement{{Slot: d.snapshot.Slots[names[i]].Ad, Count: 1}}
				d.Start(d.now, []negotiator.Match{{Job: &negotiator.Job{ID: j.ID}, Placement: at}})
				f := d.flights[j.ID]
				f.claims, f.rest = []string{strconv.Itoa(i)}, nil
				i++
			}
			d.now = d.now.Add(31 * time.Second)
			d.look()
			if len(d.refused.byKind) != n {
				b.Fatalf("%d kinds were refused, not %d", len(d.refused.byKind), n)
			}
			for b.Loop() {
				d.now = d.now.Add(time.Millisecond)
				d.look()
			}
		})
	}
}
