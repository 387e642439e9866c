package verdict

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/witness"
)

// Group is how a group of judged jobs would have done.
type Group struct {
	Name string `json:"name"`
	Jobs int    `json:"jobs"`
	// Earlier, Same and Later count the jobs by when they would have started; Never are those that
	// the observer would not have started. Of Unknown ones of the later jobs it is not known when.
	Earlier int `json:"earlier"`
	Same    int `json:"same"`
	Later   int `json:"later"`
	Unknown int `json:"later_unknown"`
	Never   int `json:"never"`
	// Gained is by how much the earlier ones would have started earlier, and Lost the later ones
	// later.
	Gained Waits `json:"gained"`
	Lost   Waits `json:"lost"`
	// Theirs are the waits under the live negotiator, Ours those as the observer would have had
	// them, of the same jobs: all of whose start under the observer is known.
	Theirs Waits `json:"theirs"`
	Ours   Waits `json:"ours"`
}

// Waits are waits of jobs, in seconds.
type Waits struct {
	Jobs   int     `json:"jobs"`
	Mean   float64 `json:"mean"`
	Median int64   `json:"median"`
	P90    int64   `json:"p90"`
	Most   int64   `json:"most"`
}

// measure describes waits, which it sorts.
func measure(waits []int64) (w Waits) {
	if len(waits) == 0 {
		return w
	}
	slices.Sort(waits)
	sum := 0.0
	for _, t := range waits {
		sum += float64(t)
	}
	rank := func(percent int) int64 { return waits[(percent*len(waits)+99)/100-1] }
	return Waits{len(waits), sum / float64(len(waits)), rank(50), rank(90), waits[len(waits)-1]}
}

// gathering is a group that is being filled.
type gathering struct {
	Group
	order                      int64 // of its name
	theirs, ours, gained, lost []int64
}

func (g *gathering) add(j *witness.Job, how sort, would int64) {
	g.Jobs++
	switch how {
	case same:
		g.Same++
	case earlier:
		g.Earlier++
		g.gained = append(g.gained, j.Start-would)
	case later:
		g.Later++
		g.lost = append(g.lost, would-j.Start)
	case unknown:
		g.Later++
		g.Unknown++
	case never:
		g.Never++
	}
	if would != 0 {
		g.theirs = append(g.theirs, max(0, j.Start-j.Submit))
		g.ours = append(g.ours, max(0, would-j.Submit))
	}
}

func (g *gathering) settled() Group {
	g.Theirs, g.Ours = measure(g.theirs), measure(g.ours)
	g.Gained, g.Lost = measure(g.gained), measure(g.lost)
	return g.Group
}

// groups divides jobs by user and by width.
type groups struct {
	wide       int64 // from how many cpus on a job is wide
	all, wides gathering
	byUser     map[string]*gathering
	byWidth    map[int]*gathering
}

func newGroups(wide int64) *groups {
	g := &groups{wide: wide, byUser: map[string]*gathering{}, byWidth: map[int]*gathering{}}
	g.all.Name, g.wides.Name = "all", fmt.Sprintf("%d cpus or more", wide)
	return g
}

// width returns the class of a number of cpus, which begins at a power of two, and its name.
func width(cpus int64) (class int, name string) {
	class = bits.Len64(uint64(max(1, cpus)))
	least := int64(1) << (class - 1)
	if least == 1 {
		return class, "1 cpu"
	}
	return class, fmt.Sprintf("%d–%d cpus", least, 2*least-1)
}

func (g *groups) add(j *witness.Job, how sort, would int64) {
	g.all.add(j, how, would)
	if j.Cpus >= g.wide {
		g.wides.add(j, how, would)
	}
	if g.byUser[j.User] == nil {
		g.byUser[j.User] = &gathering{Group: Group{Name: j.User}}
	}
	g.byUser[j.User].add(j, how, would)
	class, name := width(j.Cpus)
	if g.byWidth[class] == nil {
		g.byWidth[class] = &gathering{Group: Group{Name: name}, order: int64(class)}
	}
	g.byWidth[class].add(j, how, would)
}

// settle sets the groups of a verdict.
func (g *groups) settle(v *Verdict) {
	v.All, v.WideJobs = g.all.settled(), g.wides.settled()
	for _, u := range g.byUser {
		v.Users = append(v.Users, u.settled())
	}
	slices.SortFunc(v.Users, func(a, b Group) int { return cmp.Or(b.Jobs-a.Jobs, cmp.Compare(a.Name, b.Name)) })
	classes := make([]int, 0, len(g.byWidth))
	for class := range g.byWidth {
		classes = append(classes, class)
	}
	slices.Sort(classes)
	for _, class := range classes {
		v.Widths = append(v.Widths, g.byWidth[class].settled())
	}
}
