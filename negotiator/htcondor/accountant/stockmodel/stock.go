package stockmodel

import (
	"cmp"
	"math"
	"slices"
)

// Pool is a pool of slots that are alike: jobs take one of them each.
type Pool struct {
	Slots  int
	Groups []Group
	Users  []User
	// HalfLife is that of priorities, and Cycle the time between negotiation cycles, in seconds.
	HalfLife, Cycle int
}

// Group is an accounting group. Its quota is Static slots, or a Dynamic share of those that the static quotas
// leave.
type Group struct {
	Name            string
	Static, Dynamic float64
	Surplus         bool
}

// User submits jobs for a group; "": for none.
type User struct {
	Group, Name string
	Factor      float64
}

// Submitter returns in whose name the user's jobs are.
func (u *User) Submitter() string {
	if u.Group == "" {
		return u.Name + "@pool"
	}
	return u.Group + "." + u.Name + "@pool"
}

// Negotiator is what the accountant and the matchmaker of HTCondor 25.14 do in a pool of equal
// slots, for submitters in groups that have no subgroups, without preemption: written from
// Accountant.cpp (UpdateOnePriority), GroupEntry.cpp (hgq_assign_quotas, hgq_fairshare,
// hgq_allocate_surplus, hgq_negotiate_with_all_groups, strict_enforce_quota) and matchmaker.cpp
// (negotiateWithGroup, calculateSubmitterLimit, SubmitterLimitPermits).
type Negotiator struct {
	pool   *Pool
	slots  float64
	groups []*group // the last is <none>
	all    []*user
	passed bool
}

type group struct {
	config  Group
	members []*user

	quota, requested, allocated float64
}

type user struct {
	config         *User
	real           float64 // priority
	usage, waiting int
}

// New returns a negotiator of a pool in which nobody has used anything.
func New(p *Pool) *Negotiator {
	s := &Negotiator{pool: p, slots: float64(p.Slots)}
	for _, g := range append(slices.Clone(p.Groups), Group{Surplus: true}) {
		s.groups = append(s.groups, &group{config: g})
	}
	for i := range p.Users {
		u := &user{config: &p.Users[i], real: 0.5}
		s.all = append(s.all, u)
		for _, g := range s.groups {
			if g.config.Name == u.config.Group {
				g.members = append(g.members, u)
			}
		}
	}
	return s
}

func (u *user) priority() float64 { return u.real * u.config.Factor }

func (g *group) usage() (sum int) {
	for _, u := range g.members {
		sum += u.usage
	}
	return sum
}

// Choose is a negotiation cycle with so many free slots: it returns whose jobs start, one after the other, of the
// waiting and running ones by user.
func (s *Negotiator) Choose(free int, waiting, running []int) (starts []int) {
	for i, u := range s.all {
		aging := math.Pow(0.5, float64(s.pool.Cycle)/float64(s.pool.HalfLife)) // what u used since the last cycle
		if s.passed {
			u.real = max(0.5, u.real*aging+float64(u.usage)*(1-aging))
		}
		u.usage, u.waiting = running[i], waiting[i]
	}
	s.passed = true
	s.assign()
	start := func(u *user) {
		u.usage++
		u.waiting--
		free--
		starts = append(starts, slices.Index(s.all, u))
	}
	for range 3 { // GROUP_QUOTA_MAX_ALLOCATION_ROUNDS
		s.allocate()
		turns := slices.Clone(s.groups)
		slices.SortStableFunc(turns, func(a, b *group) int { return cmp.Compare(a.sortKey(), b.sortKey()) })
		for _, g := range turns {
			target := max(g.allocated, g.quota)
			if g.allocated <= 0 || float64(g.usage()) >= g.allocated {
				continue
			}
			if !g.config.Surplus { // strictly
				target = min(target, max(float64(g.usage()), g.quota))
			}
			g.negotiate(float64(int(target)), s.slots, &free, start) // it is handed over as an integer
		}
		used, allocated := 0.0, 0.0
		for _, g := range s.groups {
			used, allocated = used+min(float64(g.usage()), g.allocated), allocated+g.allocated
			g.requested += g.allocated
			if float64(g.usage()) < g.allocated {
				g.requested = float64(g.usage())
			}
		}
		if used >= allocated {
			break
		}
	}
	return starts
}

