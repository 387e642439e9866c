package observe

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Member is a proc of a gang whose cluster has several: its schedd starts them together, as one
// job.
type Member struct {
	Key   JobKey
	Group *Group
}

var errUnlike = errors.New("the procs of its cluster differ in more than machine_count and what each node requests, " +
	"such as in their Requirements: all nodes of a gang must be able to run on the same slots")

var errHeadless = errors.New("its schedd starts the procs of a gang's cluster only while proc 0 of it waits, " +
	"and that is on hold or gone: release it, or submit the gang anew")

// Join returns a Group for a gang with these members, by ascending proc. The first of them that is
// not on hold stands for all; there must be one. The nodes of all members count, and each node
// takes the most that any of them requests, of each resource.
//
// That is what the schedd asks for (computeSchedule in HTCondor's dedicated_scheduler.cpp): if proc
// 0 is idle, it takes all procs up to the first that is missing, whatever their JobStatus. If proc
// 0 is not, it asks for nothing. Then the Spec is Wrong, as it is if the members differ otherwise.
//
// The last Group of the gang, or nil, lends its Spec if those of the members are the same, as when
// the JobPrio of one was edited.
func Join(members []Member, resources []string, last *Group) *Group {
	lead := slices.IndexFunc(members, func(m Member) bool { return !m.Group.OnHold() })
	first := members[lead]
	waits := !first.Group.Runs()
	if waits {
		members = consecutive(members)
	}
	all := *first.Group
	all.Jobs, all.Hosts, all.members = []JobKey{first.Key}, nil, members
	for _, m := range members {
		all.Hosts = append(all.Hosts, m.Group.Hosts...)
	}
	// A first one that waits behind a gap is none of the members.
	same := last != nil && last.Jobs[0] == first.Key && last.Runs() == first.Group.Runs() && slices.Contains(members, first)
	if same && slices.EqualFunc(last.members, members, sameSpec) {
		all.Spec = last.Spec
	} else {
		all.Spec = joinSpecs(first, members, resources)
		if all.Spec.Wish = new(Wish); same && slices.EqualFunc(last.members, members, sameAd) {
			all.Spec.Wish = last.Spec.Wish
		}
	}
	return &all
}

func sameSpec(a, b Member) bool { return a.Key == b.Key && a.Group.Spec == b.Group.Spec }

func sameAd(a, b Member) bool { return a.Key == b.Key && a.Group.Spec.SameAd(b.Group.Spec) }

// joinSpecs makes the Spec of the gang that the first member stands for.
func joinSpecs(first Member, members []Member, resources []string) *Spec {
	spec := *first.Group.Spec
	spec.Ad, spec.Request, spec.Nodes = spec.Ad.Clone(), slices.Clone(spec.Request), 0
	waits, nodes := !first.Group.Runs(), 0
	if waits && len(members) > mostProcs {
		spec.Wrong = fmt.Errorf("its cluster has %d procs: a gang must have at most %d", len(members), mostProcs)
		members = members[:mostProcs]
	}
	for _, m := range members {
		its := m.Group.Spec
		nodes += its.Nodes
		spec.Wrong = cmp.Or(spec.Wrong, its.Wrong)
		if spec.Wrong == nil && its.Kind != spec.Kind {
			spec.Wrong = errUnlike
		}
		for i := range spec.Request {
			if i < len(its.Request) {
				spec.Request[i] = max(spec.Request[i], its.Request[i])
			}
		}
	}
	if waits && first.Key.Proc > 0 {
		spec.Wrong = errHeadless
	}
	if spec.Nodes = min(nodes, backfill.MaxChunks); spec.Nodes < nodes {
		spec.Wrong = cmp.Or(spec.Wrong, fmt.Errorf("its procs have %d nodes: must be at most %d", nodes, backfill.MaxChunks))
	}
	spec.Ad.SetInt("MaxHosts", int64(nodes))
	if spec.Wrong == nil {
		spec.request(resources)
	}
	spec.Text = spec.Ad.Format(ast.Long)
	return &spec
}

// consecutive returns the members up to the first whose proc does not follow the one before.
func consecutive(members []Member) []Member {
	for i, m := range members {
		if m.Key.Proc != members[0].Key.Proc+int64(i) {
			return members[:i]
		}
	}
	return members
}

// mostProcs is how many procs the cluster of a gang may have that waits: each is a job to look at.
const mostProcs = 10_000

// kindsPerRead is how much longer kindOf takes than to read the text.
const kindsPerRead = 4

// kindOf returns a digest of all that a member's ad says except how many nodes it has and what they
// request.
func kindOf(ad *classad.ClassAd, resources []string) [sha256.Size]byte {
	ad = ad.Clone()
	for _, name := range []string{"MinHosts", "MaxHosts"} {
		ad.Delete(name)
	}
	for _, resource := range resources {
		ad.Delete("Request" + negotiator.Attribute(resource))
	}
	return sha256.Sum256([]byte(strings.ToLower(ad.Format(ast.Long))))
}

// Proc returns which proc of a job's cluster the job's chunk of this number belongs to: the chunks
// of a gang of several procs are theirs, in turn.
func (g *Group) Proc(job JobKey, chunk int) int64 {
	for _, m := range g.members {
		if chunk < m.Group.Spec.Nodes {
			return m.Key.Proc
		}
		chunk -= m.Group.Spec.Nodes
	}
	return job.Proc
}
