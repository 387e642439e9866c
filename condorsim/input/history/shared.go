package history

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// shared stores once what many jobs have in common. It holds no reference to the text of the file.
type shared struct {
	texts     map[string]string
	labelSets map[string]map[string]string
	ads       map[string]*classad.ClassAd
	asked     []string // lower case
	whole     bool
	slotsHave func(name string) bool
}

func newShared(o Options) *shared {
	s := &shared{
		texts: map[string]string{}, labelSets: map[string]map[string]string{},
		ads: map[string]*classad.ClassAd{}, whole: o.Whole, slotsHave: o.SlotsHave,
	}
	if s.slotsHave == nil {
		s.slotsHave = func(string) bool { return false }
	}
	s.asked = append(s.asked, "requirements", "rank")
	for _, resource := range o.Schema.Resources {
		s.asked = append(s.asked, strings.ToLower(negotiator.RequireDevices(resource)))
	}
	for _, name := range o.Asked {
		s.asked = append(s.asked, strings.ToLower(name))
	}
	return s
}

func (s *shared) text(t string) string {
	known, ok := s.texts[t]
	if !ok {
		known = strings.Clone(t)
		s.texts[known] = known
	}
	return known
}

func (s *shared) labels(schema negotiator.Schema, ad *classad.ClassAd) map[string]string {
	labels := schema.LabelsOf(ad, nil)
	if labels == nil {
		return nil
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		text.WriteString(name + "\x00" + labels[name] + "\x00")
	}
	known, ok := s.labelSets[text.String()]
	if !ok {
		known = labels
		for name, value := range labels {
			known[name] = s.text(value)
		}
		s.labelSets[text.String()] = known
	}
	return known
}

// ad reduces a job's ad to what matters to slots, and returns the same ad for all jobs whose
// reduced ads are equal. Requests become numbers, since the attributes that their expressions refer
// to (MemoryUsage…) differ from job to job; but not those that ask what slots have, as they are
// evaluated with each. With Options.Whole the ad keeps the rest, and is the job's own.
func (s *shared) ad(ad *classad.ClassAd, resources []string, chunk backfill.Vector) *classad.ClassAd {
	negotiator.RequireNothing(ad)
	names := map[string]bool{}
	for i, resource := range resources {
		names["request"+resource] = true
		if kept := negotiator.AsksSlot(ad, resource, s.slotsHave); kept != nil {
			for _, n := range kept {
				names[strings.ToLower(n)] = true
			}
			continue
		}
		ad.SetInt("Request"+resource, chunk[i])
	}
	if s.whole {
		return ad
	}
	for _, name := range s.asked {
		e, ok := ad.Lookup(name)
		if !ok || names[name] {
			continue
		}
		names[name] = true
		internal, _, _ := e.Refs(ad) // references in a circle evaluate to error
		for _, n := range internal {
			names[strings.ToLower(n)] = true
		}
	}
	var text strings.Builder
	reduced := classad.New()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if e, ok := ad.Lookup(name); ok {
			reduced.Set(name, e)
			text.WriteString(name + " = " + e.String() + "\n")
		}
	}
	known, ok := s.ads[text.String()]
	if !ok {
		known = reparsed(reduced)
		s.ads[text.String()] = known
	}
	return known
}

// reparsed returns the same ad without references to the text that it was read from.
func reparsed(ad *classad.ClassAd) *classad.ClassAd {
	fresh, err := classad.Parse(strings.Clone(ad.String()))
	if err != nil {
		return ad // cannot happen: an ad's own text parses
	}
	return fresh
}

// leftToSlot reports whether a request for a resource has no value without a slot: what it is made of asks what
// slots have, and that was looked at.
func (c *collector) leftToSlot(ad *classad.ClassAd, resource string) bool {
	if negotiator.AsksSlot(ad, resource, c.shared.slotsHave) == nil {
		return false
	}
	var outside classad.Outside
	_, err := negotiator.EvaluateAlone(ad, "Request"+resource, &classad.Meter{}, &outside)
	return err != nil || outside.More
}
