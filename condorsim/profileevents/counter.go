package profileevents

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Counter is a linked-in policy. It decides as the policy that it wraps, and counts the events that
// the policy's textbook version would scan.
type Counter struct {
	*backfill.Linked
	react func(*Counter, *job, backfill.Event) // called for each arrival and completion
	order func(a, b *job) int                  // of jobs below

	now      backfill.Time
	jobs     []*job                  // waiting, in order
	known    map[backfill.JobID]*job // waiting or running
	instants instants
	past     int // number of instants before now
	sets     []*backfill.Candidates
	profile  *profile.Profile  // of the one slot; running and planned jobs are in it only if searches is true
	searches bool              // the counter must search the profile, which only dc needs
	moves    []backfill.Action // the policy's reservations after the event that are not counted yet
	ranks    []int             // by index in jobs: number of instants before the job's end; buffer of pc

	count int64
	err   error
}

// job is a waiting or running job, with its planned or actual start and its end.
type job struct {
	*backfill.Job
	key        float64
	start, end backfill.Time
	placed     bool // start and end are set
}

// Check returns an error if a policy keeps no profile whose events are counted.
func Check(policy string) error {
	if slices.Contains([]string{"conservative", "pc", "dc"}, policy) {
		return nil
	}
	return fmt.Errorf("policy %s keeps no profile whose events could be counted; conservative, pc and dc do", policy)
}

// Count creates a counter for conservative, pc or dc. It returns an error for any other policy: the
// others scan no profile.
func Count(policy *backfill.Linked) (*Counter, error) {
	c := &Counter{Linked: policy, known: map[backfill.JobID]*job{}, profile: profile.New(profile.ByRank)}
	c.order = func(a, b *job) int { return cmp.Or(cmp.Compare(a.key, b.key), backfill.Compare(a.Job, b.Job)) }
	name := policy.Spec().Name
	switch name {
	case "conservative":
		c.react = (*Counter).conservative
		c.order = func(a, b *job) int { return cmp.Or(cmp.Compare(a.start, b.start), backfill.Compare(a.Job, b.Job)) }
	case "pc":
		c.react = (*Counter).pc
	case "dc":
		c.react, c.searches = (*Counter).dc, true
	default:
		return nil, Check(name)
	}
	return c, nil
}

// Count returns how many profile events the textbook would have scanned so far. It returns an error
// if something happened that the count does not cover, or if the policy decided otherwise.
func (c *Counter) Count() (int64, error) { return c.count, c.err }

// Decided passes the decision on to the policy and counts the events of the round.
func (c *Counter) Decided(r backfill.Round, d backfill.Decision, own bool) {
	c.Linked.Decided(r, d, own)
	if c.err != nil {
		return
	}
	if c.err = c.follow(r, d, own); c.err != nil {
		c.err = fmt.Errorf("count profile events at %d: %w", r.Now, c.err)
	}
}

func (c *Counter) follow(r backfill.Round, d backfill.Decision, own bool) error {
	if len(r.Bundles) > 0 {
		return errors.New("the pool has bundles: events are those of one slot that jobs share")
	}
	if !own && d.By != "" { // By is empty if there was nothing to decide
		return errors.New("the decision was taken by the fallback " + d.By)
	}
	c.now, c.past = r.Now, c.instants.before(r.Now)
	c.profile.Forget(r.Now)
	c.open(r)
	actions := d.Actions
	for i, e := range r.Events {
		c.moves = c.moves[:0]
		for ; len(actions) > 0 && actions[0].After <= i+1 &&
			actions[0].Kind != backfill.ActStart; actions = actions[1:] {
			if actions[0].Kind == backfill.ActReserve {
				c.moves = append(c.moves, actions[0])
			}
		}
		if err := c.take(e); err != nil {
			return err
		}
		if len(c.moves) > 0 && c.err == nil {
			return fmt.Errorf("job %d was planned for %d, and no textbook would", c.moves[0].Job, c.moves[0].At)
		}
		if c.err != nil {
			return c.err
		}
	}
	return c.begin(d.Started)
}

