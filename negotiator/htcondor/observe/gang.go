package observe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Member is a proc of a gang whose cluster has several: its schedd starts them together, as one job.
type Member struct {
	Key   JobKey
	Group *Group
}

var errUnlike = errors.New("the procs of its cluster differ in more than machine_count and what each node requests, " +
	"such as in their Requirements: all nodes of a gang must be able to run on the same slots")

// Join returns a Group for a gang with these members, the first of which stands for all. The nodes
// of all members count, and each node takes the most that any of them requests, of each resource.
// The Spec is Wrong if the members differ otherwise.
func Join(members []Member, resources []string) *Group {
	first := members[0]
	all, spec := *first.Group, *first.Group.Spec
	all.Spec, all.Jobs, all.Hosts, all.members = &spec, []JobKey{first.Key}, nil, members
	spec.Ad, spec.Request, spec.Nodes = spec.Ad.Clone(), slices.Clone(spec.Request), 0
	kind := kindOf(spec.Ad, resources)
	var nodes int
	for _, m := range members {
		its := m.Group.Spec
		all.Hosts = append(all.Hosts, m.Group.Hosts...)
		nodes += its.Nodes
		spec.Wrong = cmp.Or(spec.Wrong, its.Wrong)
		if spec.Wrong == nil && its != first.Group.Spec && kindOf(its.Ad, resources) != kind {
			spec.Wrong = errUnlike
		}
		for i := range spec.Request {
			if i < len(its.Request) {
				spec.Request[i] = max(spec.Request[i], its.Request[i])
			}
		}
	}
	if spec.Nodes = min(nodes, backfill.MaxChunks); spec.Nodes < nodes {
		spec.Wrong = cmp.Or(spec.Wrong, fmt.Errorf("its procs have %d nodes: must be at most %d", nodes, backfill.MaxChunks))
	}
	spec.Ad.SetInt("MaxHosts", int64(nodes))
	if spec.Wrong == nil {
		spec.request(resources)
	}
	spec.Text = spec.Ad.Format(ast.Long)
	return &all
}

// kindOf returns all that a member's ad says except how many nodes it has and what they request.
func kindOf(ad *classad.ClassAd, resources []string) string {
	ad = ad.Clone()
	for _, name := range []string{"MinHosts", "MaxHosts"} {
		ad.Delete(name)
	}
	for _, resource := range resources {
		ad.Delete("Request" + negotiator.Attribute(resource))
	}
	return strings.ToLower(ad.Format(ast.Long))
}

// Proc returns which proc of a job's cluster the job's chunk of this number belongs to: the chunks
// of a gang of several procs are theirs, in turn.
func (g *Group) Proc(of JobKey, chunk int) int64 {
	for _, m := range g.members {
		if chunk < m.Group.Spec.Nodes {
			return m.Key.Proc
		}
		chunk -= m.Group.Spec.Nodes
	}
	return of.Proc
}
