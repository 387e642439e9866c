package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Amount is how much of a resource a job asked for, in all its chunks together. Resource is in lower
// case, as in schemas; the unit is that of ads, KiB for disk.
type Amount struct {
	Resource string
	Amount   int64
}

// other returns the resource that an attribute asks for, in lower case; false if it is cpus or memory,
// or if the attribute is about something else.
func other(attr string) (resource string, asks bool) {
	resource, asks = strings.CutPrefix(strings.ToLower(attr), "request")
	if !asks || resource == "" || resource == "cpus" || resource == "memory" || strings.HasPrefix(attr, "Requested") {
		return "", false
	}
	return resource, true
}

// noteOthers notes what the ad of the job with an index asks for besides cpus and memory, if that is
// wanted. It leaves out what no ad alone tells.
func (c *collector) noteOthers(ad *classad.ClassAd, index int, nodes int64) {
	if !c.o.WithOthers {
		return
	}
	var all []Amount
	for attr := range ad.All() {
		resource, asks := other(attr)
		if !asks {
			continue
		}
		amount, err := number(ad, 0, float64(backfill.MaxInputAmount/nodes), attr, resource+"Provisioned")
		if err == nil && amount > 0 {
			all = append(all, Amount{c.shared.text(resource), amount * nodes})
		}
	}
	slices.SortFunc(all, func(a, b Amount) int { return cmp.Compare(a.Resource, b.Resource) })
	if c.others[index] = all; all == nil {
		delete(c.others, index)
	}
}
