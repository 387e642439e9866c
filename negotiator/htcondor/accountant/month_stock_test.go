package accountant_test

import (
	"cmp"
	"math"
	"slices"
)

// stockModel is what the accountant and the matchmaker of HTCondor 25.14 do in a pool of equal
// slots, for submitters in groups that have no subgroups, without preemption: written from
// Accountant.cpp (UpdateOnePriority), GroupEntry.cpp (hgq_assign_quotas, hgq_fairshare,
// hgq_allocate_surplus, hgq_negotiate_with_all_groups, strict_enforce_quota) and matchmaker.cpp
// (negotiateWithGroup, calculateSubmitterLimit, SubmitterLimitPermits).
type stockModel struct {
	slots  float64
	groups []*stockGroup // the last is <none>
	all    []*stockUser
	passed bool
}

type stockGroup struct {
	config  monthGroup
	members []*stockUser

	quota, requested, allocated float64
}

type stockUser struct {
	config         *monthUser
	real           float64 // priority
	usage, waiting int
}

func newStockModel(m *month) *stockModel {
	s := &stockModel{slots: float64(m.slots)}
	for _, g := range append(slices.Clone(m.groups), monthGroup{name: "", surplus: true}) {
		s.groups = append(s.groups, &stockGroup{config: g})
	}
	for i := range m.users {
		u := &stockUser{config: &m.users[i], real: 0.5}
		s.all = append(s.all, u)
		for _, g := range s.groups {
			if g.config.name == u.config.group {
				g.members = append(g.members, u)
			}
		}
	}
	return s
}

func (u *stockUser) priority() float64 { return u.real * u.config.factor }

func (g *stockGroup) usage() (sum int) {
	for _, u := range g.members {
		sum += u.usage
	}
	return sum
}

// choose is a negotiation cycle: it returns whose jobs start, one after the other.
func (s *stockModel) choose(free int, waiting, running []int) (starts []int) {
	for i, u := range s.all {
		aging := math.Pow(0.5, float64(cycleSeconds)/halfLife) // what u used since the last cycle
		if s.passed {
			u.real = max(0.5, u.real*aging+float64(u.usage)*(1-aging))
		}
		u.usage, u.waiting = running[i], waiting[i]
	}
	s.passed = true
	s.assign()
	start := func(u *stockUser) {
		u.usage++
		u.waiting--
		free--
		starts = append(starts, slices.Index(s.all, u))
	}
	for range 3 { // GROUP_QUOTA_MAX_ALLOCATION_ROUNDS
		s.allocate()
		turns := slices.Clone(s.groups)
		slices.SortStableFunc(turns, func(a, b *stockGroup) int { return cmp.Compare(a.sortKey(), b.sortKey()) })
		for _, g := range turns {
			target := max(g.allocated, g.quota)
			if g.allocated <= 0 || float64(g.usage()) >= g.allocated {
				continue
			}
			if !g.config.surplus { // strictly
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
func (g *stockGroup) sortKey() float64 {
	switch {
	case g.config.name == "":
		return 3.4e38
	case g.quota > 0:
		return float64(g.usage()) / g.quota
	default:
		return 3.3e38
	}
}

// assign gives groups their quotas: static ones first, dynamic ones are parts of the rest.
func (s *stockModel) assign() {
	static, given := 0.0, 0.0
	for _, g := range s.groups {
		static += g.config.static
	}
	for _, g := range s.groups {
		g.quota = g.config.static + g.config.dynamic*(s.slots-static)
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
func (s *stockModel) allocate() {
	surplus, wanted := 0.0, 0.0
	for _, g := range s.groups {
		g.allocated = min(g.requested, g.quota)
		g.requested -= g.allocated
		surplus += g.quota - g.allocated
		if g.config.surplus {
			wanted += g.requested
		}
	}
	if surplus >= wanted {
		for _, g := range s.groups {
			if g.config.surplus {
				g.allocated, g.requested = g.allocated+g.requested, 0
			}
		}
		return
	}
	for _, part := range []func(*stockGroup) float64{
		func(g *stockGroup) float64 { return g.quota }, func(*stockGroup) float64 { return 1 },
	} {
		for surplus > 1e-9 {
			total := 0.0
			for _, g := range s.groups {
				if g.config.surplus && g.requested > 0 {
					total += part(g)
				}
			}
			if total <= 0 {
				break
			}
			before := surplus
			for _, g := range s.groups {
				if g.config.surplus && g.requested > 0 {
					more := min(g.requested, before*part(g)/total)
					g.allocated, g.requested, surplus = g.allocated+more, g.requested-more, surplus-more
				}
			}
		}
	}
}

// negotiate cuts a group's pie, again and again, until nobody can have more.
func (g *stockGroup) negotiate(quota, slots float64, free *int, start func(*stockUser)) {
	var hungry []*stockUser
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
			slices.SortStableFunc(hungry, func(a, b *stockUser) int {
				return cmp.Or(cmp.Compare(a.priority(), b.priority()), cmp.Compare(a.usage, b.usage))
			})
		}
		before, left := pie, []*stockUser{}
		for _, u := range hungry {
			limit, got := min(limits[u], pie), 0.0
			if spin == 1 || limit >= 1 && pie >= 1 {
				for *free > 0 && u.waiting > 0 && (got+1 <= limit || got <= 0 && limit > 0 && pie >= 1) &&
					float64(g.usage()) < quota {
					start(u)
					got, pie = got+1, pie-1
				}
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

// limits returns how much more each of a group's submitters may have of a pie of this size, and the
// sum.
func (g *stockGroup) limits(hungry []*stockUser, size, quota float64) (limits map[*stockUser]float64, pie float64) {
	norm, used := 0.0, float64(g.usage())
	for _, u := range hungry {
		norm += 1 / u.priority()
	}
	limits = map[*stockUser]float64{}
	for _, u := range hungry {
		share := 1 / u.priority() / norm
		limits[u] = min(max(0, share*size-float64(u.usage)), max(0, quota-used))
		pie += limits[u]
	}
	return limits, pie
}
