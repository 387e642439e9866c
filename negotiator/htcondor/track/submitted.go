package track

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// A user may write into a job when it was submitted, and would come before all others. A schedd
// numbers its clusters as they come, and users cannot choose the numbers: so a cluster above all
// those that a look saw was submitted after it. The first look has only what the queue says: a
// cluster was submitted after the lower ones of others.

// SavedSeen says that a schedd's clusters above this one were submitted after an instant.
type SavedSeen struct {
	Cluster int64         `json:"cluster"`
	At      backfill.Time `json:"at"`
}

const (
	// submitSlack is how long it may take from a job's submit time until its schedd has the job, in
	// seconds; and about how far apart the instants are of which the highest cluster is kept.
	submitSlack = 60
	// mostSeen bounds these. Of the older ones fewer and fewer are kept.
	mostSeen = 64
)

// submitted returns when the job was submitted: not before its schedd can have had it.
func (j *Job) submitted() backfill.Time { return max(j.Group.Submit, j.notBefore) }

// notBefore returns an instant before which a job cannot have been submitted; 0 if none is known.
func (b *Belief) notBefore(key observe.JobKey) backfill.Time {
	for _, seen := range slices.Backward(b.seen[key.Schedd]) {
		if seen.Cluster < key.Cluster {
			return max(0, seen.At-submitSlack)
		}
	}
	return 0
}

// stated is when a user says that a cluster of his was submitted.
type stated struct {
	cluster int64
	user    string
	at      backfill.Time
}

// firstLook learns of a schedd's clusters at the first look that reads its queue. Of the latest
// instants that each user states for clusters up to one, the second counts for those above it. So
// nobody alone can have others' jobs count as younger than they are.
func (b *Belief) firstLook() {
	for name, q := range b.now.Schedds {
		if !q.Read || len(b.seen[name]) > 0 {
			continue
		}
		var all []stated
		for _, g := range q.Groups {
			at := min(g.Submit, backfill.Time(q.Since.Unix()))
			for i, key := range g.Jobs {
				if i == 0 || key.Cluster != g.Jobs[i-1].Cluster {
					all = append(all, stated{key.Cluster, g.Spec.User(), at})
				}
			}
		}
		slices.SortFunc(all, func(a, b stated) int {
			return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.at, b.at))
		})
		b.seen[name] = secondLatest(all)
	}
}

// secondLatest returns the second of the users' latest instants so far, wherever it grows.
func secondLatest(all []stated) (seen []SavedSeen) {
	var first, second stated
	for _, s := range all {
		before := second.at
		switch {
		case s.user == first.user:
			first.at = max(first.at, s.at)
		case s.at > first.at:
			first, second = s, first
		case s.at > second.at:
			second = s
		}
		if second.at > before {
			seen = noteCluster(seen, SavedSeen{s.cluster, second.at})
		}
	}
	return seen
}

// noteClusters keeps the highest cluster of each schedd that the snapshot's look has read.
func (b *Belief) noteClusters() {
	for name := range b.seen {
		if b.now.Schedds[name] == nil {
			delete(b.seen, name)
		}
	}
	for name, q := range b.now.Schedds {
		if !q.Read {
			continue
		}
		highest := q.NewestStopped // such as jobs that were submitted on hold
		for _, g := range q.Groups {
			for _, key := range g.Jobs {
				highest = max(highest, key.Cluster)
			}
		}
		b.seen[name] = noteCluster(b.seen[name], SavedSeen{highest, backfill.Time(q.Since.Unix())})
	}
}

// noteCluster adds the highest cluster of an instant to those before.
func noteCluster(seen []SavedSeen, now SavedSeen) []SavedSeen {
	last := len(seen) - 1
	switch {
	case last >= 0 && now.At < seen[last].At:
		return seen // the clock was put back
	case last >= 0 && now.Cluster <= seen[last].Cluster:
		seen[last].At = now.At
		return seen
	case last >= 1 && now.At-seen[last-1].At < submitSlack:
		seen[last] = now
		return seen
	case len(seen) < mostSeen:
		return append(seen, now)
	}
	kept := seen[:0]
	for i, s := range seen {
		if i >= mostSeen/2 || i%2 == 0 {
			kept = append(kept, s)
		}
	}
	return append(kept, now)
}

// restoreSeen takes over what a former negotiator saw of the schedds' clusters.
func (b *Belief) restoreSeen(saved *SavedState, now backfill.Time) {
	for _, s := range saved.Schedds {
		var seen []SavedSeen
		for _, at := range s.Seen {
			if at.At <= now && at.Cluster >= 0 {
				seen = append(seen, at)
			}
		}
		b.seen[s.Name] = seen[:min(len(seen), mostSeen)]
	}
}
