package pools

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// Groups are accounting groups, which share a pool by their quotas.
type Groups []Group

// Group is an accounting group of a pool, and which jobs are of it besides those whose AccountingGroup says
// so.
type Group struct {
	accountant.Group
	// Users are patterns of the users whose jobs are of the group. TraceGroups are the groups of a trace whose
	// jobs are; that of the group's own name always is.
	Users, TraceGroups []string
}

// group is the YAML form of [Group].
type group struct {
	Name        string   `yaml:"name"`         // the whole path, as in GROUP_NAMES
	Quota       *quota   `yaml:"quota"`        // GROUP_QUOTA, or GROUP_QUOTA_DYNAMIC
	Surplus     bool     `yaml:"surplus"`      // GROUP_ACCEPT_SURPLUS
	Autoregroup bool     `yaml:"autoregroup"`  // GROUP_AUTOREGROUP
	Factor      float64  `yaml:"factor"`       // GROUP_PRIO_FACTOR; 0: that of all
	Users       []string `yaml:"users"`        // names or shell patterns
	TraceGroups []string `yaml:"trace_groups"` // of the trace
}

// quota is how much of the pool a group has: cpus, or a share.
type quota struct {
	amount  float64
	isShare bool // of what the static quotas beside it leave
}

// UnmarshalYAML reads a quota such as 60 or 50%.
func (q *quota) UnmarshalYAML(node ast.Node) error {
	text, err := scalar(node)
	if err != nil {
		return err
	}
	number, isShare := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	most := float64(math.MaxInt32)
	if isShare {
		most = 100
	}
	if err != nil || !decimal.MatchString(number) || v > most {
		return fault(node, "is no quota: must be cpus such as 60, or a share such as 50%%, at most 100%%")
	}
	if isShare {
		v /= 100
	}
	*q = quota{v, isShare}
	return nil
}

// addGroups adds the accounting groups, and the ceilings of users.
func (b *builder) addGroups() error {
	if len(b.d.Groups) == 0 && b.has("groups") {
		return b.wrong("groups", "lists none: leave it out")
	}
	users, traced := map[string]string{}, map[string]string{} // to their groups
	for i := range b.d.Groups {
		g, at := &b.d.Groups[i], fmt.Sprintf("groups[%d]", i)
		made := Group{Group: accountant.Group{
			Name: g.Name, AcceptSurplus: g.Surplus, Autoregroup: g.Autoregroup, Factor: g.Factor,
		}, Users: g.Users, TraceGroups: g.TraceGroups}
		switch err := accountant.CheckName(g.Name); {
		case err != nil:
			return b.wrong(at+".name", "%v", err)
		case g.Quota == nil:
			return b.wrong(at, "%s has no quota: must be cpus such as 60, or a share such as 50%%", g.Name)
		case g.Factor != 0 && !(g.Factor >= 1 && g.Factor <= MostFactor):
			return b.wrong(at+".factor", "%v: must be from 1 to %g; HTCondor's default is 1000", g.Factor, MostFactor)
		}
		made.Quota, made.Static = g.Quota.amount, !g.Quota.isShare
		if err := cmp.Or(
			b.addMembers(at+".users", g.Name, g.Users, users),
			b.addMembers(at+".trace_groups", g.Name, g.TraceGroups, traced),
		); err != nil {
			return err
		}
		b.pool.Groups = append(b.pool.Groups, made)
	}
	if err := b.checkTree(); err != nil {
		return err
	}
	settings := accountant.DefaultSettings()
	settings.Groups = b.pool.Groups.Accounting()
	if err := accountant.CheckGroups(settings); err != nil {
		return b.wrong("groups", "%v", err)
	}
	return b.addCeilings()
}

// checkTree returns an error at the group that is there twice or has no parent.
func (b *builder) checkTree() error {
	entries := map[string]int{} // by name
	for i := range b.pool.Groups {
		name := b.pool.Groups[i].Name
		if first, twice := entries[strings.ToLower(name)]; twice {
			return b.wrong(fmt.Sprintf("groups[%d].name", i), "%s is there twice, first as groups[%d]; capital letters make "+
				"no difference", name, first)
		}
		entries[strings.ToLower(name)] = i
	}
	for i := range b.pool.Groups {
		name := b.pool.Groups[i].Name
		dot := strings.LastIndexByte(name, '.')
		if dot <= 0 || dot == len(name)-1 { // the accountant says what is wrong with other names
			continue
		}
		if _, there := entries[strings.ToLower(name[:dot])]; !there {
			return b.wrong(fmt.Sprintf("groups[%d].name", i), "the parent of %s is no group: list %s, too", name,
				backfill.Printable(name[:dot], shownName))
		}
	}
	return nil
}

// addMembers notes of which group somebody is, who must be of one only.
func (b *builder) addMembers(at, name string, members []string, groups map[string]string) error {
	for n, member := range members {
		here := fmt.Sprintf("%s[%d]", at, n)
		if _, err := path.Match(member, ""); err != nil || member == "" {
			return b.wrong(here, "%q is no name or pattern", member)
		}
		if other, twice := groups[member]; twice {
			return b.wrong(here, "%s is of the group %s already", backfill.Printable(member, shownName), other)
		}
		groups[member] = name
	}
	return nil
}

// shownName is up to how many letters of a name are shown.
const shownName = 60

// MostFactor is the largest priority factor: HTCondor's own of nice users is less.
const MostFactor = 1e12

// addCeilings adds the ceilings of users.
func (b *builder) addCeilings() error {
	for _, name := range slices.Sorted(maps.Keys(b.d.Ceilings)) {
		most, at := b.d.Ceilings[name], "ceilings.'"+name+"'"
		if err := accountant.CheckName(name); err != nil {
			return b.wrong(at, "%v", err)
		}
		if most == nil || *most < 0 || *most > math.MaxInt32 {
			return b.wrong(at, "must be how many cpus the user may have at once, from 0 to %d", math.MaxInt32)
		}
		if b.pool.Ceilings == nil {
			b.pool.Ceilings = map[string]int64{}
		}
		b.pool.Ceilings[name] = *most
	}
	return nil
}

// Accounting returns the groups as the accountant has them.
func (g Groups) Accounting() (groups []accountant.Group) {
	for i := range g {
		groups = append(groups, g[i].Group)
	}
	return groups
}

// Of returns the name of the group of a user's job that a trace gives this group, "" if it is of none.
// Who is listed by name is of that group before others whose patterns match him, and a user's group counts
// before the trace's.
func (g Groups) Of(user, traced string) string {
	for _, member := range []struct {
		name  string
		lists func(*Group) []string
	}{
		{user, func(g *Group) []string { return g.Users }}, {traced, func(g *Group) []string { return g.TraceGroups }},
	} {
		if member.name == "" {
			continue
		}
		found := ""
		for i := range g {
			for _, pattern := range member.lists(&g[i]) {
				if pattern == member.name {
					return g[i].Name
				}
				if fits, err := path.Match(pattern, member.name); fits && err == nil && found == "" {
					found = g[i].Name
				}
			}
		}
		if found != "" {
			return found
		}
	}
	for i := range g {
		if strings.EqualFold(g[i].Name, traced) {
			return g[i].Name
		}
	}
	return ""
}
