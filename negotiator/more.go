package negotiator

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// MoreSlots are slots that a pool does not have, about which users ask.
type MoreSlots struct {
	Count int `json:"count"`
	// Like is the slot whose ad they have, but for the amounts; "": the pool's first.
	Like string `json:"like,omitempty"`
	// Amounts are of resources, memory in MiB and disk in KiB.
	Amounts map[string]int64 `json:"amounts"`
}

// ReadMoreSlots reads further slots as users write them, such as cpus=64,memory=256GiB,count=4.
func ReadMoreSlots(text string) (s MoreSlots, err error) {
	s = MoreSlots{Count: 1, Amounts: map[string]int64{}}
	var said []string
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !ok:
			err = fmt.Errorf("%q: must be such as cpus=64", part)
		case slices.Contains(said, name):
			err = fmt.Errorf("%s: may be said once", name)
		case name == "like":
			if s.Like = value; value == "" {
				err = errors.New("like: name a slot, or leave it out")
			}
		case name == "count":
			if s.Count, err = strconv.Atoi(value); err != nil {
				err = fmt.Errorf("count %q: must be a number of slots", value)
			}
		default:
			s.Amounts[name], err = ReadAmount(name, value)
			if name == "cpus" && err == nil && s.Amounts[name] < 1 {
				err = errors.New("cpus 0: must be at least 1")
			}
		}
		if err != nil {
			return s, err
		}
		said = append(said, name)
	}
	return s, nil
}

// IsAmount reports whether a text is a number with a unit, if any.
func IsAmount(text string) bool { return amountText.MatchString(text) }

var amountText = regexp.MustCompile(`(?i)^([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGT])(?:i?B)?)?$`)

// ReadAmount reads an amount of a resource: memory in MiB and disk in KiB, unless a unit says otherwise.
// A part of one of these counts as a whole; of all else there are no parts.
func ReadAmount(resource, text string) (int64, error) {
	parts := amountText.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%s %q: must be a number, for memory and disk with a unit such as 64GiB", resource, text)
	}
	base := map[string]int{"memory": 1, "disk": 0}
	shift, sized := base[resource]
	n, err := strconv.ParseFloat(parts[1], 64)
	unit := strings.ToUpper(parts[2])
	switch {
	case err != nil:
		return 0, err
	case unit != "" && !sized:
		return 0, fmt.Errorf("%s %q: must be a number without a unit", resource, text)
	case n != math.Trunc(n) && !sized:
		return 0, fmt.Errorf("%s %q: must be a whole number", resource, text)
	case unit != "":
		n *= math.Pow(1024, float64(strings.Index("KMGT", unit)-shift))
	}
	if n = math.Ceil(n); n > backfill.MaxInputAmount {
		return 0, fmt.Errorf("%s %q: must be at most %d", resource, text, int64(backfill.MaxInputAmount))
	}
	return int64(n), nil
}

// NamesOfSlot returns the names by which users mean a slot: its own, such as slot1@node7.site, and its
// machine's, such as node7.site and node7.
func NamesOfSlot(name string) []string {
	names := []string{name}
	_, machine, _ := strings.Cut(name, "@")
	host := machine
	if i := strings.IndexAny(machine, ".@"); i >= 0 { // a startd has a name of its own: slot1@n1@node7.site
		host = machine[:i]
	}
	for _, other := range []string{machine, host} {
		if other != "" && !slices.Contains(names, other) {
			names = append(names, other)
		}
	}
	return names
}

// IsOfPlans reports whether a resource is not one of slots' ads, but stands in plans for jobs or for kinds of
// devices.
func IsOfPlans(resource string) bool { return resource == Claims || IsKind(resource) }

// with returns the ad and the capacity of a slot that is like this one, but for amounts of the named
// resources.
func (s *Slot) with(resources []string, amounts map[string]int64) (*classad.ClassAd, backfill.Vector, error) {
	ad, capacity := s.Ad.Clone(), slices.Clone(s.Capacity)
	for resource, amount := range amounts {
		i := slices.Index(resources, resource)
		if i < 0 || IsOfPlans(resource) {
			return nil, nil, fmt.Errorf("there is no resource %s: there are %s", backfill.Printable(resource, 100),
				strings.Join(slices.DeleteFunc(slices.Clone(resources), IsOfPlans), ", "))
		}
		if amount < 0 || amount > backfill.MaxAmount {
			return nil, nil, fmt.Errorf("%d %s: must be from 0 to %d", amount, resource, int64(backfill.MaxAmount))
		}
		for k, kind := range resources {
			if strings.HasPrefix(kind, resource+ofKind) && capacity[i] > 0 { // as many of each kind as of all
				capacity[k] = capacity[k] * amount / capacity[i]
			}
		}
		capacity[i] = amount
		for _, attribute := range []string{Attribute(resource), "TotalSlot" + Attribute(resource), "Total" + Attribute(resource)} {
			if _, has := ad.Lookup(attribute); has {
				ad.SetInt(attribute, amount)
			}
		}
	}
	return ad, capacity, nil
}

// More returns slots that are like this one, a slot of the schema's pool, but for the amounts: Count of
// them. They have names that are not taken, and their machines the same ones.
func (s *Slot) More(resources []string, more MoreSlots, taken func(name string) bool) ([]*Slot, error) {
	ad, capacity, err := s.with(resources, more.Amounts)
	if err != nil {
		return nil, err
	}
	var all []*Slot
	for n := 1; len(all) < more.Count; n++ {
		name := fmt.Sprintf("new%d", n)
		if taken(name) {
			continue
		}
		own := ad.Clone()
		own.SetString("Name", name)
		if _, has := own.Lookup("Machine"); has {
			own.SetString("Machine", name)
		}
		all = append(all, &Slot{Name: name, Capacity: slices.Clone(capacity), End: s.End, Ad: own})
	}
	return all, nil
}