// sortKey is GROUP_SORT_EXPR by default.
func (g *group) sortKey() float64 {
	switch {
	case g.config.Name == "":
		return 3.4e38
	case g.quota > 0:
		return float64(g.usage()) / g.quota
	default:
		return 3.3e38
	}
}

// assign gives groups their quotas: static ones first, dynamic ones are parts of the rest.
func (s *Negotiator) assign() {
	static, given := 0.0, 0.0
	for _, g := range s.groups {
		static += g.config.Static
	}
	for _, g := range s.groups {
		g.quota = g.config.Static + g.config.Dynamic*(s.slots-static)
		given += g.quota
		g.requested = 0
		for _, u := range g.members {
			g.requested += float64(u.usage + u.waiting)
		}
	}
	s.groups[len(s.groups)-1].quota = max(0, s.slots-given)
}

// allocate gives groups what they want of their quotas, and then of what others leave: in
// proportion to quotas, and the rest in equal parts.
func (s *Negotiator) allocate() {
	surplus, wanted := 0.0, 0.0
	for _, g := range s.groups {
		g.allocated = min(g.requested, g.quota)
		g.requested -= g.allocated
		surplus += g.quota - g.allocated
		if g.config.Surplus {
			wanted += g.requested
		}
	}
	if surplus >= wanted {
		for _, g := range s.groups {
			if g.config.Surplus {
				g.allocated, g.requested = g.allocated+g.requested, 0
			}
		}
		return
	}
	surplus = s.pour(surplus, func(g *group) float64 { return g.quota })
	s.pour(surplus, func(*group) float64 { return 1 })
}

// pour shares a surplus among the groups that want more of it, in parts, and returns the rest.
func (s *Negotiator) pour(surplus float64, part func(*group) float64) float64 {
	hungry := func(g *group) bool { return g.config.Surplus && g.requested > 0 }
	for surplus > 1e-9 {
		total := 0.0
		for _, g := range s.groups {
			if hungry(g) {
				total += part(g)
			}
		}
		if total <= 0 {
			break
		}
		before := surplus
		for _, g := range s.groups {
			if hungry(g) {
				more := min(g.requested, before*part(g)/total)
				g.allocated, g.requested, surplus = g.allocated+more, g.requested-more, surplus-more
			}
		}
	}
	return surplus
}

// negotiate cuts a group's pie, again and again, until nobody can have more.
func (g *group) negotiate(quota, slots float64, free *int, start func(*user)) {
	var hungry []*user
	for _, u := range g.members {
		if u.waiting > 0 {
			hungry = append(hungry, u)
		}
	}
	for spin := 1; *free > 0 && len(hungry) > 0 && float64(g.usage()) < quota; spin++ {
		limits, pie := g.limits(hungry, min(quota, slots), quota)
		if pie <= 0 {
			return
		}
		if spin == 1 {
			slices.SortStableFunc(hungry, func(a, b *user) int {
				return cmp.Or(cmp.Compare(a.priority(), b.priority()), cmp.Compare(a.usage, b.usage))
			})
		}
		before, left := pie, []*user{}
		for _, u := range hungry {
			if limit := min(limits[u], pie); spin == 1 || limit >= 1 && pie >= 1 {
				pie = g.serve(u, limit, pie, quota, free, start)
			}
			if u.waiting > 0 {
				left = append(left, u)
			}
		}
		if pie >= before && len(left) == len(hungry) {
			return
		}
		hungry = left
	}
}

// serve starts a submitter's jobs up to its limit, and returns what is left of the pie.
func (g *group) serve(u *user, limit, pie, quota float64, free *int, start func(*user)) float64 {
	got := 0.0
	for *free > 0 && u.waiting > 0 && (got+1 <= limit || got <= 0 && limit > 0 && pie >= 1) &&
		float64(g.usage()) < quota {
		start(u)
		got, pie = got+1, pie-1
	}
	return pie
}

// limits returns how much more each of a group's submitters may have of a pie of this size, and the
// sum.
func (g *group) limits(hungry []*user, size, quota float64) (limits map[*user]float64, pie float64) {
	norm, used := 0.0, float64(g.usage())
	for _, u := range hungry {
		norm += 1 / u.priority()
	}
	limits = map[*user]float64{}
	for _, u := range hungry {
		share := 1 / u.priority() / norm
		limits[u] = min(max(0, share*size-float64(u.usage)), max(0, quota-used))
		pie += limits[u]
	}
	return limits, pie
}
