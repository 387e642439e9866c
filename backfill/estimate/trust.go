package estimate

import (
	"cmp"
	"container/list"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Trust says which of the run times that users state count in plans; "" is [TrustRecord].
type Trust string

// How far users are trusted.
const (
	// TrustRecord: as far as their records bear them out, see [TrackRecord].
	TrustRecord Trust = "record"
	// TrustEnforced: only those at which the pool ends the job. Others count as the default at least.
	TrustEnforced Trust = "enforced"
	// TrustAll: all of them.
	TrustAll Trust = "all"
)

// ParseTrust reads how far users are trusted.
func ParseTrust(text string) (Trust, error) {
	all := []string{string(TrustEnforced), string(TrustRecord), string(TrustAll)}
	if !slices.Contains(all, text) {
		return "", fmt.Errorf("%q%s: must be %s", text, backfill.DidYouMean(text, all), oneOf(all))
	}
	return Trust(text), nil
}

// Word is whose word it is that jobs run for no longer than a time: a user's alone, or also the
// pool's, which is said to end them then. The two have records of their own: what the pool enforces
// says nothing of the rest.
type Word struct {
	User     string
	Enforced bool
}

// longestUser bounds the names of users that are kept.
const longestUser = 256

// WordOf returns the word of a user; long names count by how they begin.
func WordOf(user string, enforced bool) Word {
	return Word{user[:min(len(user), longestUser)], enforced}
}

// Place is a job's place in the plan, and for how long the job has taken it.
type Place struct {
	Planned, Taken backfill.Time
	Cpus           int64
}

// The bounds of a [TrackRecord].
const (
	recalled = 20     // runs of each user
	known    = 10_000 // users
)

// TrackRecord is how far users' jobs kept within the times that were stated for them. Of each user
// it knows the last twenty runs, and up to twenty jobs that run beyond their places now, which
// count at once. Nothing is known against a user without a record.
//
// A run that takes more than twice its place is a lie. As long as it goes on, nobody knows what the
// user's word is worth, nor after a second one among those known: then it counts no more than if
// nothing was stated. A lie is forgotten after as much work of the user's within the stated times
// as it took, in twenty runs at least: shorter runs count together as one. So nobody buries a lie
// under many short jobs.
//
// Only one goroutine at a time may use it.
type TrackRecord struct {
	users   map[Word]*given
	changed map[Word]bool // those that count otherwise, true: for longer times
	unsaved map[Word]bool
	// honest are those of users who have not lied, liars the others, in each the one of whom something
	// was learned last at the end.
	honest, liars *list.List
}

// given is what is known of a user's word.
type given struct {
	runs    []past        // the last ones, the last of them last
	running []past        // beyond their places
	place   *list.Element // its word in the record's honest or liars

	factor    float64 // by which stated times are stretched
	worthless bool    // they count as if nothing was stated
	lied      bool
}

// past is a run, in seconds of one cpu.
type past struct {
	planned, taken float64
	lie            bool
	job            backfill.JobID
	goesOn         bool
	unsure         bool // it may be told of again
}

// NewTrackRecord returns a record of nobody.
func NewTrackRecord() *TrackRecord {
	return &TrackRecord{
		users: map[Word]*given{}, changed: map[Word]bool{}, unsaved: map[Word]bool{},
		honest: list.New(), liars: list.New(),
	}
}

// past returns a run as it counts. What was asked for beyond what was needed earns nothing.
func (p Place) past(job backfill.JobID, goesOn bool) past {
	cpus := float64(max(1, p.Cpus))
	taken := float64(max(0, p.Taken)) * cpus
	planned := min(float64(max(1, p.Planned))*cpus, taken)
	return past{planned, taken, taken > 2*planned, job, goesOn, false}
}

// Over notes that a job's run is over.
func (r *TrackRecord) Over(w Word, job backfill.JobID, p Place) {
	g := r.of(w)
	g.running = slices.DeleteFunc(g.running, func(o past) bool { return o.job == job })
	g.reopen(job)
	g.add(p.past(job, false))
	r.judge(w, g)
}

// Outlives notes that a running job has taken longer than its place by now. It may be called again,
// when the job has taken even longer.
func (r *TrackRecord) Outlives(w Word, job backfill.JobID, p Place) {
	g := r.of(w)
	i := slices.IndexFunc(g.running, func(o past) bool { return o.job == job })
	switch {
	case i >= 0:
		g.running[i] = p.past(job, true)
	case len(g.running) < recalled:
		g.running = append(g.running, p.past(job, true))
	default:
		return
	}
	g.reopen(job)
	r.judge(w, g)
}

// reopen forgets a job's run of which it was not sure that it was over, since more is known of it
// now.
func (g *given) reopen(job backfill.JobID) {
	g.runs = slices.DeleteFunc(g.runs, func(o past) bool { return o.unsure && o.job == job })
}

// Ended notes that a job does not run any more and that it is not known for how long it ran. If it
// ran beyond its place, that counts as long as it was seen to. The run may be over for certain; if
// it is not, and is told of again, it counts once.
func (r *TrackRecord) Ended(w Word, job backfill.JobID, certain bool) {
	g := r.users[w]
	if g == nil {
		return
	}
	if i := slices.IndexFunc(g.running, func(o past) bool { return o.job == job }); i >= 0 {
		p := g.running[i]
		p.goesOn, p.unsure, g.running = false, !certain, slices.Delete(g.running, i, i+1)
		g.add(p)
		r.judge(w, g)
	}
}

// add adds a run, with the one before if both are short beside the longest lie.
func (g *given) add(p past) {
	longest := 0.0
	for _, o := range g.runs {
		if o.lie {
			longest = max(longest, o.taken)
		}
	}
	if last := len(g.runs) - 1; !p.lie && last >= 0 && !g.runs[last].lie && !g.runs[last].unsure && g.runs[last].taken < longest/recalled {
		g.runs[last].planned += p.planned
		g.runs[last].taken += p.taken
		return
	}
	if len(g.runs) == recalled {
		g.runs = slices.Delete(g.runs, 0, 1)
	}
	g.runs = append(g.runs, p)
}

// of returns what is known of a word. If too much is known, it forgets first who has not lied for
// longest, then who has: the one is trusted without a record, too.
func (r *TrackRecord) of(w Word) *given {
	g := r.users[w]
	if g == nil {
		w.User = strings.Clone(w.User) // it may be a part of a long text
		if len(r.users) >= known {
			r.forgetOne()
		}
		g = &given{factor: 1, place: r.honest.PushBack(w)}
		r.users[w] = g
	}
	r.listOf(g.lied).MoveToBack(g.place)
	return g
}

func (r *TrackRecord) listOf(lied bool) *list.List {
	if lied {
		return r.liars
	}
	return r.honest
}

func (r *TrackRecord) forgetOne() {
	all := r.listOf(r.honest.Len() == 0)
	first, _ := all.Remove(all.Front()).(Word)
	least := r.users[first]
	delete(r.users, first)
	r.unsaved[first] = true
	if least.factor > 1 || least.worthless {
		r.changed[first] = false
	}
}

// judge finds by how much stated times are stretched. A factor is a multiple of a quarter of a
// power of two, and is kept while it is nearly right, so that plans do not change with each run.
func (r *TrackRecord) judge(w Word, g *given) {
	planned, taken, lies, goesOn := 0.0, 0.0, 0, false
	for _, runs := range [][]past{g.runs, g.running} {
		for _, p := range runs {
			planned, taken = planned+p.planned, taken+p.taken
			if p.lie {
				lies++
				goesOn = goesOn || p.goesOn
			}
		}
	}
	ratio := 1.0
	if taken > planned {
		ratio = taken / max(planned, 1)
	}
	before := *g
	r.unsaved[w] = true
	g.lied, g.worthless = lies > 0, lies > 1 || goesOn
	if g.lied != before.lied {
		g.place = r.listOf(g.lied).PushBack(r.listOf(before.lied).Remove(g.place))
	}
	if ratio > g.factor || ratio*1.25 < g.factor || ratio == 1 {
		g.factor = quarterUp(ratio)
	}
	if g.factor != before.factor || g.worthless != before.worthless {
		r.changed[w] = g.worthless && !before.worthless || g.factor > before.factor && g.worthless == before.worthless
	}
}

// quarterUp rounds a ratio of at least 1 up to four steps between a power of two and the next.
func quarterUp(ratio float64) float64 {
	_, power := math.Frexp(min(ratio, backfill.MaxTime))
	step := math.Ldexp(1, power-3) // ratio is from 4 steps to below 8
	return math.Ceil(ratio/step) * step
}

// Changed returns whose words count otherwise since the last call; true: for longer times.
func (r *TrackRecord) Changed() map[Word]bool {
	if len(r.changed) == 0 {
		return nil
	}
	changed := r.changed
	r.changed = map[Word]bool{}
	return changed
}

// Counts returns how long a job's place is, given the one by its stated time and the one of jobs
// that state none: as long as the user's record bears out, and no shorter than the latter where the
// word is worth nothing.
func (r *TrackRecord) Counts(w Word, stated, unknown backfill.Time) backfill.Time {
	g := r.users[w]
	if g == nil {
		return stated
	}
	counts := stated
	if g.factor > 1 {
		counts = max(stated, backfill.Time(math.Ceil(min(float64(stated)*g.factor, backfill.MaxTime/4))))
	}
	if g.worthless {
		counts = max(counts, unknown)
	}
	return counts
}

// Doubted returns the users whose words do not count as they are; nil if there are none.
func (r *TrackRecord) Doubted() (all map[string]bool) {
	for w := range r.users {
		if r.Doubts(w) {
			if all == nil {
				all = map[string]bool{}
			}
			all[w.User] = true
		}
	}
	return all
}

// Doubts reports whether a word does not count as it is.
func (r *TrackRecord) Doubts(w Word) bool {
	g := r.users[w]
	return g != nil && (g.factor > 1 || g.worthless)
}

// SavedWord is what outlives a process of what is known of a user's word: its past runs, not those
// under way, whose pool tells of them again.
type SavedWord struct {
	Word
	Factor float64
	Runs   []SavedRun `json:",omitempty"` // none: nothing is known any more
}

// SavedRun is a past run, in seconds of one cpu.
type SavedRun struct {
	Planned, Taken float64
	Lie            bool `json:",omitempty"`
}

// Unsaved returns what was learned or forgotten since the last call, by user.
func (r *TrackRecord) Unsaved() (all []SavedWord) {
	for w := range r.unsaved {
		s := SavedWord{Word: w}
		if g := r.users[w]; g != nil {
			s.Factor = g.factor
			for _, p := range g.runs {
				s.Runs = append(s.Runs, SavedRun{p.planned, p.taken, p.lie})
			}
		}
		all = append(all, s)
	}
	clear(r.unsaved)
	slices.SortFunc(all, func(a, b SavedWord) int {
		return cmp.Or(strings.Compare(a.User, b.User), strings.Compare(strconv.FormatBool(a.Enforced), strconv.FormatBool(b.Enforced)))
	})
	return all
}

// RestoreTrackRecord returns a record as it was saved, without what it cannot be.
func RestoreTrackRecord(saved []SavedWord) *TrackRecord {
	r := NewTrackRecord()
	for _, s := range saved[max(0, len(saved)-known):] {
		w := WordOf(s.User, s.Enforced)
		g := r.of(w)
		g.factor = quarterUp(max(1, s.Factor))
		for _, p := range s.Runs[max(0, len(s.Runs)-recalled):] {
			if p.Planned >= 0 && p.Taken >= p.Planned && p.Taken <= math.MaxInt64 {
				g.runs = append(g.runs, past{planned: p.Planned, taken: p.Taken, lie: p.Lie})
			}
		}
		r.judge(w, g)
	}
	clear(r.changed)
	clear(r.unsaved)
	return r
}