// open applies the candidate sets of a round and the keys by which its queue is sorted.
func (c *Counter) open(r backfill.Round) {
	for _, set := range r.Candidates {
		if set.ID == len(c.sets) {
			c.sets = append(c.sets, nil)
		}
		c.sets[set.ID] = &set.Candidates
	}
	for _, k := range r.Keys {
		if j := c.known[k.Job]; j != nil {
			j.key = k.Key
		}
	}
	if len(r.Keys) > 0 {
		slices.SortFunc(c.jobs, c.order)
	}
}

// take applies one event to the counter's copy of the jobs, and counts what the policy scans in
// reaction.
func (c *Counter) take(e backfill.Event) error {
	switch e.Kind {
	case backfill.PolicyChanged:
		if len(c.jobs) > 0 {
			return errors.New("the policy was changed while jobs waited")
		}
	case backfill.SlotAdded:
		if e.Slot.ID > 0 || c.profile.Up(0) {
			return errors.New("the pool has more than one slot")
		}
		c.profile.SetSlot(0, e.Slot.Name, e.Slot.Capacity)
	case backfill.Wake:
	case backfill.Completed:
		j := c.known[e.JobID]
		if j == nil {
			return fmt.Errorf("job %d ended and had not started", e.JobID)
		}
		delete(c.known, e.JobID)
		c.instants.remove(j.start)
		c.instants.remove(j.end)
		c.past = c.instants.before(c.now)
		c.unplan(j)
		c.react(c, j, e)
	case backfill.Submitted:
		j := &job{Job: e.Job, key: e.Key}
		if c.profile.Up(0) && c.profile.EverFits(c.request(j)) {
			c.react(c, j, e)
		}
	default:
		return fmt.Errorf("%s is not covered by the count", e.Kind)
	}
	return nil
}

// begin removes the started jobs from the list of waiting jobs. It returns an error if one of them
// was not planned for now, or if only some of the jobs planned for now were started.
func (c *Counter) begin(started []backfill.Started) error {
	for _, s := range started {
		if j := c.known[s.Job.ID]; j == nil || j.start != c.now {
			return fmt.Errorf("job %d was started, and no textbook would", s.Job.ID)
		}
	}
	if len(started) > 0 {
		due := len(c.jobs)
		c.jobs = slices.DeleteFunc(c.jobs, func(j *job) bool { return j.start == c.now })
		if due -= len(c.jobs); due != len(started) {
			return fmt.Errorf("%d jobs were started and %d were due", len(started), due)
		}
	}
	return nil
}

func (c *Counter) request(j *job) profile.Request {
	return profile.Request{Chunk: j.Request, Nodes: j.Nodes, Duration: j.Estimate, Candidates: c.sets[j.Candidates]}
}

// plan adds a job's place to the counter's profile, if that is used.
func (c *Counter) plan(j *job) {
	if c.searches {
		c.profile.Add(backfill.Placement{{Slot: 0, Count: j.Nodes}}, j.Request, j.start, j.end)
	}
}

// unplan undoes plan.
func (c *Counter) unplan(j *job) {
	if c.searches {
		c.profile.Remove(backfill.Placement{{Slot: 0, Count: j.Nodes}}, j.Request, j.start, j.end)
	}
}

// instants holds the starts and ends of all running and planned jobs, ascending.
type instants []backfill.Time

// before returns the number of instants before t.
func (s instants) before(t backfill.Time) int {
	i, _ := slices.BinarySearch(s, t)
	return i
}

func (s *instants) add(t backfill.Time) { *s = slices.Insert(*s, s.before(t), t) }

func (s *instants) remove(t backfill.Time) {
	i := s.before(t)
	*s = slices.Delete(*s, i, i+1)
}

// advance replaces one instant from by the earlier one to.
func (s instants) advance(from, to backfill.Time) {
	i, k := s.before(to), s.before(from)
	copy(s[i+1:k+1], s[i:k])
	s[i] = to
}
