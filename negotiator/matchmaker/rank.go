package matchmaker

import (
	"cmp"
	"math"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// PreJobRank and PostJobRank are attributes of slots and bundles by which the pool ranks them for a
// job, as NEGOTIATOR_PRE_JOB_RANK and NEGOTIATOR_POST_JOB_RANK do: the first counts more than the job's
// own Rank, the second decides among what the job ranks alike.
const (
	PreJobRank  = "NegotiatorPreJobRank"
	PostJobRank = "NegotiatorPostJobRank"
)

// preference is how much a slot or bundle is preferred for a job; larger is better. rank is the job's
// Rank, the others are 0 for an ad without such an attribute.
type preference struct{ pre, rank, post float64 }

func (p preference) compare(o preference) int {
	return cmp.Or(cmp.Compare(p.pre, o.pre), cmp.Compare(p.rank, o.rank), cmp.Compare(p.post, o.post))
}

// isRank reports whether an attribute is a rank of the pool's.
func isRank(name string) bool {
	return strings.EqualFold(name, PreJobRank) || strings.EqualFold(name, PostJobRank)
}

func preJobRank(p classad.Pair) float64  { return poolRank(p, PreJobRank) }
func postJobRank(p classad.Pair) float64 { return poolRank(p, PostJobRank) }

// poolRank evaluates a rank of the pool's, for the job on the left. As under the stock negotiator,
// whatever is no number counts less than any number, and true is 1.
func poolRank(p classad.Pair, attribute string) float64 {
	if _, has := p.Right.Lookup(attribute); !has {
		return 0
	}
	v := classad.Scope{My: p.Right, Target: p.Left, Host: p.Host, MaxSteps: p.MaxSteps, Meter: p.Meter}.Attr(attribute)
	if truth, ok := v.Bool(); ok {
		if truth {
			return 1
		}
		return 0
	}
	if n, ok := v.Number(); ok && n == n {
		return n
	}
	return -math.MaxFloat64
}
